// The mean of what was measured on so many devices, and how sure it is (DEFINITIONS, "Scaling").
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analyzer/scaling/cost_model.h"

namespace stepscope::analyzer {

/// With several runs each is one value. With one its steps are, in blocks as long as `compare`
/// takes them.
struct MeanError {
  double mean = 0;
  std::optional<double> variance;  ///< of the mean; none where a single value tells nothing of it
  double degrees = 0;              ///< of freedom of the variance
  bool drifts =
      false;  ///< even the longest blocks are alike: the steps do not tell how far they vary
};
/// runs[run][step]: in the order of time; each has a step.
MeanError mean_error(std::span<std::vector<double> const> runs);

/// The mean and its 95 % interval (Student's t).
Estimate interval_of(MeanError const& mean);
/// factor · above / below, with its 95 % interval: that of its logarithm, whose variance is the sum
/// of both relative ones (delta method), with Welch's and Satterthwaite's degrees of freedom. Both
/// means > 0.
Estimate ratio_of(MeanError const& above, MeanError const& below, double factor);

}  // namespace stepscope::analyzer
