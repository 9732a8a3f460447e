#include "tests/fuzz/command_lines.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "cli/commands.h"

namespace stepscope::fuzz {
namespace {

/// The folder's file where an argument stands for the input or the output, else the argument.
std::string const& path_for(std::string const& argument, InputFolder const& folder) {
  if (argument == "IN") return folder.input();
  if (argument == "OUT") return folder.output();
  return argument;
}

std::vector<CommandLine> make_command_lines() {
  std::vector<CommandLine> all = {
      {"info", cli::add_info, {"IN"}},
      {"info", cli::add_info, {"IN", "--json"}},
      {"slice", cli::add_slice, {"IN", "--time", "0:1ms", "-o", "OUT"}},
      {"slice", cli::add_slice, {"IN", "--steps", "1:2", "-o", "OUT"}},
      {"slice", cli::add_slice, {"IN", "--steps", "0:", "--anonymize", "-o", "OUT"}},
      {"slice", cli::add_slice, {"IN", "--rank", "0", "--time", "1us:", "-o", "OUT"}},
      {"analyze", cli::add_analyze, {"IN"}},
      {"analyze", cli::add_analyze, {"IN", "--json"}},
      {"analyze", cli::add_analyze, {"IN", "--markdown", "--steps", "1:2"}},
      {"analyze", cli::add_analyze, {"IN", "--openmetrics"}},
      {"stream", cli::add_analyze, {"IN", "--json", "--stream"}},
      {"stream", cli::add_analyze, {"IN", "--stream", "--steps", "1:"}},
      {"report", cli::add_report, {"IN", "-o", "OUT"}},
      {"report", cli::add_report, {"IN", "--lang", "zh", "-o", "OUT"}},
      {"query",
       cli::add_query,
       {"IN", "select name, count(*), sum(dur_ns) from events group by name order by 3 desc"}},
      {"query",
       cli::add_query,
       {"IN", "--format", "json", "--steps", "1:2", "select * from kernels"}},
      {"query", cli::add_query, {"IN", "--format", "csv", "select * from collectives"}},
      {"compare", cli::add_compare, {"IN", "--vs", "IN"}},
      {"compare", cli::add_compare, {"IN", "--vs", "IN", "--json", "--steps", "0:2"}},
      {"check", cli::add_check, {"IN", "--baseline", "IN", "--junit", "OUT"}},
      {"check", cli::add_check, {"IN", "--history", "IN", "--json"}},
      {"doctor", cli::add_doctor, {"IN"}},
      {"doctor", cli::add_doctor, {"IN", "--json"}},
      {"import", cli::add_import, {"IN", "-o", "OUT"}},
  };

  for (char const* const format : {"perfetto", "chrome", "csv", "sqlite"}) {
    all.push_back({"export", cli::add_export, {"IN", "--format", format, "-o", "OUT"}});
    all.push_back(
        {"export", cli::add_export, {"IN", "--format", format, "--steps", "1:2", "-o", "OUT"}});
    all.push_back(
        {"export", cli::add_export, {"IN", "--format", format, "--time", "0:1ms", "-o", "OUT"}});
  }

  // The corpus names lines by their places: new ones stand behind all others.
  all.push_back({"whatif", cli::add_whatif, {"IN"}});
  all.push_back({"whatif", cli::add_whatif, {"IN", "--json", "--change", "class:compute=/2"}});
  all.push_back({"whatif",
                 cli::add_whatif,
                 {"IN", "--markdown", "--only-changes", "--together", "--change", "overlap",
                  "--change", "input=0", "--change", "straggler=median", "--steps", "1:2"}});
  all.push_back({"top", cli::add_top, {"IN", "--of", "ops", "--by", "longest"}});

  return all;
}

/// What commands print goes nowhere while this lives. (File descriptor 2 stays: a sanitizer writes
/// there.)
class Silence {
 public:
  Silence() {
    static std::FILE* const nowhere =
        std::getenv("STEPSCOPE_FUZZ_SHOW") == nullptr ? std::fopen("/dev/null", "w") : nullptr;
    if (nowhere == nullptr) return;
    stdout = nowhere;
    stderr = nowhere;
  }
  Silence(Silence const&) = delete;
  Silence& operator=(Silence const&) = delete;
  ~Silence() {
    stdout = out_;
    stderr = error_;
  }

 private:
  std::FILE* out_ = stdout;
  std::FILE* error_ = stderr;
};

}  // namespace

std::vector<CommandLine> const& command_lines() {
  static std::vector<CommandLine> const lines = make_command_lines();
  return lines;
}

int run_command(CommandLine const& line, InputFolder const& folder) {
  Silence const silence;
  CLI::App app;
  cli::Action const action = line.add(app);

  std::vector<std::string> arguments;
  for (std::string const& argument : line.arguments)
    arguments.push_back(path_for(argument, folder));
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
  app.parse(std::move(arguments));
  return action();
}

}  // namespace stepscope::fuzz
