// Traces that PyTorch wrote on real machines: their device times are those of an independent calculation, exactly. They are in no
// repository: without the folder of traces (../shared/traces beside the source tree, or STEPSCOPE_TRACES) this is skipped.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "analyzer/analysis.h"
#include "tests/support/paths.h"
#include "trace/import/open_run.h"

namespace stepscope::import {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

class RealTraces : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(folder() / "golden/device_time.json")) GTEST_SKIP() << "no traces of other tools in " << folder().string();
  }
  static fs::path folder() {
    char const* const named = std::getenv("STEPSCOPE_TRACES");
    return named != nullptr ? fs::path(named) : fs::path(support::source_path("../shared/traces"));
  }
  static model::Run open(std::string const& name) {
    auto run = open_run((folder() / name).string());
    EXPECT_TRUE(run) << run.error().message;
    return run ? std::move(*run) : model::Run();
  }
};

TEST_F(RealTraces, HaveTheDeviceTimesOfAnIndependentCalculation) {
  std::ifstream file(folder() / "golden/device_time.json");
  Json const golden = Json::parse(file);
  int compared = 0;
  for (auto const& [name, devices] : golden.items()) {
    if (!name.starts_with("kineto/")) continue;
    SCOPED_TRACE(name);
    analyzer::Analysis const analysis = analyzer::analyze(open(name));
    EXPECT_EQ(analysis.devices.size(), devices.size());
    for (analyzer::DeviceFacts const& found : analysis.devices) {
      Json const& expected = devices.at(std::to_string(found.ref.device));
      EXPECT_EQ(found.window.length(), expected.at("window_ns"));
      EXPECT_EQ(found.time.busy_ns, expected.at("busy_ns"));
      EXPECT_EQ(found.time.compute_ns, expected.at("compute_ns"));
      EXPECT_EQ(found.time.comm_ns, expected.at("comm_ns"));
      EXPECT_EQ(found.time.copy_ns, expected.at("copy_ns"));
      EXPECT_EQ(found.time.exposed_comm_ns, expected.at("exposed_comm_ns"));
      EXPECT_EQ(found.time.exposed_copy_ns, expected.at("exposed_copy_ns"));
      ++compared;
    }
  }
  EXPECT_GE(compared, 14);
}

TEST_F(RealTraces, ARunOfEightRanksMatchesItsCollectives) {
  model::Run const run = open("kineto/dlrm-8ranks");
  ASSERT_EQ(run.ranks.size(), 8U);
  for (int32_t rank = 0; rank < 8; ++rank) EXPECT_EQ(run.ranks[static_cast<size_t>(rank)].trace.info().rank, rank);
  analyzer::Analysis const analysis = analyzer::analyze(run);
  ASSERT_EQ(analysis.collectives.size(), 8U);
  for (analyzer::CollectiveFacts const& collective : analysis.collectives) EXPECT_EQ(collective.participants.size(), 8U);
}

TEST_F(RealTraces, StepsAndLossesAreAsTheTraceSays) {
  model::Run const run = open("kineto/h100-vit.json.gz");
  ASSERT_EQ(run.ranks.size(), 1U);
  model::Trace const& trace = run.ranks[0].trace;
  EXPECT_THAT(trace.log().notes, ::testing::IsEmpty());
  EXPECT_EQ(trace.log().dropped, 0U);
  EXPECT_EQ(trace.event_count(), 2117U + 1258 + 620 + 334 + 154 + 49 + 2 + 2 + 1 + 1 + 1);
  EXPECT_EQ(trace.info().origin_epoch_ns / 1'000'000'000, 1751410836 + 1414456);
}

}  // namespace
}  // namespace stepscope::import
