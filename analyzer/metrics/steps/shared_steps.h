// Threads that train together on one device: replicas or stages of a model that share a GPU, each
// with a thread of its own. All of them mark step 7, and the device has one step 7.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/metrics/steps/steps.h"

namespace stepscope::analyzer {

/// A thread shares its steps with the lead when nearly all steps with the same index overlap there.
/// Threads that number their own work, as a server's do, drift apart and share none.
class SharedSteps {
 public:
  /// A step: a thread and the place among its steps.
  struct Place {
    size_t thread;
    int32_t at;
  };

  /// `lead`: index into `threads`; none of them shares steps where it is no such index.
  SharedSteps(std::vector<std::vector<HostStep>> const& threads, size_t lead)
      : lead_(lead), places_(threads.size()) {
    if (lead >= threads.size()) return;
    for (size_t t = 0; t < threads.size(); ++t)
      if (t != lead && !threads[t].empty()) places_[t] = match(threads[t], threads[lead]);
  }

  /// The lead's step that this is too; the step itself where it is shared with none.
  [[nodiscard]] Place common(Place step) const {
    std::vector<int32_t> const& of_lead = places_[step.thread];
    if (of_lead.empty()) return step;
    int32_t const at = of_lead[static_cast<size_t>(step.at)];
    return at < 0 ? step : Place{lead_, at};
  }

 private:
  /// Share of the steps that both threads have: a pause of one may separate a few.
  static constexpr double kLeastOverlapping = 0.9;

  /// Beside `steps`: places in `lead` of the steps with the same index; empty when too few overlap.
  static std::vector<int32_t> match(std::vector<HostStep> const& steps,
                                    std::vector<HostStep> const& lead) {
    std::vector<int32_t> places(steps.size(), -1);
    size_t both = 0, overlapping = 0;

    for (size_t i = 0; i < steps.size(); ++i) {
      Interval const when = steps[i].when;
      auto const same =
          std::lower_bound(lead.begin(), lead.end(), steps[i].index,
                           [](HostStep const& s, int64_t index) { return s.index < index; });
      if (same == lead.end() || same->index != steps[i].index) continue;

      places[i] = static_cast<int32_t>(same - lead.begin());
      ++both;
      overlapping += when.begin < same->when.end && same->when.begin < when.end ? 1 : 0;
    }

    bool const is_shared = both > 0 && static_cast<double>(overlapping) >=
                                           kLeastOverlapping * static_cast<double>(both);
    return is_shared ? places : std::vector<int32_t>();
  }

  size_t lead_;
  /// An entry a thread: places among the lead's steps, −1 = the lead has no such step. An empty
  /// entry: the thread shares no steps.
  std::vector<std::vector<int32_t>> places_;
};

}  // namespace stepscope::analyzer
