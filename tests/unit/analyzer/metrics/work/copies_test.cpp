// Copies by direction, and copies that block the host.
#include <gtest/gtest.h>

#include "analyzer/analyze.h"
#include "analyzer/metrics/work/copies.h"
#include "analyzer/results/analysis.h"
#include "tests/unit/analyzer/rules/work/work_run.h"

namespace stepscope::analyzer {
namespace {

using model::CopyDetail;
using model::CopyDirection;
using testing_support::WorkRun;

constexpr char const* kPageableIn = "Memcpy HtoD (Pageable -> Device)";
constexpr char const* kPinnedIn = "Memcpy HtoD (Pinned -> Device)";

CopyDetail copy_of(uint64_t bytes, CopyDirection direction, bool pinned = false) {
  return {bytes, direction, -1, static_cast<uint8_t>(pinned ? 1 : 0)};
}

TEST(Copies, AreSummedByDirection) {
  WorkRun run;
  run.copy(0, 1'000, 0, kPinnedIn, copy_of(8'000'000, CopyDirection::kHostToDevice, true));
  run.copy(2'000, 1'000, 0, kPinnedIn,
           copy_of(kSmallCopyBytes - 1, CopyDirection::kHostToDevice, true));
  run.copy(2'500, 1'000, 0, "Memcpy DtoH (Device -> Pinned)",
           copy_of(kSmallCopyBytes, CopyDirection::kDeviceToHost, true), 10);
  run.copy(4'000, 50, 0, "Memcpy DtoD (Device -> Device)",
           copy_of(100, CopyDirection::kDeviceToDevice));

  Analysis const analysis = analyze(run.finish());
  ASSERT_EQ(analysis.copies.size(), 3U);

  CopyStats const& in = analysis.copies[0];
  EXPECT_EQ(in.direction, CopyDirection::kHostToDevice);
  EXPECT_EQ(in.count, 2U);
  EXPECT_EQ(in.bytes, 8'000'000 + kSmallCopyBytes - 1);
  EXPECT_EQ(in.total_ns, 2'000);
  EXPECT_DOUBLE_EQ(*in.gbps, static_cast<double>(in.bytes) / 2'000);
  EXPECT_EQ(in.small_count, 1U);
  EXPECT_EQ(in.both_ways_ns, 500);
  EXPECT_EQ(in.pageable_count, 0U);  // known: all are pinned

  CopyStats const& out = analysis.copies[1];
  EXPECT_EQ(out.direction, CopyDirection::kDeviceToHost);
  EXPECT_EQ(out.small_count, 0U);
  EXPECT_EQ(out.both_ways_ns, 500);

  CopyStats const& inside = analysis.copies[2];
  EXPECT_EQ(inside.direction, CopyDirection::kDeviceToDevice);
  EXPECT_FALSE(inside.pageable_count);  // no host memory
  EXPECT_EQ(inside.both_ways_ns, 0);
}

TEST(Copies, ArePageableOnlyWhereTheRecordingShowsIt) {
  auto const pageable = [](char const* name, bool pinned) {
    WorkRun run;
    run.copy(0, 10, 0, name, copy_of(100, CopyDirection::kHostToDevice, pinned));
    return analyze(run.finish()).copies.at(0).pageable_count;
  };

  EXPECT_EQ(pageable(kPageableIn, false), std::optional<uint64_t>(1));
  EXPECT_EQ(pageable(kPinnedIn, true), std::optional<uint64_t>(0));
  EXPECT_EQ(pageable("copy batch to device", true), std::optional<uint64_t>(0));
  EXPECT_EQ(pageable("MemcpyH2D", false),
            std::nullopt);  // not known to be pinned is not known to be pageable
  EXPECT_EQ(pageable("Memcpy HtoD (Unknown -> Device)", false), std::nullopt);
}

TEST(Copies, BytesOfPageableOnesAreReported) {
  WorkRun run;
  run.copy(0, 10, 0, kPageableIn, copy_of(300, CopyDirection::kHostToDevice));
  run.copy(20, 10, 0, kPinnedIn, copy_of(1'000, CopyDirection::kHostToDevice, true));
  CopyStats const facts = analyze(run.finish()).copies.at(0);
  EXPECT_EQ(facts.pageable_count, 1U);
  EXPECT_EQ(facts.pageable_bytes, 300U);
}

uint64_t blocking_copies(char const* call, int64_t call_dur, CopyDirection direction, bool pinned) {
  WorkRun run;
  run.copy(100, 50, run.launch(90, call_dur, call), "copy", copy_of(100, direction, pinned));
  return analyze(run.finish()).copies.at(0).blocking_count;
}

TEST(Copies, BlockTheHostByTheirCall) {
  EXPECT_EQ(blocking_copies("cudaMemcpy", 5, CopyDirection::kHostToDevice, true), 1U);
  EXPECT_EQ(blocking_copies("cuMemcpyDtoH_v2", 5, CopyDirection::kDeviceToHost, true), 1U);
  EXPECT_EQ(blocking_copies("cudaMemcpy2DAsync", 5, CopyDirection::kHostToDevice, false), 0U);
  EXPECT_EQ(blocking_copies("cudaMemcpy", 5, CopyDirection::kDeviceToDevice, false),
            0U);  // returns at once
}

TEST(Copies, BlockTheHostWhereTheirCallLastsUntilTheyAreDone) {
  EXPECT_EQ(blocking_copies("cudaMemcpyAsync", 60, CopyDirection::kHostToDevice, false), 1U);
  EXPECT_EQ(blocking_copies("cudaMemcpyAsync", 59, CopyDirection::kHostToDevice, false), 0U);
  EXPECT_EQ(blocking_copies("cudaMemcpyAsync", 60, CopyDirection::kHostToDevice, true), 0U);
}

TEST(Copies, UnknownDirectionsAreKept) {
  WorkRun run;
  run.copy(0, 10, 0, "copy", copy_of(0, CopyDirection::kUnknown));
  Analysis const analysis = analyze(run.finish());
  ASSERT_EQ(analysis.copies.size(), 1U);
  EXPECT_EQ(analysis.copies[0].direction, CopyDirection::kUnknown);
  EXPECT_FALSE(analysis.copies[0].gbps);
}

}  // namespace
}  // namespace stepscope::analyzer
