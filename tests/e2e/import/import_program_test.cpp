// `stepscope import` as a user runs it: a run that analyzes as the traces that it was made of, and
// a word on everything that is not as it should be.
#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/e2e/main_job/program.h"
#include "tests/support/json_schema.h"
#include "tests/support/paths.h"

namespace stepscope::e2e {
namespace {

using nlohmann::json;

class Import : public Program {
 protected:
  void SetUp() override {
    ASSERT_EQ(stepscope("synth --ranks 3 --events 4000 -o made").code, 0);
    ASSERT_EQ(stepscope("export made --format chrome -o json/").code, 0);
  }
  void expect_refused(std::string const& arguments, std::string const& what) const {
    Outcome const outcome = stepscope("import " + arguments);
    EXPECT_EQ(outcome.code, 2) << arguments << "\n" << outcome.output;
    EXPECT_NE(outcome.output.find("stepscope: "), std::string::npos) << outcome.output;
    EXPECT_NE(outcome.output.find(what), std::string::npos) << arguments << "\n" << outcome.output;
    EXPECT_EQ(outcome.output.find("internal error"), std::string::npos) << outcome.output;
  }
  void expect_output(Outcome const& outcome, std::string const& what) const {
    EXPECT_NE(outcome.output.find(what), std::string::npos) << what << " is not in\n"
                                                            << outcome.output;
  }
  [[nodiscard]] std::set<std::string> files_in(std::string const& name) const {
    std::set<std::string> names;
    if (!std::filesystem::exists(path(name))) return names;
    for (auto const& entry : std::filesystem::directory_iterator(path(name)))
      names.insert(entry.path().filename().string());
    return names;
  }
  [[nodiscard]] json analysis_of(std::string const& run) const {
    Outcome const outcome = stepscope("analyze " + run + " --json 2> /dev/null");
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    json analysis = json::parse(outcome.output);
    analysis.at("run").erase("name");
    return analysis;
  }
  void write(std::string const& name, std::string const& content) const {
    std::ofstream(path(name)) << content;
  }
  static std::string two_digits(int number) {
    return (number < 10 ? "0" : "") + std::to_string(number);
  }
  static std::string trace_of_one_event(std::string const& name, std::string const& members = "") {
    return "{" + members + R"("traceEvents": [{"ph": "X", "name": ")" + name +
           R"(", "pid": 1, "tid": 1, "ts": 5, "dur": 1}]})";
  }
  /// Looks in the run and in the file of the rank alone.
  void expect_rank(int rank, std::string const& event) const {
    std::string const number = std::to_string(rank);
    expect_output(stepscope("query run 'select name from events where rank = " + number + "'"),
                  event);
    expect_output(stepscope("info run/rank-" + number + ".stepscope --json"),
                  "\"rank\": " + number);
  }
};

std::set<std::string> const kThreeRanks = {"rank-0.stepscope", "rank-1.stepscope",
                                           "rank-2.stepscope"};

TEST_F(Import, TheRunAnalyzesAsTheTracesThatItWasMadeOf) {
  Outcome const outcome = stepscope("import json -o run");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_EQ(files_in("run"), kThreeRanks);
  expect_output(outcome, "json/rank-1.json: ");
  expect_output(outcome, " events of rank 1");
  expect_output(outcome, " events of 3 ranks, in run");
  json const difference = json::diff(analysis_of("json"), analysis_of("run"));
  EXPECT_TRUE(difference.empty()) << difference.dump(1).substr(0, 2000);
}

TEST_F(Import, TracesWithoutIndexAnalyzeTheSameProcessByProcess) {
  json const difference = json::diff(analysis_of("json"), analysis_of("json --stream"));
  EXPECT_TRUE(difference.empty()) << difference.dump(1).substr(0, 2000);
}

TEST_F(Import, WhatIsSaidOfAnyTraceIsAsTheSchemaSays) {
  std::ifstream file(support::source_path("docs/reference/analysis.schema.json"));
  json const schema = json::parse(file);
  ASSERT_EQ(stepscope("synth --ranks 2 --steps 1 -o one_step").code, 0);

  std::vector<std::string> traces = {"made", "one_step"};
  for (std::string const folder : {"nsys", "chrome_trace", "xplane", "trace_reader"})
    for (auto const& entry :
         std::filesystem::directory_iterator(support::source_path("tests/fuzz/corpus/" + folder)))
      traces.push_back(entry.path().string());

  size_t read = 0;
  for (std::string const& trace : traces) {
    Outcome const outcome = stepscope("analyze " + trace + " --json 2> /dev/null");
    if (outcome.code != 0) continue;  // damaged on purpose
    ++read;
    EXPECT_THAT(support::schema_faults(schema, json::parse(outcome.output)), testing::IsEmpty())
        << trace;
  }

  EXPECT_GT(read, 15U);
}

