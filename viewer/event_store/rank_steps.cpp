#include "viewer/event_store/rank_steps.h"

#include <algorithm>

namespace stepscope::viewer {

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
  RankSteps result;
  if (first == last) return result;

  int64_t const whole = (last - 1)->window.end - first->window.begin;
  result.mean_ns = std::max<int64_t>(whole / (last - first), 1);
  auto const begin_of = [&](analyzer::StepStats const& step) {
    return scene.to_view(step.window.begin);
  };
  auto step = std::partition_point(first, last, [&](analyzer::StepStats const& each) {
    return static_cast<double>(begin_of(each)) < window.begin;
  });
  for (; step != last && static_cast<double>(begin_of(*step)) <= window.end; ++step)
    result.steps.push_back({begin_of(*step), step->step});
  return result;
}

}  // namespace stepscope::viewer
