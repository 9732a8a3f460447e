#include "viewer/comparison/change_marks.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace stepscope::viewer {
namespace {

/// Bounds of the colours: a change of so much of the base's time of a call. A twentieth is what a
/// person would look at, a fifth what must have a reason, a half another algorithm.
constexpr double kTwentieth = 0.05, kFifth = 0.20, kHalf = 0.50;

constexpr uint32_t mark_rgb(uint32_t hex) {
  return 0xFF000000U | (hex & 0xFFU) << 16U | (hex & 0xFF00U) | hex >> 16U;
}

struct MarkInfo {
  char const* words;
  uint32_t dark, light;  ///< on the dark and on the light theme
};

/// Indexed by ChangeMark. Blue and orange differ for every kind of colour blindness; saturation
/// grows with the change.
constexpr std::array<MarkInfo, kChangeMarkCount> kMarks = {{
    {"", 0, 0},
    {"<−50 %", mark_rgb(0x1E78FF), mark_rgb(0x1257B8)},
    {"<−20 %", mark_rgb(0x4A93E6), mark_rgb(0x4A8FD6)},
    {"<−5 %", mark_rgb(0x72A5D8), mark_rgb(0x86B4E0)},
    {"<0", mark_rgb(0x93A9C2), mark_rgb(0xB2C6DC)},
    {"same", mark_rgb(0x737A84), mark_rgb(0xAEB4BC)},
    {">0", mark_rgb(0xBDA388), mark_rgb(0xDCC5AA)},
    {">+5 %", mark_rgb(0xDBA160), mark_rgb(0xE6B47A)},
    {">+20 %", mark_rgb(0xEE8A34), mark_rgb(0xE98F35)},
    {">+50 %", mark_rgb(0xF25A1B), mark_rgb(0xCC4C02)},
    {"unclear or not compared", mark_rgb(0x474E58), mark_rgb(0xD2D7DD)},
    {"only in new", mark_rgb(0xCC79A7), mark_rgb(0xB85C92)},
    {"only in base", mark_rgb(0xE6DC50), mark_rgb(0xC2B000)},
    {"", mark_rgb(0x333A44), mark_rgb(0xDFE4EA)},
}};

}  // namespace

ChangeMark mark_of(analyzer::Metric const& metric) {
  using analyzer::Verdict;
  if (metric.verdict == Verdict::kSame) return ChangeMark::kSame;
  if (metric.verdict == Verdict::kUnclear || !(metric.change.base_mean > 0))
    return ChangeMark::kUnknown;

  double const share = std::abs(metric.change.candidate_mean / metric.change.base_mean - 1);
  bool const is_faster = metric.verdict == Verdict::kLess;

  if (share > kHalf) return is_faster ? ChangeMark::kFasterHalf : ChangeMark::kSlowerHalf;
  if (share > kFifth) return is_faster ? ChangeMark::kFasterFifth : ChangeMark::kSlowerFifth;
  if (share > kTwentieth)
    return is_faster ? ChangeMark::kFasterTwentieth : ChangeMark::kSlowerTwentieth;
  return is_faster ? ChangeMark::kFaster : ChangeMark::kSlower;
}

uint32_t mark_colour(ChangeMark mark, Theme theme) {
  MarkInfo const& info = kMarks[static_cast<size_t>(mark)];
  return theme == Theme::kDark ? info.dark : info.light;
}

char const* mark_words(ChangeMark mark) { return kMarks[static_cast<size_t>(mark)].words; }

ChangeMarks::ChangeMarks(analyzer::Comparison const& comparison) {
  for (analyzer::KernelChange const& kernel : comparison.kernels) {
    if (kernel.name.empty()) continue;
    if (kernel.where == analyzer::KernelChange::Where::kNew)
      kernels_.emplace(kernel.name, ChangeMark::kNew);
    if (kernel.where == analyzer::KernelChange::Where::kVanished)
      kernels_.emplace(kernel.name, ChangeMark::kVanished);
  }

  for (analyzer::Metric const& metric : comparison.metrics) {
    if (metric.family == analyzer::MetricFamily::kKernel)
      kernels_.emplace(metric.name, mark_of(metric));
    if (metric.family == analyzer::MetricFamily::kCollective)
      collectives_.push_back({metric.name, metric.bytes, mark_of(metric)});
  }
}

ChangeMark ChangeMarks::of_kernel(std::string_view name) const {
  auto const found = kernels_.find(name);
  return found == kernels_.end() ? ChangeMark::kUnknown : found->second;
}

ChangeMark ChangeMarks::of_collective(model::CollectiveOp op, uint64_t bytes) const {
  std::string_view const name = model::to_string(op);
  auto const found = std::find_if(
      collectives_.begin(), collectives_.end(),
      [&](Collective const& known) { return known.bytes == bytes && known.op == name; });
  return found == collectives_.end() ? ChangeMark::kUnknown : found->mark;
}

}  // namespace stepscope::viewer
