// Any bytes as a trace that a command reads: each command that reads traces is run in this process, with its own options, on a
// file of the input. No command crashes, throws or takes longer than a person waits; a wrong file is an error that it reports.
// The first byte chooses the command line (its highest bit: checksums stay as they are), the rest is the file.
// STEPSCOPE_FUZZ_COMMAND in the environment, such as "slice", keeps to the lines of one command; STEPSCOPE_FUZZ_SHOW shows what
// commands print.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <oneapi/tbb/global_control.h>
#include <unistd.h>

#include "cli/commands.h"
#include "tests/fuzz/damaged_trace.h"
#include "tests/fuzz/fuzz_input.h"

namespace {

using namespace stepscope;

struct CommandLine {
  char const* command;
  cli::Action (*add)(CLI::App& app);
  std::vector<std::string> arguments;  ///< "IN": the input; "OUT": a file or folder that is not there
};

std::vector<CommandLine> const& command_lines() {
  static std::vector<CommandLine> const lines = [] {
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
        {"query", cli::add_query, {"IN", "select name, count(*), sum(dur_ns) from events group by name order by 3 desc"}},
        {"query", cli::add_query, {"IN", "--format", "json", "--steps", "1:2", "select * from kernels"}},
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
      all.push_back({"export", cli::add_export, {"IN", "--format", format, "--steps", "1:2", "-o", "OUT"}});
      all.push_back({"export", cli::add_export, {"IN", "--format", format, "--time", "0:1ms", "-o", "OUT"}});
    }
    char const* const only = std::getenv("STEPSCOPE_FUZZ_COMMAND");
    if (only != nullptr) std::erase_if(all, [&](CommandLine const& line) { return std::string_view(line.command) != only; });
    return all;
  }();
  return lines;
}

/// What commands print goes nowhere while this lives. (File descriptor 2 stays: a sanitizer writes there.)
class Silence {
 public:
  Silence() {
    static std::FILE* const nowhere = std::getenv("STEPSCOPE_FUZZ_SHOW") == nullptr ? std::fopen("/dev/null", "w") : nullptr;
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

void run(CommandLine const& line, fuzz::InputFolder const& folder) {
  CLI::App app;
  cli::Action const action = line.add(app);
  std::vector<std::string> arguments;
  for (std::string const& argument : line.arguments)
    arguments.push_back(argument == "IN" ? folder.input() : argument == "OUT" ? folder.output() : argument);
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
  app.parse(std::move(arguments));
  action();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(uint8_t const* data, size_t size) {
  static oneapi::tbb::global_control const one_thread(oneapi::tbb::global_control::max_allowed_parallelism, 1);
  static fuzz::InputFolder folder;
  if (size == 0) return 0;
  auto const bytes = std::as_bytes(std::span(data, size)).subspan(1);
  if (!folder.take(bytes, (data[0] & 0x80U) == 0)) return 0;
  Silence const silence;
  run(command_lines()[(data[0] & 0x7FU) % command_lines().size()], folder);
  return 0;
}
