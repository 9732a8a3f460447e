#include "tracer/nccl/chain/handle_pairs.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tracer/nccl/chain/event_rules.h"

namespace stepscope::tracer::nccl {
namespace {

void* pointer(uintptr_t value) { return reinterpret_cast<void*>(value); }

TEST(HandlePairs, AreFoundByTheirNumbers) {
  HandlePairs pairs(4);
  uint64_t const both = pairs.add({7, pointer(0x70)});
  uint64_t const one = pairs.add({0, pointer(0x80)});
  EXPECT_EQ(pairs.find(both).own, 7U);
  EXPECT_EQ(pairs.find(both).other, pointer(0x70));
  EXPECT_EQ(pairs.find(one).own, 0U);
  EXPECT_EQ(pairs.find(one).other, pointer(0x80));
}

TEST(HandlePairs, OfNothingHaveNoNumber) {
  HandlePairs pairs(4);
  EXPECT_EQ(pairs.add({}), 0U);
  for (uint64_t const number : {0ULL, 1ULL, 99ULL, ~0ULL}) {
    EXPECT_EQ(pairs.find(number).own, 0U);
    EXPECT_EQ(pairs.find(number).other, nullptr);
  }
}

TEST(HandlePairs, ThatNewerOnesHaveDisplacedAreNone) {
  HandlePairs pairs(2);
  uint64_t const first = pairs.add({1, nullptr});
  std::vector<uint64_t> newer;
  for (uint64_t i = 2; i < 6; ++i) newer.push_back(pairs.add({i, nullptr}));
  EXPECT_EQ(pairs.find(first).own, 0U);
  for (size_t i = 0; i < newer.size(); ++i) EXPECT_EQ(pairs.find(newer[i]).own, i + 2);
}

TEST(HandlePairs, AreWholeOnEveryThread) {
  // More threads than places and cores: one that loses the processor while it writes is overtaken.
  HandlePairs pairs(1);
  constexpr uint64_t kThreads = 6, kPairs = 300'000;
  auto const add_and_find = [&](uint64_t thread) {
    for (uint64_t i = 1; i <= kPairs; ++i) {
      uint64_t const value = i << 4 | thread;
      HandlePair const found = pairs.find(pairs.add({value, pointer(value)}));
      // Another thread may have displaced it already.
      if (found.own != 0) {
        EXPECT_EQ(pointer(found.own), found.other);
      }
    }
  };

  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < kThreads; ++thread) threads.emplace_back(add_and_find, thread);
  for (std::thread& thread : threads) thread.join();
}

TEST(EventRules, AnEventComesAsParentOfOneThatIsWanted) {
  EXPECT_TRUE(reports_event(kProxyStep, kProxyOp));
  EXPECT_TRUE(reports_event(kProxyStep, kCollective));
  EXPECT_TRUE(reports_event(kProxyStep, kGroup));
  EXPECT_TRUE(reports_event(kCollective, kCollectiveCall));
  EXPECT_TRUE(reports_event(kKernelChannel, kPointToPoint));
  EXPECT_TRUE(reports_event(kCopyEngineBatch, kCopyEngine));

  EXPECT_FALSE(reports_event(kCollective, kPointToPoint));
  EXPECT_FALSE(reports_event(kCollective, kKernelLaunch));
  EXPECT_FALSE(reports_event(kKernelChannel, kProxyOp));
  EXPECT_FALSE(reports_event(kCopyEngine, kCopyEngineSync));
  EXPECT_FALSE(reports_event(0, kGroupCall));
}

}  // namespace
}  // namespace stepscope::tracer::nccl
