// Which change of a replay stands for the remedy of a finding.
#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "analyzer/whatif/whatif.h"

namespace stepscope::analyzer {
namespace {

/// What a finding's remedy does, as one would write it; or why no replay shows it.
struct RemedyRow {
  std::string_view rule, change, reason;
};
constexpr std::array kRemedies = {
    RemedyRow{"input-bound", "input=0", ""},
    RemedyRow{"host-bound-launches", "launch=0", ""},
    RemedyRow{"launch-latency", "launch=0", ""},
    RemedyRow{"blocking-sync", "sync=off", ""},
    RemedyRow{"allocation-in-step", "alloc=0", ""},
    RemedyRow{"load-imbalance", "imbalance=mean", ""},
    RemedyRow{"exposed-communication", "overlap", ""},
    RemedyRow{"pageable-copies", "copies=0", ""},
    RemedyRow{"serialized-copies", "copies=0", ""},
    RemedyRow{"small-buckets", "bucket=25MiB", ""},  // what PyTorch's DDP has
    RemedyRow{"unequal-workers", "", "its steps are evaluated with equal workers already"},
    RemedyRow{
        "pipeline-bubble", "",
        "another number of micro-batches needs a second run: whatif RUN --change micro-batches=N "
        "--probe OTHER"},
};

/// Rules whose remedy makes kernels of the device shorter, by their cost together.
constexpr std::array<std::string_view, 2> kShorterKernels = {"tensor-cores-unused", "small-grids"};

/// All kernels of the device shorter by the same factor, so that their sum falls by the cost: the
/// recording does not tell by how much each would be. Empty where the cost is not known.
std::string shorter_kernels(Finding const& finding, Analysis const& analysis) {
  if (!finding.where || !finding.cost_ns_per_step) return {};
  double compute_ns = 0, steps = 0;
  for (StepStats const& step : rows_of_device(analysis.steps, *finding.where)) {
    if (step.warmup) continue;
    compute_ns += static_cast<double>(step.time.compute_ns);
    ++steps;
  }
  if (compute_ns <= 0) return {};

  double const part = static_cast<double>(*finding.cost_ns_per_step) * steps / compute_ns;
  return part < 1 ? fmt::format("class:compute=*{:.4f}", 1 - part) : std::string();
}

}  // namespace

Remedy remedy_of(Finding const& finding, model::Run const& run, Analysis const& analysis) {
  // Its ceiling is withheld where the delay began before the recording or its cause is not known.
  if (finding.rule == "straggler" && !finding.gain_ceiling)
    return {{}, "why the device is late is not in the recording"};

  std::string text;
  bool const is_about_kernels = std::find(kShorterKernels.begin(), kShorterKernels.end(),
                                          finding.rule) != kShorterKernels.end();
  if (is_about_kernels) text = shorter_kernels(finding, analysis);
  if (finding.rule == "straggler" && finding.where) {
    auto const rank_index = static_cast<size_t>(finding.where->rank_index);
    int32_t const rank = run.ranks[rank_index].trace.info().rank;
    text = fmt::format("straggler={}", run.ranks.size() == 1 ? finding.where->device : rank);
  }

  for (RemedyRow const& row : kRemedies) {
    if (row.rule != finding.rule) continue;
    if (row.change.empty()) return {{}, std::string(row.reason)};
    text = row.change;
  }
  if (text.empty()) return {};

  for (auto const& [name, value] : finding.metrics)
    if (name == "busy_share")
      return {
          {},
          fmt::format("the device is busy for {:.1f} % of its time: the recording does not show "
                      "what would limit the program",
                      value * 100)};

  auto change = parse_change(text);
  if (!change) return {{}, change.error().message};
  return {{std::move(*change)}, {}};
}

bool misses_the_cause(Finding const& finding, WhatIfAnswer const& alone) {
  constexpr std::array<std::string_view, 3> kManyReasons = {"host-bound-launches", "launch-latency",
                                                            "straggler"};
  constexpr double kLeastPart = 0.5;
  bool const has_many =
      std::find(kManyReasons.begin(), kManyReasons.end(), finding.rule) != kManyReasons.end();
  return has_many && (!finding.gain_ceiling || alone.gain < kLeastPart * *finding.gain_ceiling);
}

}  // namespace stepscope::analyzer
