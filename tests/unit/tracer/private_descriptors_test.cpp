// A thread's own table of descriptors: neither the program nor the thread sees changes of the
// other's table.
#include "tracer/core/threads/private_descriptors.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/support/sanitized.h"
#include "tracer/core/threads/doorbell.h"
#include "tracer/core/threads/own_thread.h"
#include "tracer/core/threads/short_slices.h"

namespace stepscope::tracer {
namespace {

void on_own_thread(std::function<void()> const& run) {
  auto const thread = OwnThread::start("test", run);
  ASSERT_TRUE(thread) << thread.error().message;
  thread->join();
}

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) != -1; }

std::string path_of_test() {
  return ::testing::TempDir() + "/private_" + std::to_string(::getpid()) + "_" +
         ::testing::UnitTest::GetInstance()->current_test_info()->name();
}

TEST(PrivateDescriptors, AreNoneAtFirstWhileTheProgramKeepsItsOwn) {
  int const of_program = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  on_own_thread([&] {
    ASSERT_TRUE(take_private_descriptors());
    EXPECT_FALSE(is_open(of_program));
    EXPECT_FALSE(is_open(STDERR_FILENO));
  });
  EXPECT_TRUE(is_open(of_program));
  ::close(of_program);
}

TEST(PrivateDescriptors, KeepTheOneThatIsAskedFor) {
  int const before = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  int const kept = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
  int const behind = ::open("/dev/null", O_RDONLY | O_CLOEXEC);

  on_own_thread([&] {
    ASSERT_TRUE(take_private_descriptors(kept));
    EXPECT_TRUE(is_open(kept));
    EXPECT_FALSE(is_open(before));
    EXPECT_FALSE(is_open(behind));
  });

  for (int const fd : {before, kept, behind}) {
    EXPECT_TRUE(is_open(fd));
    ::close(fd);
  }
}

TEST(PrivateDescriptors, WritesGoToTheOwnFileWhicheverFileTheProgramHasUnderThatNumber) {
  std::string const own = path_of_test() + "_own", of_program = path_of_test() + "_program";
  int const file = ::open(of_program.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  Doorbell is_open_there, is_replaced_here;
  int number = -1;
  auto const thread = OwnThread::start("test", [&] {
    ASSERT_TRUE(take_private_descriptors());
    int const low = ::open(own.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    number = ::fcntl(low, F_DUPFD_CLOEXEC, 500);  // which nothing else in the test's program has
    is_open_there.ring();
    is_replaced_here.wait_until_rung(std::chrono::seconds(60));
    EXPECT_EQ(::write(number, "trace", 5), 5);
  });
  ASSERT_TRUE(thread);
  ASSERT_TRUE(is_open_there.wait_until_rung(std::chrono::seconds(60)));
  ::close(number);
  ASSERT_EQ(::dup2(file, number), number);
  is_replaced_here.ring();
  thread->join();

  ::close(number);
  ::close(file);
  EXPECT_EQ(std::filesystem::file_size(of_program), 0U);
  EXPECT_EQ(std::filesystem::file_size(own), 5U);
  std::filesystem::remove(own);
  std::filesystem::remove(of_program);
}

TEST(PrivateDescriptors, AFileOpenedThereHasNoNumberInTheProgram) {
  std::string const path = path_of_test();
  int const next_before = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::close(next_before);

  on_own_thread([&] {
    ASSERT_TRUE(take_private_descriptors());
    ASSERT_GE(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600), 0);
  });

  int const next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(next, next_before);
  ::close(next);
  std::filesystem::remove(path);
}

TEST(OwnThread, BlocksSignalsAndLeavesThoseOfItsStarterAsTheyWere) {
  sigset_t before;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &before);

  on_own_thread([] {
    sigset_t mask;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    for (int const signal : {SIGINT, SIGTERM, SIGUSR1, SIGALRM, SIGXFSZ})
      EXPECT_EQ(sigismember(&mask, signal), 1) << signal;
  });

  sigset_t after;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &after);
  for (int signal = 1; signal < 32; ++signal)
    EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal)) << signal;
}

