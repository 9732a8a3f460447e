#include "tracer/core/session.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/unit/tracer/pipeline.h"
#include "trace/base/files/run_folder.h"
#include "trace/file/reader.h"
#include "tracer/api/annotate.h"

namespace stepscope::tracer {
namespace {

namespace fs = std::filesystem;

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() {
    folder = fs::path(::testing::TempDir()) /
             ("session_" + std::to_string(::getpid()) + "_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder);
    fs::create_directories(folder);
    options.folder = folder.string();
  }
  ~SessionTest() override { fs::remove_all(folder); }

  /// A started session with the NVTX source.
  Session& start() {
    session = std::make_unique<Session>(options);
    auto nvtx = std::make_unique<NvtxSource>(session->window(), session->tick_source(), registry,
                                             options.buffer_bytes);
    source = nvtx.get();
    session->add_source(std::move(nvtx));
    EXPECT_TRUE(session->start());
    return *session;
  }
  model::Trace stop_and_read() {
    EXPECT_TRUE(session->stop());
    EXPECT_EQ(session->report().failure, "");
    auto trace = file::read_trace_file(session->report().path);
    if (!trace) throw std::runtime_error(trace.error().message);
    return std::move(*trace);
  }

  fs::path folder;
  CaptureOptions options;
  Registry registry;
  std::unique_ptr<Session> session;
  NvtxSource* source = nullptr;
};

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

class SessionOfWindows : public SessionTest {
 protected:
  SessionOfWindows() {
    options.window.steps = StepRange{1, 2};
    options.window.later_steps = {{5, 6}, {8, 8}};
  }
  void begin() {
    start();
    register_device_schemas(registry);
    thread = source->attach(1);
  }
  void allocate(uint64_t address, api::MemoryOp op = api::MemoryOp::kAllocate) const {
    thread->push(named("allocate", kDeviceDomain));
    api::MemoryPayload const memory = {address, 64, 0, 0, 0, op, api::MemoryPurpose::kWeights};
    PayloadView const view = payload(api::DeviceSchema::kMemory, memory);
    thread->pop(kDeviceDomain, {&view, 1});
  }
  void step(int64_t index) const {
    thread->push(step_args(index));
    thread->push(named("forward"));
    thread->pop(kDefaultDomain);
    thread->pop(kAnnotationDomain);
  }
  /// As a program whose steps are longer than the file of a window takes to write.
  void wait_for_window(int64_t first_step) const {
    while (session->window().steps().first != first_step ||
           session->window().mode() != CaptureMode::kBaseline)
      std::this_thread::yield();
  }
  void wait_for_end() const {
    while (session->window().mode() != CaptureMode::kStopped) std::this_thread::yield();
  }
  [[nodiscard]] model::Trace read(std::string const& window) const {
    std::string path;
    size_t files = 0;
    for (auto const& entry : fs::directory_iterator(folder / window)) {
      path = entry.path().string();
      ++files;
    }
    EXPECT_EQ(files, 1U);
    auto trace = file::read_trace_file(path);
    if (!trace) throw std::runtime_error(trace.error().message);
    EXPECT_FALSE(trace->log().truncated);
    EXPECT_EQ(trace->log().unknown_events, 0U);
    return std::move(*trace);
  }
  [[nodiscard]] static std::vector<int64_t> steps_of(model::Trace const& trace) {
    std::vector<int64_t> steps;
    for (uint32_t row = 0; row < trace.event_count(); ++row)
      if (trace.kind(row) == model::EventKind::kStep)
        steps.push_back(trace.detail<model::StepDetail>(row).index);
    return steps;
  }
  [[nodiscard]] static std::map<std::string, int> names_of(model::Trace const& trace) {
    std::map<std::string, int> names;
    for (uint32_t row = 0; row < trace.event_count(); ++row) ++names[std::string(trace.name(row))];
    return names;
  }
  /// By the calls in their order; each free has its allocation.
  [[nodiscard]] static std::set<uint64_t> live_at_the_end_of(model::Trace const& trace) {
    std::set<uint64_t> live;
    for (uint32_t row = 0; row < trace.event_count(); ++row) {
      if (trace.kind(row) != model::EventKind::kMemory) continue;
      auto const& call = trace.detail<model::MemoryDetail>(row);
      if (call.op == model::MemoryOp::kAllocate)
        live.insert(call.address);
      else
        EXPECT_EQ(live.erase(call.address), 1U) << call.address;
    }
    return live;
  }

