// How the program answers people: help, what they may have meant, colours, and what shells
// complete.
#include <algorithm>
#include <array>
#include <sstream>
#include <string>

#include <gmock/gmock.h>

#include "tests/e2e/main_job/program.h"
#include "trace/base/terminal/text_width.h"

namespace stepscope::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char const* kEscape = "\x1B[";

class CommandLine : public Program {
 protected:
  void make_run() const {
    ASSERT_EQ(stepscope("synth -o run --ranks 2 --steps 4 > made.txt").code, 0);
  }
};

TEST_F(CommandLine, SaysWhatSomebodyMayHaveMeant) {
  Outcome const command = stepscope("analyse run");
  EXPECT_EQ(command.code, 2);
  EXPECT_THAT(command.output, HasSubstr("analyse: no such command (did you mean analyze?)"));
  EXPECT_THAT(stepscope("qwertyuiop").output,
              AllOf(HasSubstr("no such command, see stepscope --help"), Not(HasSubstr("mean"))));

  Outcome const option = stepscope("slice run --stpes 1:2 -o part");
  EXPECT_EQ(option.code, 2);
  EXPECT_THAT(option.output, HasSubstr("--stpes: no such option of slice (did you mean --steps?), "
                                       "see stepscope slice --help"));
}

TEST_F(CommandLine, ShowsHelpByName) {
  EXPECT_EQ(stepscope("help").output, stepscope("--help").output);
  EXPECT_EQ(stepscope("help slice").output, stepscope("slice --help").output);
  EXPECT_EQ(stepscope("help slice").code, 0);
  EXPECT_EQ(stepscope("help slcie").code, 2);
  EXPECT_EQ(stepscope("-V").output, stepscope("--version").output);
}

TEST_F(CommandLine, LoadsNoLibraryFromTheCurrentFolder) {
  // Empty files: the loader stops at the first one that it takes.
  ASSERT_EQ(shell("touch libstdc++.so.6 libm.so.6 libgcc_s.so.1 libzstd.so.1 libxxhash.so.0").code,
            0);
  EXPECT_EQ(stepscope("--version").code, 0);
  Outcome const recorded = stepscope("record -o recorded -- " + program() + " synth -o made");
  EXPECT_EQ(recorded.code, 0) << recorded.output;
}

TEST_F(CommandLine, KnowsTheNamesOfOtherProfilers) {
  make_run();
  EXPECT_EQ(stepscope("stats run").output, stepscope("analyze run").output);
  EXPECT_EQ(stepscope("diff run --vs run").output, stepscope("compare run --vs run").output);
}

TEST_F(CommandLine, ColoursWhereItIsAskedTo) {
  make_run();
  auto const is_coloured = [&](std::string const& variables, std::string const& arguments) {
    Outcome const outcome = shell("env -u NO_COLOR -u FORCE_COLOR -u CLICOLOR_FORCE TERM=xterm " +
                                  variables + " " + program() + " " + arguments);
    EXPECT_NE(outcome.code, 2) << outcome.output;
    return outcome.output.find(kEscape) != std::string::npos;
  };

  EXPECT_FALSE(is_coloured("", "analyze run")) << "into a pipe";
  EXPECT_TRUE(is_coloured("", "--color always analyze run"));
  EXPECT_TRUE(is_coloured("NO_COLOR=1", "analyze run --color=always"));
  EXPECT_TRUE(is_coloured("FORCE_COLOR=1", "analyze run"));
  EXPECT_TRUE(is_coloured("CLICOLOR_FORCE=1", "analyze run"));
  EXPECT_FALSE(is_coloured("FORCE_COLOR=0", "analyze run"));
  EXPECT_FALSE(is_coloured("FORCE_COLOR=1 NO_COLOR=1", "analyze run"));
  EXPECT_FALSE(is_coloured("FORCE_COLOR=1", "analyze run --color never"));
  EXPECT_EQ(stepscope("--color blue analyze run").code, 2);
}

