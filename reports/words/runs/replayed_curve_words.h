// What the replay of a run says of other numbers of devices, in words.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/scaling/series.h"

namespace stepscope::reports {

/// Which run was replayed, how far measured steps are missed, how collectives grow; or why there is
/// no curve. Empty where no run was replayed.
std::string replayed_curve_text(analyzer::ScalingSeries const& series);
/// "Replay of 8 devices": the curve's name in a legend. Needs a curve without a refusal.
std::string replayed_curve_label(analyzer::ReplayedCurve const& curve);
/// Throughput, as ScalingPoint::throughput.
analyzer::Estimate replayed_throughput(analyzer::ScalingSeries const& series,
                                       analyzer::ReplayedPoint const& point);
/// As ScalingPoint::efficiency.
analyzer::Estimate replayed_efficiency(analyzer::ScalingSeries const& series,
                                       analyzer::ReplayedPoint const& point);
/// The measured step on as many devices, ns; none where no run was measured.
std::optional<double> measured_step_ns(analyzer::ScalingSeries const& series, uint64_t devices);
/// "+0.42 %" of an error; "–" where nothing was measured.
std::string signed_error(std::optional<double> error);

}  // namespace stepscope::reports
