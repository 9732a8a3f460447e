// A watch over threads that wait for a GPU: a wait that is too long is a fault, a short one or none
// is not. Each fault is reported once.
#include "workloads/backend/cuda/group_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stepscope::workloads::cuda {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// What a watch says, and how often it has looked.
struct Reported {
  std::atomic<int> looks = 0;
  std::atomic<bool> done = false;
  std::vector<std::string> faults;  ///< after `done`, or when the watch is gone

  GroupWatch::Settings settings(std::chrono::milliseconds timeout,
                                std::function<std::optional<std::string>()> look = {}) {
    auto const counted_look = [this, look] {
      ++looks;
      return look ? look() : std::nullopt;
    };
    auto const keep_fault = [this](std::string const& why) {
      faults.push_back(why);
      done = true;
    };

    return {.devices = 2,
            .timeout = timeout,
            .look = counted_look,
            .look_at_nccl = {},
            .on_fault = keep_fault};
  }
};

TEST(GroupWatch, TellsOfAWaitThatIsTooLong) {
  Reported reported;
  GroupWatch watch(reported.settings(std::chrono::milliseconds(1)));
  GroupWatch::Waiting const waiting(&watch, 1);
  while (!reported.done) std::this_thread::yield();
  EXPECT_THAT(reported.faults, ::testing::ElementsAre(
                                   AllOf(HasSubstr("0.001 s"), HasSubstr("--collective-timeout"))));
}

TEST(GroupWatch, SaysNothingWhileNobodyWaitsForLong) {
  Reported reported;
  {
    GroupWatch watch(reported.settings(std::chrono::hours(1)));
    GroupWatch::Waiting const waiting(&watch, 0);
    { GroupWatch::Waiting const over(&watch, 1); }
    while (reported.looks < 3) std::this_thread::yield();
  }
  EXPECT_THAT(reported.faults, ::testing::IsEmpty());

  {
    GroupWatch watch(reported.settings(
        std::chrono::milliseconds(0)));  // any wait is too long, and there is none
    { GroupWatch::Waiting const nobody(nullptr, 1); }
    while (reported.looks < 6) std::this_thread::yield();
  }
  EXPECT_THAT(reported.faults, ::testing::IsEmpty());
}

TEST(GroupWatch, TellsOfWhatElseIsWrongOnceOnly) {
  Reported reported;
  {
    GroupWatch const watch(
        reported.settings(std::chrono::hours(1), [&]() -> std::optional<std::string> {
          if (reported.looks < 2) return std::nullopt;
          return "rank 1 is gone";
        }));
    while (!reported.done) std::this_thread::yield();
  }

  EXPECT_THAT(reported.faults, ::testing::ElementsAre("rank 1 is gone"));
}

/// NCCL's connections break before the other processes know whose end it was.
TEST(GroupWatch, NamesTheProcessRatherThanNcclsBrokenConnection) {
  auto const nccl_is_broken = []() -> std::optional<std::string> { return "NCCL: remote error"; };
  Reported named;
  auto settings = named.settings(std::chrono::hours(1), [&]() -> std::optional<std::string> {
    if (named.looks < 3) return std::nullopt;
    return "rank 1 is gone";
  });
  settings.look_at_nccl = nccl_is_broken;
  settings.time_to_name = std::chrono::hours(1);
  {
    GroupWatch const watch(settings);
    while (!named.done) std::this_thread::yield();
  }
  EXPECT_THAT(named.faults, ::testing::ElementsAre("rank 1 is gone"));

  Reported unnamed;
  settings = unnamed.settings(std::chrono::hours(1));
  settings.look_at_nccl = nccl_is_broken;
  settings.time_to_name = std::chrono::milliseconds(1);
  {
    GroupWatch const watch(settings);
    while (!unnamed.done) std::this_thread::yield();
  }
  EXPECT_THAT(unnamed.faults, ::testing::ElementsAre("NCCL: remote error"));
}

}  // namespace
}  // namespace stepscope::workloads::cuda
