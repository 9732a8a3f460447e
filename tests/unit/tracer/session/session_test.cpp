#include "tracer/core/session.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/unit/tracer/session/session_fixture.h"
#include "trace/file/reader.h"

namespace stepscope::tracer {
namespace {

namespace fs = std::filesystem;

TEST_F(SessionTest, records_every_event_of_many_threads_that_come_and_go) {
  start();
  constexpr int kThreads = 8, kRanges = 20'000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      ThreadRecorder& recorder = *source->attach(1000 + t);
      for (int i = 0; i < kRanges; ++i) {
        recorder.push(named("range"));
        recorder.pop(kDefaultDomain);
        if (i % 1000 == 0) std::this_thread::yield();
      }
      recorder.close({"worker"});
    });
  }
  for (auto& thread : threads) thread.join();

  auto const trace = stop_and_read();
  EXPECT_EQ(trace.event_count() + trace.log().dropped, uint64_t{kThreads} * kRanges);
  EXPECT_EQ(trace.log().dropped, session->report().dropped);
  EXPECT_EQ(trace.tracks().size(), size_t{kThreads});
  EXPECT_FALSE(trace.log().truncated);
  EXPECT_TRUE(trace.tracks()[0].name.starts_with("worker"));
}

TEST_F(SessionTest, describes_the_process) {
  options.rank = 3;
  options.world_size = 8;
  start();
  source->attach(1)->mark(named("here"));

  auto const trace = stop_and_read();
  EXPECT_EQ(trace.info().rank, 3);
  EXPECT_EQ(trace.info().world_size, 8);
  EXPECT_EQ(trace.info().process_id, ::getpid());
  EXPECT_TRUE(trace.info().tool.starts_with("stepscope "));
  EXPECT_GT(trace.info().origin_epoch_ns, 1'600'000'000'000'000'000);
  EXPECT_FALSE(trace.info().facts.empty());
  EXPECT_EQ(fs::path(session->report().path).filename(), "rank-3.stepscope");
}

TEST_F(SessionTest, never_overwrites_a_file) {
  for (int i = 0; i < 3; ++i) {
    start();
    source->attach(1)->mark(named("here"));
    EXPECT_TRUE(session->stop());
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator{}), 3);
}

TEST_F(SessionTest, that_cannot_write_its_folder_says_so_and_records_nothing) {
  options.folder = (folder / "missing").string();
  Session refused(options);
  EXPECT_FALSE(refused.start());
  EXPECT_TRUE(refused.stop());
  EXPECT_NE(refused.report().failure, "");
  EXPECT_TRUE(refused.message().starts_with("stepscope: nothing was recorded: "));
}

TEST_F(SessionTest, ends_by_itself_after_the_last_chosen_step) {
  options.window.steps = StepRange{1, 1};
  start();

  ThreadRecorder& thread = *source->attach(1);
  for (int64_t i = 0; i < 3; ++i) {
    thread.push(step_args(i));
    thread.pop(kAnnotationDomain);
  }

  while (session->window().mode() != CaptureMode::kStopped) std::this_thread::yield();
  thread.push(named("too late"));
  thread.pop(kDefaultDomain);

  auto const trace = stop_and_read();
  ASSERT_EQ(trace.event_count(), 1U);
  EXPECT_EQ(trace.detail<model::StepDetail>(0).index, 1);
}

TEST_F(SessionTest, times_do_not_run_backwards_on_a_thread) {
  start();
  ThreadRecorder& thread = *source->attach(1);
  for (int i = 0; i < 100'000; ++i) {
    thread.push(named("range"));
    thread.pop(kDefaultDomain);
  }

  auto const trace = stop_and_read();
  int64_t before = 0;
  for (uint32_t row = 0; row < trace.event_count(); ++row) {
    ASSERT_GE(trace.start(row), before);
    ASSERT_GE(trace.columns().dur[row], 0);
    before = trace.end(row);
  }
}

/// Looks, when the capture ends, at the descriptors of the thread that asks.
class DescriptorSource : public Source {
 public:
  DescriptorSource(int descriptor, bool& is_private, int& drivers)
      : descriptor_(descriptor), is_private_(is_private), drivers_(drivers) {}
  void driver_starts() override { ++drivers_; }
  void snapshot() override {}
  void drain(TraceStore&, ClockFit const&) override {}
  void finish(TraceStore&, int64_t) override { is_private_ = ::fcntl(descriptor_, F_GETFD) < 0; }
  [[nodiscard]] bool idle() const override { return true; }
  void refresh(TraceStore&) override {}
  [[nodiscard]] uint64_t dropped() const override { return 0; }
  void release() override {}
  void lock_for_fork() override {}
  void unlock_after_fork() override {}

 private:
  int const descriptor_;
  bool& is_private_;
  int& drivers_;
};