TEST_F(Import, FilesInAnyOrderAndFoldersAreTakenTogether) {
  std::filesystem::create_directory(path("two"));
  std::filesystem::rename(path("json/rank-2.json"), path("two/c.json"));
  ASSERT_EQ(stepscope("import two json/rank-1.json json/rank-0.json -o run").code, 0);
  EXPECT_EQ(files_in("run"), kThreeRanks);
  Outcome const info = stepscope("info run/rank-2.stepscope --json");
  expect_output(info, "\"rank\": 2");
}

TEST_F(Import, TwoTracesOfOneRankAreBothKept) {
  std::filesystem::copy(path("json/rank-0.json"), path("again.json"));
  ASSERT_EQ(stepscope("import json/rank-0.json again.json -o run").code, 0);
  EXPECT_EQ(files_in("run"), (std::set<std::string>{"rank-0-2.stepscope", "rank-0.stepscope"}));
}

/// A rank of a capture that began so many hours into the day.
std::string capture_of(int rank, int hour, std::string const& kernel) {
  return R"({"baseTimeNanoseconds": )" +
         std::to_string(1'700'000'000'000'000'000 + hour * 3'600'000'000'000) +
         R"(, "distributedInfo": {"rank": )" + std::to_string(rank) +
         R"(}, "traceEvents": [{"ph": "X", "cat": "kernel", "name": ")" + kernel +
         R"(", "pid": 0, "tid": 7, "ts": 5, "dur": 1, "args": {"device": 0, "stream": 7}}]})";
}

TEST_F(Import, OfTwoCapturesInAFolderTheNewestIsImportedAsItIsOpened) {
  std::filesystem::create_directory(path("both"));
  for (int const rank : {0, 1}) {
    write("both/a" + std::to_string(rank) + ".json", capture_of(rank, 0, "old"));
    write("both/b" + std::to_string(rank) + ".json", capture_of(rank, 1, "new"));
  }
  Outcome const outcome = stepscope("import both -o run");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  expect_output(
      outcome,
      "the folder holds 2 captures that do not overlap in time, the newest is opened; left "
      "out: a0.json, a1.json");
  expect_output(outcome, "2 events of 2 ranks, in run");
  expect_output(stepscope("analyze both"), "the newest is opened; left out: a0.json, a1.json");
  EXPECT_EQ(files_in("run"), (std::set<std::string>{"rank-0.stepscope", "rank-1.stepscope"}));
  EXPECT_EQ(stepscope("query run 'select name from kernels' --format csv 2> /dev/null").output,
            "name\nnew\nnew\n");

  ASSERT_EQ(stepscope("import both --one-run -o all").code, 0);
  EXPECT_EQ(files_in("all").size(), 4U);
  expect_refused("both/a0.json both/b0.json -o none", "do not overlap in time");
  EXPECT_TRUE(files_in("none").empty());
}

TEST_F(Import, WhatWasCutIsSaidAndTheRestKept) {
  std::filesystem::resize_file(path("json/rank-1.json"),
                               std::filesystem::file_size(path("json/rank-1.json")) / 2);
  Outcome const outcome = stepscope("import json -o run");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  expect_output(outcome, "json/rank-1.json:   the file is truncated");
  EXPECT_EQ(files_in("run"), kThreeRanks);
}

TEST_F(Import, WhatCannotBeReadIsMissingAndTheExitStatusSaysSo) {
  write("bad.json", "{\"traceEvents\": 5}");
  Outcome const outcome = stepscope("import bad.json json/rank-0.json -o run");
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  expect_output(outcome, "stepscope: bad.json: ");
  expect_output(outcome, "1 of 2 files could not be read");
  EXPECT_EQ(files_in("run"), (std::set<std::string>{"rank-0.stepscope"}));
}

TEST_F(Import, ADamagedFileOfAFolderIsToldAndTheExitStatusSaysSo) {
  write("json/rank-3.json.gz", "\x1F\x8B\x08");
  Outcome const outcome = stepscope("import json -o run");
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  expect_output(outcome, "json/rank-3.json.gz: the gzip data are cut off");
  expect_output(outcome, "1 of 4 files could not be read");
  EXPECT_EQ(files_in("run"), kThreeRanks);
}

