// The exchange between the host threads of CUDA devices. Each thread sees what all have posted, and
// messages come in order. A member that fails frees the members that wait for it, with its reason.
#include "workloads/backend/cuda/exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace stepscope::workloads::cuda {
namespace {

constexpr uint32_t kMembers = 4;

void on_all(std::function<void(uint32_t)> const& work) {
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < kMembers; ++rank) threads.emplace_back(work, rank);
  for (std::thread& thread : threads) thread.join();
}

TEST(CudaExchange, EverybodySeesWhatAllPostedInTheSameRound) {
  constexpr size_t kRounds = 500;
  Exchange group(kMembers);

  on_all([&](uint32_t rank) {
    for (size_t round = 0; round < kRounds; ++round) {
      auto const all = group.meet(rank, {nullptr, nullptr, round * kMembers + rank, nullptr});
      ASSERT_NE(all, nullptr);
      for (uint32_t member = 0; member < kMembers; ++member)
        ASSERT_EQ((*all)[member].count, round * kMembers + member);
    }
  });
}

TEST(CudaExchange, MessagesOfAPairComeInOrderAndPostingWaitsForNobody) {
  constexpr size_t kMessages = 200;
  Exchange group(kMembers);

  on_all([&](uint32_t rank) {
    uint32_t const next = (rank + 1) % kMembers, previous = (rank + kMembers - 1) % kMembers;
    for (size_t m = 0; m < kMessages; ++m)
      group.post(rank, next, std::make_shared<Message>(Message{nullptr, m, nullptr, nullptr}));

    for (size_t m = 0; m < kMessages; ++m) {
      auto const message = group.take(previous, rank);
      ASSERT_NE(message, nullptr);
      ASSERT_EQ(message->count, m);
    }
  });
}

TEST(CudaExchange, AMessageIsConsumedOnceItsReceiverSaysSo) {
  class Reached final : public EventState {
    [[nodiscard]] int64_t reached_ns() const override { return 7; }
  };
  Exchange group(2);
  auto const message = std::make_shared<Message>();
  EXPECT_EQ(group.consumed(*message), nullptr);
  auto const reached = std::make_shared<Reached>();
  group.consume(*message, reached);
  EXPECT_EQ(group.consumed(*message), reached);
}

TEST(CudaExchange, AMemberThatFailsFreesThoseThatWaitForIt) {
  Exchange group(kMembers);
  on_all([&](uint32_t rank) {
    if (rank == 0) {
      group.break_up("cuda:0: out of luck");
    } else if (rank == 1) {
      EXPECT_EQ(group.take(0, rank), nullptr);
    } else {
      EXPECT_EQ(group.meet(rank, {}), nullptr);
    }
  });

  group.break_up("cuda:1: another device failed");
  EXPECT_EQ(group.why_broken(), "cuda:0: out of luck");
}

}  // namespace
}  // namespace stepscope::workloads::cuda
