// Turns of threads that annotate steps, with the command at the other end of the socket played by
// the test.
#include "tracer/core/interleave.h"

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace stepscope::tracer {
namespace {

class TurnsTest : public ::testing::Test {
 protected:
  TurnsTest() {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends_.data()), 0);
  }
  ~TurnsTest() override {
    close_program();
    close_command();
  }
  [[nodiscard]] ProgramSocket of_program() const {
    struct stat status {};
    EXPECT_EQ(::fstat(ends_[0], &status), 0);
    return {ends_[0], status.st_ino};
  }
  /// Waits until the program asks.
  int64_t asked_by() {
    InterleaveMessage message;
    return ::recv(ends_[1], &message, sizeof message, 0) == sizeof message ? message.process_id : 0;
  }
  void train() {
    InterleaveMessage const message;
    EXPECT_EQ(::send(ends_[1], &message, sizeof message, MSG_NOSIGNAL),
              static_cast<ssize_t>(sizeof message));
  }
  [[nodiscard]] int of_command() const { return ends_[1]; }
  void close_program() {
    if (ends_[0] >= 0) ::close(ends_[0]);
    ends_[0] = -1;
  }
  void close_command() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }
  /// As the recorder of a thread does before a step. False: turns are over.
  static bool begin_step(Turns& turns, Turns::Member& member) {
    return turns.may_begin(member) || turns.wait(member);
  }

 private:
  std::array<int, 2> ends_{};
};

TEST_F(TurnsTest, AThreadAsksBeforeTheFirstStepOfEachTurn) {
  Turns turns(of_program(), 3);

  std::thread program([&] {
    Turns::Member member;
    for (int i = 0; i < 9; ++i) EXPECT_TRUE(begin_step(turns, member));
  });

  for (uint64_t turn = 1; turn <= 3; ++turn) {
    EXPECT_EQ(asked_by(), ::getpid());
    EXPECT_EQ(turns.count(), turn - 1) << "it waits for the answer";
    train();
  }

  program.join();
  EXPECT_EQ(turns.count(), 3U);
}

TEST_F(TurnsTest, ATurnIsGivenBackWhenAllThreadsHaveHadTheirSteps) {
  constexpr int kThreads = 3, kTurns = 20, kSteps = 2;
  Turns turns(of_program(), kSteps);
  std::atomic<int> steps = 0, joined = 0;
  std::vector<std::thread> program;

  for (int t = 0; t < kThreads; ++t)
    program.emplace_back([&] {
      Turns::Member member;
      // All have to be known before the first step ends, as in a job whose steps need each other.
      for (int i = 0; i < kTurns * kSteps; ++i) {
        EXPECT_TRUE(begin_step(turns, member));
        if (i == 0) {
          ++joined;
          while (joined < kThreads) std::this_thread::yield();
        }
        ++steps;
      }
      turns.leave(member);
    });

  for (int turn = 0; turn < kTurns; ++turn) {
    EXPECT_NE(asked_by(), 0);
    EXPECT_EQ(steps, turn * kThreads * kSteps)
        << "no thread is in a step when the turn is given back";
    train();
  }

  for (std::thread& thread : program) thread.join();
  EXPECT_EQ(steps, kTurns * kThreads * kSteps);
}

TEST_F(TurnsTest, AThreadThatExitsIsNotWaitedFor) {
  Turns turns(of_program(), 1);
  Turns::Member gone;
  std::thread first([&] { EXPECT_TRUE(begin_step(turns, gone)); });
  EXPECT_NE(asked_by(), 0);
  train();
  first.join();

  std::thread second([&] {
    Turns::Member member;
    EXPECT_TRUE(begin_step(turns, member));  // of the turn that the first has
    EXPECT_TRUE(begin_step(turns, member));
  });

  turns.leave(gone);
  EXPECT_NE(asked_by(), 0);
  train();
  second.join();
}

TEST_F(TurnsTest, AThreadThatIsCancelledWhileItWaitsTakesItsTurnFirst) {
  Turns turns(of_program(), 1);
  struct Cancelled {
    Turns& turns;
    Turns::Member member;
  } cancelled{turns, {}};
  pthread_t thread{};
  auto const wait = [](void* argument) -> void* {
    auto& self = *static_cast<Cancelled*>(argument);
    EXPECT_TRUE(begin_step(self.turns, self.member));
    for (;;) ::pthread_testcancel();
  };
  ASSERT_EQ(::pthread_create(&thread, nullptr, wait, &cancelled), 0);
  EXPECT_NE(asked_by(), 0);
  ::pthread_cancel(thread);  // it waits for the answer
  train();
  void* result = nullptr;
  ASSERT_EQ(::pthread_join(thread, &result), 0);
  EXPECT_EQ(result, PTHREAD_CANCELED);
  turns.leave(cancelled.member);  // as the recorder of a thread that exits does

  std::thread other([&] {
    Turns::Member member;
    EXPECT_TRUE(begin_step(turns, member));  // of the turn that the first has
    EXPECT_TRUE(begin_step(turns, member));
  });
  EXPECT_NE(asked_by(), 0);
  train();
  other.join();
}

TEST_F(TurnsTest, WhoWaitsGoesOnWhenTheCommandIsGone) {
  Turns turns(of_program(), 2);
  Turns::Member other;

  std::thread waits_for_its_turn([&] {
    Turns::Member member;
    EXPECT_TRUE(begin_step(turns, member));
    EXPECT_TRUE(begin_step(turns, member));
    EXPECT_FALSE(begin_step(turns, member));
    EXPECT_TRUE(begin_step(turns, member)) << "told once";
  });

  EXPECT_NE(asked_by(), 0);
  EXPECT_FALSE(turns.may_begin(other));
  train();
  EXPECT_NE(asked_by(), 0);

  close_command();
  waits_for_its_turn.join();
  EXPECT_FALSE(begin_step(turns, other));
  EXPECT_EQ(turns.count(), 1U);
}

TEST_F(TurnsTest, AThreadThatWaitsForOthersGoesOnToo) {
  Turns turns(of_program(), 1);
  Turns::Member in_a_step;
  std::thread first([&] { EXPECT_TRUE(begin_step(turns, in_a_step)); });
  EXPECT_NE(asked_by(), 0);
  train();
  first.join();

  std::thread second([&] {
    Turns::Member member;
    EXPECT_TRUE(begin_step(turns, member));
    EXPECT_FALSE(begin_step(turns, member)) << "the other never comes";
  });

  close_command();
  second.join();
}

TEST_F(TurnsTest, AnotherSocketOfTheSameNumberGetsNothing) {
  ProgramSocket socket = of_program();
  ++socket.inode;
  Turns turns(socket, 1);
  EXPECT_FALSE(turns.has_thread());
  Turns::Member member;
  EXPECT_FALSE(begin_step(turns, member)) << "turns are over";
  InterleaveMessage message;
  EXPECT_EQ(::recv(of_command(), &message, sizeof message, MSG_DONTWAIT), -1);
}

TEST_F(TurnsTest, GoOnWhenTheProgramHasClosedItsDescriptor) {
  Turns turns(of_program(), 1);
  close_program();
  std::thread program([&] {
    Turns::Member member;
    EXPECT_TRUE(begin_step(turns, member));
  });
  EXPECT_EQ(asked_by(), ::getpid());
  train();
  program.join();
}

}  // namespace
}  // namespace stepscope::tracer
