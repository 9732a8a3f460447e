// A session that keeps the last while in memory, and writes it when something happens.
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <signal.h>

#include "tests/support/full_disk.h"
#include "tests/unit/tracer/session/session_fixture.h"
#include "trace/base/files/run_folder.h"
#include "tracer/requests/asking.h"

namespace stepscope::tracer {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::chrono::seconds kPlenty{60};

class SessionWithRing : public SessionOfParts {
 protected:
  SessionWithRing() { options.ring.emplace(); }

  void step(int64_t index, std::chrono::microseconds length = std::chrono::microseconds(200),
            std::string const& name = "forward") const {
    thread->push(step_args(index));
    thread->push(named(name));
    spin(length);
    thread->pop(kDefaultDomain);
    thread->pop(kAnnotationDomain);
  }
  void steps(int64_t first, int64_t count) const {
    for (int64_t i = first; i < first + count; ++i) step(i);
  }
  /// A step is as long as it says: a sleep may take ten times as long on a busy machine.
  static void spin(std::chrono::microseconds length) {
    auto const end = std::chrono::steady_clock::now() + length;
    while (std::chrono::steady_clock::now() < end) {
    }
  }
  /// Goes on with steps of the usual length until a ring is there whose name begins so.
  void train_until(std::string const& ring, int64_t from) const {
    auto const end = std::chrono::steady_clock::now() + kPlenty;
    for (int64_t i = from; !is_written(ring) && std::chrono::steady_clock::now() < end; ++i)
      step(i);
  }
  [[nodiscard]] bool is_written(std::string const& ring) const {
    for (ProcessState const& state : read_process_states(folder.string()))
      if (state.file.find("/" + ring) != std::string::npos) return true;
    return false;
  }
  [[nodiscard]] std::vector<std::string> rings() const {
    std::vector<std::string> names;
    for (std::string const& path : base::windows_in(folder.string()))
      names.push_back(fs::path(path).filename().string());
    return names;
  }
  [[nodiscard]] static std::string fact(model::Trace const& trace, std::string const& name) {
    for (auto const& [key, value] : trace.info().facts)
      if (key == name) return value;
    return "";
  }

