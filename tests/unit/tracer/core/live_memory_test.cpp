#include "tracer/core/rows/live_memory.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tracer/core/rows/track_rows.h"

namespace stepscope::tracer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

model::MemoryDetail call(model::MemoryOp op, uint64_t address, int32_t device = 0) {
  model::MemoryDetail detail;
  detail.op = op;
  detail.address = address;
  detail.device = device;
  return detail;
}
model::MemoryDetail allocates(uint64_t address, int32_t device = 0) {
  return call(model::MemoryOp::kAllocate, address, device);
}
model::MemoryDetail frees(uint64_t address, int32_t device = 0) {
  return call(model::MemoryOp::kFree, address, device);
}

class LiveMemoryTest : public testing::Test {
 protected:
  void add(TrackRows& rows, int64_t start_ns, model::MemoryDetail const& detail) {
    rows.add(model::EventKind::kMemory, start_ns, 1, model::StringId{1}, 0, detail);
  }
  void take(uint32_t track, TrackRows& rows) { memory.add(model::TrackId{track}, rows.take()); }
  /// Addresses and the times of their calls.
  [[nodiscard]] std::map<uint64_t, int64_t> live() const {
    std::map<uint64_t, int64_t> result;
    memory.for_each(
        [&](LiveMemory::Allocation const& one) { result[one.detail.address] = one.start_ns; });
    return result;
  }
  TrackRows first, second;
  LiveMemory memory;
};

TEST_F(LiveMemoryTest, IsWhatWasNotFreed) {
  add(first, 10, allocates(1));
  first.add(model::EventKind::kRange, 11, 1, model::StringId{2}, 0);
  add(first, 12, allocates(2));
  add(first, 13, frees(1));
  add(first, 14, call(model::MemoryOp::kUnknown, 2));
  take(0, first);
  EXPECT_THAT(live(), ElementsAre(Pair(2U, 12)));

  add(first, 20, allocates(1));
  add(first, 21, frees(2, 1));  // of another device
  take(0, first);
  EXPECT_THAT(live(), ElementsAre(Pair(1U, 20), Pair(2U, 12)));
}

TEST_F(LiveMemoryTest, GoesByTimesWhereTracksComeInAnyOrder) {
  add(second, 30, frees(1));
  add(first, 10, allocates(1));
  add(first, 40, allocates(2));
  add(second, 50, frees(2));
  add(second, 60, allocates(2));
  take(1, second);
  take(0, first);
  EXPECT_THAT(live(), ElementsAre(Pair(2U, 60)));
}

TEST_F(LiveMemoryTest, ForgetsWhatWasFreedLongAgo) {
  for (uint64_t address = 0; address < 100; ++address) {
    add(first, static_cast<int64_t>(10 * address), allocates(address));
    add(first, static_cast<int64_t>(10 * address + 1), frees(address));
  }
  take(0, first);
  EXPECT_THAT(live(), IsEmpty());
  EXPECT_EQ(memory.size(), 100U);
  memory.forget_frees_before(500);
  EXPECT_EQ(memory.size(), 50U);
}

}  // namespace
}  // namespace stepscope::tracer
