// `stepscope selftest --device cuda` over the doubles: every check of the capture that a GPU
// machine runs.
#include "tests/cuda_doubles/tests/over_doubles.h"

namespace stepscope::cuda_doubles {
namespace {

class CudaSelftestOverDoubles : public OverDoubles {};

TEST_F(CudaSelftestOverDoubles, PassesAndSkipsNothing) {
  auto const outcome = over_doubles("selftest --device cuda --json");
  SKIP_WITHOUT_NAMESPACE(outcome);
  EXPECT_EQ(outcome.code, 0) << outcome.output;

  size_t const begin = outcome.output.find('{');
  ASSERT_NE(begin, std::string::npos) << outcome.output;
  auto const report = nlohmann::json::parse(outcome.output.substr(begin), nullptr, false);
  ASSERT_TRUE(report.is_object()) << outcome.output;
  EXPECT_EQ(report["failed"], 0) << outcome.output;
  EXPECT_EQ(report["skipped"], 0) << outcome.output;
  constexpr int kChecks = 15;  // gradients, training, overhead, ten modes of the probe
  EXPECT_GE(report["checks"].size(), kChecks) << outcome.output;
}

}  // namespace
}  // namespace stepscope::cuda_doubles
