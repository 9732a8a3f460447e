// Windows that are asked for while several processes train: the same steps in all of them, and
// whole where a process is killed.
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/e2e/processes/under_mpirun.h"
#include "trace/base/files/run_folder.h"
#include "trace/import/open/open_run.h"

namespace stepscope::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class RequestsToProcesses : public ProgramUnderMpirun {
 protected:
  /// Records a training without end in three processes and runs `script` beside it, in which ask()
  /// is `stepscope trigger run` once all of them train. Returns what the script prints.
  [[nodiscard]] Outcome during_training(std::string const& mpi_options,
                                        std::string const& script) const {
    return shell("stepscope() { " + program() + " \"$@\"; }\n" +
                 "ask() { for i in $(seq 300); do\n"
                 "  answer=$(stepscope trigger run \"$@\" 2>&1) && break\n"
                 "  case $answer in *'step yet'*|*'not known yet'*|*'record --on-request'*|"
                 "*'being recorded'*) sleep 0.2;; *) break;; esac\n"
                 "done; echo \"$answer\"; }\n" +
                 mpirun(3, mpi_options) + program() + " record --on-request -o run -- " +
                 program() +
                 " run cifar10 --batch 4 --steps 1000000 --no-evaluate --log-every 0 "
                 "> training.txt 2>&1 & launcher=$!\n" +
                 script + "\nkill $launcher 2>/dev/null; wait $launcher 2>/dev/null; true");
  }
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
                                          "ask --steps 2\n"
                                          "stepscope ps run\n"
                                          "stepscope trigger run --stop\n"
                                          "stepscope trigger run\n"
                                          "kill -0 $launcher && echo still training\n");
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("will be recorded in 3 processes"),
                    HasSubstr("written by 3 processes; see it with: stepscope analyze run/steps-"),
                    HasSubstr("waits for a request"), HasSubstr("recording ends in 3"),
                    HasSubstr("no process is being recorded there any more"),
                    HasSubstr("still training"), Not(HasSubstr("did not answer"))));

  std::vector<std::string> const windows = base::windows_in(path("run"));
  ASSERT_EQ(windows.size(), 2U) << outcome.output;
  for (size_t i = 0; i < 2; ++i) {
    auto const ranks = ranks_by_step(windows[i]);
    EXPECT_EQ(ranks.size(), i == 0 ? 3U : 2U);
    for (auto const& [step, of] : ranks) EXPECT_EQ(of, (std::set<int32_t>{0, 1, 2})) << step;
  }
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
            std::string(delay) + "\n" +
            "for pid in $(pgrep -f 'run cifar10'); do\n"
            "  [ \"$(readlink /proc/$pid/cwd)\" = \"$(pwd -P)\" ] || continue\n"
            "  grep -q libstepscope-tracer /proc/$pid/maps || continue\n"
            "  tr '\\0' '\\n' < /proc/$pid/environ | grep -qx OMPI_COMM_WORLD_RANK=1 && "
            "kill -KILL $pid && echo killed\n"
            "done\n"
            "wait $asking; cat asked.txt\n");

    EXPECT_THAT(outcome.output, HasSubstr("killed"));
    std::vector<std::string> const windows = base::windows_in(path("run"));
    ASSERT_FALSE(windows.empty()) << outcome.output;
    for (std::string const& window : windows) EXPECT_FALSE(ranks_by_step(window, 1).empty());
  }
}

}  // namespace
}  // namespace stepscope::e2e
