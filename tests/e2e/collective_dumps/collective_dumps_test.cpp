// Dumps of a job that hangs, written by Python's own pickle module (made_dumps.py), as a user opens
// them.
#include <cstdlib>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/e2e/main_job/program.h"
#include "tests/support/paths.h"

namespace stepscope::e2e {
namespace {

using nlohmann::json;

class CollectiveDumps : public Program {
 protected:
  void SetUp() override {
    std::string const python = fmt::format("'{}'", STEPSCOPE_PYTHON);
    if (std::system((python + " -c pass").c_str()) != 0) GTEST_SKIP() << "there is no " << python;
    std::string const script = support::source_path("tests/e2e/collective_dumps/made_dumps.py");
    ASSERT_EQ(std::system(fmt::format("{} '{}' '{}'", python, script, path("dumps")).c_str()), 0);
  }
};

TEST_F(CollectiveDumps, TheRankThatAHungJobWaitsForIsNamed) {
  Outcome const outcome = stepscope("analyze dumps --json 2>/dev/null");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  json const analysis = json::parse(outcome.output);

  ASSERT_FALSE(analysis["findings"].empty());
  json const& finding = analysis["findings"][0];
  EXPECT_EQ(finding["rule"], "hung-collective");
  EXPECT_EQ(finding["severity"], "critical");
  EXPECT_EQ(finding["metrics"]["sequence"], 41);
  EXPECT_EQ(finding["metrics"]["waiting_ranks"], 7);
  EXPECT_EQ(finding["subjects"]["missing"], "5");
  EXPECT_EQ(finding["subjects"]["waiting"], "0, 1, 2, 3, 4, 6, 7");
}

TEST_F(CollectiveDumps, TheTextSaysIt) {
  Outcome const outcome = stepscope("analyze dumps");
  EXPECT_NE(outcome.output.find("A collective did not end"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("Rank 5 did not call it."), std::string::npos) << outcome.output;
}

TEST_F(CollectiveDumps, OneDumpSaysWhichCallDidNotComplete) {
  Outcome const outcome = stepscope("analyze dumps/nccl_trace_rank_3");
  EXPECT_NE(outcome.output.find("one call had not completed"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("/job/train.py:34"), std::string::npos) << outcome.output;
}

}  // namespace
}  // namespace stepscope::e2e
