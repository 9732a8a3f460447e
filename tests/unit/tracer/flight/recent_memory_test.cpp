#include "tracer/core/flight/recent_memory.h"

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tracer/core/rows/track_rows.h"

namespace stepscope::tracer {
namespace {

struct Call {
  int64_t start_ns;
  model::MemoryOp op;
  uint64_t address;
};

/// All calls before, one after the other.
std::map<uint64_t, int64_t> replay(std::vector<Call> const& calls, int64_t until_ns) {
  std::map<uint64_t, int64_t> live;
  for (Call const& call : calls) {
    if (call.start_ns >= until_ns) continue;
    if (call.op == model::MemoryOp::kAllocate)
      live[call.address] = call.start_ns;
    else
      live.erase(call.address);
  }
  return live;
}

void add(RecentMemory& memory, Call const& call) {
  TrackRows rows;
  model::MemoryDetail detail;
  detail.op = call.op;
  detail.address = call.address;
  rows.add(model::EventKind::kMemory, call.start_ns, 1, model::StringId{1}, 0, detail);
  memory.add(model::TrackId{0}, rows.take());
}

TEST(RecentMemoryTest, KnowsWhatWasLiveAtAnyMomentThatIsAskedFor) {
  for (uint32_t seed = 0; seed < 15; ++seed) {
    std::mt19937 random(seed);
    auto const below = [&](int n) { return std::uniform_int_distribution(0, n - 1)(random); };

    RecentMemory memory;
    std::vector<Call> calls;
    int64_t forgotten_ns = INT64_MIN;
    for (int64_t now = 0; now < 400; ++now) {
      auto const address = static_cast<uint64_t>(below(10));
      bool const is_live = replay(calls, now).contains(address);
      calls.push_back(
          {now, is_live ? model::MemoryOp::kFree : model::MemoryOp::kAllocate, address});
      add(memory, calls.back());
      if (below(20) == 0) {
        forgotten_ns = std::max<int64_t>(forgotten_ns, now - below(30));
        memory.forget_before(forgotten_ns);
      }

      int64_t const asked = std::max<int64_t>(forgotten_ns, now - below(40));
      std::map<uint64_t, int64_t> live;
      for (LiveMemory::Allocation const& call : memory.live_at(asked))
        live[call.detail.address] = call.start_ns;
      ASSERT_EQ(live, replay(calls, asked)) << "seed " << seed << " at " << now;
    }
  }
}

TEST(RecentMemoryTest, RenamesWhatItHas) {
  RecentMemory memory;
  add(memory, {1, model::MemoryOp::kAllocate, 1});
  memory.forget_before(5);
  add(memory, {6, model::MemoryOp::kAllocate, 2});
  memory.rename([](model::StringId name) { return model::StringId{name.value + 41}; });
  for (LiveMemory::Allocation const& call : memory.live_at(10)) EXPECT_EQ(call.name.value, 42U);
  EXPECT_EQ(memory.live_at(10).size(), 2U);
}

}  // namespace
}  // namespace stepscope::tracer