  // Steps are 0.2 ms long: no busy machine makes one as slow as this.
  static constexpr double kSlow = 2500;
  static constexpr std::chrono::milliseconds kSlowStep{1300};
};

TEST_F(SessionWithRing, WritesAllOfAShortProgramAtItsEnd) {
  begin();
  allocate(1);
  steps(0, 20);
  EXPECT_TRUE(session->stop());
  EXPECT_EQ(session->message(), "");

  EXPECT_THAT(rings(), ElementsAre("ring-last"));
  model::Trace const trace = read("ring-last");
  EXPECT_THAT(steps_of(trace), SizeIs(20));
  EXPECT_EQ(fact(trace, "written because"), "the program ended");
  EXPECT_EQ(fact(trace, "ring"), "the last 1.00 GiB");
  EXPECT_EQ(session->report().events, trace.event_count());
}

TEST_F(SessionWithRing, WritesNothingOfAProgramWithoutEvents) {
  begin();
  EXPECT_TRUE(session->stop());
  EXPECT_EQ(session->message(), "");
  EXPECT_THAT(rings(), IsEmpty());
}

TEST_F(SessionWithRing, KeepsTheLastSteps) {
  options.ring->steps = 10;
  begin();
  auto const end = std::chrono::steady_clock::now() + std::chrono::milliseconds(2500);
  int64_t last = 0;
  for (; std::chrono::steady_clock::now() < end; ++last) step(last, std::chrono::milliseconds(20));
  EXPECT_TRUE(session->stop());

  model::Trace const trace = read("ring-last");
  std::vector<int64_t> const kept = steps_of(trace);
  EXPECT_GE(kept.size(), 10U);
  EXPECT_LE(kept.size(), 11U);
  EXPECT_EQ(kept.back(), last - 1);
  EXPECT_EQ(fact(trace, "recorded steps"), fmt::format("{}:{}", kept.front(), kept.back()));
}

TEST_F(SessionWithRing, BeginsWithWhatWasAllocatedBefore) {
  options.ring->ns = 100'000'000;
  begin();
  allocate(1);
  allocate(2);
  steps(0, 5);
  allocate(1, api::MemoryOp::kFree);
  allocate(3);
  int64_t index = 5;
  auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  for (; std::chrono::steady_clock::now() < end; ++index) step(index, std::chrono::milliseconds(5));
  allocate(4);
  step(index);
  EXPECT_TRUE(session->stop());

  model::Trace const trace = read("ring-last");
  std::multiset<uint64_t> allocated;
  for (uint32_t row = 0; row < trace.event_count(); ++row)
    if (trace.kind(row) == model::EventKind::kMemory)
      allocated.insert(trace.detail<model::MemoryDetail>(row).address);
  EXPECT_THAT(allocated, ElementsAre(2, 3, 4));
  EXPECT_EQ(steps_of(trace).back(), index);
  EXPECT_LT(steps_of(trace).size(), 100U);
}

TEST_F(SessionWithRing, WritesAStepThatIsSlow) {
  options.ring->slow_step = kSlow;
  begin();
  steps(0, 50);
  step(50, kSlowStep);
  train_until("ring-50", 51);
  EXPECT_TRUE(session->stop());

  ASSERT_THAT(rings(), ElementsAre("ring-50", "ring-last"));
  model::Trace const trace = read("ring-50");
  EXPECT_THAT(fact(trace, "written because"), HasSubstr("step 50 took 1."));
  EXPECT_THAT(fact(trace, "written because"), HasSubstr("times the usual "));
  EXPECT_THAT(steps_of(trace), ::testing::Contains(50));
  EXPECT_THAT(steps_of(trace), ::testing::Contains(51)) << "and what came next";
}

/// A hang is no part of the slow step before it, whose ring has been written.
TEST_F(SessionWithRing, WritesAHangSoonAfterASlowStep) {
  options.ring->ns = 60'000'000'000;
  options.ring->slow_step = kSlow;
  options.ring->hang_ns = 2'500'000'000;
  begin();
  steps(0, 50);
  step(50, kSlowStep);
  train_until("ring-50", 51);
  thread->push(step_args(1'000'000));
  auto const hang = [this] {
    for (std::string const& ring : rings())
      if (ring != "ring-50") return ring;
    return std::string();
  };
  while (hang().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(10));

  thread->pop(kAnnotationDomain);
  EXPECT_TRUE(session->stop());
  EXPECT_THAT(fact(read(hang()), "written because"), HasSubstr("no step has ended for "));
}

TEST_F(SessionWithRing, SaysInTheLastOneWhatHappenedBeforeIt) {
  options.ring->slow_step = kSlow;
  begin();
  steps(0, 50);
  step(50, kSlowStep);
  EXPECT_TRUE(session->stop());
  EXPECT_THAT(rings(), ElementsAre("ring-last"));
  EXPECT_THAT(fact(read("ring-last"), "written because"), HasSubstr("step 50 took 1."));
}

TEST_F(SessionWithRing, WritesAStepThatDoesNotEnd) {
  options.ring->hang_ns = 500'000'000;
  begin();
  steps(0, 50);
  thread->push(step_args(50));
  thread->push(named("all-reduce"));
  while (!is_written("ring-49")) std::this_thread::sleep_for(std::chrono::milliseconds(10));

  model::Trace const trace = read("ring-49");
  EXPECT_THAT(fact(trace, "written because"), HasSubstr("no step has ended for "));
  EXPECT_THAT(fact(trace, "written because"), HasSubstr("since step 49"));
  EXPECT_EQ(steps_of(trace).back(), 50);
  int64_t longest = 0;
  for (uint32_t row = 0; row < trace.event_count(); ++row)
    if (trace.name(row) == "all-reduce")
      longest = std::max(longest, trace.end(row) - trace.start(row));
  EXPECT_GE(longest, 400'000'000);

  // It was no hang after all: the next one is another.
  thread->pop(kDefaultDomain);
  thread->pop(kAnnotationDomain);
  EXPECT_TRUE(session->stop());
  EXPECT_EQ(steps_of(read("ring-last")).back(), 50);
}

TEST_F(SessionWithRing, WritesANumberThatIsNone) {
  options.ring->on_nan = true;
  begin();
  steps(0, 5);
  EventArgs loss = named("loss", kAnnotationDomain);
  loss.value_type = ValueType::kDouble;
  loss.value = std::bit_cast<uint64_t>(0.5);
  thread->mark(loss);
  loss.value = std::bit_cast<uint64_t>(std::nan(""));
  thread->mark(loss);

  train_until("ring-", 5);
  EXPECT_TRUE(session->stop());
  EXPECT_EQ(fact(read(rings().front()), "written because"),
            "the program noted a loss that is not a finite number");
}

TEST_F(SessionWithRing, WritesAtASignalThatTheProgramLeavesAlone) {
  options.ring->signal = SIGUSR2;
  ::signal(SIGUSR2, SIG_DFL);
  begin();
  steps(0, 5);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ::raise(SIGUSR2);

  auto const end = std::chrono::steady_clock::now() + kPlenty;
  for (int64_t i = 5; rings().empty() && std::chrono::steady_clock::now() < end; ++i) step(i);
  EXPECT_TRUE(session->stop());
  ::signal(SIGUSR2, SIG_DFL);
  EXPECT_EQ(fact(read(rings().front()), "written because"), "a signal asked for it");
}

TEST_F(SessionWithRing, LeavesHandlersOfTheProgramAlone) {
  static std::atomic<int> seen{0};
  ::signal(SIGUSR1, [](int) { ++seen; });
  options.ring->signal = SIGUSR1;
  begin();
  ::raise(SIGUSR1);
  EXPECT_EQ(seen, 1);
  EXPECT_TRUE(session->stop());
  ::signal(SIGUSR1, SIG_DFL);
}

TEST_F(SessionWithRing, IsWrittenWhenACommandAsks) {
  options.ring->ns = 1'000'000'000;
  begin();
  std::atomic<bool> ends{false};
  std::thread program([&] {
    for (int64_t i = 0; !ends; ++i) step(i, std::chrono::milliseconds(1));
  });

  std::string const run = folder.string();
  while (read_process_states(run).empty()) std::this_thread::yield();
  for (int i = 0; i < 2; ++i) {
    auto asking = Asking::begin(run);
    ASSERT_TRUE(asking);
    auto const there = asking->ask(kPlenty);
    ASSERT_TRUE(there);
    EXPECT_EQ(there->front().phase, ProcessState::Phase::kKeeping);
    EXPECT_FALSE(choose_steps(*there, {.ahead = 5})) << "it has no windows";

    auto const request = choose_ring(run, *there);
    ASSERT_TRUE(request);
    auto const writing = asking->ask_for_ring(*there, *request, kPlenty);
    ASSERT_TRUE(writing) << writing.error().message;
    WrittenWindow const written = wait_for_window(run, *writing, {.timeout = kPlenty});
    ASSERT_THAT(written.written, SizeIs(1));
    EXPECT_THAT(written.written[0].file, HasSubstr("/" + request->ring + "/"));
    EXPECT_EQ(fact(read(request->ring), "written because"), "stepscope trigger asked for it");
    EXPECT_GE(steps_of(read(request->ring)).front(), request->steps.first);
  }

  ends = true;
  program.join();
  EXPECT_TRUE(session->stop());
  EXPECT_THAT(rings(), SizeIs(3));
}

TEST_F(SessionWithRing, DoesNotWriteForRequestsOfAnEarlierRun) {
  fs::create_directory(requests_folder(folder.string()));
  ASSERT_TRUE(write_request(folder.string(),
                            {.id = "old", .kind = Request::Kind::kRing, .ring = "ring-7"}));
  begin();
  auto const end = std::chrono::steady_clock::now() + std::chrono::milliseconds(900);
  for (int64_t i = 0; std::chrono::steady_clock::now() < end; ++i) step(i);
  EXPECT_TRUE(session->stop());
  EXPECT_THAT(rings(), ElementsAre("ring-last"));
}

/// Nothing can be asked there, but what happens in the process is written all the same.
TEST_F(SessionWithRing, IsWrittenWithoutAFolderForRequests) {
  std::ofstream(folder / "requests") << "a file";
  options.ring->slow_step = kSlow;
  begin();
  steps(0, 50);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  step(50, kSlowStep);

  auto const end = std::chrono::steady_clock::now() + kPlenty;
  for (int64_t i = 51; rings().empty() && std::chrono::steady_clock::now() < end; ++i) step(i);
  EXPECT_TRUE(session->stop());
  EXPECT_THAT(rings(), ElementsAre("ring-50", "ring-last"));
}

TEST_F(SessionWithRing, SaysWhyARingCannotBeWritten) {
  begin();
  steps(0, 50);
  std::ofstream(folder / "ring-last") << "a file";
  EXPECT_TRUE(session->stop());
  EXPECT_THAT(session->message(), HasSubstr("a ring could not be written: "));
}

TEST_F(SessionWithRing, SaysThatTheDiskIsFull) {
  begin();
  steps(0, 50);
  {
    support::FullDisk const full(16);
    EXPECT_TRUE(session->stop());
  }
  EXPECT_THAT(session->message(), HasSubstr("a ring could not be written: "));
}

TEST_F(SessionWithRing, LeavesForkedProcessesOut) {
  options.forked = true;
  session = std::make_unique<Session>(options);
  session->add_source(std::make_unique<NvtxSource>(session->window(), session->tick_source(),
                                                   registry, options.buffer_bytes));
  EXPECT_FALSE(session->start());
  EXPECT_EQ(session->message(), "");
  EXPECT_EQ(session->window().mode(), CaptureMode::kStopped);
}

}  // namespace
}  // namespace stepscope::tracer
