#include "cli/commands/capture/tune_runs.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "cli/analyze_and_warn.h"
#include "cli/command.h"
#include "trace/base/files/mapped_file.h"
#include "trace/base/format.h"
#include "tune/command_line.h"
#include "tune/printed_values.h"

namespace stepscope::cli {
namespace {

/// A program that takes so many times as long as those before it hangs, or is of no use.
constexpr double kTimesThePairs = 10;
constexpr double kShortestTimeout = 60;
/// Fewer measured steps are no measurement.
constexpr size_t kFewestTunedSteps = 5;

double mean_of_steps(std::vector<double> const& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

struct MeasuredRun {
  analyzer::RunMeasurements measurements;
  std::optional<double> capacity_bytes;
};

base::Expected<MeasuredRun> measure_run(std::string const& path) {
  analyzer::AnalyzeOptions wanted;
  wanted.wants_gains = false;
  auto const analyzed = run_loading::analyze_files({path}, wanted, Reading::kBySize);
  if (!analyzed) return base::fail_with(analyzed);

  MeasuredRun run{analyzer::sample_run(analyzed->run, analyzed->analysis), {}};
  for (analyzer::DeviceStats const& device : analyzed->analysis.devices)
    if (device.memory.capacity_bytes)
      run.capacity_bytes = std::min(run.capacity_bytes.value_or(1e300),
                                    static_cast<double>(*device.memory.capacity_bytes));
  if (run.measurements.step_ns.size() < kFewestTunedSteps)
    return base::fail(
        "{}: has {} measured steps, at least {} are needed: mark the program's steps "
        "(docs/guide/ANNOTATIONS.md) and train for more of them",
        base::printable(path), run.measurements.step_ns.size(), kFewestTunedSteps);
  return run;
}

/// Names of requirements: what was measured of a run, else what it printed.
tune::Lookup lookup_of_run(MeasuredRun const& run, std::string const& log) {
  auto const text = base::MappedFile::open(log);
  std::string output;
  if (text)
    output.assign(reinterpret_cast<char const*>(text->bytes().data()), text->bytes().size());

  return [run, output](std::string const& name,
                       std::optional<int64_t> index) -> std::optional<tune::Value> {
    std::optional<double> value;
    if (name == "step_ms") value = mean_of_steps(run.measurements.step_ns) / 1e6;
    if (name == "peak_reserved") value = run.measurements.peak_reserved_bytes;
    if (name == "peak_allocated") value = run.measurements.peak_allocated_bytes;
    if (name == "capacity") value = run.capacity_bytes;
    if (!value) value = tune::printed_value(output, name, index);
    return value ? std::optional<tune::Value>(*value) : std::nullopt;
  };
}

/// The last line that a program printed, for messages.
std::string last_line_of(std::string const& log) {
  constexpr size_t kMostShownBytes = 200;
  std::ifstream file(log);
  std::string line, last;
  while (std::getline(file, line))
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
  return base::printable(base::valid_utf8(last, kMostShownBytes));
}

std::string last_words(std::string const& log) {
  std::string const last = last_line_of(log);
  std::string const shown = base::printable(log);
  return last.empty() ? fmt::format("it printed nothing ({})", shown)
                      : fmt::format("its last words are \"{}\" ({})", last, shown);
}

/// Empty: it went well. `logs`: of the programs.
std::string failure_text(ProcessEnd const& end, double timeout,
                         std::vector<std::string> const& logs, std::string const& recorder_log) {
  if (end.exit_code == 0 && !end.is_timed_out) return {};
  std::string text = end.is_timed_out
                         ? fmt::format("it was ended after {:.0f} s (--timeout)", timeout)
                         : fmt::format("it ended with exit code {}", end.exit_code);
  bool is_silent = true;
  for (std::string const& log : logs) {
    text += "; " + last_words(log);
    is_silent = is_silent && last_line_of(log).empty();
  }

  // What could not be started has said nothing: the recorder says why.
  std::string const recorder = is_silent ? last_line_of(recorder_log) : std::string();
  return recorder.empty() ? text : text + "; " + recorder;
}

}  // namespace

std::vector<std::string> TuneRuns::program(Side const& side) const {
  TunePlan const& plan = folder_.plan();
  // What each of two programs prints goes to a file of its own.
  std::vector<std::string> words = {"sh", "-c", "exec \"$@\" > \"$0\" 2>&1",
                                    std::filesystem::absolute(folder_.log_path(side.run)).string()};
  auto const own =
      tune::program_of(tune::command_for(plan.space, plan.words, side.settings, side.steps));
  words.insert(words.end(), own.begin(), own.end());
  return words;
}

double TuneRuns::timeout_s(tune::Study const& study) const {
  if (folder_.plan().timeout_s > 0) return folder_.plan().timeout_s;
  double longest = 0;
  for (tune::Trial const& trial : study.trials())
    if (!trial.pairs.empty())
      longest = std::max(longest, trial.seconds / static_cast<double>(trial.pairs.size()));
  // The first pair may take all of the budget.
  if (longest == 0) return std::max(study.options().time_s, kShortestTimeout);
  return std::max(longest * kTimesThePairs, kShortestTimeout);
}

base::Expected<TuneRunEnd> TuneRuns::watched(std::vector<std::string> const& words,
                                             std::vector<Side> const& sides,
                                             tune::Study const& study) {
  std::vector<std::string> logs;
  for (Side const& side : sides) logs.push_back(folder_.log_path(side.run));

  double const timeout = timeout_s(study);
  std::string const recorder_log = sides.back().run + ".record.log";
  auto const end = watch_.run(words, recorder_log, timeout);
  if (!end) return base::fail_with(end);

  TuneRunEnd result;
  result.is_interrupted = end->is_interrupted;
  result.is_timed_out = end->is_timed_out;
  result.seconds = end->seconds;
  result.failure = failure_text(*end, timeout, logs, recorder_log);
  return result;
}

base::Expected<TuneRunEnd> TuneRuns::run_alone(tune::Study const& study, Side const& side) {
  std::vector<std::string> words = {
      program_folder() + "/stepscope", "record", "--force", "-o", side.run, "--"};
  auto const own = program(side);
  words.insert(words.end(), own.begin(), own.end());
  return watched(words, {side}, study);
}

base::Expected<TuneRunEnd> TuneRuns::run_interleaved(tune::Study const& study, Side const& base,
                                                     Side const& candidate) {
  std::vector<std::string> words = {program_folder() + "/stepscope",
                                    "record",
                                    "--force",
                                    "-o",
                                    base.run,
                                    "--in-turn",
                                    candidate.run,
                                    "--turn-steps",
                                    fmt::format("{}", folder_.plan().turn_steps),
                                    "--"};
  auto const first = program(base), second = program(candidate);
  words.insert(words.end(), first.begin(), first.end());
  words.emplace_back(":");
  words.insert(words.end(), second.begin(), second.end());

  return watched(words, {base, candidate}, study);
}

base::Expected<TuneRunEnd> TuneRuns::run_pair(tune::Study const& study,
                                              tune::Action const& action) {
  auto const steps = action.is_short ? tune::short_steps(study.space()) : std::optional<int64_t>();
  Side const base{action.base, folder_.run_path(action.trial, action.pair, "base"), steps};
  Side const candidate{action.settings, folder_.run_path(action.trial, action.pair, "new"), steps};
  bool const is_first = action.trial == 0 && action.pair == 0;
  bool const is_apart =
      folder_.plan().is_apart || (!is_first && !study.trials().front().is_interleaved);

  double seconds = 0;
  if (!is_apart) {
    auto end = run_interleaved(study, base, candidate);
    if (!end || end->is_interrupted || end->is_timed_out) return end;
    seconds = end->seconds;
    TuneRunEnd measured = measure(study, action, base.run, candidate.run);
    bool const took_turns = measured.failure.empty() && measured.pair.is_interleaved;
    if (end->failure.empty() && (took_turns || !is_first)) end->failure = measured.failure;
    end->pair = measured.pair;
    end->pair.seconds = seconds;
    if (took_turns || !is_first) return end;
    fmt::print(stderr,
               "stepscope: the programs cannot take turns: those of a pair run one after the other "
               "from now on\n");
  }

  // A B, B A, A B: a machine that becomes steadily slower favours neither.
  std::vector<Side const*> order = {&base, &candidate};
  if (action.pair % 2 == 1) std::reverse(order.begin(), order.end());
  for (Side const* const side : order) {
    auto end = run_alone(study, *side);
    if (!end || end->is_interrupted) return end;
    seconds += end->seconds;
    end->seconds = seconds;
    if (!end->failure.empty()) return end;
  }

  TuneRunEnd end = measure(study, action, base.run, candidate.run);
  end.seconds = seconds;
  end.pair.seconds = seconds;
  return end;
}

base::Expected<TuneRunEnd> TuneRuns::record(tune::Study const& study, tune::Action const& action) {
  Side const side{action.settings, folder_.run_path(action.trial, 0, "alone"), {}};
  auto end = run_alone(study, side);
  if (end) end->run = side.run;
  return end;
}

TuneRunEnd TuneRuns::measure(tune::Study const& study, tune::Action const& action,
                             std::string const& base_run, std::string const& candidate_run) {
  TuneRunEnd end;
  auto const base = measure_run(base_run), candidate = measure_run(candidate_run);
  if (!base || !candidate) {
    end.failure = (base ? candidate : base).error().message;
    return end;
  }

  // The samples of a step are known to be above 0: check_space(), candidates_from().
  double const of_base = *tune::samples_of(study.space(), action.base),
               of_candidate = *tune::samples_of(study.space(), action.settings);
  analyzer::RunMeasurements const& first = base->measurements;
  analyzer::RunMeasurements const& second = candidate->measurements;
  end.pair.base_run = base_run;
  end.pair.candidate_run = candidate_run;
  end.pair.is_interleaved = first.steps_in_turn > 0 && second.steps_in_turn > 0;
  end.pair.costs = {mean_of_steps(first.step_ns) / of_base,
                    mean_of_steps(second.step_ns) / of_candidate, first.all_steps_ns / of_base,
                    second.all_steps_ns / of_candidate};
  // A short run may not reach the steps that a requirement names; it accepts nothing either.
  if (action.base != action.settings && !action.is_short)
    end.pair.broken_requirement = broken_requirement(study, candidate_run);
  return end;
}

/// The first requirement that does not hold, against the first run of the default settings.
std::string TuneRuns::broken_requirement(tune::Study const& study,
                                         std::string const& candidate_run) const {
  auto const& requirements = study.space().requirements;
  auto const& default_runs = study.trials().front().runs;
  if (requirements.empty() || default_runs.empty()) return {};
  auto const usual = measure_run(default_runs.front()), candidate = measure_run(candidate_run);
  if (!usual || !candidate) return "its requirements cannot be looked at";

  tune::Lookup const of_default = lookup_of_run(*usual, folder_.log_path(default_runs.front()));
  tune::Lookup const of_candidate = lookup_of_run(*candidate, folder_.log_path(candidate_run));
  for (tune::Expression const& requirement : requirements) {
    auto const holds = requirement.holds(of_candidate, of_default);
    if (!holds) return "requirement " + holds.error().message;
    if (!*holds)
      return fmt::format("requirement \"{}\" does not hold", base::printable(requirement.text()));
  }
  return {};
}

}  // namespace stepscope::cli