TEST_F(Import, IntactFilesOfOtherKindsAreNoLossWhateverTheirNames) {
  write("json/rank-3.json", "{\"loss\": 1.5}");
  write("json/trace_notes.json", "no trace\n");
  Outcome const outcome = stepscope("import json -o run");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_EQ(outcome.output.find("rank-3"), std::string::npos) << outcome.output;
  EXPECT_EQ(files_in("run"), kThreeRanks);
  expect_refused("json/rank-3.json -o named", "json/rank-3.json");
}

TEST_F(Import, RanksThatAreInOneFileAreTold) {
  ASSERT_EQ(stepscope("export made -o all.json").code, 0);
  Outcome const outcome = stepscope("import all.json -o run");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  expect_output(outcome, "the file holds work of several processes (rank 0");
  expect_output(outcome, "they are read as one");
  EXPECT_EQ(stepscope("import json -o apart").output.find("several processes"), std::string::npos);
}

TEST_F(Import, TracesThatDoNotSayTheirRankKeepTheOrderOfTheFiles) {
  std::filesystem::create_directory(path("twelve"));
  for (int i = 0; i < 12; ++i)
    write("twelve/part_" + two_digits(i) + ".json", trace_of_one_event("work of " + two_digits(i)));

  Outcome const outcome = stepscope("import twelve -o run");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  expect_output(outcome, "twelve/part_09.json: does not say which rank it is; taken as rank 9 ");

  std::set<std::string> names;
  for (int i = 0; i < 12; ++i) names.insert("rank-" + std::to_string(i) + ".stepscope");
  EXPECT_EQ(files_in("run"), names);
  for (int i = 0; i < 12; ++i) expect_rank(i, "work of " + two_digits(i));
}

TEST_F(Import, ATraceThatSaysItsRankKeepsItFromThoseBeforeThatDoNot) {
  std::filesystem::create_directory(path("mixed"));
  write("mixed/a.json", trace_of_one_event("first"));
  write("mixed/b.json", trace_of_one_event("second"));
  write("mixed/c.json",
        trace_of_one_event("said", R"("distributedInfo": {"rank": 1, "world_size": 3}, )"));

  ASSERT_EQ(stepscope("import mixed -o run").code, 0);
  EXPECT_EQ(files_in("run"), kThreeRanks);
  expect_rank(0, "first");
  expect_rank(1, "said");
  expect_rank(2, "second");
}

TEST_F(Import, ASingleTraceWithoutRankIsRankZeroAndNothingIsSaid) {
  write("one.json", trace_of_one_event("only"));
  Outcome const outcome = stepscope("import one.json -o run");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_EQ(outcome.output.find("does not say"), std::string::npos) << outcome.output;
  EXPECT_EQ(files_in("run"), (std::set<std::string>{"rank-0.stepscope"}));
}

TEST_F(Import, WithoutAnyEventNothingIsMade) {
  write("bad.json", "{\"traceEvents\": 5}");
  write("empty.json", "");
  expect_refused("bad.json empty.json -o run", "empty.json");
  expect_refused("nosuch.json -o run", "nosuch.json");
  expect_refused("json", "--output");
  expect_refused("-o run", "FILE");
  EXPECT_FALSE(std::filesystem::exists(path("run")));
}

TEST_F(Import, AnotherRunIsOverwrittenOnlyWithForce) {
  ASSERT_EQ(stepscope("import json/rank-2.json -o run").code, 0);
  expect_refused("json/rank-0.json -o run", "--force");
  EXPECT_EQ(files_in("run"), (std::set<std::string>{"rank-2.stepscope"}));
  ASSERT_EQ(stepscope("import json/rank-0.json -o run --force").code, 0);
  EXPECT_EQ(files_in("run"), (std::set<std::string>{"rank-0.stepscope"}));
}

TEST_F(Import, WhereTheTracesLieNothingIsWritten) {
  expect_refused("json -o json --force", "another folder");
  expect_refused("made/rank-0.stepscope -o made --force", "another folder");
  EXPECT_EQ(files_in("json").size(), 3U);
  EXPECT_TRUE(std::filesystem::exists(path("made/rank-0.stepscope")));
}

TEST_F(Import, AFullDiskLeavesNothing) {
  // The system refuses files beyond this size.
  Outcome const outcome = shell("trap '' XFSZ; ulimit -f 8; " + program() + " import json -o run");
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  EXPECT_FALSE(std::filesystem::exists(path("run")));
}

}  // namespace
}  // namespace stepscope::e2e
