// Any bytes as a trace that a command reads: each command that reads traces is run in this process,
// with its own options, on a file of the input. No command crashes, throws or takes longer than a
// person waits; a wrong file is an error that it reports. The first byte chooses the command line
// (its highest bit: checksums stay as they are), the rest is the file. STEPSCOPE_FUZZ_COMMAND in
// the environment, such as "slice", keeps to the lines of one command; STEPSCOPE_FUZZ_SHOW shows
// what commands print.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include <oneapi/tbb/global_control.h>

#include "tests/fuzz/command_lines.h"

namespace {

using namespace stepscope;

std::vector<fuzz::CommandLine> const& chosen_lines() {
  static std::vector<fuzz::CommandLine> const lines = [] {
    std::vector<fuzz::CommandLine> all = fuzz::command_lines();
    char const* const only = std::getenv("STEPSCOPE_FUZZ_COMMAND");
    if (only != nullptr)
      std::erase_if(all, [&](auto const& line) { return std::string_view(line.command) != only; });
    return all;
  }();
  return lines;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(uint8_t const* data, size_t size) {
  static oneapi::tbb::global_control const one_thread(
      oneapi::tbb::global_control::max_allowed_parallelism, 1);
  static fuzz::InputFolder folder;
  if (size == 0) return 0;
  auto const bytes = std::as_bytes(std::span(data, size)).subspan(1);
  if (!folder.take(bytes, (data[0] & 0x80U) == 0)) return 0;
  fuzz::run_command(chosen_lines()[(data[0] & 0x7FU) % chosen_lines().size()], folder);
  return 0;
}
