// Every command that writes: killed, failing, twice at once, under another umask, and with links
// planted where it writes. The promise is the same for all, so the list of commands is the test's
// only difference between them.
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "tests/e2e/main_job/program.h"
#include "tests/support/paths.h"

namespace stepscope::e2e {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;

struct Command {
  char const* name;
  char const* arguments;  ///< reads from in/, writes to out/
  bool takes_force;       ///< replaces what is there only with --force

  friend void PrintTo(Command const& command, std::ostream* out) { *out << command.name; }
};

constexpr Command kCommands[] = {
    {"synth", "synth --ranks 2 --steps 3 -o out/run", true},
    {"import", "import in/json -o out/run", true},
    {"slice", "slice in/run --steps 1:1 -o out/run", true},
    {"export_perfetto", "export in/run -o out/run.pftrace", true},
    {"export_chrome", "export in/run -o out/run.json", true},
    {"export_chrome_folder", "export in/run --format chrome -o out/json/", true},
    {"export_csv", "export in/run -o out/run.csv", true},
    {"export_csv_folder", "export in/run --format csv -o out/tables/", true},
    {"export_sqlite", "export in/run -o out/run.sqlite", true},
    {"report", "report in/run -o out/report.html", false},
    {"report_series",
     "report --series in/run in/four -o out/s.html --json out/s.json --markdown out/s.md", false},
    {"compare", "compare in/run --vs in/run --markdown out/c.md", false},
    {"check",
     "check in/run --budget in/budget.toml --json-file out/c.json --markdown out/c.md --junit "
     "out/c.xml --sarif out/c.sarif --update-baseline out/baselines",
     false},
    {"screenshot", "view in/run --screenshot out/p.png --size 640x360", false},
};

/// Before the first bytes of an output, and before the first output gets its name.
enum class At : int { kWrite, kName };

/// A command that was started, and stopped there.
class Stopped {
 public:
  Stopped(std::string const& folder, std::string const& arguments, At at = At::kName) {
    std::string const line = "exec " + arguments + " > /dev/null 2>&1";
    std::string const library =
        fs::absolute(support::build_path("tests/stop_in_output.so")).string();

    pid_ = ::fork();
    if (pid_ == 0) {
      ::setenv("STEPSCOPE_TEST_STOP", std::to_string(::getpid()).c_str(), 1);
      ::setenv("STEPSCOPE_TEST_STOP_AT", at == At::kWrite ? "write" : "name", 1);
      ::setenv("LD_PRELOAD", library.c_str(), 1);
      if (::chdir(folder.c_str()) == 0) ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      ::_exit(127);
    }

    ::waitpid(pid_, &status_, WUNTRACED);
  }
  Stopped(Stopped const&) = delete;
  Stopped& operator=(Stopped const&) = delete;
  ~Stopped() {
    if (is_stopped()) end_by(SIGKILL);
  }

  [[nodiscard]] bool is_stopped() const { return WIFSTOPPED(status_); }
  /// Its status in the end. Its first thread gets the signal, which alone ends a command that went
  /// well. For a signal to the process the kernel may choose a thread that runs only after that.
  int end_by(int signal) {
    ::tgkill(pid_, pid_, signal);
    return go_on();
  }
  int go_on() {
    ::kill(pid_, SIGCONT);
    ::waitpid(pid_, &status_, 0);
    return status_;
  }

