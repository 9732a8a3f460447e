#include "cli/command.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>

#include <sys/ioctl.h>

#include "cli/pager.h"
#include "cli/progress.h"
#include "cli/team.h"
#include "run_loading/analyzed_files.h"
#include "trace/base/format.h"
#include "trace/base/malloc_tuning.h"
#include "trace/import/open/open_run.h"

namespace stepscope::cli {

std::function<void()>& further_help() {
  static std::function<void()> help;
  return help;
}

bool& is_quiet() {
  static bool quiet = false;
  return quiet;
}

void tell(std::string const& done) {
  if (!is_quiet()) std::fprintf(stderr, "stepscope: %s\n", done.c_str());
}

void Warnings::print_line(std::string const& about, std::string const& note) {
  std::string const line =
      (about.empty() ? std::string() : base::printable(about) + ": ") + base::printable(note);
  if (printed_.insert(line).second) tell(line);
}

void Warnings::print(std::vector<std::string> const& notes) {
  for (std::string const& note : notes) print_line({}, note);
}

void Warnings::print_shared(std::vector<model::ProcessNotes> const& processes,
                            std::vector<std::string> const& files) {
  for (model::SharedNote const& note : model::share_notes(processes)) {
    bool const is_of_one =
        note.processes == 1 && note.process < files.size() && !files[note.process].empty();
    print_line(is_of_one ? files[note.process] : model::rank_list(note.ranks), note.text);
  }
}

int report_error(base::Error const& error) {
  std::fprintf(stderr, "stepscope: %s\n", base::printable(error.message).c_str());
  return kWrongUse;
}

namespace {

/// Set, and neither empty nor 0.
bool is_set(char const* variable) {
  char const* const text = std::getenv(variable);
  return text != nullptr && *text != '\0' && std::string_view(text) != "0";
}

}  // namespace

std::string& color_choice() {
  static std::string choice = "auto";
  return choice;
}

bool use_color() {
  if (color_choice() != "auto") return color_choice() == "always";
  char const* const no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  if (is_set("FORCE_COLOR") || is_set("CLICOLOR_FORCE")) return true;

  char const* const terminal = std::getenv("TERM");
  bool const is_dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  return is_output_terminal() && !is_dumb;
}

int terminal_width() {
  constexpr int kWithoutTerminal = 100;
  winsize size{};
  bool const is_known = is_output_terminal() &&
                        ::ioctl(terminal_descriptor(), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return is_known ? size.ws_col : kWithoutTerminal;
}

int wrap_width() { return is_output_terminal() ? terminal_width() : 0; }

std::string program_folder() {
  std::error_code error;
  auto const program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "." : program.parent_path().string();
}

void print_notes_of_ranks(model::Run const& run, Warnings& warnings) {
  std::vector<model::ProcessNotes> processes;
  std::vector<std::string> files;
  for (model::RankTrace const& rank : run.ranks) {
    processes.push_back({rank.trace.info().rank, &rank.trace.log().notes});
    files.push_back(rank.file);
  }
  warnings.print_shared(processes, files);
}

void warn_of_run(model::Run const& run) {
  Warnings warnings;
  warnings.print(run.notes);
  print_notes_of_ranks(run, warnings);
}

namespace {

/// Events of all processes, wherever their files are.
base::Expected<model::Run> load_run(std::vector<std::string> const& paths, bool is_one_run) {
  if (team() == nullptr) return import::open_run(paths, is_one_run);
  auto sources = run_loading::open_with_team(paths, is_one_run, *team());
  if (!sources) return base::fail_with(sources);
  return run_loading::load_with_team(std::move(*sources), team());
}

}  // namespace

base::Expected<model::Run> open_run_and_warn(std::vector<std::string> const& paths,
                                             bool is_one_run) {
  base::keep_freed_memory();
  auto run = [&] {
    ProgressWatch const watch([] { return std::string("reading the run"); });
    return load_run(paths, is_one_run);
  }();
  if (run) warn_of_run(*run);
  return run;
}

base::Expected<import::RunSources> open_sources_and_warn(std::vector<std::string> const& paths,
                                                         bool is_one_run) {
  base::keep_freed_memory();
  auto run = import::open_sources(paths, {}, is_one_run);
  if (!run) return run;
  Warnings warnings;
  warnings.print(run->notes);

  std::vector<std::vector<std::string>> notes;
  for (import::RankSource const& rank : run->ranks) notes.push_back(rank.source.log().notes);
  std::vector<model::ProcessNotes> processes;
  std::vector<std::string> files;
  for (size_t i = 0; i < notes.size(); ++i) {
    processes.push_back({run->ranks[i].source.info().rank, &notes[i]});
    files.push_back(run->ranks[i].file);
  }

  warnings.print_shared(processes, files);
  return run;
}

CLI::Validator whole_number(uint64_t low, uint64_t high) {
  return {[low, high](std::string const& text) {
            uint64_t value = 0;
            char const* const end = text.data() + text.size();
            auto const [last, error] = std::from_chars(text.data(), end, value);
            bool const good = error == std::errc() && last == end && value >= low && value <= high;
            return good ? std::string()
                        : fmt::format("{} is not a whole number from {} to {}", text, low, high);
          },
          high < INT64_MAX ? fmt::format("{} - {}", low, high) : fmt::format("{} or more", low)};
}

void add_one_run_option(CLI::App& app, bool& is_one_run) {
  app.add_flag("--one-run", is_one_run,
               "treat all RUNs as parts of one run, even if they do not overlap in time");
}

std::string ranks_there(std::set<int32_t> const& ranks) {
  if (ranks.empty()) return "none";
  if (ranks.size() == 1) return fmt::format("rank {}", *ranks.begin());
  bool const is_dense = int64_t{*ranks.rbegin()} - *ranks.begin() + 1 == std::ssize(ranks);
  if (is_dense)
    return fmt::format("{} ranks from {} to {}", ranks.size(), *ranks.begin(), *ranks.rbegin());

  constexpr size_t kMostNamed = 16;
  std::string text = "ranks ";
  size_t named = 0;
  for (int32_t const rank : ranks) {
    if (named == kMostNamed)
      return fmt::format("{} and {} more, up to {}", text, ranks.size() - named, *ranks.rbegin());
    text += fmt::format("{}{}", named++ > 0 ? ", " : "", rank);
  }
  return text;
}

void warn_of_missing_steps(std::pair<int64_t, int64_t> wanted, std::pair<int64_t, int64_t> kept) {
  if (wanted.first >= kept.first && wanted.second <= kept.second) return;
  std::string const there = kept.first == kept.second
                                ? fmt::format("only step {}", kept.first)
                                : fmt::format("only steps {} to {}", kept.first, kept.second);
  tell(fmt::format("--steps {}:{}: of these the run has {}", wanted.first, wanted.second, there));
}

base::Expected<std::pair<int64_t, int64_t>> parse_steps(std::string const& text,
                                                        std::string_view option) {
  size_t const colon = text.find(':');
  std::string_view const first = std::string_view(text).substr(0, colon);
  std::string_view const last =
      colon == std::string::npos ? first : std::string_view(text).substr(colon + 1);

  auto const number = [](std::string_view digits, int64_t if_empty) -> std::optional<int64_t> {
    if (digits.empty()) return if_empty;
    int64_t value = 0;
    auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size() && value >= 0
               ? std::optional(value)
               : std::nullopt;
  };

  auto const begin = number(first, 0);
  auto const end = number(last, INT64_MAX);
  if (text.size() > (colon != std::string::npos ? 1U : 0U) && begin && end && *begin <= *end)
    return std::pair{*begin, *end};
  return base::fail("{} {}: not a range of steps, write first:last, for example 10:20", option,
                    base::printable(text));
}

base::Expected<std::string> steps_for_tracer(std::string const& text, std::string_view option) {
  std::string ranges;
  for (size_t begin = 0; begin < text.size();) {
    size_t const end = std::min(text.find(',', begin), text.size());
    auto const steps = parse_steps(text.substr(begin, end - begin), option);
    if (!steps) return base::fail_with(steps);
    ranges += fmt::format("{}{}:{}", ranges.empty() ? "" : ",", steps->first, steps->second);
    begin = end + 1;
  }
  return ranges;
}

}  // namespace stepscope::cli
