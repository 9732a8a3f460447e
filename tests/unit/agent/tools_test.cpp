// What the tools answer: the numbers of the analysis, limits that hold, and SQL that reproduces
// what a finding says.
#include "agent/tool.h"

#include <algorithm>

#include "reports/json/json.h"
#include "tests/unit/agent/served_runs.h"

namespace stepscope::agent {
namespace {

class ToolsTest : public ServedRuns {
 protected:
  base::Expected<Answer> try_ask(std::string_view name, Json const& sent) {
    auto const all = tools();
    auto const tool =
        std::find_if(all.begin(), all.end(), [&](Tool const& each) { return each.name == name; });
    auto arguments = Arguments::read(tool->arguments, sent);
    if (!arguments) return base::fail_with(arguments);
    return tool->answer({std::move(*arguments), runs_, [this] { return is_cancelled_; }});
  }
  Answer ask(std::string_view name, Json const& sent) {
    auto answer = try_ask(name, sent);
    EXPECT_TRUE(answer) << name << ": " << (answer ? "" : answer.error().message);
    return answer ? std::move(*answer) : Answer{};
  }
  std::string refused(std::string_view name, Json const& sent) {
    auto const answer = try_ask(name, sent);
    EXPECT_FALSE(answer) << name << " " << sent;
    return answer ? std::string() : answer.error().message;
  }
  Answer sql(std::string const& text, int limit = 50) {
    return ask("query", {{"run", "run.stepscope"}, {"sql", text}, {"limit", limit}});
  }

