#include "run_loading/replayed_series.h"

#include <utility>

#include "analyzer/whatif/scaling_curve.h"
#include "run_loading/analyzed_files.h"

namespace stepscope::run_loading {
namespace {

/// What the chosen run predicts for the others, which takes a second reading of it.
base::Expected<analyzer::ReplayedCurve> curve_of_run(
    analyzer::ScalingSeries const& series, std::span<analyzer::RunMeasurements const> samples,
    size_t chosen, Team* team) {
  analyzer::AnalyzeOptions wanted;
  wanted.wants_gains = false;
  auto const analyzed =
      analyze_files({samples[chosen].name}, wanted, Reading::kBySize, false, team);
  if (!analyzed) return base::fail_with(analyzed);

  return analyzer::predict_curve(
      {series, samples, samples[chosen], analyzed->analysis},
      [&](analyzer::WhatIfQuestion const& question) -> base::Expected<analyzer::WhatIfStats> {
        bool const is_in_memory = !analyzed->read;
        if (is_in_memory) return analyzer::what_if(analyzed->run, analyzed->analysis, question);
        return analyzer::what_if(streamed_run_of(*analyzed), analyzed->analysis, question);
      });
}

}  // namespace

base::Expected<analyzer::ReplayedCurve> replay_series(
    analyzer::ScalingSeries const& series, std::span<analyzer::RunMeasurements const> samples,
    std::function<bool()> const& is_given_up, Team* team) {
  analyzer::ReplayedCurve best;
  best.refusal = analyzer::CurveRefusal::kNoCollectives;

  for (size_t const chosen : analyzer::runs_to_replay(samples)) {
    if (is_given_up && is_given_up()) return base::fail("given up");
    auto curve = curve_of_run(series, samples, chosen, team);
    if (!curve) return curve;
    if (analyzer::is_trusted(*curve)) return curve;
    best = analyzer::better_curve(std::move(*curve), std::move(best));
  }
  return best;
}

}  // namespace stepscope::run_loading
