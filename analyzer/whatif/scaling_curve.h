// The curve of a scaling series, predicted by replaying one of its runs with other numbers of ranks
// (DEFINITIONS, "Scaling"). The models of analyzer/scaling/fits.h know only how long steps were; a
// replay knows what a step is made of.
#pragma once

#include <functional>
#include <span>

#include "analyzer/scaling/replayed_curve.h"
#include "analyzer/scaling/series.h"
#include "analyzer/whatif/whatif.h"

namespace stepscope::analyzer {

struct CurveInput {
  ScalingSeries const& series;               ///< without a refusal
  std::span<RunMeasurements const> samples;  ///< all runs of the series
  RunMeasurements const& base;               ///< the run that is replayed, one of `samples`
  Analysis const& analysis;                  ///< of it
};
/// `ask`: what_if() of the base run. Errors: those of `ask`.
base::Expected<ReplayedCurve> predict_curve(
    CurveInput const& input,
    std::function<base::Expected<WhatIfStats>(WhatIfQuestion const&)> const& ask);

/// Which runs to replay, the best first: of each number of devices from two on the first run, most
/// devices first. Indices of `samples`.
std::vector<size_t> runs_to_replay(std::span<RunMeasurements const> samples);
/// Whether `curve` is to be taken and no other run needs to be replayed.
bool is_trusted(ReplayedCurve const& curve);
/// The better one of two curves of a series: one without a refusal, with the smaller error.
ReplayedCurve better_curve(ReplayedCurve a, ReplayedCurve b);

/// The law that predicts transfers at other numbers of devices best from those of the base. None
/// where no collective of the same size was measured at another number.
std::optional<CollectiveLaw> find_collective_law(CurveInput const& input);

}  // namespace stepscope::analyzer
