// stepscope check NEW… --baseline BASE… [--budget FILE]: the gate of a CI. Exit code, text, and the
// files that CI systems read.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>

#include <unistd.h>

#include "analyzer/analyze.h"
#include "analyzer/gate/gate.h"
#include "analyzer/gate/kept_sample.h"
#include "cli/commands.h"
#include "cli/output_files.h"
#include "cli/run_samples.h"
#include "gate/budget_file.h"
#include "gate/store.h"
#include "reports/github/annotations.h"
#include "reports/json/gate_json.h"
#include "reports/junit/junit.h"
#include "reports/markdown/markdown.h"
#include "reports/sarif/sarif.h"
#include "reports/text/gate.h"
#include "reports/words/runs/comparison_words.h"
#include "trace/base/files/lock_file.h"
#include "trace/base/files/mapped_file.h"
#include "trace/base/files/output_folder.h"

namespace stepscope::cli {
namespace {

using base::Expected;

struct CheckCommand {
  std::vector<std::string> candidate, base, history;
  std::string budget, name, steps, label;
  std::string update_baseline, append_history;
  std::string json_file, markdown, junit, sarif;
  double least_percent = 2;
  bool json = false, paired = false, verbose = false;
  bool github = false, no_github = false;
};

using Samples = std::vector<analyzer::RunMeasurements>;

/// What was read, before anything is judged.
struct CheckInputs {
  std::string name;
  Samples base, candidate;
  std::string base_file;  ///< the first baseline, or run of the base; empty without one
  std::vector<analyzer::Budget> budgets;
  std::vector<analyzer::HistoryPoint> history;  ///< with the new runs, where one is asked for
  std::optional<gate::History> appended;        ///< likewise
  std::vector<base::MadeFolders> made_folders;  ///< for what is kept
  std::optional<base::LockFile>
      history_lock;  ///< from reading the history until it is written: another check waits
};

Expected<Samples> read_kept(std::vector<std::string> const& paths, std::string const& steps) {
  auto samples = read_samples(paths, steps);
  if (!samples) return samples;
  for (analyzer::RunMeasurements& sample : *samples)
    sample = analyzer::kept_sample(std::move(sample));
  return samples;
}

Expected<Samples> read_base(CheckCommand const& command, std::string const& name) {
  if (auto const good = refuse_repeated(command.base); !good) return base::fail_with(good);

  Samples all;
  for (std::string const& path : command.base) {
    gate::PathKind const kind = gate::kind_of(path);
    if (kind == gate::PathKind::kHistory)
      return base::fail("{}: is a history, name it with --history", path);
    if (kind == gate::PathKind::kRun) {
      auto runs = read_kept({path}, command.steps);
      if (!runs) return runs;
      all.insert(all.end(), runs->begin(), runs->end());
      continue;
    }

    auto baseline = gate::read_baseline(path, name);
    if (!baseline) return base::fail_with(baseline);
    all.insert(all.end(), baseline->runs.begin(), baseline->runs.end());
  }
  return all;
}

Expected<std::vector<analyzer::Budget>> read_budgets(std::string const& path,
                                                     std::string const& name) {
  if (path.empty()) return std::vector<analyzer::Budget>();
  auto const file = base::MappedFile::open(path);
  if (!file) return base::fail_with(file);
  auto const bytes = file->bytes();
  return gate::parse_budgets({reinterpret_cast<char const*>(bytes.data()), bytes.size()}, path,
                             name);
}

/// The runs of one --history, in their order.
Expected<gate::History> read_points(std::string const& path, std::string const& name) {
  gate::PathKind const kind = gate::kind_of(path);
  if (kind == gate::PathKind::kHistory) return gate::read_history(path);

  Samples runs;
  if (kind == gate::PathKind::kRun) {
    auto samples = read_kept({path}, {});
    if (!samples) return base::fail_with(samples);
    runs = std::move(*samples);
  } else {
    auto baseline = gate::read_baseline(path, name);
    if (!baseline) return base::fail_with(baseline);
    runs = std::move(baseline->runs);
  }

  gate::History history{name, {}};
  for (analyzer::RunMeasurements const& run : runs) {
    if (run.steps.empty()) return base::fail("{}: has no steps, remove it from the command", path);
    history.points.push_back(analyzer::history_point(run, run.name));
  }
  return history;
}

/// They go again when nothing is written there.
Expected<void> make_folder(std::string const& folder, CheckInputs& inputs) {
  if (folder.empty()) return {};
  auto made = base::MadeFolders::make(folder);
  if (!made) return base::fail_with(made);
  inputs.made_folders.push_back(std::move(*made));
  return {};
}

Expected<void> lock_history(std::string const& path, CheckInputs& inputs) {
  constexpr std::chrono::seconds kPatience{10};
  if (auto const made = make_folder(std::filesystem::path(path).parent_path().string(), inputs);
      !made)
    return made;
  auto lock = base::LockFile::take(base::LockFile::path_beside(path), path,
                                   base::LockFile::Share::kAlone, kPatience);
  if (!lock) return base::fail_with(lock);
  inputs.history_lock.emplace(std::move(*lock));
  return {};
}

Expected<void> read_histories(CheckCommand const& command, CheckInputs& inputs) {
  std::vector<std::string> paths = command.history;
  bool const is_read_too =
      std::find(paths.begin(), paths.end(), command.append_history) != paths.end();

  if (!command.append_history.empty()) {
    if (auto const locked = lock_history(command.append_history, inputs); !locked) return locked;
    auto history = gate::history_to_append(command.append_history, inputs.name);
    if (!history) return base::fail_with(history);
    inputs.appended = std::move(*history);
    if (!is_read_too) inputs.history = inputs.appended->points;
  }

  for (std::string const& path : paths) {
    auto const is_new = path == command.append_history && inputs.appended->points.empty();
    if (is_new) continue;  // it is made by this check
    auto const read = read_points(path, inputs.name);
    if (!read) return base::fail_with(read);
    if (inputs.name.empty()) inputs.name = read->name;
    inputs.history.insert(inputs.history.end(), read->points.begin(), read->points.end());
  }

  for (analyzer::RunMeasurements const& run : inputs.candidate) {
    analyzer::HistoryPoint const point =
        analyzer::history_point(run, command.label.empty() ? run.name : command.label);
    inputs.history.push_back(point);
    if (inputs.appended) inputs.appended->points.push_back(point);
  }
  return {};
}

/// Each new run needs a step, with a baseline and without.
Expected<void> check_steps(Samples const& candidate) {
  for (analyzer::RunMeasurements const& run : candidate) {
    if (!run.steps.empty()) continue;
    analyzer::Comparison refused;
    refused.refusal = analyzer::Refusal::kNoSteps;
    refused.refused_run = run.name;
    return base::fail("check: {}", reports::refusal_text(refused));
  }
  return {};
}

Expected<CheckInputs> read_inputs(CheckCommand const& command) {
  bool const has_task = !command.base.empty() || !command.budget.empty() ||
                        !command.history.empty() || !command.update_baseline.empty() ||
                        !command.append_history.empty();
  if (!has_task)
    return base::fail("check: nothing to compare with, name --baseline, --budget or --history");

  if (command.paired && command.base.empty())
    return base::fail("check: --paired: name the other run of each pair with --baseline");

  bool const is_history_alone = command.base.empty() && command.budget.empty() &&
                                command.update_baseline.empty() && command.append_history.empty();
  if (command.candidate.empty() && !is_history_alone)
    return base::fail("check: name the runs to check");
  if (!command.name.empty())
    if (auto const good = gate::check_name(command.name); !good) return base::fail_with(good);

  CheckInputs inputs;
  auto candidate = read_kept(command.candidate, command.steps);
  if (!candidate) return base::fail_with(candidate);
  inputs.candidate = std::move(*candidate);
  if (auto const good = check_steps(inputs.candidate); !good) return base::fail_with(good);

  bool const is_kept = !command.update_baseline.empty() || !command.append_history.empty();
  auto const is_in_turn = [](analyzer::RunMeasurements const& run) {
    return run.steps_in_turn > 0;
  };
  if (is_kept && std::any_of(inputs.candidate.begin(), inputs.candidate.end(), is_in_turn))
    return base::fail(
        "check: interleaved runs are for --paired: "
        "keep runs that were recorded alone as baseline or history");

  inputs.name = command.name;
  if (inputs.name.empty() && !inputs.candidate.empty())
    inputs.name = gate::workload_name(inputs.candidate.front());

  if (!command.base.empty())
    inputs.base_file = gate::baseline_file(command.base.front(), inputs.name);
  auto base_runs = read_base(command, inputs.name);
  if (!base_runs) return base::fail_with(base_runs);
  inputs.base = std::move(*base_runs);

  auto budgets = read_budgets(command.budget, inputs.name);
  if (!budgets) return base::fail_with(budgets);
  inputs.budgets = std::move(*budgets);

  bool const has_history = !command.history.empty() || !command.append_history.empty();
  if (has_history)
    if (auto const done = read_histories(command, inputs); !done) return base::fail_with(done);

  return inputs;
}

std::string utc_now() {
  std::time_t const now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::string text(32, '\0');
  text.resize(std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &utc));
  return text;
}

std::string host_name() {
  std::string name(256, '\0');
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  name.resize(name.find('\0'));
  return name.empty() ? "localhost" : name;
}

/// What becomes of the new runs as a baseline; reports say it before it is done, for all files are
/// written or none.
Expected<void> keep_baseline(CheckCommand const& command, CheckInputs& inputs,
                             analyzer::GateResult& result) {
  if (command.update_baseline.empty()) return {};
  if (inputs.candidate.size() > gate::kMostBaselineRuns)
    return base::fail("--update-baseline: a baseline has at most {} runs, name fewer",
                      gate::kMostBaselineRuns);

  if (auto const made = make_folder(gate::baseline_folder(command.update_baseline), inputs); !made)
    return made;

  auto const target = gate::baseline_target(command.update_baseline, inputs.name);
  if (!target) return base::fail_with(target);

  analyzer::KeptBaseline kept =
      analyzer::describe_baseline(inputs.candidate, command.least_percent / 100);
  kept.file = *target;
  kept.place = command.update_baseline;
  if (inputs.name != gate::workload_name(inputs.candidate.front())) kept.asked_name = inputs.name;
  kept.is_written = result.verdict == analyzer::GateVerdict::kPassed;

  std::error_code error;
  kept.replaces = std::filesystem::exists(*target, error);

  result.kept_baseline = std::move(kept);
  return {};
}

/// In a folder of baselines the file's name is Stepscope's choice.
OutputFiles::Links links_of(CheckCommand const& command, analyzer::GateResult const& result) {
  bool const is_named = result.kept_baseline->file == command.update_baseline;
  return is_named ? OutputFiles::Links::kFollow : OutputFiles::Links::kReplace;
}

/// Reports, and the baseline and history that are to be kept.
Expected<void> write_files(CheckCommand const& command, CheckInputs const& inputs,
                           analyzer::GateResult const& result) {
  OutputFiles files;

  if (!command.json_file.empty()) files.add(command.json_file, reports::gate_json(result));
  if (!command.markdown.empty()) files.add(command.markdown, reports::gate_markdown(result));
  if (!command.junit.empty())
    files.add(command.junit, reports::gate_junit(result, {utc_now(), host_name()}));
  if (!command.sarif.empty()) {
    std::string const& artifact = inputs.base_file.empty() && !inputs.candidate.empty()
                                      ? inputs.candidate[0].name
                                      : inputs.base_file;
    files.add(command.sarif, reports::gate_sarif(result, {STEPSCOPE_VERSION, artifact}));
  }

  if (inputs.appended) files.add(command.append_history, gate::history_text(*inputs.appended));
  if (result.kept_baseline && result.kept_baseline->is_written)
    files.add(result.kept_baseline->file, gate::baseline_text({inputs.name, inputs.candidate}),
              links_of(command, result));
  return files.write();
}

bool is_on_github(CheckCommand const& command) {
  if (command.github || command.no_github) return command.github;
  char const* const actions = std::getenv("GITHUB_ACTIONS");
  return actions != nullptr && std::string_view(actions) == "true";
}

/// Names in traces may be commands to the runner that prints them; a trace's author cannot guess
/// this token.
std::string secret_token() {
  std::random_device random;
  std::string token = "stepscope-";
  for (int i = 0; i < 4; ++i) token += fmt::format("{:08x}", random());
  return token;
}

void print_result(CheckCommand const& command, analyzer::GateResult const& result) {
  bool const on_github = is_on_github(command);
  if (command.json) {
    std::fputs(reports::gate_json(result).c_str(), stdout);
  } else {
    std::string const text = reports::gate_text(
        result, {use_color(), terminal_width()},
        command.verbose ? reports::GateDetail::kAll : reports::GateDetail::kWhatMatters);
    std::fputs((on_github ? reports::without_commands(text, secret_token()) : text).c_str(),
               stdout);
  }

  // The runner reads both; JSON on stdout has to stay JSON.
  if (on_github)
    std::fputs(reports::gate_annotations(result).c_str(), command.json ? stderr : stdout);
}

int check_exit_code(analyzer::GateVerdict verdict) {
  if (verdict == analyzer::GateVerdict::kFailed) return kFinding;
  return verdict == analyzer::GateVerdict::kUnclear ? kUnclear : kGood;
}

int check(CheckCommand const& command) {
  auto inputs = read_inputs(command);
  if (!inputs) return report_error(inputs.error());

  double const least_share = command.least_percent / 100;

  analyzer::GateResult result;
  if (!inputs->candidate.empty())
    result = analyzer::check_runs(inputs->base, inputs->candidate, inputs->budgets,
                                  {least_share, command.paired});
  if (result.comparison && result.comparison->refusal)
    return report_error({"check: " + reports::refusal_text(*result.comparison)});

  result.name = inputs->name;
  if (!command.history.empty() || !command.append_history.empty())
    result.history = analyzer::analyze_history(inputs->history, least_share);

  if (inputs->appended)
    result.kept_history = {command.append_history, inputs->candidate.size(),
                           inputs->appended->points.size()};
  if (auto const kept = keep_baseline(command, *inputs, result); !kept)
    return report_error(kept.error());
  if (auto const written = write_files(command, *inputs, result); !written)
    return report_error(written.error());

  print_result(command, result);
  return check_exit_code(result.verdict);
}

void add_check_outputs(CLI::App& app, CheckCommand& command) {
  app.add_flag("--json", command.json,
               "print all numbers as JSON instead of text (docs/guide/GATE.md)");
  app.add_option("--json-file", command.json_file, "write the JSON to this file");
  app.add_option("--markdown", command.markdown, "write a comment for a pull request to this file");
  app.add_option("--junit", command.junit, "write JUnit XML to this file");
  app.add_option("--sarif", command.sarif, "write SARIF 2.1.0 to this file");

  auto* const on =
      app.add_flag("--github", command.github,
                   "print annotations for GitHub Actions (default if GITHUB_ACTIONS is true)");
  app.add_flag("--no-github", command.no_github, "print no annotations for GitHub Actions")
      ->excludes(on);
}

}  // namespace

