// What a command of the stepscope program is, and what all of them share: opening a run, errors,
// colour, paths.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "trace/base/expected.h"
#include "trace/import/open/trace_source.h"
#include "trace/model/derive/shared_notes.h"
#include "trace/model/run.h"

namespace stepscope::cli {

/// Exit codes (docs/design/ARCHITECTURE.md): a contract with scripts.
inline constexpr int kGood = 0;
inline constexpr int kFinding = 1;
inline constexpr int kWrongUse = 2;
inline constexpr int kUnclear = 3;

/// What a command does once its options are parsed; returns the exit code.
using Action = std::function<int()>;

/// One line of the list in commands.cpp. `add` declares options on `app` and returns the action
/// that reads them.
struct Command {
  char const* name;
  char const* summary;
  Action (*add)(CLI::App& app);
};

/// Printed behind the help of a command that hands options on, once it is known to what; empty
/// where there is nothing more. A command sets it while its own help is made.
std::function<void()>& further_help();
/// What --quiet says: the standard error has errors and nothing else.
bool& is_quiet();
/// Prints "stepscope: <what was done>" to stderr, unless --quiet is given.
void tell(std::string const& done);
/// Prints "stepscope: <message>" to stderr; returns kWrongUse.
int report_error(base::Error const& error);
/// Prints to stderr what could not be read, a line each: what several processes of a file say alike
/// once.
class Warnings {
 public:
  void print(std::vector<std::string> const& notes);
  /// Prints the notes of `processes`, whose files are `files`. A note of several processes is
  /// printed once, with their ranks.
  void print_shared(std::vector<model::ProcessNotes> const& processes,
                    std::vector<std::string> const& files);

 private:
  void print_line(std::string const& about, std::string const& note);

  std::set<std::string> printed_;
};
void print_notes_of_ranks(model::Run const& run, Warnings& warnings);
/// What --color says: always, never, or auto.
std::string& color_choice();
/// Whether to print colours. auto: not with NO_COLOR; with FORCE_COLOR or CLICOLOR_FORCE; else on a
/// terminal that is not dumb.
bool use_color();
/// Width of the terminal in columns, 100 when there is none.
int terminal_width();
/// Where lines of the standard output are broken: the width of the terminal; 0 into files and
/// pipes, which are searched for whole sentences.
int wrap_width();
/// The folder of the running program.
std::string program_folder();
/// Prints what could not be read of a run and of its processes.
void warn_of_run(model::Run const& run);
/// Opens a RUN and prints what could not be read of it.
base::Expected<model::Run> open_run_and_warn(std::vector<std::string> const& paths,
                                             bool is_one_run = false);
/// The same without reading events: for what the files' indexes answer, or to read parts of them.
base::Expected<import::RunSources> open_sources_and_warn(std::vector<std::string> const& paths,
                                                         bool is_one_run = false);
/// For an option: a whole number from `low` to `high`. Says so in words when it is anything else.
CLI::Validator whole_number(uint64_t low, uint64_t high);
/// "A:B", "A:", ":B" or "A" as a closed range of steps. Errors: not that form, or B < A.
/// Declares --one-run: RUNs that were recorded at different times are read as one run nevertheless.
void add_one_run_option(CLI::App& app, bool& is_one_run);
/// "8 ranks from 0 to 7", "rank 2", "ranks 0, 4, 9": what there is instead of a rank that is not.
std::string ranks_there(std::set<int32_t> const& ranks);
/// Says on the standard error that --steps asked for more than there is. `kept`: first and last of
/// the steps that are there.
void warn_of_missing_steps(std::pair<int64_t, int64_t> wanted, std::pair<int64_t, int64_t> kept);
base::Expected<std::pair<int64_t, int64_t>> parse_steps(std::string const& text,
                                                        std::string_view option = "--steps");
/// The same as "A:B", which the tracer takes; several have commas between them. Empty stays empty.
base::Expected<std::string> steps_for_tracer(std::string const& text,
                                             std::string_view option = "--steps");

}  // namespace stepscope::cli
