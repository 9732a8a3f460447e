// Who asks learns where all processes are, and names steps that all of them can record.
#include "tracer/requests/asking.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <sys/wait.h>

#include "tests/unit/tracer/requests/run_with_requests.h"

namespace stepscope::tracer {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Answer = ProcessState::Answer;

class AskingTest : public RunWithRequests {
 protected:
  Asking begin() const {
    auto asking = Asking::begin(run);
    EXPECT_TRUE(asking) << asking.error().message;
    return std::move(*asking);
  }
};

Answer agree(Request const& request, ProcessState& state) {
  if (request.kind == Request::Kind::kWindow) state.window = request.steps;
  return Answer::kDone;
}

TEST(ChooseSteps, LieAheadOfTheFurthestProcess) {
  std::vector<ProcessState> processes(2);
  processes[0].step = 100;
  processes[1].step = 103;
  processes[1].step_ns = 500'000'000;
  EXPECT_EQ(choose_steps(processes, {.steps = 5, .ahead = 20}), (StepRange{123, 127}));
  // Two seconds of the shortest steps.
  EXPECT_EQ(choose_steps(processes, {.steps = 1}), (StepRange{108, 108}));
  processes[0].step_ns = 10'000'000;
  EXPECT_EQ(choose_steps(processes, {.steps = 1}), (StepRange{304, 304}));

  // However long a step is, one may be under way and the next one about to begin.
  processes[0].step_ns = processes[1].step_ns = 60'000'000'000;
  EXPECT_EQ(choose_steps(processes, {.steps = 2}), (StepRange{106, 107}));
}

/// They look for requests less often.
TEST(ChooseSteps, LieFurtherAheadInLargeJobs) {
  std::vector<ProcessState> processes(1);
  processes[0].step = 100;
  processes[0].step_ns = 1'000'000'000;
  processes[0].world_size = 1 << 20;
  EXPECT_EQ(choose_steps(processes, {.steps = 1}), (StepRange{117, 117}));
}

TEST(ChooseSteps, LeaveOutProcessesWithoutSteps) {
  std::vector<ProcessState> processes(2);
  processes[0].phase = ProcessState::Phase::kAsked;
  processes[1].step = 7;
  EXPECT_EQ(choose_steps(processes, {.steps = 1, .ahead = 3}), (StepRange{10, 10}));
}

TEST(ChooseTime, BeginsWhenAllCanKnowOfIt) {
  std::vector<ProcessState> processes(2);
  processes[1].step = 7;
  auto const few = choose_time(processes, {.duration_ns = 5, .now_epoch_ns = 1'000'000'000});
  ASSERT_TRUE(few) << few.error().message;
  EXPECT_EQ(few->begin_epoch_ns, 3'000'000'000);
  EXPECT_EQ(few->end_epoch_ns, 3'000'000'005);
  EXPECT_EQ(few->steps, StepRange());

  processes[0].world_size = 1 << 20;
  auto const many = choose_time(processes, {.duration_ns = 5, .now_epoch_ns = 1'000'000'000});
  EXPECT_EQ(many->begin_epoch_ns, 17'000'000'000);
}

TEST(ChooseTime, SaysWhyThereIsNone) {
  std::vector<ProcessState> processes(1);
  auto const reason = [&](AskedTime const& asked) {
    auto const request = choose_time(processes, asked);
    return request ? "there is one" : request.error().message;
  };
  EXPECT_THAT(reason({.duration_ns = 0, .now_epoch_ns = 1}), HasSubstr("--duration"));
  EXPECT_THAT(reason({.duration_ns = INT64_MAX, .now_epoch_ns = 1}), HasSubstr("--duration"));

  processes[0].rank = 1;
  processes[0].world_size = 2;
  EXPECT_THAT(reason({.duration_ns = 1, .now_epoch_ns = 1}),
              HasSubstr("rank 0 of the job is not recorded yet"));
  EXPECT_EQ(reason({.duration_ns = 1, .now_epoch_ns = 1, .without_missing = true}), "there is one");
  processes[0].phase = ProcessState::Phase::kAsked;
  processes[0].window = {4, 9};
  EXPECT_THAT(reason({.duration_ns = 1, .now_epoch_ns = 1}),
              HasSubstr("a window of steps 4 to 9 is asked for already"));
}

TEST(ChooseSteps, SayWhyThereAreNone) {
  std::vector<ProcessState> processes(1);
  processes[0].host = "node";
  processes[0].process_id = 12;
  auto const reason = [&](AskedWindow const& asked = {}) {
    auto const steps = choose_steps(processes, asked);
    return steps ? "there are some" : steps.error().message;
  };
  EXPECT_THAT(reason(), HasSubstr("no process has marked a step yet"));

  processes[0].step = 3;
  processes[0].rank = 1;
  processes[0].world_size = 3;
  EXPECT_THAT(reason(), HasSubstr("rank 0, 2 of the job has marked no step yet"));
  EXPECT_EQ(reason({.ahead = 1, .without_missing = true}), "there are some");

  processes[0].rank = -1;
  processes[0].phase = ProcessState::Phase::kAsked;
  processes[0].window = {10, 14};
  EXPECT_THAT(reason(), HasSubstr("process 12 on node: a window of steps 10 to 14 is asked for"));

  processes[0].phase = ProcessState::Phase::kWaiting;
  EXPECT_THAT(reason(), HasSubstr("how long a step takes is not known yet"));
  EXPECT_THAT(reason({.steps = INT64_MAX, .ahead = 1}),
              HasSubstr("further than steps can be counted"));
  EXPECT_THAT(reason({.steps = 1, .ahead = INT64_MAX}), HasSubstr("further than steps"));
  EXPECT_THAT(reason({.steps = 0, .ahead = 1}), HasSubstr("further than steps"));
}

TEST_F(AskingTest, NeedsARunThatAnswers) {
  std::filesystem::remove_all(requests_folder(run));
  auto const asking = Asking::begin(run);
  ASSERT_FALSE(asking);
  EXPECT_THAT(asking.error().message, HasSubstr("record --on-request"));
}

TEST_F(AskingTest, IsForOneAtATime) {
  Asking const first = begin();
  auto const second = Asking::begin(run, milliseconds(50));
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("cannot be asked just now, ask again in a moment"));
}

TEST_F(AskingTest, AgreesOnAWindowWithAllProcesses) {
  for (int32_t const rank : {0, 1}) put(process(rank, 100 + rank));
  AnsweringProcess const first(run, process(0, 110), agree);
  AnsweringProcess const second(run, process(1, 112), agree);

  Asking asking = begin();
  auto const there = asking.ask(kPlenty);
  ASSERT_TRUE(there) << there.error().message;
  ASSERT_THAT(*there, SizeIs(2));
  EXPECT_EQ(there->back().step, 112) << "as it answered, not as it had said before";

  auto const recording = asking.ask_for_window(*there, {130, 134}, kPlenty);
  ASSERT_TRUE(recording) << recording.error().message;
  EXPECT_THAT(*recording, SizeIs(2));
  for (ProcessState const& one : *recording) EXPECT_EQ(one.window, (StepRange{130, 134}));
}

TEST_F(AskingTest, NamesWhoIsPastTheSteps) {
  for (int32_t const rank : {0, 1}) put(process(rank, 100));
  AnsweringProcess const first(run, process(0, 100), agree);
  AnsweringProcess const second(run, process(1, 100), [](Request const& request, ProcessState&) {
    return request.kind == Request::Kind::kWindow ? Answer::kTooLate : Answer::kDone;
  });

  Asking asking = begin();
  auto const there = asking.ask(kPlenty);
  ASSERT_TRUE(there) << there.error().message;
  auto const recording = asking.ask_for_window(*there, {101, 101}, kPlenty);
  ASSERT_FALSE(recording);
  EXPECT_THAT(recording.error().message,
              HasSubstr("rank 1 (process 1001 on node-1) cannot record the steps 101 to 101"));
}

TEST_F(AskingTest, NamesWhoDoesNotAnswer) {
  put(process(0, 100));
  put(process(1, 100));
  AnsweringProcess const first(run, process(0, 100), agree);
  auto const there = begin().ask(milliseconds(300));
  ASSERT_FALSE(there);
  EXPECT_THAT(there.error().message,
              HasSubstr("rank 1 (process 1001 on node-1) did not answer within 300 ms"));
}

/// Killed processes of this machine, and those that have ended, leave their files behind.
TEST_F(AskingTest, DoesNotWaitForTheDead) {
  pid_t const child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  ProcessState killed = process(1, 100);
  killed.host = base::host_name();
  killed.process_ids = own_process_ids();
  killed.process_id = child;
  put(killed);
  ProcessState ended = process(2, 100);
  ended.phase = ProcessState::Phase::kEnded;
  put(ended);

  auto const none = begin().ask(kPlenty);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("no process is being recorded there any more"));

  put(process(0, 100));
  AnsweringProcess const alive(run, process(0, 100), agree);
  auto const there = begin().ask(kPlenty);
  ASSERT_TRUE(there) << there.error().message;
  EXPECT_THAT(*there, SizeIs(1));
}

/// A rank that was started again answers for its predecessor on a machine that is gone.
TEST_F(AskingTest, LeavesOutWhoseRankWasStartedAgain) {
  put(process(0, 100));
  ProcessState again = process(0, 3);
  again.process_id = 77;
  put(again);
  AnsweringProcess const alive(run, again, agree);
  auto const there = begin().ask(milliseconds(300));
  ASSERT_TRUE(there) << there.error().message;
  ASSERT_THAT(*there, SizeIs(1));
  EXPECT_EQ(there->front().process_id, 77);
}

TEST_F(AskingTest, BelievesAnAnswerOfTheseStepsAlone) {
  put(process(0, 100));
  AnsweringProcess const other(run, process(0, 100), [](Request const&, ProcessState& state) {
    state.window = {500, 504};
    return Answer::kDone;
  });
  Asking asking = begin();
  auto const there = asking.ask(kPlenty);
  ASSERT_TRUE(there) << there.error().message;
  EXPECT_FALSE(asking.ask_for_window(*there, {130, 134}, kPlenty));
}

TEST_F(AskingTest, RefusesOtherVersions) {
  put(process(0, 100));
  AnsweringProcess const other(run, process(0, 100),
                               [](Request const&, ProcessState&) { return Answer::kOtherVersion; });
  auto const there = begin().ask(kPlenty);
  ASSERT_FALSE(there);
  EXPECT_THAT(there.error().message, HasSubstr("another version of Stepscope"));
}

/// Its file has parts that are not known here, and may lack others.
TEST_F(AskingTest, KnowsAProcessOfAnotherVersionByItsFile) {
  ASSERT_TRUE(write_message(requests_folder(run), "node-1-12.process.json",
                            R"({"version": 7, "host": "node", "process_id": 12})"));
  auto const there = begin().ask(kPlenty);
  ASSERT_FALSE(there);
  EXPECT_THAT(there.error().message,
              HasSubstr("process 12 on node: is recorded by another version of Stepscope"));
}

TEST_F(AskingTest, WaitsUntilTheWindowIsWritten) {
  ProcessState written = process(0, 134), skipped = process(1, 140), ended = process(2, 131),
               waiting = process(3, 129);
  std::vector<ProcessState> before;
  for (ProcessState* const one : {&written, &skipped, &ended, &waiting}) {
    one->window = {130, 134};
    before.push_back(*one);
  }
  before[1].step = 120;

  written.written = 1;
  written.file = "run/steps-130-134/rank-0.stepscope";
  ended.phase = ProcessState::Phase::kEnded;
  waiting.phase = ProcessState::Phase::kAsked;
  for (ProcessState* const one : {&written, &skipped, &ended, &waiting}) put(*one);

  WrittenWindow const window = wait_for_window(run, before, {.timeout = milliseconds(100)});
  ASSERT_THAT(window.written, SizeIs(1));
  EXPECT_EQ(window.written.front().file, written.file);
  EXPECT_THAT(window.without, SizeIs(2));
  ASSERT_THAT(window.waiting, SizeIs(1));
  EXPECT_EQ(window.waiting.front().rank, 3);
}

class StandstillTest : public AskingTest {
 protected:
  /// Waits for a process that begins a step before each of the first `moving` questions, and ends
  /// with the 12th. Returns what it was when the standstill was seen, if that was.
  std::vector<ProcessState> wait_for_one_that_moves_before(int moving) {
    ProcessState state = process(0, 100);
    state.window = {130, 134};
    state.step_ns = 1;
    put(state);
    int questions = 0;
    AnsweringProcess const program(run, state, [&](Request const&, ProcessState& now) {
      if (questions < moving) ++now.step;
      if (++questions == 12) now.phase = ProcessState::Phase::kEnded;
      return Answer::kDone;
    });

    std::vector<ProcessState> still;
    WindowWait wait{.timeout = kPlenty, .question_period = {}};
    wait.still_after = milliseconds(1);
    wait.when_still = [&](std::vector<ProcessState> const& processes, auto) {
      still.insert(still.end(), processes.begin(), processes.end());
    };
    EXPECT_THAT(wait_for_window(run, {state}, wait).without, SizeIs(1));
    return still;
  }
};

TEST_F(StandstillTest, IsSeenOnce) {
  auto const still = wait_for_one_that_moves_before(3);
  ASSERT_THAT(still, SizeIs(1));
  EXPECT_EQ(still.front().step, 103);
}

TEST_F(StandstillTest, IsNotSeenWhileStepsBegin) {
  EXPECT_THAT(wait_for_one_that_moves_before(12), IsEmpty());
}

}  // namespace
}  // namespace stepscope::tracer