Action add_check(CLI::App& app) {
  auto const command = std::make_shared<CheckCommand>();
  app.footer(
      "stepscope check NEW... --baseline BASE... [--budget FILE]\nExit code: "
      "0 passed, 1 failed (significantly slower or more memory, or a budget exceeded), "
      "2 wrong use or unreadable input, 3 unclear. docs/guide/GATE.md");

  app.add_option("NEW", command->candidate, "the runs to check");
  app.add_option("--baseline", command->base,
                 "runs, baseline files, or a folder of baseline files");
  app.add_option("--budget", command->budget, "a TOML file of limits for each workload");
  app.add_option(
      "--history", command->history,
      "history files, baselines or runs, oldest first: report where the step time changed");
  app.add_option("--update-baseline", command->update_baseline,
                 "write NEW as a baseline to this file (.json) or folder; "
                 "with --baseline or --budget only if the check passes");
  app.add_option("--append-history", command->append_history,
                 "append NEW to this history file (.json)");

  app.add_option("--name", command->name,
                 "name of the workload, which selects its baseline file and budgets (default: "
                 "from the recorded command)");
  app.add_option("--label", command->label,
                 "label of NEW in the history, such as a commit (default: its path)");
  app.add_option("--steps", command->steps, "use only the steps first:last of each run");
  app.add_option("--min-effect", command->least_percent, "smallest change that counts, in percent")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  app.add_flag("--paired", command->paired,
               "compare pairs: NEW and --baseline name interleaved runs in the same order");

  app.add_flag("-v,--verbose", command->verbose,
               "print the whole comparison also if all checks passed");
  add_check_outputs(app, *command);
  return [command] { return check(*command); };
}

}  // namespace stepscope::cli
