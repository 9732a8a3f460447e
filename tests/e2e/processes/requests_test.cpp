// Windows that are asked for while several processes train, and rings that they keep: the same
// steps in all of them, and whole where a process is killed.
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/e2e/processes/recorded_training.h"
#include "trace/base/files/run_folder.h"
#include "trace/import/open/open_run.h"

namespace stepscope::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class RequestsToProcesses : public RecordedTraining {
 protected:
  /// The ranks of each step of a window. Files that are not whole are failures, but for rank
  /// `hurt`.
  static std::map<int64_t, std::set<int32_t>> ranks_by_step(std::string const& window,
                                                            int32_t hurt = -1) {
    std::map<int64_t, std::set<int32_t>> ranks;
    auto const run = import::open_run(window);
    if (!run) {
      ADD_FAILURE() << run.error().message;
      return ranks;
    }

    for (model::RankTrace const& rank : run->ranks) {
      model::Trace const& trace = rank.trace;
      if (trace.info().rank == hurt) continue;
      EXPECT_FALSE(trace.log().truncated) << window << " rank " << trace.info().rank;
      for (uint32_t row = 0; row < trace.event_count(); ++row)
        if (trace.kind(row) == model::EventKind::kStep)
          ranks[trace.detail<model::StepDetail>(row).index].insert(trace.info().rank);
    }
    return ranks;
  }
};

TEST_F(RequestsToProcesses, AllOfThemRecordTheSameSteps) {
  Outcome const outcome = during_training("",
                                          "ask --steps 3\n"
                                          "ask --steps 2 --in 100\n"
                                          "stepscope ps run\n"
                                          "stepscope ps > all.txt 2>/dev/null; cat all.txt\n"
                                          "stepscope trigger run --stop\n"
                                          "stepscope trigger run\n"
                                          "kill -0 $launcher && echo still training\n");
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("will be recorded in 3 processes"),
                    HasSubstr("written by 3 processes; see it with: stepscope analyze run/steps-"),
                    HasSubstr("waits for a request"), HasSubstr("recording ends in 3"),
                    HasSubstr("no process is being recorded there any more"),
                    HasSubstr("still training"), Not(HasSubstr("did not answer"))));
  // Each process of this machine, wherever its run lies; others may not answer.
  EXPECT_THAT(shell("cat all.txt").output,
              AllOf(HasSubstr(path("run")), HasSubstr("waits for a request")));

  std::vector<std::string> const windows = base::windows_in(path("run"));
  ASSERT_EQ(windows.size(), 2U) << outcome.output;
  for (size_t i = 0; i < 2; ++i) {
    auto const ranks = ranks_by_step(windows[i]);
    EXPECT_EQ(ranks.size(), i == 0 ? 3U : 2U);
    for (auto const& [step, of] : ranks) EXPECT_EQ(of, (std::set<int32_t>{0, 1, 2})) << step;
  }
}

/// From the same moment on, whatever their steps; what they have can be read before it is over.
TEST_F(RequestsToProcesses, AllOfThemRecordTheSameStretchOfTime) {
  Outcome const outcome = during_training("",
                                          "ask --duration 1500ms\n"
                                          "stepscope trigger run --duration 5 > given-up.txt 2>&1 "
                                          "& given=$!\n"
                                          "sleep 1; stepscope trigger run --cancel\n"
                                          "wait $given; cat given-up.txt\n"
                                          "stepscope trigger run --flush\n"
                                          "stepscope trigger run --duration 60 --no-wait\n"
                                          "for i in $(seq 300); do\n"
                                          "  stepscope trigger run --flush > flushed.txt 2>&1\n"
                                          "  grep -q 'of 3 processes' flushed.txt && break\n"
                                          "  sleep 0.2\n"
                                          "done; cat flushed.txt\n"
                                          "ls run\n"
                                          "stepscope analyze run | head -n 5\n"
                                          "stepscope trigger run --stop\n");

  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("1.50 s will be recorded in 3 processes, beginning in 2.00 s"),
                    HasSubstr("written by 3 processes; see it with: stepscope analyze run/at-"),
                    HasSubstr("has not recorded the 5.00 s"),
                    HasSubstr("no window is open, and those that were are in their files"),
                    HasSubstr("all until now is in the files of 3 processes"),
                    HasSubstr("recording ends in 3")));

  std::vector<std::string> const windows = base::windows_in(path("run"));
  ASSERT_EQ(windows.size(), 2U) << outcome.output;
  size_t in_all = 0;
  for (auto const& [step, of] : ranks_by_step(windows[0])) in_all += of.size() == 3 ? 1 : 0;
  EXPECT_GT(in_all, 0U) << outcome.output;
}