TEST(OwnThread, IsGoneOnlyAfterItsWork) {
  Doorbell may_end;
  bool has_worked = false;
  auto const thread = OwnThread::start("test", [&] {
    may_end.wait_until_rung(std::chrono::seconds(60));
    has_worked = true;
  });

  ASSERT_TRUE(thread);
  EXPECT_FALSE(thread->wait_until_gone(std::chrono::milliseconds(1)));

  may_end.ring();
  EXPECT_TRUE(thread->wait_until_gone(std::chrono::seconds(60)));
  EXPECT_TRUE(has_worked);
}

TEST(OwnThread, IsGoneForAllWhoWait) {
  Doorbell may_end;
  auto const thread =
      OwnThread::start("test", [&] { may_end.wait_until_rung(std::chrono::seconds(60)); });
  ASSERT_TRUE(thread);
  std::vector<std::thread> waiting;
  for (int i = 0; i < 4; ++i) waiting.emplace_back([&] { thread->join(); });
  may_end.ring();
  for (std::thread& one : waiting) one.join();
}

TEST(OwnThread, HasEndedAlsoWhereASystemCallEndedIt) {
  auto const thread = OwnThread::start("test", [] { ::syscall(SYS_exit, 0); });
  ASSERT_TRUE(thread);
  EXPECT_TRUE(thread->wait_until_gone(std::chrono::seconds(60)));
}

TEST(OwnThread, OfAProcessThatEndsNextIsWaitedForLikeAnyOther) {
  if (support::kSanitized) GTEST_SKIP() << "a sanitizer may refuse threads in a forked process";
  pid_t const child = ::fork();
  if (child == 0) {
    std::atomic<bool> has_worked{false};
    auto const thread = OwnThread::start("test", [&] {
      OwnThread::process_ends_next();
      has_worked = true;
    });
    bool const is_gone = thread && thread->wait_until_gone(std::chrono::seconds(60));
    ::_exit(is_gone && has_worked ? 0 : 1);
  }

  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

/// In ns; 0 where the system reports none (before Linux 6.12).
uint64_t slice_of_this_thread() {
  std::array<uint64_t, 6> attributes{};  // sched_setattr(2): the fourth is the slice
  if (::syscall(SYS_sched_getattr, 0, attributes.data(), sizeof attributes, 0) != 0) return 0;
  return attributes[3];
}

TEST(ShortSlices, AreThoseOfNewThreadsAloneAndTheStarterKeepsItsOwn) {
  uint64_t const before = slice_of_this_thread();
  if (before == 0) GTEST_SKIP() << "needs Linux 6.12, where threads have slices";

  uint64_t first = 0, later = 0;
  on_own_thread([&] {
    first = slice_of_this_thread();
    take_usual_slices();
    later = slice_of_this_thread();
  });

  EXPECT_LT(first, before);
  EXPECT_EQ(later, before);
  EXPECT_EQ(slice_of_this_thread(), before);
}

TEST(OwnThread, AnExceptionEndsTheThreadAndNotTheProgram) {
  on_own_thread([] { throw std::bad_alloc(); });
}

TEST(Doorbell, LetsThroughWhoComesAfterItRangAndNobodyBefore) {
  Doorbell bell;
  EXPECT_FALSE(bell.wait_for(std::chrono::milliseconds(1)));
  EXPECT_FALSE(bell.wait_until_rung(std::chrono::milliseconds(1)));
  auto const thread = OwnThread::start("test", [&] { bell.ring(); });
  ASSERT_TRUE(thread);
  EXPECT_TRUE(bell.wait_until_rung(std::chrono::seconds(60)));
  EXPECT_TRUE(bell.wait_for(std::chrono::nanoseconds(0)));
  thread->join();
}

}  // namespace
}  // namespace stepscope::tracer