/// They take options that are not theirs.
TEST_F(CommandLine, HandsOptionsOnToWorkloads) {
  for (std::string const command : {"run", "profile", "tune"})
    EXPECT_THAT(stepscope(command + " mnist --no-such-thing").output,
                AllOf(HasSubstr("no-such-thing"), Not(HasSubstr("no such option of " + command))));
}

TEST_F(CommandLine, ColoursOnTerminalsThatAreNotDumb) {
  if (shell("command -v script").code != 0) GTEST_SKIP() << "needs script (bsdextrautils)";
  make_run();
  auto const on_terminal = [&](std::string const& variables) {
    return shell("env -u NO_COLOR -u FORCE_COLOR -u CLICOLOR_FORCE " + variables +
                 " script -qec \"" + program() + " analyze run --no-pager\" /dev/null")
        .output;
  };

  EXPECT_THAT(on_terminal("TERM=xterm"), HasSubstr(kEscape));
  EXPECT_THAT(on_terminal("TERM=dumb"), Not(HasSubstr(kEscape)));
  EXPECT_THAT(on_terminal("TERM=xterm NO_COLOR=1"), Not(HasSubstr(kEscape)));
}

/// What a pager and the terminal behind it cannot show is not sent there; files keep UTF-8.
TEST_F(CommandLine, WritesAsciiOnTerminalsWithoutUtf8) {
  if (shell("command -v script").code != 0) GTEST_SKIP() << "needs script (bsdextrautils)";
  make_run();
  auto const on_terminal = [&](std::string const& locale, std::string const& command) {
    return shell("env -u LC_ALL -u LC_CTYPE " + locale + " NO_COLOR=1 TERM=xterm script -qec \"" +
                 program() + " " + command + "\" /dev/null")
        .output;
  };
  auto const is_ascii = [](std::string const& text) {
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  };

  for (std::string const command : {"analyze run --no-pager", "compare run --vs no-such-µ-run"}) {
    std::string const plain = on_terminal("LANG=C", command);
    EXPECT_TRUE(is_ascii(plain)) << plain;
    EXPECT_GT(plain.size(), 50U);
    EXPECT_FALSE(is_ascii(on_terminal("LANG=C.UTF-8", command)));
    std::string const unset = on_terminal("-u LANG", command);
    EXPECT_FALSE(is_ascii(unset));
    EXPECT_THAT(unset, Not(HasSubstr("env:")));
  }
  EXPECT_FALSE(is_ascii(shell("LC_ALL=C " + program() + " analyze run").output)) << "into a pipe";
  std::string const paged = on_terminal("LANG=C PAGER='sed s/^/paged:/'", "top run --limit 3");
  EXPECT_TRUE(is_ascii(paged)) << paged;
  EXPECT_THAT(paged, HasSubstr("paged:"));
}

constexpr std::array kFittingCommands = {"analyze slow",
                                         "compare run --vs slow",
                                         "whatif slow",
                                         "whatif slow --change class:compute=/2",
                                         "check slow --baseline run",
                                         "top slow",
                                         "top slow --of ranges",
                                         "report --series two run -o series.html",
                                         "info slow",
                                         "doctor slow",
                                         "query --tables",
                                         "--help",
                                         "record --help",
                                         "analyze --help",
                                         "whatif --help",
                                         "synth --help",
                                         "trigger --help",
                                         "tune --help",
                                         "live --help",
                                         "ps --help"};

TEST_F(CommandLine, TablesFitTerminalsOf80And40Columns) {
  for (std::string const tool : {"script", "stty"})
    if (shell("command -v " + tool).code != 0) GTEST_SKIP() << "needs " << tool;
  ASSERT_EQ(stepscope("synth -o run --ranks 4 --steps 20").code, 0);
  ASSERT_EQ(stepscope("synth -o slow --ranks 4 --steps 20 --fault late-rank=6").code, 0);
  ASSERT_EQ(stepscope("synth -o two --ranks 2 --steps 20").code, 0);

  for (size_t const width : {size_t{80}, size_t{40}})
    for (std::string const command : kFittingCommands) {
      Outcome const outcome = shell(
          "env NO_COLOR=1 LANG=C.UTF-8 TERM=xterm script -qec \"stty cols " +
          std::to_string(width) + "; " + program() + " --no-pager " + command + "\" /dev/null");
      EXPECT_GT(outcome.output.size(), 20U) << command;

      std::istringstream lines(outcome.output);
      for (std::string line; std::getline(lines, line);) {
        line.erase(std::remove(line.begin(), line.end(), '\r'), line.end());
        // Notes, and what people copy, are not broken.
        if (line.starts_with("stepscope: ") || line.starts_with("  command") ||
            line.find(".html") != std::string::npos)
          continue;
        EXPECT_LE(base::columns_of(line), width) << command << "\n" << line;
      }
    }
}

