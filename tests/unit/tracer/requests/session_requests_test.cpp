// A session that records what is asked for: the steps that a command names while a program runs.
#include <atomic>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/full_disk.h"
#include "tests/unit/tracer/requests/run_with_requests.h"
#include "tests/unit/tracer/session/session_fixture.h"
#include "trace/base/files/run_folder.h"
#include "tracer/requests/asking.h"

namespace stepscope::tracer {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SessionOnRequest : public SessionTest {
 protected:
  SessionOnRequest() {
    options.window.on_request = true;
    options.window.steps = kNoSteps;
  }
  ~SessionOnRequest() override { end_program(); }

  /// A program that marks a step a millisecond until the test ends.
  void begin() {
    start();
    register_device_schemas(registry);

    program = std::thread([this] {
      ThreadRecorder* const thread = source->attach(1);
      for (int64_t step = 0; !ends; ++step) {
        thread->push(step_args(step));
        thread->push(named("forward"));
        thread->pop(kDefaultDomain);
        thread->pop(kAnnotationDomain);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
    while (session->window().latest_step() < 0) std::this_thread::yield();
  }
  void end_program() {
    ends = true;
    if (program.joinable()) program.join();
  }
  /// Once the session listens.
  [[nodiscard]] Asking asking() const {
    while (read_process_states(folder.string()).empty()) std::this_thread::yield();
    auto begun = Asking::begin(folder.string());
    EXPECT_TRUE(begun) << begun.error().message;
    return std::move(*begun);
  }
  /// The steps of the window's file; empty, and a failure, where it was not written.
  [[nodiscard]] std::vector<int64_t> ask_for(AskedWindow const& asked) const {
    Asking asks = asking();
    auto const there = asks.ask(kPlenty);
    auto const steps = there ? choose_steps(*there, asked) : base::fail_with(there);
    auto const recording =
        steps ? asks.ask_for_window(*there, *steps, kPlenty) : base::fail_with(steps);
    if (!recording) {
      ADD_FAILURE() << recording.error().message;
      return {};
    }

    WrittenWindow const window = wait_for_window(folder.string(), *recording, {.timeout = kPlenty});
    EXPECT_THAT(window.written, SizeIs(1));
    return window.written.empty() ? std::vector<int64_t>() : steps_of(window.written[0].file);
  }
  [[nodiscard]] static std::vector<int64_t> steps_of(std::string const& path) {
    std::vector<int64_t> steps;
    auto const trace = file::read_trace_file(path);
    if (!trace) throw std::runtime_error(trace.error().message);
    EXPECT_FALSE(trace->log().truncated);
    for (uint32_t row = 0; row < trace->event_count(); ++row)
      if (trace->kind(row) == model::EventKind::kStep)
        steps.push_back(trace->detail<model::StepDetail>(row).index);
    return steps;
  }
  [[nodiscard]] static std::vector<int64_t> steps_of(model::Trace const& trace) {
    return SessionTest::steps_of(trace);
  }
  [[nodiscard]] static int64_t now() {
    auto const since_1970 = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(since_1970).count();
  }
  [[nodiscard]] ProcessState last_words() const {
    auto const states = read_process_states(folder.string());
    return states.size() == 1 ? states.front() : ProcessState();
  }

  std::atomic<bool> ends{false};
  std::thread program;
};

TEST_F(SessionOnRequest, RecordsEachWindowThatIsAskedForAndNothingElse) {
  begin();
  for (int64_t const count : {3, 1, 20}) {
    std::vector<int64_t> const steps = ask_for({.steps = count, .ahead = 1000});
    ASSERT_EQ(steps.size(), static_cast<size_t>(count)) << ::testing::PrintToString(steps);
    for (size_t i = 0; i < steps.size(); ++i)
      EXPECT_EQ(steps[i], steps[0] + static_cast<int64_t>(i));
  }
  end_program();
  EXPECT_TRUE(session->stop());
  EXPECT_EQ(session->message(), "");

  EXPECT_EQ(base::windows_in(folder.string()).size(), 3U);
  for (auto const& entry : fs::directory_iterator(folder))
    EXPECT_TRUE(entry.is_directory()) << entry.path();
  ProcessState const last = last_words();
  EXPECT_EQ(last.phase, ProcessState::Phase::kEnded);
  EXPECT_EQ(last.written, 3U);
  EXPECT_GT(last.step, 0);
}

TEST_F(SessionOnRequest, SaysThatSomebodyElseHasAsked) {
  begin();
  Asking first = asking();
  auto const there = first.ask(kPlenty);
  ASSERT_TRUE(there) << there.error().message;
  auto const steps = choose_steps(*there, {.steps = 1, .ahead = 10'000'000});
  ASSERT_TRUE(first.ask_for_window(*there, *steps, kPlenty));

  auto const now = first.ask(kPlenty);
  ASSERT_TRUE(now) << now.error().message;
  auto const again = choose_steps(*now, {});
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, HasSubstr("is asked for already"));
}

TEST_F(SessionOnRequest, GivesAWindowUpWhoseStepsDoNotCome) {
  begin();
  {
    Asking asks = asking();
    auto const there = asks.ask(kPlenty);
    ASSERT_TRUE(there) << there.error().message;
    ASSERT_TRUE(asks.ask_for_window(*there, {1'000'000'000, 1'000'000'001}, kPlenty));
    ASSERT_TRUE(asks.ask_to(Request::Kind::kNone, kPlenty));
  }
  EXPECT_THAT(ask_for({.steps = 2, .ahead = 1000}), SizeIs(2));
}

/// Two of them, and one of steps after that.
TEST_F(SessionOnRequest, RecordsAStretchOfTime) {
  begin();
  for (int i = 0; i < 2; ++i) {
    Asking asks = asking();
    auto const there = asks.ask(kPlenty);
    ASSERT_TRUE(there) << there.error().message;
    auto const request = choose_time(*there, {.duration_ns = 300'000'000, .now_epoch_ns = now()});
    ASSERT_TRUE(request) << request.error().message;
    auto const recording = asks.ask_for_time(*there, *request, kPlenty);
    ASSERT_TRUE(recording) << recording.error().message;

    auto const busy = choose_time(*asks.ask(kPlenty), {.duration_ns = 1, .now_epoch_ns = now()});
    ASSERT_FALSE(busy);
    EXPECT_THAT(busy.error().message, HasSubstr("a window by time is asked for already"));

    WrittenWindow const window = wait_for_window(folder.string(), *recording, {.timeout = kPlenty});
    ASSERT_THAT(window.written, SizeIs(1));
    auto const trace = file::read_trace_file(window.written[0].file);
    ASSERT_TRUE(trace) << trace.error().message;
    EXPECT_THAT(steps_of(*trace), SizeIs(::testing::Gt(10U)));
    EXPECT_LT(steps_of(*trace).size(), 400U);
    EXPECT_THAT(trace->info().facts, ::testing::Contains(std::pair<std::string, std::string>(
                                         "recorded part", "on request, for 300 ms")));
  }
  EXPECT_THAT(ask_for({.steps = 2, .ahead = 3000}), SizeIs(2));
  EXPECT_EQ(base::windows_in(folder.string()).size(), 3U);
}

/// Its events are there while the window goes on.
TEST_F(SessionOnRequest, BringsAnOpenWindowToItsFile) {
  begin();
  Asking asks = asking();
  auto const there = asks.ask(kPlenty);
  ASSERT_TRUE(there) << there.error().message;
  auto const steps = choose_steps(*there, {.steps = 1'000'000'000, .ahead = 500});
  ASSERT_TRUE(asks.ask_for_window(*there, *steps, kPlenty));
  while (session->window().latest_step() < steps->first + 20) std::this_thread::yield();
  int64_t const latest = session->window().latest_step();

  ASSERT_TRUE(asks.ask_to(Request::Kind::kFlush, kPlenty));
  auto const windows = base::windows_in(folder.string());
  ASSERT_THAT(windows, SizeIs(1));
  auto const file = fs::directory_iterator(windows.front())->path().string();
  auto const trace = file::read_trace_file(file);
  ASSERT_TRUE(trace) << trace.error().message;
  auto const recorded = steps_of(*trace);
  ASSERT_FALSE(recorded.empty());
  EXPECT_GE(recorded.back(), latest - 1) << "the latest may not have ended";
}

/// A helper that uses CUDA, say: it answers, and no window waits in it.
TEST_F(SessionOnRequest, TakesNoWindowBeforeItsFirstStep) {
  start();
  Asking asks = asking();
  auto const there = asks.ask(kPlenty);
  ASSERT_TRUE(there) << there.error().message;
  EXPECT_FALSE(choose_steps(*there, {}));
  static_cast<void>(asks.ask_for_window(*there, {10, 12}, kPlenty));
  EXPECT_TRUE(session->window().waits_for_request());
}

TEST_F(SessionOnRequest, SaysThatNoRequestCanReachIt) {
  std::ofstream(requests_folder(folder.string())) << "a file";
  begin();
  end_program();
  EXPECT_TRUE(session->stop());
  EXPECT_THAT(session->message(), HasSubstr("requests cannot reach the process"));
}

TEST_F(SessionOnRequest, IsTooLateForStepsThatHaveBegun) {
  begin();
  {
    Asking asks = asking();
    auto const there = asks.ask(kPlenty);
    ASSERT_TRUE(there) << there.error().message;
    auto const recording = asks.ask_for_window(*there, {0, 3}, kPlenty);
    ASSERT_FALSE(recording);
    EXPECT_THAT(recording.error().message, HasSubstr("cannot record the steps 0 to 3"));
  }

  EXPECT_THAT(ask_for({.steps = 2, .ahead = 1000}), SizeIs(2)) << "and goes on";
}

/// The clock of this process or of the asking one has jumped by an hour.
TEST_F(SessionOnRequest, TakesNoTimeThatItsClockHasPassedOrIsFarFrom) {
  begin();
  constexpr int64_t kHour = 3'600'000'000'000;
  for (int64_t const jump : {kHour, -kHour}) {
    Asking asks = asking();
    auto const there = asks.ask(kPlenty);
    ASSERT_TRUE(there) << there.error().message;
    auto const request =
        choose_time(*there, {.duration_ns = 300'000'000, .now_epoch_ns = now() + jump});
    ASSERT_TRUE(request) << request.error().message;

    auto const recording = asks.ask_for_time(*there, *request, kPlenty);
    ASSERT_FALSE(recording);
    EXPECT_THAT(recording.error().message, HasSubstr("compare the clocks of the machines"));
  }
  EXPECT_THAT(ask_for({.steps = 2, .ahead = 1000}), SizeIs(2)) << "and goes on";
}

TEST_F(SessionOnRequest, EndsWhenItIsAskedTo) {
  begin();
  EXPECT_THAT(ask_for({.steps = 2, .ahead = 1000}), SizeIs(2));
  ASSERT_TRUE(asking().ask_to(Request::Kind::kStop, kPlenty));
  while (!session->is_over()) std::this_thread::yield();

  EXPECT_FALSE(program.get_id() == std::thread::id()) << "the program goes on";
  EXPECT_EQ(last_words().phase, ProcessState::Phase::kEnded);
  EXPECT_EQ(base::windows_in(folder.string()).size(), 1U);
}

TEST_F(SessionOnRequest, LeavesAFileThatSaysThatNothingWasAskedFor) {
  begin();
  end_program();
  model::Trace const trace = stop_and_read();

  auto const& facts = trace.info().facts;
  auto const has = [&](char const* name, char const* value) {
    return std::find(facts.begin(), facts.end(),
                     std::pair<std::string, std::string>(name, value)) != facts.end();
  };
  EXPECT_TRUE(has(kNeverBeganFact, "yes"));
  EXPECT_TRUE(has("recorded steps", "on request"));
}

TEST_F(SessionOnRequest, IgnoresRequestsFromBeforeItBegan) {
  fs::create_directory(requests_folder(folder.string()));
  ASSERT_TRUE(
      write_request(folder.string(), {.id = "old", .kind = Request::Kind::kStop, .steps = {0, 0}}));
  begin();
  EXPECT_THAT(ask_for({.steps = 1, .ahead = 1000}), SizeIs(1));
}

/// Nothing can be answered while the disk is full.
TEST_F(SessionOnRequest, IsThereOnceTheDiskHasRoom) {
  {
    support::FullDisk const full(0);
    begin();
    while (session->window().latest_step() < 50) std::this_thread::yield();
    EXPECT_THAT(read_process_states(folder.string()), IsEmpty());
  }
  EXPECT_THAT(ask_for({.steps = 2, .ahead = 3000}), SizeIs(2));
}

TEST_F(SessionOnRequest, SaysThatItsWindowFoundTheDiskFull) {
  begin();
  Asking asks = asking();
  auto const there = asks.ask(kPlenty);
  ASSERT_TRUE(there) << there.error().message;
  auto const steps = choose_steps(*there, {.steps = 20, .ahead = 2000});
  ASSERT_TRUE(steps) << steps.error().message;
  ASSERT_TRUE(asks.ask_for_window(*there, *steps, kPlenty));

  {
    support::FullDisk const full(64);
    while (session->window().latest_step() < steps->last + 500) std::this_thread::yield();
  }
  end_program();
  EXPECT_TRUE(session->stop());
  EXPECT_THAT(session->message(), HasSubstr("free disk space"));
}

/// A shared disk was away for a while.
TEST_F(SessionOnRequest, IsThereAgainWhenItsFolderWasLost) {
  begin();
  static_cast<void>(asking());
  fs::remove_all(requests_folder(folder.string()));
  auto const end = std::chrono::steady_clock::now() + kPlenty;
  while (read_process_states(folder.string()).empty() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_THAT(ask_for({.steps = 2, .ahead = 3000}), SizeIs(2));
}

/// The folder is gone, and something else is in its place: the program runs on, its session ends
/// well and says so.
TEST_F(SessionOnRequest, OutlivesItsFolder) {
  begin();
  static_cast<void>(asking());
  fs::remove_all(requests_folder(folder.string()));
  std::ofstream(requests_folder(folder.string())) << "a file";
  end_program();
  EXPECT_TRUE(session->stop());
  EXPECT_THAT(session->message(), HasSubstr("(Not a directory), requests cannot reach the run"));
}

TEST_F(SessionOnRequest, AnswersRequestsOfOtherVersionsWithNothingDone) {
  begin();
  Asking const asks = asking();
  ASSERT_TRUE(write_message(requests_folder(folder.string()), "request.json",
                            R"({"version": 9, "id": "new", "kind": "stop"})"));
  while (last_words().request != "new") std::this_thread::yield();
  EXPECT_EQ(last_words().answer, ProcessState::Answer::kOtherVersion);
  EXPECT_FALSE(session->is_over());
}

}  // namespace
}  // namespace stepscope::tracer
