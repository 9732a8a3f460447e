// `stepscope query` as a user runs it: answers as table, CSV and JSON, SQL from the standard input,
// and clear refusals.
#include <filesystem>
#include <fstream>
#include <initializer_list>

#include <nlohmann/json.hpp>

#include "tests/e2e/main_job/program.h"

namespace stepscope::e2e {
namespace {

class Query : public Program {
 protected:
  void SetUp() override {
    ASSERT_EQ(stepscope("synth --ranks 2 --events 20000 --seed 3 -o run").code, 0);
  }
  void expect_refused(std::string const& arguments, std::string const& what) const {
    Outcome const outcome = stepscope("query " + arguments);
    EXPECT_EQ(outcome.code, 2) << arguments << "\n" << outcome.output;
    EXPECT_NE(outcome.output.find(what), std::string::npos) << arguments << "\n" << outcome.output;
  }
};

TEST_F(Query, AnswersAsTableCsvAndJson) {
  std::string const sql =
      " \"select name, count(*) as n, sum(dur_ns) as total_ns from kernels group by name order by "
      "3 desc limit 3\"";

  Outcome const table = stepscope("query run" + sql);
  EXPECT_EQ(table.code, 0) << table.output;
  EXPECT_TRUE(table.output.starts_with("name")) << table.output;
  EXPECT_TRUE(table.output.ends_with("3 rows\n")) << table.output;

  Outcome const csv = stepscope("query run --format csv" + sql);
  EXPECT_TRUE(csv.output.starts_with("name,n,total_ns\n")) << csv.output;

  auto const json = nlohmann::json::parse(stepscope("query run --format json" + sql).output);
  ASSERT_EQ(json.size(), 3U);
  EXPECT_GE(json[0]["total_ns"], json[1]["total_ns"]);
}

TEST_F(Query, SaysWhatAnalyzeSays) {
  auto const analysis = nlohmann::json::parse(stepscope("analyze run --json").output);
  auto const devices = nlohmann::json::parse(
      stepscope("query run --format json 'select * from device_time order by rank, device'")
          .output);
  ASSERT_EQ(devices.size(), 2U);
  for (size_t rank = 0; rank < 2; ++rank)
    for (std::string const key : {"window_ns", "busy_ns", "idle_ns", "compute_ns",
                                  "exposed_comm_ns", "kernels", "utilization"})
      EXPECT_EQ(devices[rank][key], analysis["ranks"][rank]["devices"][0][key]) << key;
}

TEST_F(Query, OfSomeStepsOfARankSaysWhatAnalyzeSaysOfThem) {
  auto const analysis =
      nlohmann::json::parse(stepscope("analyze run --json --rank 1 --steps 3:5").output);
  auto const devices = nlohmann::json::parse(
      stepscope("query run --rank 1 --steps 3:5 --format json 'select * from device_time'").output);

  ASSERT_EQ(devices.size(), 1U);
  for (std::string const key :
       {"window_ns", "busy_ns", "idle_ns", "compute_ns", "exposed_comm_ns", "kernels"})
    EXPECT_EQ(devices[0].at(key), analysis.at("ranks").back().at("devices").at(0).at(key)) << key;

  Outcome const steps = stepscope(
      "query run --steps 3:5 --format csv 'select distinct step from step_marks order by 1'");
  EXPECT_EQ(steps.output, "step\n3\n4\n5\n");

  for (std::string const sql : {"select 1", "select count(*) from events", "select * from events"})
    expect_refused("run --rank 2 '" + sql + "'", "is not in the run, it has ");
  expect_refused("run --steps 1000:1001 'select 1'", "it has steps 0 to ");
  expect_refused("run --steps 1000:1001 'select count(*) from events'", "it has steps 0 to ");
  expect_refused("run --steps x 'select 1'", "not a range of steps");
}

TEST_F(Query, SumsOfProcessesThatAreReadOneByOneAreThoseOfTheWholeRun) {
  // Tables with another name are read row by row, with all events of the run in memory.
  struct Asked {
    std::string items, table, rest;
  };
  for (auto const& [items, table, rest] : std::initializer_list<Asked>{
           {"name, count(*), sum(dur_ns), max(end_ns)", "kernels", "group by name order by name"},
           {"rank, depth, count(*), min(start_ns)", "events", "group by rank, depth order by 1, 2"},
           {"op, communicator, sum(bytes)", "collectives", "group by 1, 2 order by 1, 2"},
           {"count(*), sum(correlation)", "events", "where name like 'nccl%' or device = 1"},
           {"track_name, kind, avg(depth)", "ranges", "group by 1, 2 order by 1, 2"},
           {"count(*)", "copies", "where start_ns between 0 and 900000000"}})
    for (std::string const part : {"", " --rank 1"}) {
      std::string const before = "query run --format csv" + part + " \"select " + items + " from ";
      Outcome const sums = stepscope(before + table + " " + rest + '"');
      Outcome const whole = stepscope(before + table + " as renamed " + rest + '"');

      EXPECT_EQ(sums.code, 0) << sums.output;
      std::string const rows = sums.output.substr(sums.output.find('\n'));
      EXPECT_EQ(rows, whole.output.substr(whole.output.find('\n'))) << items;
    }
}

TEST_F(Query, AMistakeIsSaidBeforeTheRunIsRead) {
  expect_refused("nowhere 'select naem from kernels'", "no such column: naem");
  expect_refused("nowhere 'select name from kernels'", "nowhere");
}

TEST_F(Query, SumsNameAProcessThatCannotBeReadAndAnswerOfTheOthers) {
  std::filesystem::resize_file(path("run/rank-1.stepscope"), 3);
  for (std::string const table : {"kernels", "kernels as renamed"}) {
    Outcome const outcome =
        stepscope("query run --format csv 'select distinct rank from " + table + "'");
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_NE(outcome.output.find("rank-1.stepscope"), std::string::npos) << outcome.output;
    EXPECT_TRUE(outcome.output.ends_with("rank\n0\n")) << outcome.output;
  }
}

TEST_F(Query, OfOneRankSaysWhatIsKnownOfTheOthers) {
  // A recording that was cut: its index is gone, and events with it.
  std::filesystem::resize_file(path("run/rank-1.stepscope"),
                               std::filesystem::file_size(path("run/rank-1.stepscope")) / 2);
  for (std::string const table : {"kernels", "kernels as renamed"})
    EXPECT_NE(stepscope("query run --rank 0 'select count(*) from " + table + "'")
                  .output.find("rank-1.stepscope"),
              std::string::npos)
        << table;
}

TEST_F(Query, SelectionsThatAreNotThereAreRefusedByEveryCommand) {
  for (std::string const command :
       {"analyze run", "query run 'select 1'", "export run -o none.json", "slice run -o part"}) {
    for (std::string const choice : {" --rank 9", " --steps 100000:200000"}) {
      Outcome const outcome = stepscope(command + choice);
      EXPECT_EQ(outcome.code, 2) << command << choice << "\n" << outcome.output;
      EXPECT_NE(outcome.output.find("it has "), std::string::npos) << command << choice << "\n"
                                                                   << outcome.output;
    }
  }

  EXPECT_EQ(stepscope("compare run --vs run --steps 100000:200000").code, 2);
}

TEST_F(Query, StepsThatAreThereInPartAreTakenAndSaid) {
  for (std::string const command :
       {"analyze run", "query run 'select 1'", "export run -o some.json", "slice run -o part",
        "compare run --vs run"}) {
    Outcome const outcome = stepscope(command + " --steps 3:200000");
    EXPECT_NE(outcome.code, 2) << command << "\n" << outcome.output;
    EXPECT_NE(outcome.output.find("of these the run has only steps 3 to "), std::string::npos)
        << command << "\n"
        << outcome.output;
  }
}

TEST_F(Query, ReadsSqlFromTheStandardInput) {
  Outcome const outcome = shell("echo 'select count(*) as n from processes' | " + program() +
                                " query run - --format csv");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.output, "n\n2\n");
}

TEST_F(Query, TakesSeveralFilesAsOneRun) {
  Outcome const outcome = stepscope(
      "query run/rank-0.stepscope run/rank-1.stepscope --format csv 'select count(*) as n, "
      "sum(rank) as ranks from processes'");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_TRUE(outcome.output.ends_with("n,ranks\n2,1\n")) << outcome.output;
  expect_refused("run/rank-0.stepscope run/rank-1.stepscope", "name a run and a SELECT");
}

TEST_F(Query, WhatTheTraceDoesNotSayOfACollectiveIsNullHereAndInAnalyze) {
  nlohmann::json const kernel = {{"ph", "X"},
                                 {"cat", "kernel"},
                                 {"name", "ncclDevKernel_Generic(ncclDevKernelArgs)"},
                                 {"pid", 0},
                                 {"tid", 7},
                                 {"ts", 10},
                                 {"dur", 5},
                                 {"args", {{"device", 0}, {"stream", 7}, {"correlation", 1}}}};
  std::ofstream(path("bare.json"))
      << nlohmann::json{{"traceEvents", nlohmann::json::array({kernel})}};

  auto const asked =
      nlohmann::json::parse(stepscope("query bare.json --format json 'select communicator, op, "
                                      "bytes from matched_collectives' 2> /dev/null")
                                .output);
  auto const analyzed =
      nlohmann::json::parse(stepscope("analyze bare.json --json 2> /dev/null").output)
          .at("collectives");

  ASSERT_EQ(asked.size(), 1U);
  ASSERT_EQ(analyzed.size(), 1U);
  for (std::string const key : {"communicator", "op", "bytes"})
    EXPECT_TRUE(asked[0].at(key).is_null()) << key;
  for (std::string const key : {"comm", "op", "bytes"})
    EXPECT_TRUE(analyzed[0].at(key).is_null()) << key;
}

/// SQLite and Python read the exports themselves.
TEST_F(Query, ExportsAnswerTheSame) {
  if (shell("python3 -c 'import sqlite3, csv'").code != 0)
    GTEST_SKIP() << "no python3 with sqlite3 here";

  ASSERT_EQ(stepscope("export run -o run.sqlite").code, 0);
  ASSERT_EQ(stepscope("export run -o events.csv").code, 0);
  ASSERT_EQ(stepscope("export run --format csv -o tables/").code, 0);

  std::string const sql =
      "select rank, name, count(*) as n, sum(dur_ns) as total, min(start_ns) as first from kernels "
      "group by rank, name order by 1, 2";
  auto const expected =
      nlohmann::json::parse(stepscope("query run --format json \"" + sql + "\"").output);
  ASSERT_FALSE(expected.empty());

  std::ofstream(path("read.py"))
      << "import collections, csv, json, sqlite3\n"
         "rows = [list(row) for row in sqlite3.connect('run.sqlite').execute('" +
             sql +
             "')]\n"
             "def groups(rows):\n"
             "    found = collections.defaultdict(list)\n"
             "    for row in rows: found[int(row['rank']), "
             "row['name'].removeprefix(chr(39))].append(row)\n"
             "    return [[*key, len(of), sum(int(row['dur_ns']) for row in of), "
             "min(int(row['start_ns']) for row in of)]\n"
             "            for key, of in sorted(found.items())]\n"
             "kernels = groups(csv.DictReader(open('tables/kernels.csv', newline='', "
             "encoding='utf-8')))\n"
             "events = groups(row for row in csv.DictReader(open('events.csv', newline='', "
             "encoding='utf-8'))\n"
             "                if row['kind'] == 'kernel')\n"
             "print(json.dumps([rows, kernels, events]))\n";

  auto const found = nlohmann::json::parse(shell("python3 read.py").output);
  for (auto const& rows : found) {
    ASSERT_EQ(rows.size(), expected.size());
    for (size_t i = 0; i < rows.size(); ++i)
      EXPECT_EQ(rows[i], (nlohmann::json{expected[i]["rank"], expected[i]["name"], expected[i]["n"],
                                         expected[i]["total"], expected[i]["first"]}));
  }
}

TEST_F(Query, TablesAreListed) {
  Outcome const outcome = stepscope("query --tables");
  EXPECT_EQ(outcome.code, 0);
  for (std::string const name : {"events: ", "kernels: ", "allocations: ", "matched_collectives: ",
                                 "  dur_ns", "  exposed_comm_ns"})
    EXPECT_NE(outcome.output.find(name), std::string::npos) << name;
}

TEST_F(Query, WrongUseIsSaid) {
  expect_refused("run", "name a run and a SELECT");
  expect_refused("nowhere 'select 1'", "nowhere");
  expect_refused("run 'select * from kernel'", "did you mean kernels?");
  expect_refused("run 'select duration from kernels'", "did you mean dur_ns?");
  expect_refused("run 'select duration from kernels'",
                 "  select duration from kernels\n         ^");
  expect_refused("run 'drop table kernels'", "only SELECT");
  expect_refused("run 'select 1' --format xml", "xml");
}

}  // namespace
}  // namespace stepscope::e2e
