// stepscope tune: finds faster settings of a training by predicting, measuring in turn and
// confirming. `ask` and `tell` leave the running of programs to the caller.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/commands/capture/tune_folder.h"
#include "cli/commands/capture/tune_runs.h"
#include "cli/commands/capture/tune_search.h"
#include "trace/base/format.h"
#include "trace/base/shell_word.h"
#include "tune/command_line.h"
#include "tune/space_file.h"

namespace stepscope::cli {
namespace {

constexpr std::string_view kCommandMark = "--";

struct TuneCommand {
  std::string output, space;
  std::optional<double> min_effect;
  std::string time, timeout;
  std::optional<uint64_t> pairs;
  int64_t turn_steps = 8;
  bool allows_numerics = false, is_apart = false, resumes = false, prepares = false;
  bool json = false, has_no_page = false;
  std::optional<uint64_t> further_pairs;
  std::string failed;
  std::vector<std::string> words;    ///< WORKLOAD and its options, FOLDER, ask FOLDER, tell …
  std::vector<std::string> program;  ///< the command after --
};

void add_tune_options(CLI::App& app, TuneCommand& command) {
  app.add_option("-o,--output", command.output,
                 "the folder of the search (default: the workload's name with -tuned)");
  app.add_option("--space", command.space, "TOML file with the knobs of the command after --");
  app.add_option("--min-effect", command.min_effect,
                 "smallest saving of the step that counts, in percent (default: 2)")
      ->check(CLI::Range(0.1, 50.0));
  app.add_option("--time", command.time, "budget, such as 10m or 2h (default: 10m)");

  app.add_option("--pairs", command.pairs, "most pairs of runs per candidate (default: 16)")
      ->check(whole_number(tune::kFewestPairs, 1000));
  app.add_option("--timeout", command.timeout,
                 "most time of one run (default: follows from the runs before)");
  app.add_option("--turn-steps", command.turn_steps, "steps per turn of interleaved runs")
      ->check(whole_number(2, 1'000'000))
      ->capture_default_str();
  app.add_flag("--no-in-turn", command.is_apart,
               "run the programs of a pair one after the other instead of interleaving them");

  app.add_flag("--allow-numerics", command.allows_numerics,
               "also take settings that change numerics");
  app.add_flag("--resume", command.resumes, "continue the search in FOLDER");
  app.add_option("--confirm", command.further_pairs,
                 "make N further pairs of the best settings with the default ones, and compare "
                 "their mean with the answer")
      ->check(whole_number(tune::kFewestPairs, 1000))
      ->type_name("N");
  app.add_flag("--no-report", command.has_no_page,
               "do not write the page of the search (tuning.html) at its end");
  app.add_flag("--prepare", command.prepares, "write the folder and run nothing, for ask and tell");
  app.add_flag("--json", command.json, "ask: print the action as JSON");
  app.add_option("--failed", command.failed, "tell: the trial failed, and why");
}

base::Expected<std::string> text_of_file(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  std::string const shown = base::printable(path);
  if (!file) return base::fail("{}: cannot be read, check the path", shown);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (file.bad()) return base::fail("{}: cannot be read", shown);
  return text;
}

base::Expected<void> set_seconds(std::string const& text, char const* option, double& seconds) {
  if (text.empty()) return {};
  auto const parsed = tune::parse_budget_time(text);
  if (!parsed) return base::fail("{}: {}", option, parsed.error().message);
  seconds = *parsed;
  return {};
}

/// What is given on the command line counts more than the space's budget.
base::Expected<void> set_limits(TuneCommand const& command, TunePlan& plan) {
  if (command.min_effect) plan.min_effect_percent = *command.min_effect;
  if (plan.space.time_s) plan.time_s = *plan.space.time_s;
  if (plan.space.pairs) plan.pairs = *plan.space.pairs;
  if (command.pairs) plan.pairs = *command.pairs;
  plan.allows_numerics = command.allows_numerics || plan.allows_numerics;
  plan.is_apart = command.is_apart || plan.is_apart;
  plan.turn_steps = command.turn_steps;
  if (auto const set = set_seconds(command.time, "--time", plan.time_s); !set) return set;
  return set_seconds(command.timeout, "--timeout", plan.timeout_s);
}

base::Expected<TunePlan> plan_of(TuneCommand const& command) {
  TunePlan plan;
  if (!command.space.empty()) {
    auto text = text_of_file(command.space);
    if (!text) return base::fail_with(text);
    plan.space_text = std::move(*text);
    plan.arguments = command.program;
  } else {
    plan.workload = command.words.front();
    plan.arguments.assign(command.words.begin() + 1, command.words.end());
  }

  if (auto const good = complete_plan(plan, base::printable(command.space)); !good)
    return base::fail_with(good);
  if (auto const set = set_limits(command, plan); !set) return base::fail_with(set);
  return plan;
}

nlohmann::ordered_json action_json(TuneFolder const& folder, tune::Action const& action) {
  TunePlan const& plan = folder.plan();
  auto const steps = action.is_short ? tune::short_steps(plan.space) : std::optional<int64_t>();
  auto const side = [&](tune::Settings const& settings) {
    nlohmann::ordered_json json = {{"settings", nlohmann::ordered_json::object()}};
    for (size_t k = 0; k < settings.size(); ++k)
      json["settings"][plan.space.knobs[k].name] = settings[k];
    json["command"] = tune::shell_text(tune::command_for(plan.space, plan.words, settings, steps));
    return json;
  };

  nlohmann::ordered_json json = {{"trial", action.trial}, {"pair", action.pair}};
  if (action.kind == tune::ActionKind::kPair) json["base"] = side(action.base);
  json["candidate"] = side(action.settings);
  if (action.is_short) json["short"] = true;
  return json;
}

int ask(TuneCommand const& command) {
  if (command.words.size() != 2) return report_error({"tune ask: name one folder"});
  auto folder = TuneFolder::open(command.words[1]);
  if (!folder) return report_error(folder.error());
  tune::Study study(folder->plan().space, study_options(folder->plan()), folder->trials());
  tune::Action const action = next_to_run(study);
  if (auto const kept = keep_trials(*folder, study); !kept) return report_error(kept.error());
  if (action.kind == tune::ActionKind::kDone) return print_answer(*folder, study);

  nlohmann::ordered_json const json = action_json(*folder, action);
  constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
  if (command.json) {
    std::puts(json.dump(2, ' ', false, kReplace).c_str());
    return kGood;
  }

  bool const is_pair = json.contains("base");
  std::string const tell =
      fmt::format("stepscope tune tell {} {}", base::shell_word(folder->path()), action.trial);
  if (is_pair) fmt::print("base       {}\n", json["base"]["command"].get<std::string>());
  fmt::print("candidate  {}\n{}    {} {}\n", json["candidate"]["command"].get<std::string>(),
             "record, then", tell, is_pair ? "BASE_RUN CANDIDATE_RUN" : "RUN");
  return kGood;
}

base::Expected<size_t> trial_number(std::string const& text) {
  size_t number = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  return base::fail("tune tell: {} is no number of a trial", base::printable(text));
}

int tell(TuneCommand const& command) {
  if (command.words.size() < 3)
    return report_error({"tune tell: name the folder, the trial, and its runs"});
  auto folder = TuneFolder::open(command.words[1]);
  if (!folder) return report_error(folder.error());
  auto const number = trial_number(command.words[2]);
  if (!number) return report_error(number.error());

  tune::Study study(folder->plan().space, study_options(folder->plan()), folder->trials());
  tune::Action const action = next_to_run(study);
  std::vector<std::string> const runs(command.words.begin() + 3, command.words.end());
  bool const is_pair = action.kind == tune::ActionKind::kPair;
  if (action.kind == tune::ActionKind::kDone)
    return report_error({"tune tell: the search is over"});
  if (action.trial != *number)
    return report_error({fmt::format("tune tell: trial {} is not what was asked for, {} is",
                                     *number, action.trial)});
  if (command.failed.empty() && runs.size() != (is_pair ? 2U : 1U))
    return report_error({is_pair ? "tune tell: a pair has two runs, BASE_RUN CANDIDATE_RUN"
                                 : "tune tell: name the run"});

  ProcessWatch watch;
  TuneRuns measuring(*folder, watch);
  TuneRunEnd end;
  if (is_pair && command.failed.empty()) end = measuring.measure(study, action, runs[0], runs[1]);
  if (!end.failure.empty()) return report_error({end.failure});
  end.failure = command.failed;
  if (!is_pair && !runs.empty()) end.run = runs[0];
  add_result(study, action, end);
  next_to_run(study);

  if (auto const kept = keep_trials(*folder, study); !kept) return report_error(kept.error());
  return kGood;
}

/// Why the search has no answer to compare further pairs with, and what to do; empty when it has
/// one.
std::string why_nothing_to_confirm(TuneFolder const& folder) {
  auto const& trials = folder.trials();
  bool const has_answer = std::any_of(trials.begin(), trials.end(), [](tune::Trial const& trial) {
    return trial.kind == tune::TrialKind::kConfirmation &&
           trial.verdict != tune::TrialVerdict::kRunning && trial.measured;
  });
  if (has_answer) return {};

  tune::Study study(folder.plan().space, study_options(folder.plan()), trials);
  next_to_run(study);
  std::string const go_on =
      fmt::format("stepscope tune {} --resume", base::shell_word(folder.path()));
  tune::StudyAnswer const answer = study.answer();
  if (answer.outcome == tune::StudyOutcome::kOpen)
    return fmt::format("has no answer yet, go on with the search: {}", go_on);
  if (answer.outcome == tune::StudyOutcome::kNothingBetter)
    return fmt::format("found nothing better than the default, so there is nothing to confirm{}",
                       answer.untried == 0 ? "" : "; give it more time: " + go_on + " --time TIME");
  return fmt::format("ended without an answer, so there is nothing to confirm: {}",
                     base::printable(answer.reason));
}

SearchOptions search_options(TuneCommand const& command) {
  SearchOptions options;
  options.further_pairs = command.further_pairs.value_or(0);
  options.writes_page = !command.has_no_page;
  return options;
}

/// A search that is there: its state, or more of it.
int go_on(TuneCommand const& command, std::string const& path) {
  bool const runs_programs = command.resumes || command.further_pairs;
  auto folder = TuneFolder::open(path, !runs_programs);
  if (!folder) return report_error(folder.error());
  if (folder->was_cut())
    fmt::print(stderr,
               "stepscope: {}/trials.jsonl: the last line is cut, its pair is measured "
               "again\n",
               base::printable(path));

  double seconds = folder->plan().time_s;
  if (auto const set = set_seconds(command.time, "--time", seconds); !set)
    return report_error(set.error());
  if (std::string const why = command.further_pairs ? why_nothing_to_confirm(*folder) : "";
      !why.empty())
    return report_error({fmt::format("tune --confirm: {} {}", base::printable(path), why)});

  auto const kept = runs_programs ? folder->keep_time(seconds) : base::Expected<void>();
  if (!kept) return report_error(kept.error());
  folder->set_time(seconds);
  if (runs_programs) return search(*folder, search_options(command));

  tune::Study study(folder->plan().space, study_options(folder->plan()), folder->trials());
  print_trials(study, study.trials());
  next_to_run(study);
  return print_answer(*folder, study);
}

int begin(TuneCommand const& command) {
  auto const plan = plan_of(command);
  if (!plan) return report_error(plan.error());
  std::string const usual = plan->workload.empty() ? "tuned" : plan->workload + "-tuned";
  auto folder = TuneFolder::begin(command.output.empty() ? usual : command.output, *plan);
  if (!folder) return report_error(folder.error());
  return command.prepares ? kGood : search(*folder, search_options(command));
}

int tune_words(TuneCommand command, std::vector<std::string> const& remaining) {
  auto const mark = std::find(remaining.begin(), remaining.end(), kCommandMark);
  command.words.assign(remaining.begin(), mark);
  if (!command.space.empty()) {
    if (!command.words.empty())
      return report_error(
          {fmt::format("tune --space: {} stands before --, write the command "
                       "after it",
                       base::printable(command.words[0]))});
    return begin(command);
  }

  bool const has_target = !command.words.empty() && !command.words[0].starts_with('-');
  if (!has_target || mark != remaining.end())
    return report_error(
        {"tune: name a workload, the folder of a search, or --space FILE and a "
         "command after --"});
  if (command.words[0] == "ask") return ask(command);
  if (command.words[0] == "tell") return tell(command);
  if (command.resumes || command.further_pairs || TuneFolder::is_one(command.words[0]))
    return go_on(command, command.words[0]);
  return begin(command);
}

}  // namespace

Action add_tune(CLI::App& app) {
  auto const command = std::make_shared<TuneCommand>();
  app.allow_extras();
  app.validate_positionals();
  app.add_option("COMMAND", command->program,
                 "after --: the command to tune, with {knob} placeholders")
      ->check([&app](std::string const&) {
        // What stands before the mark is WORKLOAD with its options, a folder, ask or tell.
        auto const before = app.remaining();
        bool const is_behind =
            std::find(before.begin(), before.end(), kCommandMark) != before.end();
        return is_behind ? std::string() : std::string("stands before --");
      });
  add_tune_options(app, *command);
  app.footer(
      workload_knobs_text() +
      "\nstepscope tune WORKLOAD [its options] | --space FILE -- COMMAND | FOLDER --resume | ask "
      "FOLDER "
      "| tell FOLDER TRIAL RUN...\n"
      "stepscope tune cifar10 --device host:2 --time 10m -o tuned\n"
      "stepscope tune --space space.toml -o tuned -- python3 train.py --workers {workers}\n"
      "stepscope tune tuned --resume\n"
      "stepscope tune tuned --confirm 20\n"
      "Exit code: 0 better settings found, 1 nothing better, 2 wrong use, 3 too noisy for the "
      "budget. docs/guide/TUNE.md has the format of a space");

  return [command, &app] { return tune_words(*command, app.remaining()); };
}

}  // namespace stepscope::cli
