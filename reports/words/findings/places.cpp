#include "reports/words/findings/places.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "reports/words/language.h"

namespace stepscope::reports {
namespace {

/// " (step 9)", " (steps 9:10)": the steps whose `window` has some of the place; empty if none has.
std::string steps_at(analyzer::Analysis const& analysis, analyzer::Finding::Evidence const& place,
                     analyzer::Interval analyzer::StepStats::*window) {
  auto const of_device = std::lower_bound(
      analysis.steps.begin(), analysis.steps.end(), place.ref,
      [](analyzer::StepStats const& step, analyzer::DeviceRef ref) { return step.ref < ref; });

  int64_t first = std::numeric_limits<int64_t>::max(), last = -1;
  for (auto step = of_device; step != analysis.steps.end() && step->ref == place.ref; ++step) {
    analyzer::Interval const& when = (*step).*window;
    if (when.begin >= place.when.end || when.end <= place.when.begin) continue;
    first = std::min(first, step->step);
    last = std::max(last, step->step);
  }

  if (last < first) return {};
  return first == last ? tr(" (step {})", first) : tr(" (steps {}:{})", first, last);
}

/// Likewise of a process without a device, whose places are its steps.
std::string host_steps_at(analyzer::Analysis const& analysis,
                          analyzer::Finding::Evidence const& place) {
  for (analyzer::HostStats const& host : analysis.hosts)
    for (analyzer::HostStepStats const& step : host.steps)
      if (place.ref == analyzer::DeviceRef{host.rank_index, analyzer::kHostDevice} &&
          step.period == place.when)
        return tr(" (step {})", step.step);
  return {};
}

}  // namespace

std::string steps_of_place(analyzer::Analysis const& analysis,
                           analyzer::Finding::Evidence const& place) {
  for (auto const window : {&analyzer::StepStats::window, &analyzer::StepStats::host_window})
    if (std::string steps = steps_at(analysis, place, window); !steps.empty()) return steps;
  return host_steps_at(analysis, place);
}

}  // namespace stepscope::reports
