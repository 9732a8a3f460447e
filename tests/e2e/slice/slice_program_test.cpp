// `stepscope slice` as a user runs it: the part analyzes as it does in the whole, nothing private is left, wrong use is said.
#include <fstream>

#include <nlohmann/json.hpp>

#include "tests/e2e/main_job/program.h"
#include "trace/import/open_run.h"

namespace stepscope::e2e {
namespace {

using nlohmann::json;

class Slice : public Program {
 protected:
  void SetUp() override { ASSERT_EQ(stepscope("synth --ranks 2 --events 12000 -o run").code, 0); }

  /// The steps of `analyze`, with what must not depend on what else the run holds.
  [[nodiscard]] json steps_of(std::string const& run, std::string const& steps) const {
    Outcome const outcome = stepscope("analyze " + run + " --json --steps " + steps);
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    json const analysis = json::parse(outcome.output);
    json result = json::array();
    for (json const& step : analysis.at("steps")) {
      json& kept = result.emplace_back();
      for (char const* const key :
           {"rank", "step", "begin_ns", "dur_ns", "compute_ns", "exposed_comm_ns", "exposed_copy_ns", "idle_ns"})
        kept[key] = step.at(key);
    }
    return result;
  }
  void expect_refused(std::string const& arguments, std::string const& what) const {
    Outcome const outcome = stepscope("slice " + arguments);
    EXPECT_EQ(outcome.code, 2) << arguments << "\n" << outcome.output;
    EXPECT_NE(outcome.output.find("stepscope: "), std::string::npos) << outcome.output;
    EXPECT_NE(outcome.output.find(what), std::string::npos) << arguments << "\n" << outcome.output;
    EXPECT_EQ(outcome.output.find("internal error"), std::string::npos) << outcome.output;
  }
  [[nodiscard]] uint64_t events_of(std::string const& run) const {
    auto const opened = import::open_run(path(run));
    EXPECT_TRUE(opened);
    uint64_t events = 0;
    for (model::RankTrace const& rank : opened->ranks) events += rank.trace.event_count();
    return events;
  }
};

TEST_F(Slice, OfStepsAnalyzesAsTheseStepsInTheWholeRun) {
  ASSERT_EQ(stepscope("slice run --steps 3:5 -o part").code, 0);
  EXPECT_LT(events_of("part"), events_of("run") / 2);
  json const whole = steps_of("run", "3:5");
  EXPECT_EQ(whole.size(), 6U);
  EXPECT_EQ(steps_of("part", "3:5"), whole);
}

TEST_F(Slice, AnonymousOneAnalyzesTheSameAndHoldsNoName) {
  ASSERT_EQ(stepscope("slice run --steps 3:5 --anonymize -o part").code, 0);
  EXPECT_EQ(steps_of("part", "3:5"), steps_of("run", "3:5"));
  std::string const info = stepscope("info part --json").output;
  std::string const analysis = stepscope("analyze part --json").output;
  for (char const* const name :
       {"node-0", "train --pattern", "seed", "made device", "gemm", "aten::", "cudaLaunch", "layer1", "loader"}) {
    EXPECT_EQ(info.find(name), std::string::npos) << name;
    EXPECT_EQ(analysis.find(name), std::string::npos) << name;
    for (char const* const rank : {"part/rank-0.stepscope", "part/rank-1.stepscope"}) {
      std::ifstream file(path(rank), std::ios::binary);
      std::string const bytes{std::istreambuf_iterator<char>(file), {}};
      ASSERT_FALSE(bytes.empty());
      EXPECT_EQ(bytes.find(name), std::string::npos) << name;
    }
  }
  EXPECT_NE(analysis.find("kernel-1 (compute)"), std::string::npos);
}

TEST_F(Slice, OfTimeAndRankKeepsTheseOnly) {
  ASSERT_EQ(stepscope("slice run --time 0.05:0.08 --rank 1 -o part").code, 0);
  auto const part = import::open_run(path("part"));
  ASSERT_TRUE(part);
  ASSERT_EQ(part->ranks.size(), 1U);
  EXPECT_EQ(part->ranks[0].trace.info().rank, 1);
  EXPECT_LT(events_of("part"), events_of("run") / 4);
  EXPECT_EQ(stepscope("analyze part").code, 0);
}

TEST_F(Slice, WhatIsNotThereIsSaidWithWhatIs) {
  expect_refused("run --steps 900:901 -o part", "steps 0 to 14");
  expect_refused("run --steps 5:3 -o part", "5:3");
  expect_refused("run --time 3:2 -o part", "3:2");
  expect_refused("run --time a:b -o part", "a:b");
  expect_refused("run --time 100:200 -o part", "behind the run's end");
  expect_refused("run --rank 7 -o part", "2 ranks from 0 to 1");
  expect_refused("run --rank -3 -o part", "--rank");
  expect_refused("run --steps 1:2 --time 1:2 -o part", "--time");
  expect_refused("run -o part", "--steps");
  expect_refused("run --steps 1:2", "--output");
  expect_refused("nosuch --steps 1:2 -o part", "nosuch");
  EXPECT_FALSE(std::filesystem::exists(path("part")));
}

TEST_F(Slice, TheRunItselfIsNeverTheOutput) {
  expect_refused("run --steps 1:2 -o run --force", "another folder");
  expect_refused("run/rank-0.stepscope --steps 1:2 -o run --force", "another folder");
  EXPECT_TRUE(std::filesystem::exists(path("run/rank-0.stepscope")));
}

TEST_F(Slice, AnotherRunIsOverwrittenOnlyWithForce) {
  ASSERT_EQ(stepscope("slice run --steps 1:2 -o part").code, 0);
  expect_refused("run --rank 0 -o part", "--force");
  ASSERT_EQ(stepscope("slice run --rank 0 -o part --force").code, 0);
  EXPECT_FALSE(std::filesystem::exists(path("part/rank-1.stepscope")));
}

}  // namespace
}  // namespace stepscope::e2e