class SessionOfAFork : public SessionTest {
 protected:
  SessionOfAFork() { options.forked = true; }
  ~SessionOfAFork() override { ::close(descriptor); }
  Session& start_with_descriptors() {
    session = std::make_unique<Session>(options);
    session->add_source(std::make_unique<DescriptorSource>(descriptor, is_private, drivers));
    EXPECT_TRUE(session->start());
    return *session;
  }

  int const descriptor = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  bool is_private = false;
  int drivers = 0;
};

TEST_F(SessionOfAFork, that_ends_at_once_writes_its_file_in_its_only_thread) {
  // On a busy machine the thread may find that it outlives the fork; so try often.
  constexpr int kTries = 1000;
  int tries = 0;

  for (; tries < kTries && !is_private; ++tries) {
    Session& fork = start_with_descriptors();
    EXPECT_TRUE(fork.stop_without_locks(std::chrono::hours(1)));
    EXPECT_EQ(fork.message(), "");
    auto const trace = file::read_trace_file(fork.report().path);
    ASSERT_TRUE(trace) << trace.error().message;
    EXPECT_FALSE(trace->log().truncated);
  }

  ASSERT_TRUE(is_private);
  EXPECT_NE(::fcntl(descriptor, F_GETFD), -1);
  session->driver_starts();
  EXPECT_EQ(drivers, 0);
}

TEST_F(SessionOfAFork, that_starts_a_driver_stays_in_the_table_of_descriptors_of_the_program) {
  Session& fork = start_with_descriptors();
  fork.driver_starts();
  EXPECT_TRUE(fork.stop());
  EXPECT_FALSE(is_private);
  EXPECT_EQ(drivers, 1);
  EXPECT_TRUE(file::read_trace_file(fork.report().path));
}

TEST_F(SessionOfAFork, that_lives_on_has_a_file_soon_and_loses_nothing) {
  start();
  ThreadRecorder& thread = *source->attach(1);
  thread.mark(named("first"));
  while (fs::is_empty(folder)) std::this_thread::yield();
  thread.mark(named("second"));
  EXPECT_EQ(stop_and_read().event_count(), 2U);
}

TEST_F(SessionOfAFork, that_cannot_write_its_folder_says_so) {
  options.folder = (folder / "missing").string();
  Session& fork = start_with_descriptors();
  EXPECT_TRUE(fork.stop());
  EXPECT_TRUE(fork.message().starts_with("stepscope: nothing was recorded: "));
}

/// Stays in its drain() until it is released.
class StuckSource : public Source {
 public:
  explicit StuckSource(std::atomic<bool>& released) : released_(released) {}
  void snapshot() override {}
  void drain(TraceStore&, ClockFit const&) override { released_.wait(false); }
  void finish(TraceStore&, int64_t) override {}
  [[nodiscard]] bool idle() const override { return true; }
  void refresh(TraceStore&) override {}
  [[nodiscard]] uint64_t dropped() const override { return 0; }
  void release() override {}
  void lock_for_fork() override {}
  void unlock_after_fork() override {}

 private:
  std::atomic<bool>& released_;
};

TEST_F(SessionTest, gives_up_in_time_when_its_writer_is_stuck_with_locks_and_without) {
  std::atomic<bool> released{false};
  Session stuck(options);
  stuck.add_source(std::make_unique<StuckSource>(released));
  ASSERT_TRUE(stuck.start());

  EXPECT_FALSE(stuck.stop(std::chrono::seconds(0)));
  EXPECT_FALSE(stuck.stop_without_locks(std::chrono::seconds(0)));

  released = true;
  released.notify_all();
  EXPECT_TRUE(stuck.stop_without_locks(std::chrono::hours(1)));
  EXPECT_EQ(stuck.message(), "");
}

TEST_F(SessionTest, stopped_without_locks_has_written_everything) {
  start();
  source->attach(1)->mark(named("here"));
  EXPECT_TRUE(session->stop_without_locks(std::chrono::hours(1)));
  auto const trace = file::read_trace_file(session->report().path);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->event_count(), 1U);
  EXPECT_FALSE(trace->log().truncated);
}

TEST_F(SessionTest, has_a_file_that_says_who_records_before_anything_happens) {
  start();
  auto const trace = file::read_trace_file(fs::directory_iterator(folder)->path().string());
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->info().process_id, ::getpid());
}

TEST(LossMessage, is_empty_when_nothing_was_lost_and_names_the_setting_otherwise) {
  SessionReport report;
  report.path = "x";
  EXPECT_EQ(loss_message(report), "");
  report.problem = "CUDA was not recorded";
  EXPECT_EQ(loss_message(report), "stepscope: CUDA was not recorded");
  report.dropped = 5;
  report.dropped_setting = kBufferSetting;
  EXPECT_NE(loss_message(report).find("--buffer-mb"), std::string::npos);
}

}  // namespace
}  // namespace stepscope::tracer
