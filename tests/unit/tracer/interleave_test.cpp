// Turns of threads that annotate steps, with the command at the other end of the socket played by
// the test.
#include "tracer/core/turns/interleave.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tracer/core/sockets/local_socket.h"

namespace stepscope::tracer {
namespace {

class TurnsTest : public ::testing::Test {
 protected:
  TurnsTest() {
    auto listener = listen_local(address_);
    EXPECT_TRUE(listener);
    if (listener) listener_ = std::move(*listener);
  }
  [[nodiscard]] std::string const& address() const { return address_; }
  /// Waits until the process asks; returns the turns that it has had, −1 when it is gone.
  int64_t asked_after() {
    if (socket_.get() < 0) socket_ = accept_local(listener_.get());
    EXPECT_EQ(peer_process(socket_.get()), ::getpid());
    InterleaveMessage message;
    ssize_t const got = ::recv(socket_.get(), &message, sizeof message, 0);
    return got == sizeof message ? message.turn : -1;
  }
  void train(int64_t turn) {
    InterleaveMessage const message{turn};
    EXPECT_EQ(::send(socket_.get(), &message, sizeof message, MSG_NOSIGNAL),
              static_cast<ssize_t>(sizeof message));
  }
  [[nodiscard]] bool has_caller() const {
    pollfd look{listener_.get(), POLLIN, 0};
    return ::poll(&look, 1, 0) > 0;
  }
  void close_command() {
    listener_.close();
    socket_.close();
  }
  /// As the recorder of a thread does before a step. False: turns are over.
  static bool begin_step(Turns& turns, Turns::Member& member) {
    return turns.may_begin(member) || turns.wait(member);
  }

 private:
  std::string const address_ = new_local_address("test");
  FileDescriptor listener_, socket_;
};

TEST_F(TurnsTest, AThreadAsksBeforeTheFirstStepOfEachTurn) {
  Turns turns(address(), 3);

  std::thread program([&] {
    Turns::Member member;
    for (int i = 0; i < 9; ++i) EXPECT_TRUE(begin_step(turns, member));
  });

  for (int64_t turn = 1; turn <= 3; ++turn) {
    EXPECT_EQ(asked_after(), turn - 1);
    EXPECT_EQ(turns.count(), turn - 1) << "it waits for the answer";
    train(turn);
  }

  program.join();
  EXPECT_EQ(turns.count(), 3);
}

/// The other processes of the program have had three turns when this one begins its first step.
TEST_F(TurnsTest, AProcessThatComesLateTakesTheStepsOfAllTurnsSoFar) {
  constexpr int kThreads = 2, kSteps = 2;
  Turns turns(address(), kSteps);
  std::atomic<int> steps = 0, joined = 0;
  std::vector<std::thread> program;

  for (int t = 0; t < kThreads; ++t)
    program.emplace_back([&] {
      Turns::Member member;
      for (int i = 0; i < 4 * kSteps; ++i) {
        EXPECT_TRUE(begin_step(turns, member));
        if (i == 0) ++joined;
        while (joined < kThreads) std::this_thread::yield();
        ++steps;
      }
      turns.leave(member);
    });

  EXPECT_EQ(asked_after(), 0);
  train(3);
  EXPECT_EQ(asked_after(), 3);
  EXPECT_EQ(steps, kThreads * 3 * kSteps) << "also of a thread that joined behind the answer";
  EXPECT_EQ(turns.count(), 3);
  train(4);
  for (std::thread& thread : program) thread.join();
  EXPECT_EQ(steps, kThreads * 4 * kSteps);
}

TEST_F(TurnsTest, AnAnswerThatGivesNoTurnEndsThem) {
  Turns turns(address(), 1);
  std::thread program([&] {
    Turns::Member member;
    EXPECT_FALSE(begin_step(turns, member));
    EXPECT_TRUE(begin_step(turns, member)) << "it goes on without turns";
  });

  EXPECT_EQ(asked_after(), 0);
  train(0);
  program.join();
  EXPECT_EQ(turns.count(), 0);
}

TEST_F(TurnsTest, ATurnIsGivenBackWhenAllThreadsHaveHadTheirSteps) {
  constexpr int kThreads = 3, kTurns = 20, kSteps = 2;
  Turns turns(address(), kSteps);
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
    EXPECT_EQ(asked_after(), turn);
    EXPECT_EQ(steps, turn * kThreads * kSteps)
        << "no thread is in a step when the turn is given back";
    train(turn + 1);
  }

