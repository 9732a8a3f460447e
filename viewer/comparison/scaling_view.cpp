#include "viewer/comparison/scaling_view.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "reports/words/runs/scaling_words.h"
#include "viewer/scene/track_events.h"

namespace stepscope::viewer {
namespace {

ScalingView::Waterfall waterfall_of(analyzer::ScalingSeries const& series,
                                    analyzer::LostTime const& loss) {
  ScalingView::Waterfall waterfall;
  waterfall.pair = fmt::format("{} → {}", series.points[loss.from].devices,
                               reports::devices_text(series.points[loss.to].devices));
  waterfall.ideal_ns = loss.ideal_ns;
  waterfall.step_ns = loss.step_ns;
  waterfall.least_ns = std::min(loss.ideal_ns, loss.step_ns);
  waterfall.most_ns = std::max(loss.ideal_ns, loss.step_ns);

  int64_t at = loss.ideal_ns;
  for (size_t p = 0; p < analyzer::kLostPartCount; ++p) {
    int64_t const ns = loss.parts_ns[p];
    if (ns == 0) continue;

    ScalingView::Bar& bar = waterfall.bars.emplace_back();
    bar.part = static_cast<analyzer::LostPart>(p);
    bar.label = reports::lost_part_words(bar.part).label;
    bar.meaning = reports::lost_part_words(bar.part).meaning;
    bar.reason = reports::lost_part_reason(loss, bar.part);
    bar.begin_ns = at;
    bar.end_ns = at = add(at, ns);
    bar.lost_ns = ns;
    waterfall.least_ns = std::min(waterfall.least_ns, at);
    waterfall.most_ns = std::max(waterfall.most_ns, at);
  }

  return waterfall;
}

void add_words(ScalingView& view) {
  analyzer::ScalingSeries const& series = view.series;
  view.verdict = reports::scaling_headline(series);
  for (std::string& difference : reports::scaling_differences(series))
    view.notes.push_back(fmt::format("Not the same as on {}: {}",
                                     reports::devices_text(series.points.front().devices),
                                     difference));
  view.notes.push_back(reports::scaling_kind_text(series));
  view.notes.push_back(reports::scaling_limit_text(series));
  for (std::string& note : reports::scaling_notes(series)) view.notes.push_back(std::move(note));
}

}  // namespace

std::optional<uint32_t> ScalingView::to_point(size_t point) const {
  for (uint32_t i = 0; i < series.losses.size(); ++i)
    if (series.losses[i].from == 0 && series.losses[i].to == point) return i;
  return std::nullopt;
}

ScalingView scaling_view(
    std::vector<std::shared_ptr<analyzer::RunMeasurements const>> const& samples,
    analyzer::ScalingOptions const& options, SayScaling say) {
  std::vector<analyzer::RunMeasurements> runs;
  for (auto const& sample : samples) runs.push_back(*sample);

  analyzer::ScalingOptions wanted = options;
  if (say == SayScaling::kStrong) wanted.kind = analyzer::ScalingKind::kStrong;
  if (say == SayScaling::kWeak) wanted.kind = analyzer::ScalingKind::kWeak;

  ScalingView view;
  view.series = analyzer::scale_series(std::move(runs), wanted);
  if (view.series.refusal) {
    view.refusal = reports::scaling_refusal(view.series);
    view.is_kind_unclear = view.series.refusal == analyzer::SeriesRefusal::kKindUnclear;
    return view;
  }

  add_words(view);
  for (analyzer::LostTime const& loss : view.series.losses)
    view.waterfalls.push_back(waterfall_of(view.series, loss));
  return view;
}

Paint paint_of(analyzer::LostPart part) {
  static constexpr std::array<Paint, analyzer::kLostPartCount> kPaint = {
      Paint::kCompute,       Paint::kSync,       Paint::kDependency, Paint::kLaunchLatency,
      Paint::kCommunication, Paint::kPeer,       Paint::kAllocation, Paint::kCopy,
      Paint::kInput,         Paint::kUnexplained};
  return kPaint[static_cast<size_t>(part)];
}

Paint paint_of(analyzer::ScalingFactor factor) {
  static constexpr std::array<Paint, analyzer::kScalingFactorCount> kPaint = {
      Paint::kAllocation, Paint::kCommunication, Paint::kLaunchLatency, Paint::kCompute};
  return kPaint[static_cast<size_t>(factor)];
}

}  // namespace stepscope::viewer