 private:
  pid_t pid_ = -1;
  int status_ = 0;
};

class Outputs : public Program {
 protected:
  void SetUp() override {
    fs::create_directories(path("out"));
    ASSERT_EQ(stepscope("synth --ranks 2 --steps 40 -o in/run").code, 0);
    ASSERT_EQ(stepscope("synth --ranks 4 --steps 4 -o in/four").code, 0);
    ASSERT_EQ(stepscope("export in/run --format chrome -o in/json/").code, 0);
    std::ofstream(path("in/budget.toml")) << "[default]\nstep_time_ms = \"<= 1000\"\n";
    std::ofstream(path("outside.txt")) << "precious";
  }
  /// Paths in out/ and the sizes of the files; of hidden ones only where `with_hidden`.
  [[nodiscard]] std::map<std::string, uintmax_t> files(bool with_hidden = true) const {
    std::map<std::string, uintmax_t> found;
    for (auto entry = fs::recursive_directory_iterator(path("out"));
         entry != fs::recursive_directory_iterator(); ++entry) {
      bool const is_hidden = entry->path().filename().string().starts_with('.');
      if (is_hidden && !with_hidden) entry.disable_recursion_pending();

      bool const is_counted = with_hidden ? true : !is_hidden && entry->is_regular_file();
      if (is_counted)
        found[fs::relative(entry->path(), path("out")).string()] =
            entry->is_regular_file() ? entry->file_size() : 0;
    }
    return found;
  }
  void empty_out() const {
    fs::remove_all(path("out"));
    fs::create_directories(path("out"));
  }
  [[nodiscard]] std::string text_of(std::string const& name) const {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

class EveryOutput : public Outputs, public testing::WithParamInterface<Command> {
 protected:
  void SetUp() override {
    Outputs::SetUp();
    bool const is_viewer = std::string_view(GetParam().name) == "screenshot";
    if (is_viewer && !fs::exists(support::build_path("bin/stepscope-viewer")))
      GTEST_SKIP() << "built without the viewer";
  }
  [[nodiscard]] static std::string arguments() { return GetParam().arguments; }
  [[nodiscard]] static std::string forced() {
    return arguments() + (GetParam().takes_force ? " --force" : "");
  }
  [[nodiscard]] std::map<std::string, uintmax_t> reference() const {
    Outcome const outcome = stepscope(arguments());
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    auto const made = files();
    EXPECT_FALSE(made.empty());
    empty_out();
    return made;
  }
};

INSTANTIATE_TEST_SUITE_P(Commands, EveryOutput, testing::ValuesIn(kCommands),
                         [](auto const& of) { return std::string(of.param.name); });

TEST_P(EveryOutput, KilledBySignalsLeavesNothingOrTheWholeAndEndsByThem) {
  auto const whole = reference();
  for (At const at : {At::kWrite, At::kName}) {
    for (int const signal : {SIGTERM, SIGINT, SIGHUP}) {
      Stopped command(folder_.string(), program() + " " + arguments(), at);
      ASSERT_TRUE(command.is_stopped());

      int const status = command.end_by(signal);
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << status;
      // Several files take their places in one go, which a signal does not break off. And the
      // kernel may give the signal to a thread that runs only after another named the output.
      bool const is_whole = files() == whole;
      EXPECT_TRUE(is_whole || files().empty()) << signal << testing::PrintToString(files());

      empty_out();
    }
  }
}

TEST_P(EveryOutput, KilledAtOnceHasNothingUnderItsNameAndTheNextCommandClearsUp) {
  auto const whole = reference();
  for (At const at : {At::kWrite, At::kName}) {
    {
      Stopped command(folder_.string(), program() + " " + arguments(), at);
      ASSERT_TRUE(command.is_stopped());
      command.end_by(SIGKILL);
    }
    EXPECT_THAT(files(false), IsEmpty());

    Outcome const next = stepscope(arguments());
    EXPECT_EQ(next.code, 0) << next.output;
    EXPECT_EQ(files(), whole);
    empty_out();
  }
}

TEST_P(EveryOutput, KilledAtOnceLeavesWhatWasThere) {
  ASSERT_EQ(stepscope(arguments()).code, 0);
  auto const before = files(false);
  std::map<std::string, fs::file_time_type> written;
  for (auto const& [name, size] : before) written[name] = fs::last_write_time(path("out/" + name));

  {
    Stopped command(folder_.string(), program() + " " + forced());
    ASSERT_TRUE(command.is_stopped());
    command.end_by(SIGKILL);
  }

  // A run's old files go before its new ones come: killed between them, some are missing. None is
  // ever half written.
  for (auto const& [name, size] : files(false)) {
    ASSERT_TRUE(before.contains(name)) << name;
    EXPECT_EQ(fs::last_write_time(path("out/" + name)), written.at(name)) << name;
  }
}

TEST_P(EveryOutput, OfTwoAtOnceEachIsWholeOrIsToldToWait) {
  auto const whole = reference();
  Stopped first(folder_.string(), program() + " " + arguments(), At::kWrite);
  ASSERT_TRUE(first.is_stopped());

  Outcome const second = stepscope(arguments());
  if (second.code != 0) {
    EXPECT_THAT(second.output, AnyOf(HasSubstr("is writing there, wait until it ends")))
        << second.code;
    EXPECT_THAT(files(false), IsEmpty());
  } else {
    EXPECT_EQ(files(false).size(), [&] {
      size_t count = 0;
      for (auto const& [name, size] : whole)
        count += static_cast<size_t>(fs::is_regular_file(path("out/" + name)));
      return count;
    }());
  }

  int const status = first.go_on();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(files(), whole);
}

TEST_P(EveryOutput, OnAFullDiskIsAnErrorThatLeavesNothing) {
  Outcome const outcome = shell("trap '' XFSZ; ulimit -f 0; " + program() + " " + arguments());
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("out")) << "names the place";
  EXPECT_THAT(outcome.output, testing::Not(HasSubstr(".tmp"))) << "but not the hidden one";
  EXPECT_THAT(files(), IsEmpty());
}

TEST_P(EveryOutput, HasThePermissionsThatTheUmaskLeaves) {
  ASSERT_EQ(shell("umask 027; " + program() + " " + arguments()).code, 0);
  for (auto const& [name, size] : files()) {
    struct stat status {};
    ASSERT_EQ(::lstat(path("out/" + name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, S_ISDIR(status.st_mode) ? 0750U : 0640U) << name;
  }
}

TEST_P(EveryOutput, FollowsNoLinkThatWasPlantedInItsFolder) {
  // The files that the user did not name himself: those in a folder that he named.
  auto const whole = reference();
  size_t planted = 0;
  for (auto const& [name, size] : whole) {
    if (!fs::path(name).has_parent_path()) continue;
    fs::create_directories(path("out/" + fs::path(name).parent_path().string()));
    fs::create_symlink(path("outside.txt"), path("out/" + name));
    ++planted;
  }

  Outcome const outcome = stepscope(forced());
  EXPECT_EQ(text_of("outside.txt"), "precious");
  if (outcome.code != 0) {
    EXPECT_THAT(outcome.output, HasSubstr("is not replaced"));
    return;
  }

  EXPECT_EQ(files(), whole);
  for (auto const& [name, size] : whole) EXPECT_FALSE(fs::is_symlink(path("out/" + name))) << name;
  if (planted == 0) GTEST_SKIP() << "the user names every file himself";
}

TEST_F(Outputs, ChecksThatAppendToOneHistoryLoseNothing) {
  std::string line;
  for (int i = 0; i < 6; ++i)
    line += program() + " check in/run --append-history out/h/history.json > /dev/null & ";
  ASSERT_EQ(shell(line + "wait").code, 0);
  EXPECT_EQ(nlohmann::json::parse(text_of("out/h/history.json")).at("runs").size(), 6U);
  EXPECT_EQ(files().size(), 2U) << "the folder and the history, no lock";
}

class Recording : public Outputs {
 protected:
  void SetUp() override {
    Outputs::SetUp();
    if (stepscope("record --help").output.find("--steps") == std::string::npos)
      GTEST_SKIP() << "built without capture";
    ASSERT_EQ(::mkfifo(path("ready").c_str(), 0600), 0);
  }
  /// `stepscope record` of a program that runs until it is killed.
  [[nodiscard]] pid_t start(std::string const& options) const {
    std::string const line = "exec " + program() + " record -o out/run " + options +
                             " -- sh -c 'echo > ready; exec sleep 1000' > /dev/null 2>&1";
    pid_t const pid = ::fork();
    if (pid == 0) {
      if (::chdir(folder_.c_str()) == 0) ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      ::_exit(127);
    }
    std::ifstream(path("ready")).get();  // opens when the program writes
    return pid;
  }
  static int end(pid_t pid, int signal) {
    int status = 0;
    ::kill(pid, signal);
    ::waitpid(pid, &status, 0);
    return status;
  }
};

TEST_F(Recording, HasItsFolderAloneAndGivesItBackWhenKilled) {
  pid_t const first = start("");
  Outcome const second = stepscope("record -o out/run --force -- true");
  EXPECT_EQ(second.code, 2);
  EXPECT_THAT(second.output, HasSubstr("process " + std::to_string(first) + " on "));
  int const status = end(first, SIGTERM);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGTERM) << status;
  EXPECT_THAT(files(), IsEmpty()) << "nothing was recorded";
}

TEST_F(Recording, RanksOfAJobShareTheirFolder) {
  pid_t const first = start("");
  EXPECT_EQ(shell("RANK=0 " + program() + " record -o out/run -- true").code, 2)
      << "the other one has it alone";
  end(first, SIGTERM);

  ::setenv("RANK", "0", 1);
  pid_t const rank = start("");
  ::unsetenv("RANK");
  EXPECT_EQ(shell("RANK=1 " + program() + " record -o out/run -- true").code, 0);
  EXPECT_EQ(stepscope("record -o out/run --force -- true").code, 2);
  end(rank, SIGTERM);
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(Recording, ReportsOfAProfileAreNotWrittenThroughLinks) {
  std::string const profile =
      "profile mnist --device host:1 --batch 8 --steps 2 --no-evaluate --log-every 0 -o out/run";
  fs::create_directories(path("out/run"));
  for (char const* const name : {"report.html", "analysis.json", "rank-0.stepscope"})
    fs::create_symlink(path("outside.txt"), path("out/run/" + std::string(name)));

  Outcome const outcome = shell("umask 027; RANK=0 " + program() + " " + profile + " --force");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_EQ(text_of("outside.txt"), "precious");

  for (char const* const name : {"report.html", "analysis.json", "rank-0.stepscope"}) {
    struct stat status {};
    ASSERT_EQ(::lstat(path("out/run/" + std::string(name)).c_str(), &status), 0) << name;
    EXPECT_TRUE(S_ISREG(status.st_mode)) << name;
    EXPECT_EQ(status.st_mode & 07777U, 0640U) << name;
  }
}

}  // namespace
}  // namespace stepscope::e2e
