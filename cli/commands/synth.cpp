// stepscope synth -o RUN: makes a run of any size whose truth is known, for tests and for scale.
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/progress.h"
#include "trace/base/files/run_folder.h"
#include "trace/base/format.h"
#include "trace/synth/synth.h"

namespace stepscope::cli {
namespace {

struct SynthOptions {
  synth::SynthOptions run;
  std::string pattern = "dp";
  std::string fault;
  std::string output;
  bool force = false;
};

std::vector<std::string> pattern_names() {
  std::vector<std::string> names;
  for (synth::Pattern const& pattern : synth::patterns()) names.emplace_back(pattern.name);
  return names;
}

std::string lists() {
  std::string text = "Patterns:\n";
  for (synth::Pattern const& pattern : synth::patterns())
    text += fmt::format("  {:<10} {}\n", pattern.name, pattern.summary);

  text += "Faults, each with its default amount:\n";
  for (synth::FaultKind const& kind : synth::fault_kinds()) {
    text += fmt::format("  {:<24} {}", synth::usage_of(kind), kind.summary);
    if (!kind.unit.empty()) text += fmt::format(" ({})", kind.usual);
    text += '\n';
  }

  return text + "RUN/truth.json has the ground truth of the run (docs/reference/SYNTH.md).";
}

int make_run(SynthOptions options) {
  if (!options.fault.empty()) {
    auto const fault = synth::parse_fault(options.fault);
    if (!fault) return report_error(fault.error());
    options.run.fault = *fault;
  }

  options.run.pattern = synth::find_pattern(options.pattern);
  if (auto const possible = synth::check_shape(options.run); !possible)
    return report_error(possible.error());
  if (auto const possible = synth::check_fault(options.run); !possible)
    return report_error(possible.error());

  auto output = base::take_run_folder(options.output, options.force);
  if (!output) return report_error(output.error());
  auto const staging = output->staging();
  if (!staging) return report_error(staging.error());

  Progress progress;
  options.run.progress = [&](double share) { progress.show(share); };
  auto const summary = synth::make_run(options.run, *staging);
  progress.clear();
  if (!summary) return report_error(output->in_place(summary.error()));
  if (auto const published = output->publish(base::old_run_files(options.output)); !published)
    return report_error(published.error());
  tell(fmt::format("made {} in {} of {}, in {}", base::format_count(summary->events, "event"),
                   base::format_count(static_cast<uint64_t>(summary->steps), "step"),
                   base::format_count(static_cast<uint64_t>(options.run.ranks), "rank"),
                   base::printable(options.output)));
  return kGood;
}

}  // namespace

Action add_synth(CLI::App& app) {
  auto const options = std::make_shared<SynthOptions>();
  app.footer(lists());

  app.add_option("-o,--output", options->output, "the run folder to write")->required();
  app.add_option("--pattern", options->pattern, "parallelism of the job")
      ->check(CLI::IsMember(pattern_names()))
      ->capture_default_str();
  app.add_option("--ranks", options->run.ranks, "number of processes, with one device each")
      ->check(whole_number(1, synth::kMaxRanks))
      ->default_val(4);
  app.add_option("--events", options->run.events_per_rank,
                 "events per rank; the step that reaches this number is completed")
      ->check(whole_number(1, synth::kMaxEventsPerRank))
      ->default_val(1'000'000);
  app.add_option("--steps", options->run.steps, "number of steps, instead of --events")
      ->check(whole_number(1, synth::kMaxSteps))
      ->excludes("--events");

  synth::PipelineShape& shape = options->run.shape;
  app.add_option("--micro-batches", shape.micro_batches, "pipeline: micro-batches of a step")
      ->check(whole_number(1, 1024))
      ->capture_default_str();
  app.add_option("--micro-batch-percent", shape.size_percent,
                 "pipeline: size of a micro-batch; a tenth of the time of kernels stays")
      ->check(whole_number(1, 1000))
      ->capture_default_str();
  app.add_option("--stage-layers", shape.stage_layers,
                 "pipeline: layers of each stage, such as 3,5 (default: 4 on each)")
      ->delimiter(',')
      ->check(whole_number(1, 256));
  app.add_option(
      "--fault", options->fault,
      "NAME or NAME=X: one of the faults below, in every step, as the only fault (default: "
      "a fixed cycle of faults that repeats every 24 steps)");
  app.add_option("--seed", options->run.seed,
                 "seed of the random numbers; the same seed gives the same bytes")
      ->check(whole_number(0, UINT64_MAX))
      ->capture_default_str();
  app.add_flag("--force", options->force, "overwrite an existing run");

  return [options] { return make_run(*options); };
}

}  // namespace stepscope::cli
