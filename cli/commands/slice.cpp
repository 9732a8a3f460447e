// stepscope slice RUN -o OUT: a small part of a run to share: some steps, some time, one rank,
// without names.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "analyzer/metrics/host/host_activity.h"
#include "analyzer/metrics/steps/layer_names.h"
#include "analyzer/metrics/steps/step_names.h"
#include "cli/commands.h"
#include "cli/partial_run.h"
#include "cli/run_parts.h"
#include "trace/base/format.h"
#include "trace/model/derive/anonymize.h"
#include "trace/model/derive/clock_drift.h"

namespace stepscope::cli {
namespace {

using base::Expected;
using base::fail;

struct SliceOptions {
  std::vector<std::string> runs;
  std::string output;
  PartOptions part;
  bool anonymize = false, force = false, is_one_run = false;
};

/// What the analysis reads in a range's name.
model::Pseudonyms::Meaning meaning_of_range(std::string_view name) {
  if (auto const step = analyzer::step_name(name)) {
    // A name that only may be a step's has words that many programs have, and numbers.
    // In brackets may be what the program likes.
    bool const is_free = !name.starts_with("step[") && !name.starts_with("execute_");
    if (!step->is_certain)
      return {std::string(is_free ? name.substr(0, name.find('[')) : name), {}};
    return {fmt::format("step {}", step->number.value_or(0)), {}};
  }
  if (analyzer::is_input_wait_name(name)) return {"DataLoader.__next__", {}};

  // Without its layers, a model that repeats them would seem to repeat steps.
  std::string path;
  for (analyzer::LayerName const& layer : analyzer::layer_names(name))
    path += fmt::format("{}layer.{}", path.empty() ? "" : ".", layer.numbers.back());
  return {{}, path};
}

/// Takes the names out of one process after the other, the same ones for the same texts.
class Anonymizer {
 public:
  explicit Anonymizer(import::RunSources const& run) : pseudonyms_(meaning_of_range) {
    for (import::RankSource const& rank : run.ranks)
      if (model::TraceInfo const& info = rank.source.info(); model::has_origin(info))
        earliest_ns_ = std::min(earliest_ns_, info.origin_epoch_ns);
  }
  model::Trace operator()(model::Trace const& trace) {
    constexpr int64_t kAnonymousEpochNs =
        1'000'000'000;  // one second after 1970: the time of no recording
    return model::anonymize(trace, pseudonyms_, kAnonymousEpochNs - earliest_ns_);
  }

 private:
  model::Pseudonyms pseudonyms_;
  int64_t earliest_ns_ = INT64_MAX;
};

Expected<void> write_parts(import::RunSources const& run, Parts const& parts, bool anonymous,
                           PartialRun& output) {
  Anonymizer anonymizer(run);
  for (size_t r = 0; r < run.ranks.size(); ++r) {
    if (!parts[r]) continue;
    auto trace = read_part(run.ranks[r].source, *parts[r]);
    if (!trace) return base::fail_with(trace);
    if (auto const added = output.add(anonymous ? anonymizer(*trace) : std::move(*trace)); !added)
      return added;
  }

  return {};
}

Expected<void> slice_into(SliceOptions const& options, PartialRun& output) {
  auto run = open_sources_and_warn(options.runs, options.is_one_run);
  if (!run) return base::fail_with(run);
  int64_t const length_ns = import::time_range(*run).length();

  auto const parts = choose_parts(*run, options.part);
  if (!parts) return base::fail_with(parts);
  if (auto const written = write_parts(*run, *parts, options.anonymize, output); !written)
    return written;

  if (output.events() == 0)
    return fail("nothing to keep: no event lies there, the run has {:.6f} s",
                static_cast<double>(length_ns) / 1e9);
  return {};
}

int slice_run(SliceOptions const& options) {
  if (options.part.is_everything() && !options.anonymize)
    return report_error(
        {"slice: say what to keep with --steps, --time or --rank, or what to take out with "
         "--anonymize"});
  if (is_source(options.output, options.runs))
    return report_error({fmt::format(
        "{}: is where the run itself lies, choose another folder with -o", options.output)});

  PartialRun output(options.output, options.force);
  if (auto const sliced = slice_into(options, output); !sliced) return report_error(sliced.error());
  if (auto const finished = output.finish(); !finished) return report_error(finished.error());

  tell(fmt::format("kept {} of {}, in {}", base::format_count(output.events(), "event"),
                   base::format_count(output.ranks(), "rank"), base::printable(options.output)));

  return kGood;
}

}  // namespace

Action add_slice(CLI::App& app) {
  auto const options = std::make_shared<SliceOptions>();
  app.footer(
      "The slice keeps every event that overlaps the chosen part, the launches of kept device ops, "
      "and the events around those launches. It also keeps the step before the chosen steps, "
      "where the work begins that the first one waits for. The analysis of the slice measures the "
      "chosen steps, as the whole run's does.");
  options->part.steps_before = 1;

  app.add_option("RUN", options->runs, "a trace file or a run folder")->required();
  app.add_option("-o,--output", options->output, "the run folder to write")->required();
  add_part_options(app, options->part);
  app.add_flag("--anonymize", options->anonymize,
               "replace the names of the program: of ranges, kernels, threads, hosts, devices");
  add_one_run_option(app, options->is_one_run);
  app.add_flag("--force", options->force, "overwrite an existing run");

  return [options] { return slice_run(*options); };
}

}  // namespace stepscope::cli