  for (std::thread& thread : program) thread.join();
  EXPECT_EQ(steps, kTurns * kThreads * kSteps);
}

TEST_F(TurnsTest, AThreadThatExitsIsNotWaitedFor) {
  Turns turns(address(), 1);
  Turns::Member gone;
  std::thread first([&] { EXPECT_TRUE(begin_step(turns, gone)); });
  EXPECT_EQ(asked_after(), 0);
  train(1);
  first.join();

  std::thread second([&] {
    Turns::Member member;
    EXPECT_TRUE(begin_step(turns, member));  // of the turn that the first has
    EXPECT_TRUE(begin_step(turns, member));
  });

  turns.leave(gone);
  EXPECT_EQ(asked_after(), 1);
  train(2);
  second.join();
}

TEST_F(TurnsTest, AThreadThatIsCancelledWhileItWaitsTakesItsTurnFirst) {
  Turns turns(address(), 1);
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
  EXPECT_EQ(asked_after(), 0);
  ::pthread_cancel(thread);  // it waits for the answer
  train(1);
  void* result = nullptr;
  ASSERT_EQ(::pthread_join(thread, &result), 0);
  EXPECT_EQ(result, PTHREAD_CANCELED);
  turns.leave(cancelled.member);  // as the recorder of a thread that exits does

  std::thread other([&] {
    Turns::Member member;
    EXPECT_TRUE(begin_step(turns, member));  // of the turn that the first has
    EXPECT_TRUE(begin_step(turns, member));
  });
  EXPECT_EQ(asked_after(), 1);
  train(2);
  other.join();
}

TEST_F(TurnsTest, WhoWaitsGoesOnWhenTheCommandIsGone) {
  Turns turns(address(), 2);
  Turns::Member other;

  std::thread waits_for_its_turn([&] {
    Turns::Member member;
    EXPECT_TRUE(begin_step(turns, member));
    EXPECT_TRUE(begin_step(turns, member));
    EXPECT_FALSE(begin_step(turns, member));
    EXPECT_TRUE(begin_step(turns, member)) << "told once";
  });

  EXPECT_EQ(asked_after(), 0);
  EXPECT_FALSE(turns.may_begin(other));
  train(1);
  EXPECT_EQ(asked_after(), 1);

  close_command();
  waits_for_its_turn.join();
  EXPECT_FALSE(begin_step(turns, other));
  EXPECT_EQ(turns.count(), 1);
}

TEST_F(TurnsTest, AThreadThatWaitsForOthersGoesOnToo) {
  Turns turns(address(), 1);
  Turns::Member in_a_step;
  std::thread first([&] { EXPECT_TRUE(begin_step(turns, in_a_step)); });
  EXPECT_EQ(asked_after(), 0);
  train(1);
  first.join();

  std::thread second([&] {
    Turns::Member member;
    EXPECT_TRUE(begin_step(turns, member));
    EXPECT_FALSE(begin_step(turns, member)) << "the other never comes";
  });

  close_command();
  second.join();
}

TEST_F(TurnsTest, ACommandThatIsGoneGivesNoTurns) {
  Turns turns(address(), 1);
  EXPECT_TRUE(turns.has_thread());
  close_command();
  Turns::Member member;
  EXPECT_FALSE(begin_step(turns, member)) << "turns are over";
  EXPECT_TRUE(begin_step(turns, member));
}

/// Workers that mark no steps, such as forked loaders, are no load to the command.
TEST_F(TurnsTest, TheCommandHearsOfAProcessAtItsFirstStep) {
  Turns turns(address(), 1);
  EXPECT_FALSE(has_caller());
  std::thread program([&] {
    Turns::Member member;
    EXPECT_TRUE(begin_step(turns, member));
  });
  EXPECT_EQ(asked_after(), 0);
  train(1);
  program.join();
}

TEST_F(TurnsTest, TheProgramNeverHasTheDescriptor) {
  auto const descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  Turns turns(address(), 1);
  std::thread program([&] {
    Turns::Member member;
    EXPECT_TRUE(begin_step(turns, member));
  });

  auto const before = descriptors();
  EXPECT_EQ(asked_after(), 0);
  EXPECT_EQ(descriptors(), before + 1) << "the command's end, which is in this process";
  train(1);
  program.join();
}

}  // namespace
}  // namespace stepscope::tracer