TEST_F(CommandLine, WritesASmallReportOfAMillionEvents) {
  constexpr uintmax_t kMostBytes = 2'500'000;
  ASSERT_EQ(stepscope("synth -o million --ranks 4 --events 250000").code, 0);
  ASSERT_EQ(stepscope("report million -o million.html").code, 0);
  EXPECT_LE(std::filesystem::file_size(path("million.html")), kMostBytes);
}

TEST_F(CommandLine, SendsLongOutputThroughAPagerAsGitDoes) {
  for (std::string const tool : {"script", "sed"})
    if (shell("command -v " + tool).code != 0) GTEST_SKIP() << "needs " << tool;
  make_run();
  auto const on_terminal = [&](std::string const& variables, std::string const& command) {
    return shell("env -u STEPSCOPE_PAGER -u PAGER NO_COLOR=1 " + variables + " script -qec \"" +
                 program() + " " + command + "\" /dev/null");
  };
  std::string const mark = "PAGER='sed s/^/paged:/'";

  Outcome const paged = on_terminal("TERM=xterm " + mark, "top run --limit 3");
  EXPECT_THAT(paged.output, HasSubstr("paged:"));
  EXPECT_EQ(paged.code, 0);
  EXPECT_THAT(on_terminal("TERM=xterm STEPSCOPE_PAGER=cat " + mark, "top run").output,
              AllOf(HasSubstr("total"), Not(HasSubstr("paged:"))));
  EXPECT_THAT(on_terminal("TERM=xterm " + mark, "top run --no-pager").output,
              AllOf(HasSubstr("total"), Not(HasSubstr("paged:"))));
  EXPECT_THAT(on_terminal("TERM=dumb " + mark, "top run").output, Not(HasSubstr("paged:")));
  EXPECT_THAT(on_terminal("TERM=xterm PAGER=no-such-program", "top run").output,
              HasSubstr("total"));

  // Pipes have no pager, and errors keep their code behind one.
  EXPECT_THAT(shell(mark + " TERM=xterm " + program() + " top run").output,
              Not(HasSubstr("paged:")));
  Outcome const wrong = on_terminal("TERM=xterm " + mark, "query run 'select nothing'");
  EXPECT_EQ(wrong.code, 2) << wrong.output;
}

TEST_F(CommandLine, IsSilentWhereItIsAskedToBe) {
  make_run();
  EXPECT_THAT(stepscope("export run -o loud.csv").output, HasSubstr("wrote"));
  EXPECT_EQ(stepscope("-q export run -o quiet.csv").output, "");
  EXPECT_EQ(stepscope("slice run --steps 1:2 -o part --quiet").output, "");
  EXPECT_THAT(stepscope("-q export run -o quiet.csv").output, HasSubstr("is there already"));
}

TEST_F(CommandLine, SaysThatAFullDiskTookNotAllOfItsOutput) {
  make_run();
  for (std::string const command : {"info run", "analyze run --json", "top run", "--help"}) {
    Outcome const outcome = stepscope(command + " > /dev/full");
    EXPECT_EQ(outcome.code, 2) << command;
    EXPECT_THAT(outcome.output, HasSubstr("No space left")) << command;
  }
  EXPECT_EQ(stepscope("query --tables -o tables.csv").code, 2);
}

TEST_F(CommandLine, NamesTheOptionOfAWorkloadThatMayBeMeant) {
  Outcome const outcome = stepscope("run mnist --stpes 2");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.output, HasSubstr("--stpes: no such option (did you mean --steps"));
}

