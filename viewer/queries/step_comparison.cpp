#include "viewer/queries/step_comparison.h"

#include <algorithm>
#include <tuple>

#include "viewer/widgets/split_bar.h"

namespace stepscope::viewer {
namespace {

std::span<analyzer::StepStats const> steps_at(Scene const& scene, analyzer::DeviceRef ref) {
  auto const& steps = scene.analysis.steps;
  auto const first = std::partition_point(steps.begin(), steps.end(),
                                          [&](auto const& step) { return step.ref < ref; });
  auto const last =
      std::partition_point(first, steps.end(), [&](auto const& step) { return step.ref == ref; });
  return {first, last};
}

/// What lies beside some of Analysis::steps.
std::span<analyzer::StepPeriod const> periods_of(Scene const& scene,
                                                 std::span<analyzer::StepStats const> steps) {
  if (steps.empty() || scene.periods.size() != scene.analysis.steps.size()) return {};
  auto const first = static_cast<size_t>(steps.data() - scene.analysis.steps.data());
  return std::span(scene.periods).subspan(first, steps.size());
}

/// The middle one by length, without warm-up; among equals the earlier.
template <class Step, class IsWarmup, class Length>
Step const* median_of(std::span<Step const> steps, IsWarmup is_warmup, Length length_of) {
  std::vector<Step const*> counted;
  for (Step const& step : steps)
    if (!is_warmup(step)) counted.push_back(&step);
  if (counted.empty()) return nullptr;

  auto const middle = counted.begin() + static_cast<std::ptrdiff_t>((counted.size() - 1) / 2);
  std::nth_element(counted.begin(), middle, counted.end(), [&](Step const* a, Step const* b) {
    return std::tuple(length_of(*a), a) < std::tuple(length_of(*b), b);
  });
  return *middle;
}

}  // namespace

std::span<analyzer::StepStats const> steps_of(Scene const& scene, uint32_t device) {
  if (device >= scene.analysis.devices.size()) return {};
  return steps_at(scene, scene.analysis.devices[device].ref);
}

StepBars step_bars(Scene const& scene, uint32_t device) {
  auto const& all = scene.analysis.steps;
  bool const is_one_step =
      all.size() > 1 &&
      std::adjacent_find(all.begin(), all.end(), [](auto const& a, auto const& b) {
        return a.step != b.step || a.ref == b.ref;
      }) == all.end();
  if (is_one_step) return {scene.periods, true};
  return {periods_of(scene, steps_of(scene, device)), false};
}

analyzer::StepStats const* median_step(std::span<analyzer::StepStats const> steps) {
  return median_of(
      steps, [](analyzer::StepStats const& step) { return step.warmup; },
      [](analyzer::StepStats const& step) { return step.time.window_ns; });
}

analyzer::StepPeriod const* median_period(std::span<analyzer::StepPeriod const> steps) {
  return median_of(
      steps, [](analyzer::StepPeriod const& step) { return step.step->warmup; },
      [](analyzer::StepPeriod const& step) { return step.when.length(); });
}

std::optional<StepComparison> compare_with_median(Scene const& scene, uint32_t step) {
  if (step >= scene.periods.size()) return std::nullopt;

  StepComparison comparison;
  comparison.step = &scene.periods[step];
  comparison.median = median_period(periods_of(scene, steps_at(scene, comparison.step->step->ref)));
  if (comparison.median == nullptr) return std::nullopt;

  auto const of_step = split_parts(*comparison.step);
  auto const of_median = split_parts(*comparison.median);
  for (size_t i = 0; i < of_step.size(); ++i)
    if (of_step[i].time != 0 || of_median[i].time != 0)
      comparison.parts.push_back({of_step[i].paint, of_step[i].time, of_median[i].time});
  return comparison;
}

}  // namespace stepscope::viewer