/// Whenever it is: the windows of the others are whole, and who asks is not kept waiting.
TEST_F(RequestsToProcesses, AKilledOneLeavesTheWindowsOfOthersWhole) {
  for (char const* const delay : {"0.5", "2.2"}) {
    std::filesystem::remove_all(path("run"));
    Outcome const outcome = during_training(
        "--enable-recovery",
        "ask --steps 1\n"
        "stepscope trigger run --steps 20 > asked.txt 2>&1 & asking=$!\n"
        "sleep " +
            std::string(delay) + "\n" + for_rank(1, "kill -KILL $pid && echo killed") +
            "wait $asking; cat asked.txt\n");

    EXPECT_THAT(outcome.output, HasSubstr("killed"));
    std::vector<std::string> const windows = base::windows_in(path("run"));
    ASSERT_FALSE(windows.empty()) << outcome.output;
    for (std::string const& window : windows) EXPECT_FALSE(ranks_by_step(window, 1).empty());
  }
}

/// What one rank does at a slow step is written by all, from one step on.
TEST_F(RequestsToProcesses, AllOfThemWriteTheirRingsWhereOneIsSlow) {
  Outcome const outcome = during_training(
      "",
      std::string("ask\n"
                  "ask --steps 3\n"
                  "stepscope ps run\n"
                  "for i in $(seq 300); do  # steps are judged by those before\n"
                  "  step=$(stepscope ps run --json | sed -n 's/.*\"step\": \\([0-9]*\\).*/\\1/p' "
                  "| head -n "
                  "1)\n"
                  "  [ \"${step:-0}\" -ge 40 ] && break; sleep 0.2\n"
                  "done\n") +
          for_rank(1, "kill -STOP $pid; sleep 6; kill -CONT $pid; echo stopped for a while") +
          "for i in $(seq 300); do [ $(ls run | grep -c ring-) -ge 2 ] && break; sleep 0.1; done\n"
          "for i in $(seq 300); do [ $(ls run/ring-*/*.stepscope | wc -l) -ge 6 ] && break; sleep "
          "0.1; "
          "done\n"
          "sleep 1\n",
      "--ring 20s --on-slow-step 15x");

  EXPECT_THAT(outcome.output, AllOf(HasSubstr("written by 3 processes; see it with: stepscope "
                                              "analyze run/ring-"),
                                    HasSubstr("ask for it without --steps"),
                                    HasSubstr("keeps a ring"), HasSubstr("stopped for a while")));

  std::vector<std::string> const rings = base::windows_in(path("run"));
  ASSERT_GE(rings.size(), 2U) << outcome.output;
  std::string facts;
  for (std::string const& ring : rings) {
    facts += shell(program() + " info " + ring).output;
    if (ring.ends_with("ring-last")) continue;  // the launcher kills who does not end at once
    auto const ranks = ranks_by_step(ring);
    ASSERT_FALSE(ranks.empty()) << ring;
    EXPECT_EQ(ranks.begin()->second, (std::set<int32_t>{0, 1, 2})) << ring;
  }
  EXPECT_THAT(facts,
              AllOf(HasSubstr("stepscope trigger asked for it"), HasSubstr("times the usual")));
}

class EndingsOfRings : public Program {
 protected:
  /// Ends a training while it keeps a ring, and returns what is known of the last one.
  [[nodiscard]] std::string last_ring_of(std::string const& ending) const {
    Outcome const outcome = shell(
        program() + " record --force --ring 60s -o run -- sh -c '" + program() +
        " run cifar10 --batch 4 --steps 1000000 --no-evaluate --log-every 0 > training.txt & "
        "training=$!; for i in $(seq 300); do ls run/requests/*.process.json >/dev/null 2>&1 && "
        "break; sleep 0.1; done; sleep 1; " +
        ending + " $training; wait $training; echo ended with $?'");
    return outcome.output + shell(program() + " analyze run/ring-last").output;
  }
};

TEST_F(EndingsOfRings, WriteWhatIsKept) {
  EXPECT_THAT(last_ring_of("kill -TERM"),
              AllOf(HasSubstr("write it with: stepscope trigger run"), HasSubstr("ended with 143"),
                    HasSubstr("of 1 ring"), HasSubstr("Written because the program ended.")));
  EXPECT_THAT(last_ring_of("kill -SEGV"), AllOf(HasSubstr("ended with 139"), HasSubstr("of 1 ring"),
                                                HasSubstr("Written because the program crashed")));
}

}  // namespace
}  // namespace stepscope::e2e