  ThreadRecorder* thread = nullptr;
};

TEST_F(SessionOfWindows, has_a_whole_file_for_each) {
  begin();
  for (int64_t i = 0; i < 3; ++i) step(i);
  wait_for_window(5);
  for (int64_t i = 3; i < 7; ++i) step(i);
  wait_for_window(8);
  for (int64_t i = 7; i < 9; ++i) step(i);
  wait_for_end();
  EXPECT_TRUE(session->stop());
  EXPECT_EQ(session->message(), "");
  EXPECT_EQ(session->report().events, 10U);

  EXPECT_EQ(base::windows_in(folder.string()).size(), 3U);
  EXPECT_EQ(steps_of(read("steps-1-2")), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(steps_of(read("steps-5-6")), (std::vector<int64_t>{5, 6}));
  model::Trace const last = read("steps-8-8");
  EXPECT_EQ(steps_of(last), (std::vector<int64_t>{8}));
  EXPECT_EQ(names_of(last), (std::map<std::string, int>{{"step", 1}, {"forward", 1}}));

  auto const& facts = last.info().facts;
  EXPECT_EQ(std::count(facts.begin(), facts.end(),
                       std::pair<std::string, std::string>("recorded steps", "8:8")),
            1);
  EXPECT_EQ(std::count_if(facts.begin(), facts.end(),
                          [](auto const& fact) { return fact.first == "recorded steps"; }),
            1);
}

TEST_F(SessionOfWindows, begins_each_with_what_is_allocated) {
  begin();
  allocate(1);
  allocate(2);
  step(0);
  step(1);
  allocate(3);
  allocate(2, api::MemoryOp::kFree);
  step(2);
  wait_for_window(5);

  allocate(4);
  allocate(1, api::MemoryOp::kFree);
  step(5);
  step(6);
  wait_for_window(8);
  EXPECT_TRUE(session->stop());

  // What is freed while a window opens may be in its file, with where it was allocated.
  EXPECT_EQ(live_at_the_end_of(read("steps-1-2")), (std::set<uint64_t>{1, 3}));
  EXPECT_EQ(live_at_the_end_of(read("steps-5-6")), (std::set<uint64_t>{3, 4}));
}

TEST_F(SessionOfWindows, ends_ranges_with_the_window_that_they_began_in) {
  begin();
  step(0);
  thread->push(step_args(1));
  thread->push(named("across"));
  EventArgs category = named("weights", kAnnotationDomain);
  category.category = static_cast<uint32_t>(api::AnnotationCategory::kMemory);
  thread->push(category);
  thread->pop(kAnnotationDomain);
  thread->pop(kAnnotationDomain);
  step(2);
  wait_for_window(5);

  step(5);
  thread->push(named("inside"));
  thread->pop(kDefaultDomain);
  thread->pop(kDefaultDomain);  // of the range that the first file ended
  step(6);
  wait_for_window(8);
  EXPECT_TRUE(session->stop());

  EXPECT_EQ(names_of(read("steps-1-2"))["across"], 1);
  auto second = names_of(read("steps-5-6"));
  EXPECT_EQ(second["across"], 0);
  EXPECT_EQ(second["step"], 2);
}

TEST_F(SessionOfWindows, goes_on_where_steps_jump) {
  begin();
  step(7);  // of a program that goes on from a checkpoint
  wait_for_window(8);
  step(8);
  wait_for_end();
  EXPECT_TRUE(session->stop());
  EXPECT_EQ(base::windows_in(folder.string()).size(), 1U);
  EXPECT_EQ(steps_of(read("steps-8-8")), (std::vector<int64_t>{8}));
}

TEST_F(SessionOfWindows, that_ends_in_the_midst_of_one_has_it_as_far_as_it_came) {
  begin();
  step(0);
  step(1);
  EXPECT_TRUE(session->stop());
  EXPECT_EQ(base::windows_in(folder.string()).size(), 1U);
  EXPECT_EQ(steps_of(read("steps-1-2")), (std::vector<int64_t>{1}));
}

TEST_F(SessionOfWindows, that_ends_before_the_first_shows_that_it_was_recorded) {
  begin();
  step(0);
  model::Trace const trace = stop_and_read();
  EXPECT_EQ(fs::path(session->report().path).parent_path(), folder);
  EXPECT_TRUE(base::windows_in(folder.string()).empty());
  auto const& facts = trace.info().facts;
  EXPECT_TRUE(std::any_of(facts.begin(), facts.end(),
                          [](auto const& fact) { return fact.first == kNeverBeganFact; }));
}

TEST_F(SessionOfWindows, says_what_was_lost_in_the_file_of_its_window) {
  options.buffer_bytes = 1 << 20;
  options.window.steps = StepRange{1, 1};
  begin();
  step(0);
  thread->push(step_args(1));
  while (thread->dropped() == 0) thread->mark(named("flood"));
  uint64_t const dropped = thread->dropped();
  thread->pop(kAnnotationDomain);
  wait_for_window(5);
  step(5);
  step(6);
  wait_for_window(8);
  EXPECT_TRUE(session->stop());
  EXPECT_EQ(read("steps-1-1").log().dropped, dropped);
  EXPECT_EQ(read("steps-5-6").log().dropped, 0U);
}

TEST_F(SessionOfWindows, whose_folder_is_gone_says_so_and_lets_the_program_go_on) {
  begin();
  for (int64_t i = 0; i < 3; ++i) step(i);
  wait_for_window(5);
  fs::remove_all(folder);
  step(5);
  wait_for_end();
  step(6);
  EXPECT_TRUE(session->stop());
  EXPECT_NE(session->report().failure, "");
  EXPECT_NE(session->message(), "");
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
