#include "viewer/comparison/step_alignment.h"

#include <algorithm>
#include <span>
#include <unordered_map>

#include "viewer/queries/step_comparison.h"

namespace stepscope::viewer {
namespace {

using AlignedSteps = std::span<analyzer::StepStats const>;

/// The steps of the device that has most of them.
AlignedSteps most_steps(Scene const& scene) {
  AlignedSteps most;
  for (uint32_t device = 0; device < scene.analysis.devices.size(); ++device) {
    auto const of_device = steps_of(scene, device);
    if (of_device.size() > most.size()) most = of_device;
  }
  return most;
}

StepAlignment::Pair pair_of(Scene const& base, analyzer::StepStats const& of_base,
                            Scene const& candidate, analyzer::StepStats const& of_candidate) {
  StepAlignment::Pair pair;

  pair.base_number = of_base.step;
  pair.candidate_number = of_candidate.step;
  pair.base_begin = base.to_view(of_base.window.begin);
  pair.base_end = base.to_view(of_base.window.end);
  pair.candidate_begin = candidate.to_view(of_candidate.window.begin);
  pair.candidate_end = candidate.to_view(of_candidate.window.end);
  pair.base_step = static_cast<uint32_t>(&of_base - base.analysis.steps.data());
  pair.candidate_step = static_cast<uint32_t>(&of_candidate - candidate.analysis.steps.data());

  return pair;
}

}  // namespace

StepAlignment align_steps(Scene const& base, Scene const& candidate) {
  StepAlignment alignment;
  AlignedSteps const before = most_steps(base);
  AlignedSteps const after = most_steps(candidate);

  std::unordered_map<int64_t, size_t> places;  // of a number that there is twice the first
  for (size_t i = 0; i < after.size(); ++i) places.try_emplace(after[i].step, i);
  for (analyzer::StepStats const& step : before) {
    auto const found = places.find(step.step);
    if (found == places.end()) continue;
    alignment.pairs.push_back(pair_of(base, step, candidate, after[found->second]));
    places.erase(found);
  }

  alignment.by = StepAlignment::By::kNumber;
  if (alignment.pairs.empty()) {
    size_t const both = std::min(before.size(), after.size());
    alignment.by = both == 0 ? StepAlignment::By::kNothing : StepAlignment::By::kOrder;
    for (size_t i = 0; i < both; ++i)
      alignment.pairs.push_back(pair_of(base, before[i], candidate, after[i]));
  }

  std::stable_sort(alignment.pairs.begin(), alignment.pairs.end(),
                   [](auto const& a, auto const& b) { return a.base_begin < b.base_begin; });
  alignment.base_alone = before.size() - alignment.pairs.size();
  alignment.candidate_alone = after.size() - alignment.pairs.size();
  return alignment;
}

double shift_at(StepAlignment const& alignment, std::optional<uint32_t> aligned) {
  if (!aligned || *aligned >= alignment.pairs.size()) return 0;
  StepAlignment::Pair const& pair = alignment.pairs[*aligned];
  return static_cast<double>(pair.candidate_begin) - static_cast<double>(pair.base_begin);
}

std::optional<uint32_t> aligned_step(StepAlignment const& alignment,
                                     std::optional<uint32_t> aligned, RunSide side,
                                     TimeWindow window) {
  auto const& pairs = alignment.pairs;
  if (pairs.empty()) return std::nullopt;

  auto const begin_of = [&](StepAlignment::Pair const& pair) {
    return static_cast<double>(pair.begin(side));
  };

  if (aligned && *aligned < pairs.size()) {
    // It begins at the same place in both: the part of it that either run shows is shown here up
    // to the longer one's end.
    StepAlignment::Pair const& pair = pairs[*aligned];
    double const longest = std::max(
        static_cast<double>(pair.base_end) - static_cast<double>(pair.base_begin),
        static_cast<double>(pair.candidate_end) - static_cast<double>(pair.candidate_begin));
    if (begin_of(pair) < window.end && begin_of(pair) + longest > window.begin) return aligned;
  }

  std::optional<uint32_t> first;   // that begins in the window
  std::optional<uint32_t> around;  // the last that begins before its middle
  uint32_t earliest = 0;
  double const middle = window.begin + window.span() / 2;

  for (uint32_t i = 0; i < pairs.size(); ++i) {
    double const begin = begin_of(pairs[i]);
    if (begin >= window.begin && begin < window.end && (!first || begin < begin_of(pairs[*first])))
      first = i;
    if (begin <= middle && (!around || begin > begin_of(pairs[*around]))) around = i;
    if (begin < begin_of(pairs[earliest])) earliest = i;
  }

  if (first) return first;
  return around ? around : std::optional(earliest);
}

std::vector<StepLink> step_links(StepAlignment const& alignment, std::optional<uint32_t> aligned,
                                 TimeWindow base, float width, float least_gap) {
  std::vector<StepLink> links;
  auto const& pairs = alignment.pairs;
  if (pairs.empty() || !(width >= 1)) return links;

  double const scale = static_cast<double>(width) / base.span();
  double const shift = shift_at(alignment, aligned);

  // Far outside it does not matter where.
  auto const bounded = [&](double x) { return static_cast<float>(std::clamp(x, -1e6, 1e6)); };
  auto const link_of = [&](uint32_t i) {
    return StepLink{
        bounded((static_cast<double>(pairs[i].base_begin) - base.begin) * scale),
        bounded((static_cast<double>(pairs[i].candidate_begin) - shift - base.begin) * scale), i,
        aligned == i};
  };
  auto const is_seen = [&](StepLink const& link) {
    return (link.base_x >= 0 && link.base_x <= width) ||
           (link.candidate_x >= 0 && link.candidate_x <= width);
  };
  auto const exponential_search = [&](double time) {
    return static_cast<uint32_t>(std::partition_point(pairs.begin(), pairs.end(),
                                                      [&](StepAlignment::Pair const& pair) {
                                                        return static_cast<double>(
                                                                   pair.base_begin) < time;
                                                      }) -
                                 pairs.begin());
  };

  // Steps that begin left of the view above and in it below: as many as fit next to each other.
  auto const most = static_cast<uint32_t>(width / std::max(least_gap, 1.0F)) + 1;
  uint32_t i = exponential_search(base.begin);
  for (uint32_t back = 0; back < most && i > 0 && is_seen(link_of(i - 1)); ++back) --i;

  for (uint32_t count = 0; i < pairs.size() && count < 3 * most; ++count) {
    StepLink const link = link_of(i);
    if (link.base_x > width && link.candidate_x > width) break;
    if (is_seen(link) && !link.is_aligned) links.push_back(link);
    uint32_t const next = exponential_search(static_cast<double>(pairs[i].base_begin) +
                                             static_cast<double>(least_gap) / scale);
    i = std::max(next, i + 1);
  }

  if (aligned && *aligned < pairs.size() && is_seen(link_of(*aligned)))
    links.push_back(link_of(*aligned));
  return links;
}

}  // namespace stepscope::viewer