TEST_F(CommandLine, ShowsTheOptionsOfAWorkloadToWhoProfilesIt) {
  Outcome const help = stepscope("profile mnist --help");
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.output, AllOf(HasSubstr("--trace-steps"), HasSubstr("--learning-rate")));
  EXPECT_THAT(stepscope("profile --help").output, Not(HasSubstr("--learning-rate")));
}

TEST_F(CommandLine, ListsWhatTakesTheMostTime) {
  make_run();
  Outcome const kernels = stepscope("top run --format csv --limit 3");
  EXPECT_EQ(kernels.code, 0) << kernels.output;
  // The same question in SQL, in other words.
  std::string const rows = "from events where kind = 'kernel' or kind = 'collective'";
  EXPECT_EQ(kernels.output,
            stepscope("query run --format csv \"select name, count(*) as count, "
                      "sum(dur_ns) as total, avg(dur_ns) as mean, max(dur_ns) as longest, "
                      "sum(dur_ns) * 1.0 / (select sum(dur_ns) " +
                      rows + ") as share " + rows + " group by name order by 3 desc, 1 limit 3\"")
                .output);

  Outcome const table = stepscope("top run --of ops --by count");
  EXPECT_EQ(table.code, 0) << table.output;
  EXPECT_THAT(table.output, AllOf(HasSubstr("total"), HasSubstr("share"), HasSubstr(" %")));
  EXPECT_EQ(stepscope("top run --of nothing").code, 2);
  EXPECT_EQ(stepscope("top run --by 'name; drop table'").code, 2);
  EXPECT_THAT(stepscope("top run --of calls --rank 0").output, HasSubstr("mean"));
}

TEST_F(CommandLine, IsCompletedByBash) {
  auto const completed = [&](std::string const& words, int place) {
    return shell("bash -c 'source <(" + program() + " completion bash); COMP_WORDS=(stepscope " +
                 words + "); COMP_CWORD=" + std::to_string(place) +
                 "; _stepscope; echo \"${COMPREPLY[*]}\"'")
        .output;
  };

  EXPECT_EQ(completed("whati", 1), "whatif\n");
  EXPECT_EQ(completed("slice run --anon", 3), "--anonymize\n");
  EXPECT_EQ(completed("help sli", 2), "slice\n");
  EXPECT_EQ(completed("slice ru", 2), "\n") << "files, which the shell completes";
}

TEST_F(CommandLine, HasAManualPageOfEachCommand) {
  EXPECT_THAT(stepscope("man").output, AllOf(HasSubstr(".TH STEPSCOPE 1"), HasSubstr("record")));
  EXPECT_THAT(stepscope("man record").output,
              AllOf(HasSubstr("stepscope\\-record"), HasSubstr("\\-\\-ring")));
  EXPECT_EQ(stepscope("man dance").code, 2);
  EXPECT_EQ(stepscope("man record --all x").code, 2);

  ASSERT_EQ(stepscope("man --all pages").code, 0);
  EXPECT_THAT(shell("ls pages").output,
              AllOf(HasSubstr("stepscope.1"), HasSubstr("stepscope-whatif.1")));
  EXPECT_EQ(stepscope("man --all /proc/nowhere").code, 2);
}

TEST_F(CommandLine, WritesCompletionsThatTheShellsTake) {
  for (std::string const name : {"bash", "zsh", "fish"}) {
    if (shell("command -v " + name).code != 0) continue;
    Outcome const checked =
        shell(program() + " completion " + name + " > script && " + name + " -n script");
    EXPECT_EQ(checked.code, 0) << name << checked.output;
  }
  EXPECT_EQ(stepscope("completion ksh").code, 2);

  if (shell("command -v fish").code != 0) return;
  ASSERT_EQ(stepscope("completion fish > script").code, 0);
  EXPECT_THAT(shell("fish -c 'source script; complete -C \"stepscope slice --anon\"'").output,
              HasSubstr("--anonymize"));
}

}  // namespace
}  // namespace stepscope::e2e
