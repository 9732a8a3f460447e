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
  if (is_one_step) return {all, true};
  return {steps_of(scene, device), false};
}

analyzer::StepStats const* median_step(std::span<analyzer::StepStats const> steps) {
  std::vector<analyzer::StepStats const*> counted;
  for (auto const& step : steps)
    if (!step.warmup) counted.push_back(&step);
  if (counted.empty()) return nullptr;
  auto const middle = counted.begin() + static_cast<std::ptrdiff_t>((counted.size() - 1) / 2);
  // Among equals the earlier.
  std::nth_element(counted.begin(), middle, counted.end(), [](auto const* a, auto const* b) {
    return std::tuple(a->time.window_ns, a) < std::tuple(b->time.window_ns, b);
  });
  return *middle;
}

std::optional<StepComparison> compare_with_median(Scene const& scene, uint32_t step) {
  if (step >= scene.analysis.steps.size()) return std::nullopt;

  StepComparison comparison;
  comparison.step = &scene.analysis.steps[step];
  comparison.median = median_step(steps_at(scene, comparison.step->ref));
  if (comparison.median == nullptr) return std::nullopt;

  auto const of_step = split_parts(comparison.step->time);
  auto const of_median = split_parts(comparison.median->time);
  for (size_t i = 0; i < of_step.size(); ++i)
    if (of_step[i].time != 0 || of_median[i].time != 0)
      comparison.parts.push_back({of_step[i].paint, of_step[i].time, of_median[i].time});
  return comparison;
}

}  // namespace stepscope::viewer
