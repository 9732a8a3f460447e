#include "viewer/event_store/rank_steps.h"

#include <algorithm>

namespace stepscope::viewer {
namespace {

/// The steps of [first, last) that begin in the window; `begin_of` gives run time.
template <class It, class BeginOf>
RankSteps steps_in(Scene const& scene, It first, It last, TimeWindow window,
                   BeginOf const& begin_of) {
  RankSteps result;
  if (first == last) return result;
  auto const view = [&](auto const& step) { return scene.to_view(begin_of(step)); };
  result.mean_ns = std::max<int64_t>((view(*(last - 1)) - view(*first)) / (last - first), 1);

  It step = std::partition_point(first, last, [&](auto const& each) {
    return static_cast<double>(view(each)) < window.begin;
  });
  for (; step != last && static_cast<double>(view(*step)) <= window.end; ++step)
    result.steps.push_back({view(*step), step->step});
  return result;
}

/// A process that used no device.
RankSteps host_steps(Scene const& scene, uint32_t rank, TimeWindow window) {
  auto const& hosts = scene.analysis.hosts;
  auto const host = std::find_if(hosts.begin(), hosts.end(), [&](analyzer::HostStats const& each) {
    return each.rank_index == static_cast<int32_t>(rank);
  });
  if (host == hosts.end()) return {};

  auto const first = host->steps.begin();
  auto const last =
      std::find_if(first, host->steps.end(),
                   [&](analyzer::HostStepStats const& step) { return step.track != first->track; });
  return steps_in(scene, first, last, window,
                  [](analyzer::HostStepStats const& step) { return step.range.begin; });
}

}  // namespace

RankSteps analyzed_steps(Scene const& scene, uint32_t rank, TimeWindow window) {
  auto const& all = scene.analysis.steps;
  auto const first_of = [&](uint32_t wanted) {
    return std::partition_point(all.begin(), all.end(), [&](analyzer::StepStats const& step) {
      return step.ref.rank_index < static_cast<int32_t>(wanted);
    });
  };
  auto const first = first_of(rank);
  auto const last = std::find_if(first, first_of(rank + 1), [&](analyzer::StepStats const& step) {
    return !(step.ref == first->ref);
  });

  if (first == last) return host_steps(scene, rank, window);
  return steps_in(scene, first, last, window,
                  [](analyzer::StepStats const& step) { return step.window.begin; });
}

}  // namespace stepscope::viewer
