// The curve of a scaling series by replay: which of its runs is read again, and what it predicts
// for the others (analyzer/whatif/scaling_curve.h). `stepscope report` and the viewer use it.
#pragma once

#include <functional>
#include <span>

#include "analyzer/scaling/series.h"
#include "run_loading/team/team.h"
#include "trace/base/expected.h"

namespace stepscope::run_loading {

/// The largest run whose replay can be trusted, else the one whose replay misses its step least.
/// `series`: without a refusal. `samples`: its runs, whose names are their paths. Errors: those of
/// reading, and that `is_given_up`, which it asks before each run. `team` may be null.
base::Expected<analyzer::ReplayedCurve> replay_series(
    analyzer::ScalingSeries const& series, std::span<analyzer::RunMeasurements const> samples,
    std::function<bool()> const& is_given_up = {}, Team* team = nullptr);

}  // namespace stepscope::run_loading
