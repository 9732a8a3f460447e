// Traces that PyTorch wrote on real machines, written as Chrome trace events and read again: every
// fact is the same. They are in no repository: the test is skipped without the folder of traces
// (../shared/traces next to the source tree, or STEPSCOPE_TRACES).
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "analyzer/analyze.h"
#include "analyzer/results/analysis.h"
#include "tests/support/paths.h"
#include "tests/unit/trace/export/synthetic_traces.h"
#include "tests/unit/workloads/temporary_folder.h"
#include "trace/import/open/open_run.h"

namespace stepscope::exporting {
namespace {

TEST(RealTracesExport, OpenAgainWithTheSameFacts) {
  char const* const named = std::getenv("STEPSCOPE_TRACES");
  std::string const folder = named != nullptr ? named : support::source_path("../shared/traces");
  if (!std::filesystem::exists(folder + "/kineto/dlrm-8ranks"))
    GTEST_SKIP() << "no traces of other tools in " << folder;
  for (char const* const name : {"dlrm-8ranks", "a100-ddp-rank0of2.json.gz", "h100-vit.json.gz",
                                 "resnet50-workers0.json.gz"}) {
    SCOPED_TRACE(name);
    auto run = import::open_run(folder + "/kineto/" + name);
    ASSERT_TRUE(run) << run.error().message;
    analyzer::Analysis const before = analyzer::analyze(*run);

    std::vector<model::Trace> traces;
    std::vector<int64_t> offsets;
    for (model::RankTrace& rank : run->ranks) {
      traces.push_back(std::move(rank.trace));
      offsets.push_back(rank.offset_ns);
    }

    workloads::testing::TemporaryFolder const target;
    testing::write(testing::format_named("chrome"), target.path(), traces, offsets);
    auto const again = import::open_run(target.path());
    ASSERT_TRUE(again) << again.error().message;
    analyzer::Analysis const after = analyzer::analyze(*again);

    ASSERT_EQ(before.devices.size(), after.devices.size());
    for (size_t i = 0; i < before.devices.size(); ++i) {
      EXPECT_EQ(before.devices[i].time.window_ns, after.devices[i].time.window_ns);
      EXPECT_EQ(before.devices[i].time.compute_ns, after.devices[i].time.compute_ns);
      EXPECT_EQ(before.devices[i].time.exposed_comm_ns, after.devices[i].time.exposed_comm_ns);
      EXPECT_EQ(before.devices[i].time.exposed_copy_ns, after.devices[i].time.exposed_copy_ns);
      EXPECT_EQ(before.devices[i].time.idle_by_cause, after.devices[i].time.idle_by_cause);
      EXPECT_EQ(before.devices[i].kernels, after.devices[i].kernels);
      EXPECT_EQ(before.devices[i].launches, after.devices[i].launches);
    }

    EXPECT_EQ(before.steps.size(), after.steps.size());
    ASSERT_EQ(before.collectives.size(), after.collectives.size());
    for (size_t i = 0; i < before.collectives.size(); ++i)
      EXPECT_EQ(before.collectives[i].participants.size(),
                after.collectives[i].participants.size());
  }
}

}  // namespace
}  // namespace stepscope::exporting