  RunStore runs_{*ServedPaths::of({served_.string()})};
  bool is_cancelled_ = false;
};

TEST_F(ToolsTest, OpenListsWhatIsServedAndWhatARunHolds) {
  Answer const list = ask("open", Json::object());
  EXPECT_EQ(list.data.at("served"), OrderedJson::array({served_.string()}));
  EXPECT_EQ(list.data.at("entries"), OrderedJson::array({(served_ / "run.stepscope").string()}));

  Answer const opened = ask("open", {{"run", "run.stepscope"}});
  EXPECT_EQ(opened.data.at("rank_count"), 1);
  EXPECT_EQ(opened.data.at("device_count"), 2);
  EXPECT_EQ(opened.data.at("steps").at("count"), 6);
  EXPECT_NE(opened.text.find("2 devices"), std::string::npos) << opened.text;
}

TEST_F(ToolsTest, SummaryAndFindingsHaveTheNumbersOfTheAnalysis) {
  auto const run = runs_.open("run.stepscope");
  ASSERT_TRUE(run);
  Answer const summary = ask("summary", {{"run", "run.stepscope"}});
  EXPECT_EQ(summary.data.at("summary"), reports::summary_json((*run)->run(), (*run)->analysis()));
  EXPECT_NE(summary.text.find("input"), std::string::npos) << summary.text;

  Answer const findings = ask("findings", {{"run", "run.stepscope"}, {"limit", 30}});
  OrderedJson const all = reports::findings_json((*run)->run(), (*run)->analysis());
  ASSERT_EQ(findings.data.at("findings").size(), all.size());
  for (size_t i = 0; i < all.size(); ++i)
    for (auto const& [key, value] : all[i].items())
      if (key != "evidence") {
        EXPECT_EQ(findings.data.at("findings")[i].at(key), value) << key;
      }
}

TEST_F(ToolsTest, TheSqlOfAFindingReproducesItsNumbers) {
  Answer const findings = ask("findings", {{"run", "run.stepscope"}, {"limit", 30}});
  ASSERT_FALSE(findings.data.at("findings").empty());

  for (OrderedJson const& finding : findings.data.at("findings")) {
    OrderedJson const rows = sql(finding.at("sql").get<std::string>()).data.at("rows");
    ASSERT_FALSE(rows.empty());
    EXPECT_EQ(rows[0][0], finding.at("rule"));
    EXPECT_EQ(rows[0][1], finding.at("cost_ns_per_step"));
    for (OrderedJson const& row : rows)
      if (!row[3].is_null()) {
        EXPECT_EQ(row[4], finding.at("metrics").at(row[3].get<std::string>())) << row;
      }
  }
}

TEST_F(ToolsTest, TheEventsOfAPlaceAreThoseThatItsSqlFinds) {
  Answer const answer = ask("findings", {{"run", "run.stepscope"}, {"rule", "input-bound"}});
  ASSERT_EQ(answer.data.at("findings").size(), 1U) << answer.text;
  OrderedJson const& places = answer.data.at("findings")[0].at("evidence");
  ASSERT_FALSE(places.empty());

  for (OrderedJson const& place : places) {
    ASSERT_EQ(place.at("steps").size(), 1U) << place;
    ASSERT_FALSE(place.at("events").empty()) << place;
    OrderedJson const rows = sql(place.at("events_sql").get<std::string>()).data.at("rows");
    ASSERT_EQ(rows.size(), place.at("events").size());
    EXPECT_EQ(rows[0][0], place.at("events")[0].at("id"));

    // The step's own rows say that the place is within it.
    OrderedJson const step =
        sql(fmt::format("select count(*) from steps where step = {} and device = {} and "
                        "period_start_ns < {} and period_start_ns + period_ns > {}",
                        place.at("steps")[0].dump(), place.at("device").dump(),
                        place.at("end_ns").dump(), place.at("begin_ns").dump()))
            .data.at("rows");
    EXPECT_EQ(step[0][0], 1);
  }
}

TEST_F(ToolsTest, AFindingWithoutAPredictedGainSaysWhy) {
  write(served_ / "leak.stepscope", {.steps = 12, .leak_bytes_per_step = 16U << 20});
  Answer const answer = ask("findings", {{"run", "leak.stepscope"}, {"limit", 30}});
  size_t without = 0;
  for (OrderedJson const& finding : answer.data.at("findings")) {
    EXPECT_EQ(finding.at("gain_alone").is_null(), finding.contains("gain_reason")) << finding;
    without += finding.contains("gain_reason") ? 1 : 0;
  }
  EXPECT_GT(without, 0U);
  EXPECT_NE(answer.text.find("gain not predicted"), std::string::npos) << answer.text;
}

TEST_F(ToolsTest, WhatTheRecordingLacksIsSaid) {
  write(served_ / "unmarked.stepscope",
        {.steps = 1, .layers = 1, .marks = support::StepMarks::kNone});
  Answer const answer = ask("summary", {{"run", "unmarked.stepscope"}});
  EXPECT_NE(answer.data.at("notes").dump().find("No step was recorded or found"), std::string::npos)
      << answer.data.at("notes");
  EXPECT_NE(answer.text.find("cannot tell"), std::string::npos);
}

TEST_F(ToolsTest, QueriesStopAtTheLimitsAndSayWhich) {
  Answer const all = sql("select 1 as one union select 2 order by 1");
  EXPECT_EQ(all.data.at("rows"), OrderedJson::parse("[[1],[2]]"));
  EXPECT_EQ(all.data.at("is_complete"), true);

  Answer const few = sql("select id from events", 3);
  EXPECT_EQ(few.data.at("rows").size(), 3U);
  EXPECT_EQ(few.data.at("is_complete"), false);
  EXPECT_NE(few.text.find("more rows than the limit of 3"), std::string::npos) << few.text;

  Answer const large = sql("select printf('%1000000s', 'x') as a from events");
  EXPECT_TRUE(large.data.at("rows").empty());
  EXPECT_NE(large.text.find("larger than 128 KiB"), std::string::npos) << large.text;
  EXPECT_NE(refused("query", {{"run", "run.stepscope"}, {"sql", "select zeroblob(9000000)"}}), "");
}

TEST_F(ToolsTest, WrongSqlIsRefusedAsByTheCommand) {
  auto const refusal = [&](std::string const& text) {
    return refused("query", {{"run", "run.stepscope"}, {"sql", text}});
  };
  EXPECT_NE(refusal("select nme from kernels").find("query: no such column: nme"),
            std::string::npos);
  EXPECT_NE(refusal("select nme from kernels").find("^"), std::string::npos);

  EXPECT_NE(refusal("delete from kernels"), "");
  EXPECT_NE(refusal("attach database '/tmp/x' as y").find("only SELECT"), std::string::npos);
  EXPECT_NE(refusal("select 1; select 2").find("more than one statement"), std::string::npos);
  EXPECT_NE(refusal(""), "");
}

TEST_F(ToolsTest, ACancelledQueryStopsThoughItWouldNeverEnd) {
  is_cancelled_ = true;
  std::string const endless =
      "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n";
  EXPECT_NE(refused("query", {{"run", "run.stepscope"}, {"sql", endless}}).find("stopped"),
            std::string::npos);
  is_cancelled_ = false;
  EXPECT_EQ(sql("select 1").data.at("rows").size(), 1U);
}

TEST_F(ToolsTest, TablesAreListedAndShown) {
  Answer const list = ask("table", {{"run", "run.stepscope"}});
  EXPECT_NE(list.text.find("| kernels |"), std::string::npos);
  Answer const steps = ask("table", {{"run", "run.stepscope"}, {"table", "steps"}, {"limit", 2}});
  EXPECT_EQ(steps.data.at("rows").size(), 2U);
  EXPECT_EQ(steps.data.at("columns")[0].at("name"), "rank");

  EXPECT_NE(refused("table", {{"run", "run.stepscope"}, {"table", "kernel"}}).find("kernels"),
            std::string::npos);
  EXPECT_NE(refused("table", {{"run", "run.stepscope"}, {"table", "steps; drop table x"}})
                .find("no such"),
            std::string::npos);
}

TEST_F(ToolsTest, TheViewerIsOpenedAtThePlaceOfAFinding) {
  std::filesystem::create_directories(served_ / "it's here");
  std::filesystem::copy(served_ / "run.stepscope", served_ / "it's here" / "run.stepscope");
  Answer const answer = ask("view_link", {{"run", "it's here/run.stepscope"}});
  std::string const command = answer.data.at("command");
  EXPECT_NE(command.find("/it'\\''s here/run.stepscope' --time "), std::string::npos) << command;
  EXPECT_NE(refused("view_link", {{"run", "run.stepscope"}, {"finding", 99}}).find("the run has"),
            std::string::npos);
}

TEST_F(ToolsTest, WrongChangesAndUncomparableRunsAreRefused) {
  EXPECT_NE(refused("whatif", {{"run", "run.stepscope"}, {"changes", {"inptu=0"}}}).find("inptu"),
            std::string::npos);
  write(served_ / "short.stepscope", {.steps = 1, .layers = 1, .marks = support::StepMarks::kNone});
  EXPECT_NE(refused("compare", {{"base", {"run.stepscope"}}, {"candidate", {"short.stepscope"}}})
                .find("compare: "),
            std::string::npos);
  EXPECT_NE(refused("compare", {{"base", Json::array()}, {"candidate", {"run.stepscope"}}}), "");
}

}  // namespace
}  // namespace stepscope::agent
