// Answers of a replay as JSON and Markdown. No name of a trace escapes its place.
#include <fstream>
#include <iterator>
#include <limits>
#include <set>
#include <sstream>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "reports/json/whatif_json.h"
#include "reports/markdown/whatif.h"
#include "reports/text/whatif.h"
#include "tests/support/paths.h"
#include "tests/unit/reports/whatif_results.h"

namespace stepscope::reports {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

json document_of(WhatIfSample const& sample) {
  return json::parse(whatif_json(sample.analysis, sample.stats));
}

std::string markdown_of(WhatIfSample const& sample) {
  return whatif_markdown(sample.run, sample.analysis, sample.stats);
}

TEST(WhatIfJson, HoldsEveryNumber) {
  json const document = document_of(made_whatif());
  EXPECT_EQ(document["schema"], 1);
  EXPECT_THAT(document["headline"].get<std::string>(), HasSubstr("Fix input-bound first"));

  json const& baseline = document["baseline"];
  EXPECT_EQ(baseline["step_ns"], kRecordedStepNs);
  EXPECT_EQ(baseline["error"], 0);
  EXPECT_EQ(baseline["refused"], false);
  EXPECT_EQ(baseline["reason"], nullptr);
  EXPECT_EQ(baseline["spread"], 0.004);
  EXPECT_EQ(baseline["steps"], 64);
  EXPECT_EQ(baseline["part"], false);
  EXPECT_EQ(document["path"]["input"], 4'260'000);
  EXPECT_EQ(document["path"].size(), static_cast<size_t>(analyzer::kPathClassCount));

  json const& fix = document["fixes"][1];
  EXPECT_EQ(fix["finding"], "exposed-communication");
  EXPECT_EQ(fix["severity"], "warning");
  EXPECT_EQ(fix["change"], "class:communication=0");
  EXPECT_EQ(fix["gain_alone"], 0.081);
  EXPECT_EQ(fix["gain_after_above"], 0.052);
  EXPECT_EQ(fix["next"], (json{{"class", "host"}, {"name", "optimizer"}}));

  json const& answer = document["answers"][0];
  EXPECT_EQ(answer["gain"], 0.5);
  EXPECT_LT(answer["low_ns"], answer["step_ns"]);
  EXPECT_LT(answer["step_ns"], answer["high_ns"]);
  EXPECT_EQ(answer["changed"], 1234);
  EXPECT_EQ(answer["path"]["compute"], 12'000'000);
  EXPECT_EQ(answer["cautions"].size(), 1U);
}

TEST(WhatIfJson, ARefusedAnswerHasAReasonAndNoNumbers) {
  json const document = document_of(made_whatif());
  json const& fix = document["fixes"][2];
  EXPECT_EQ(fix["refused"], true);
  EXPECT_EQ(fix["reason"], "a leak costs no time");
  for (char const* const key :
       {"change", "step_ns", "low_ns", "high_ns", "gain_alone", "gain_after_above", "next"})
    EXPECT_EQ(fix[key], nullptr) << key;

  json const& answer = document["answers"][2];
  EXPECT_EQ(answer["change"], "overlap");
  for (char const* const key : {"step_ns", "low_ns", "high_ns", "gain", "changed", "path", "next"})
    EXPECT_EQ(answer[key], nullptr) << key;
}

TEST(WhatIfJson, NumbersThatDoNotExistAreNull) {
  WhatIfSample sample = made_whatif();
  sample.stats.answers[0].gain = std::numeric_limits<double>::infinity();
  sample.stats.answers[0].low_ns = sample.stats.answers[0].high_ns = 0;
  sample.stats.answers[0].next.clear();
  json const answer = document_of(sample)["answers"][0];
  EXPECT_EQ(answer["gain"], nullptr);
  EXPECT_EQ(answer["low_ns"], nullptr);
  EXPECT_EQ(answer["next"]["name"], nullptr);

  json const nothing = json::parse(whatif_json({}, {}));
  EXPECT_EQ(nothing["baseline"]["step_ns"], nullptr);
  EXPECT_EQ(nothing["baseline"]["error"], nullptr);
  EXPECT_EQ(nothing["fixes"], json::array());

  json const refused = document_of(made_refused_whatif());
  EXPECT_EQ(refused["baseline"]["reason"], "44 % of the step is unexplained");
  EXPECT_EQ(refused["baseline"]["residuals"][0], (json{{"name", "graph_launch"},
                                                       {"class", "launch"},
                                                       {"ns_per_step", 8'000'000},
                                                       {"count", 64}}));
}

void collect_whatif_keys(json const& value, std::set<std::string>& keys) {
  if (value.is_object())
    for (auto const& [key, inner] : value.items()) {
      keys.insert(key);
      collect_whatif_keys(inner, keys);
    }
  if (value.is_array())
    for (json const& inner : value) collect_whatif_keys(inner, keys);
}

TEST(WhatIfJson, EveryKeyIsDocumented) {
  std::ifstream file(support::source_path("docs/guide/WHATIF.md"));
  std::string const document{std::istreambuf_iterator<char>(file),
                             std::istreambuf_iterator<char>()};
  ASSERT_FALSE(document.empty());

  std::set<std::string> keys;
  collect_whatif_keys(document_of(made_whatif()), keys);
  collect_whatif_keys(document_of(made_refused_whatif()), keys);
  EXPECT_GT(keys.size(), 30U);
  for (std::string const& key : keys) EXPECT_THAT(document, HasSubstr("`" + key + "`"));
}

TEST(WhatIfJson, HostileNamesAreValid) {
  std::string const text = hostile_whatif_text();
  WhatIfSample const sample = made_hostile_whatif(text);
  std::string const written = whatif_json(sample.analysis, sample.stats);
  ASSERT_TRUE(json::accept(written));
  EXPECT_THAT(written,
              AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\\u001b")), Not(HasSubstr("\\r"))));
}

TEST(WhatIfMarkdown, IsTheTextWithTables) {
  std::string const text = markdown_of(made_whatif());
  EXPECT_THAT(text, testing::StartsWith("## sample\n\n**Fix input-bound first"));
  EXPECT_THAT(text, AllOf(HasSubstr("\nReplay of the unchanged run\\: 19.3 ms recorded"),
                          HasSubstr("| finding | change | step alone |"),
                          HasSubstr("\n|---|---|---:|---:|---:|---:|---|\n| input-bound |"),
                          HasSubstr("- **memory-leak**: a leak costs no time."),
                          HasSubstr("### Changes that were asked for"),
                          HasSubstr("- **overlap**: no prediction: no gradient is known."),
                          HasSubstr("  - caution: kernels that overlap may take longer")));
}

TEST(WhatIfMarkdown, OfARefusedReplayHasNoTableOfFixes) {
  std::string const text = markdown_of(made_refused_whatif());
  EXPECT_THAT(text, AllOf(HasSubstr("**No prediction"), HasSubstr("graph\\_launch"),
                          Not(HasSubstr("### "))));
}

TEST(WhatIfFormats, NameTheFirstFindingWhereNoReplayShowsItsFix) {
  WhatIfSample sample = made_whatif();
  std::string const headline = document_of(sample)["headline"];
  std::swap(sample.analysis.findings[0], sample.analysis.findings[2]);
  sample.stats.fixes[1].finding = 2;
  sample.stats.fixes[2].finding = 0;
  EXPECT_EQ(document_of(sample)["headline"],
            headline +
                " The first finding is memory-leak, and no replay shows its fix: a leak "
                "costs no time.");
}

TEST(WhatIfFormats, SayWhatTheRecordingLacks) {
  std::string const gap = "rank 1 is not in the recording: waits for it stay as recorded";
  WhatIfSample sample = made_whatif();
  sample.stats.baseline.cautions = {gap};
  sample.stats.answers[0].cautions = {gap};

  json const document = document_of(sample);
  EXPECT_EQ(document["baseline"]["cautions"][0], "Caution: " + gap + ".");
  EXPECT_EQ(document["answers"][0]["cautions"], json::array({gap}));
  EXPECT_EQ(document_of(made_whatif())["baseline"]["cautions"].size(), 1U);

  std::string const markdown = markdown_of(sample);
  EXPECT_THAT(markdown, AllOf(HasSubstr("\n- Caution\\: rank 1 is not in the recording"),
                              HasSubstr("  - caution: rank 1 is not in the recording")));
  std::string const text = whatif_text(sample.run, sample.analysis, sample.stats, {false, 200});
  EXPECT_THAT(
      text, AllOf(HasSubstr("\nCaution: " + gap + ".\n"), HasSubstr("\n  caution: " + gap + "\n")));
}

/// The bars of a line that end a cell.
size_t cell_ends(std::string const& line) {
  size_t count = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\') {
      ++i;
      continue;
    }
    count += line[i] == '|' ? 1 : 0;
  }
  return count;
}

TEST(WhatIfMarkdown, HostileNamesStayInTheirCells) {
  std::string const text = markdown_of(made_hostile_whatif(hostile_whatif_text()));
  EXPECT_THAT(
      text, AllOf(Not(HasSubstr("\n::error")), Not(HasSubstr("@everyone")), Not(HasSubstr("www.")),
                  Not(HasSubstr("a](b)")), Not(HasSubstr("\x1b")), Not(HasSubstr("\r"))));
  for (size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at + 1))
    EXPECT_EQ(text.at(at - 1), '\\');

  size_t columns = 0, rows = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    bool const is_row = line.starts_with('|');
    EXPECT_TRUE(!is_row || columns == 0 || cell_ends(line) == columns) << line;
    columns = is_row ? cell_ends(line) : 0;
    rows += is_row ? 1 : 0;
  }
  EXPECT_EQ(rows, 3U + 4U + 5U);
}

}  // namespace
}  // namespace stepscope::reports
