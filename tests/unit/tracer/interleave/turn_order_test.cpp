// Which program trains, for programs of one and of several processes.
#include "tracer/interleave/turn_order.h"

#include <map>
#include <vector>

#include <gtest/gtest.h>

namespace stepscope::tracer {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class TurnOrderTest : public ::testing::Test {
 protected:
  /// A process with steps: what it was answered.
  void ask(size_t program, int64_t process) {
    order_.ask(program, process, turns_[process], now_);
    take_answers();
  }
  void leave(int64_t process) {
    turns_.erase(process);
    order_.leave(process, now_);
    take_answers();
  }
  void pass(milliseconds time) { now_ += time; }
  /// The last turn that it was allowed.
  [[nodiscard]] int64_t turn_of(int64_t process) { return turns_[process]; }
  [[nodiscard]] bool is_too_long() const { return order_.kept_too_long(now_).has_value(); }

  TurnOrder order_;
  TurnOrder::Time now_;

 private:
  void take_answers() {
    for (TurnOrder::Answer const& answer : order_.take_answers()) {
      EXPECT_GT(answer.turn, turns_[answer.process]);
      turns_[answer.process] = answer.turn;
    }
  }
  std::map<int64_t, int64_t> turns_;
};

TEST_F(TurnOrderTest, WaitsForBothAndThenGoesABBA) {
  ask(0, 1);
  EXPECT_FALSE(order_.holder());
  EXPECT_EQ(turn_of(1), 0) << "it waits for the other program";
  ask(1, 2);

  std::vector<size_t> holders;
  for (int i = 0; i < 8; ++i) {
    holders.push_back(*order_.holder());
    ask(*order_.holder(), *order_.holder() == 0 ? 1 : 2);
  }
  EXPECT_EQ(holders, (std::vector<size_t>{0, 1, 1, 0, 0, 1, 1, 0}));
  EXPECT_EQ(order_.given(), 9);
}

TEST_F(TurnOrderTest, ATurnEndsWhenAllProcessesHaveHadTheirSteps) {
  for (int64_t const process : {1, 2, 3}) ask(0, process);
  ask(1, 10);
  for (int64_t const process : {1, 2, 3}) EXPECT_EQ(turn_of(process), 1);

  ask(0, 1);
  ask(0, 3);
  EXPECT_EQ(order_.holder(), 0U);
  EXPECT_EQ(turn_of(1), 1) << "it waits for 2, who may need it in its step";
  EXPECT_EQ(order_.missing().processes, 1U);
  EXPECT_EQ(order_.missing().of, 3U);

  ask(0, 2);
  EXPECT_EQ(order_.holder(), 1U);
  EXPECT_EQ(turn_of(10), 1);
}

/// The first may wait for it in a collective of its first step.
TEST_F(TurnOrderTest, AProcessThatJoinsDuringTheTurnOfItsProgramBeginsAtOnce) {
  ask(0, 1);
  ask(1, 10);
  ask(0, 2);
  EXPECT_EQ(turn_of(2), 1);

  ask(0, 1);
  EXPECT_EQ(order_.holder(), 0U) << "the new one has not had its steps";
  ask(0, 2);
  EXPECT_EQ(order_.holder(), 1U);
}

/// Else it would be a turn behind for ever, and the others would wait for it within their steps.
TEST_F(TurnOrderTest, AProcessThatJoinsLateCatchesUp) {
  ask(0, 1);
  ask(1, 10);
  ask(0, 1);
  ask(0, 2);
  EXPECT_EQ(turn_of(2), 0) << "the other program trains";

  ask(1, 10);
  ask(1, 10);
  ask(0, 3);
  EXPECT_EQ(order_.holder(), 0U);
  for (int64_t const process : {1, 2, 3}) EXPECT_EQ(turn_of(process), 2);
}

TEST_F(TurnOrderTest, AProcessThatEndsIsNotWaitedFor) {
  for (int64_t const process : {1, 2}) ask(0, process);
  ask(1, 10);
  ask(0, 1);
  leave(2);  // in its turn
  EXPECT_EQ(order_.holder(), 1U);

  leave(1);  // while the other program trains
  EXPECT_EQ(order_.holder(), 1U);
  EXPECT_FALSE(order_.trains_no_more(now_ + seconds(60))) << "the other one has the turn";
}

TEST_F(TurnOrderTest, AProgramWhoseProcessesHaveEndedGetsItsTurnAndThenTrainsNoMore) {
  ask(0, 1);
  ask(1, 10);
  leave(1);
  EXPECT_FALSE(order_.trains_no_more(now_));
  EXPECT_TRUE(order_.trains_no_more(now_ + seconds(11)));

  ask(0, 2);  // the next program of a script
  EXPECT_EQ(turn_of(2), 1) << "no other process is ahead of it";
  EXPECT_FALSE(order_.trains_no_more(now_ + seconds(11)));
}

TEST_F(TurnOrderTest, AProcessAfterAllOthersBeginsAnew) {
  ask(0, 1);
  ask(1, 10);
  ask(0, 1);
  leave(1);  // while it waits for its turn

  ask(1, 10);
  ask(1, 10);
  EXPECT_EQ(order_.holder(), 0U);
  EXPECT_TRUE(order_.trains_no_more(now_ + seconds(11)));
  ask(0, 2);
  EXPECT_EQ(turn_of(2), 1);
}

TEST_F(TurnOrderTest, ATurnMayNotBeKeptFor30SecondsAnd20TimesTheLongest) {
  ask(0, 1);
  pass(seconds(1000));
  EXPECT_FALSE(is_too_long()) << "a program may load its data for as long as it wants";
  ask(1, 10);
  pass(seconds(30));
  EXPECT_FALSE(is_too_long());
  pass(milliseconds(1));
  EXPECT_TRUE(is_too_long());

  ask(0, 1);
  EXPECT_FALSE(is_too_long());
  pass(seconds(600));
  EXPECT_FALSE(is_too_long()) << "a turn took 30 s before";
  pass(seconds(1));
  EXPECT_TRUE(is_too_long());
}

TEST_F(TurnOrderTest, AProcessThatHangsKeepsTheTurnOfItsProgram) {
  for (int64_t const process : {1, 2}) ask(0, process);
  ask(1, 10);
  ask(0, 1);
  pass(seconds(31));
  EXPECT_TRUE(is_too_long());
  EXPECT_EQ(order_.missing().processes, 1U);
}

/// Every order in which processes ask and end keeps the promise: all processes that train have been
/// allowed the same turns, and only those of one program may go on.
TEST_F(TurnOrderTest, ProcessesOfAProgramAreAlwaysAllowedTheSameTurns) {
  uint64_t random = 1;
  auto const choose = [&](uint64_t most) {
    random = random * 6364136223846793005 + 1442695040888963407;
    return static_cast<int64_t>((random >> 33) % most);
  };
  struct Fake {
    size_t program;
    bool waits;
  };
  std::map<int64_t, Fake> processes;
  int64_t next = 1;

  for (int i = 0; i < 20'000; ++i) {
    if (processes.size() < 8 && choose(20) == 0) {
      size_t const program = static_cast<size_t>(choose(2));
      processes[next] = {program, true};
      ask(program, next++);
    } else if (!processes.empty()) {
      auto const which = std::next(processes.begin(), choose(processes.size()));
      bool const runs = turn_of(which->first) > 0 && order_.holder() == which->second.program;
      if (choose(40) == 0) {
        leave(which->first);
        processes.erase(which);
      } else if (runs) {
        ask(which->second.program, which->first);
      }
    }

    std::array<std::map<int64_t, int>, 2> turns;
    for (auto const& [process, fake] : processes)
      if (turn_of(process) > 0) ++turns[fake.program][turn_of(process)];
    for (auto const& of_program : turns) ASSERT_LE(of_program.size(), 1U) << i;
  }
  EXPECT_GT(order_.given(), 500);
}

}  // namespace
}  // namespace stepscope::tracer
