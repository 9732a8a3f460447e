// Commands that read runs, started by mpirun: their processes share the work, and what they print
// and write is byte for byte that of one process.
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/e2e/processes/under_mpirun.h"

namespace stepscope::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class TeamUnderMpirun : public ProgramUnderMpirun {
 protected:
  void SetUp() override {
    ProgramUnderMpirun::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(stepscope("synth -o run --ranks 6 --steps 40").code, 0);
    ASSERT_EQ(stepscope("synth -o slow --ranks 6 --steps 40 --fault late-rank=6").code, 0);
  }

  [[nodiscard]] Outcome together(int processes, std::string const& command) const {
    return shell(mpirun(processes) + program() + " " + command);
  }
  [[nodiscard]] std::string bytes_of(std::string const& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
};

TEST_F(TeamUnderMpirun, PrintsTheBytesOfOneProcess) {
  for (std::string const command :
       {"analyze run", "analyze run --json", "analyze run --steps 3:9", "analyze run --rank 2",
        "analyze run/rank-1.stepscope --markdown", "compare run --vs slow", "whatif slow",
        "query run 'select name, count(*), sum(dur_ns) from kernels group by name order by 1'",
        "query run --format csv 'select rank, depth, count(*), max(end_ns) from events group by "
        "rank, depth order by 1, 2'",
        "query run --rank 4 'select count(*), avg(dur_ns) from kernels'",
        "query run --format json 'select * from findings'",
        "query slow --format csv 'select * from idle_gaps'",
        "query slow --format csv 'select * from matched_collectives'",
        "query slow --format csv 'select rank, start_ns, dur_ns, cause from idle_gaps'",
        "query slow --format csv 'select * from host_threads'",
        "query slow --format csv 'select * from finding_evidence'"}) {
    Outcome const alone = stepscope(command);
    EXPECT_NE(alone.code, 2) << command << alone.output;

    for (int const processes : {1, 2, 4}) {
      Outcome const shared = together(processes, command);
      EXPECT_EQ(shared.code, alone.code) << command << shared.output;
      // mpirun has words of its own about exit codes that are not 0.
      size_t const compared = alone.code == 0 ? std::string::npos : alone.output.size();
      EXPECT_EQ(shared.output.substr(0, compared) == alone.output, true)
          << command << " with " << processes << shared.output.substr(0, 2000);
    }
  }
}

TEST_F(TeamUnderMpirun, WritesTheSameReportAndGate) {
  ASSERT_EQ(stepscope("report slow -o alone.html").code, 0);
  Outcome const shared = together(3, "report slow -o together.html");
  ASSERT_EQ(shared.code, 0) << shared.output;
  EXPECT_EQ(bytes_of("alone.html") == bytes_of("together.html"), true);

  Outcome const alone = stepscope("check slow --baseline run");
  Outcome const gate = together(2, "check slow --baseline run");
  EXPECT_EQ(gate.output.substr(0, alone.output.size()), alone.output);
  EXPECT_EQ(gate.code, alone.code);
}

TEST_F(TeamUnderMpirun, ReadsWhatEachMachineHas) {
  std::filesystem::create_directories(path("all"));
  std::filesystem::rename(path("run"), path("all/run"));
  for (int rank = 0; rank < 6; ++rank) {
    std::string const disk = rank % 2 == 0 ? "first/run" : "second/run";
    std::filesystem::create_directories(path(disk));
    std::string const name = fmt::format("rank-{}.stepscope", rank);
    std::filesystem::copy_file(path("all/run/" + name), path(disk + "/" + name));
  }

  Outcome const alone = shell("cd all && " + program() + " analyze run --json");
  Outcome const shared =
      shell(mpirun(1, "-wdir first") + program() + " analyze run --json : -n 1 -wdir second " +
            program() + " analyze run --json");
  EXPECT_EQ(shared.code, 0);
  EXPECT_EQ(shared.output == alone.output, true) << shared.output.substr(0, 2000);
}

TEST_F(TeamUnderMpirun, RefusesANameThatIsAnotherFileElsewhere) {
  for (int const rank : {0, 1}) {
    std::string const disk = rank == 0 ? "first/run" : "second/run";
    std::filesystem::create_directories(path(disk));
    std::filesystem::copy_file(path(fmt::format("run/rank-{}.stepscope", rank)),
                               path(disk + "/trace.stepscope"));
  }

  Outcome const shared = shell(mpirun(1, "-wdir first") + program() +
                               " analyze run : -n 1 -wdir second " + program() + " analyze run");
  EXPECT_EQ(shared.code, 2);
  EXPECT_THAT(shared.output, AllOf(HasSubstr("run/trace.stepscope: is another file for process 1"),
                                   HasSubstr("names of their own")));
}

TEST_F(TeamUnderMpirun, RefusesOtherOptionsAndSaysWhose) {
  Outcome const shared =
      shell(mpirun(1) + program() + " analyze run : -n 1 " + program() + " analyze run --json");
  EXPECT_EQ(shared.code, 2);
  EXPECT_THAT(shared.output,
              AllOf(HasSubstr("process 1 was started with \"analyze run --json\""),
                    HasSubstr("process 0 with \"analyze run\""), HasSubstr("--alone")));
}

TEST_F(TeamUnderMpirun, RefusesAnotherBuildAndSaysWhose) {
  // With the program's libraries beside it.
  ASSERT_EQ(shell("mkdir -p other/bin && cp " + program() +
                  " other/bin/stepscope && echo >> other/bin/stepscope && ln -s \"$(dirname " +
                  program() + ")/../lib\" other/lib")
                .code,
            0);

  Outcome const shared =
      shell(mpirun(1) + program() + " analyze run : -n 1 other/bin/stepscope analyze run");
  EXPECT_EQ(shared.code, 2);
  EXPECT_THAT(shared.output, AllOf(HasSubstr("process 1 is another build of Stepscope"),
                                   HasSubstr("start the same program on all machines")));
}

TEST_F(TeamUnderMpirun, SaysTheErrorOfOneProcessOnce) {
  Outcome const alone = stepscope("analyze nowhere");
  Outcome const shared = together(3, "analyze nowhere");
  EXPECT_EQ(shared.code, alone.code);
  EXPECT_EQ(shared.output.substr(0, alone.output.size()), alone.output);
  EXPECT_EQ(shared.output.find("nowhere", alone.output.size()), std::string::npos);
}

TEST_F(TeamUnderMpirun, IsNoneWhereEachProcessWorksAlone) {
  std::string const one = stepscope("analyze run").output;
  EXPECT_EQ(together(2, "analyze run --alone").output.size(), 2 * one.size());

  // A program that runs Stepscope as its helper gets it alone, in each of its processes.
  Outcome const helped =
      shell(mpirun(2) + "find run -maxdepth 0 -exec " + program() + " analyze {} ';'");
  EXPECT_EQ(helped.output.size(), 2 * one.size()) << helped.output;

  // Programs that start what they were given are no such programs.
  EXPECT_EQ(shell(mpirun(2) + "nice " + program() + " analyze run").output, one);
  EXPECT_EQ(shell(mpirun(2) + "bash -c '" + program() + " analyze run; true'").output, one);
}

TEST_F(TeamUnderMpirun, EndsWithTheNameOfTheOneThatIsKilled) {
  ASSERT_EQ(stepscope("synth -o large --ranks 96 --events 100000").code, 0);
  auto const kill_rank = [](std::string const& rank) {
    return " & launcher=$!\n"
           "for i in $(seq 300); do for pid in $(pgrep -f 'stepscope (report|query) large'); do\n"
           "  [ \"$(readlink /proc/$pid/cwd)\" = \"$(pwd -P)\" ] || continue\n"
           "  tr '\\0' '\\n' < /proc/$pid/environ | grep -qx OMPI_COMM_WORLD_RANK=" +
           rank +
           " || continue\n"
           "  [ \"$(ls /proc/$pid/task | wc -l)\" -gt 4 ] && kill -9 $pid && break 2\n"
           "done; sleep 0.02; done\n"
           "wait $launcher";
  };
  // The launcher that lost a process leaves folders of its own.
  std::string const list = "ls | grep -v '^mpi[.]'", before = shell(list).output;

  // A query must not answer with the ranks that are left.
  for (std::string const rank : {"1", "0"})
    for (std::string const command :
         {"report large -o report.html", "query large 'select count(*), 4711 from kernels k'"}) {
      Outcome const killed = shell(mpirun(3) + program() + " " + command + kill_rank(rank));
      EXPECT_NE(killed.code, 0) << command;
      EXPECT_THAT(killed.output,
                  AllOf(HasSubstr("rank " + rank + " is gone"), HasSubstr("nothing was written")));
      EXPECT_THAT(killed.output, Not(HasSubstr("4711\n")));
    }
  EXPECT_EQ(shell(list).output, before);
}

}  // namespace
}  // namespace stepscope::e2e
