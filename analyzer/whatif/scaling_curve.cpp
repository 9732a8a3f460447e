#include "analyzer/whatif/scaling_curve.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace stepscope::analyzer {
namespace {

double mean_transfer(RunMeasurements::Collective const& collective) {
  return std::accumulate(collective.transfer_ns.begin(), collective.transfer_ns.end(), 0.0) /
         static_cast<double>(collective.transfer_ns.size());
}

uint32_t ranks_of(RunMeasurements const& run) {
  constexpr uint64_t kMost = 1U << 20U;
  return static_cast<uint32_t>(std::min(devices_of(run), kMost));
}

/// The fit with most samples: groups of all devices are the most frequent where they are fitted.
double latency_of_op(Analysis const& analysis, model::CollectiveOp op) {
  LinkFit const* best = nullptr;
  for (LinkFit const& fit : analysis.links)
    if (fit.op == op && (best == nullptr || fit.samples > best->samples)) best = &fit;
  return best == nullptr ? 0 : std::max(best->alpha_us, 0.0) * 1e3;
}

/// A collective of one operation and size at two numbers of devices.
struct MeasuredGrowth {
  model::CollectiveOp op = model::CollectiveOp::kUnknown;
  CollectiveTime here;
  double there_ns = 0, weight = 0;
  uint32_t from = 0, to = 0;
};

std::vector<MeasuredGrowth> growth_from(CurveInput const& input) {
  std::vector<MeasuredGrowth> growth;
  for (RunMeasurements const& other : input.samples) {
    uint32_t const from = ranks_of(input.base), to = ranks_of(other);
    if (to == from || to < 2 || from < 2) continue;

    for (RunMeasurements::Collective const& here : input.base.collectives)
      for (RunMeasurements::Collective const& there : other.collectives) {
        bool const is_same = here.op == there.op && here.bytes == there.bytes && here.bytes > 0;
        if (!is_same || model::is_point_to_point(here.op)) continue;
        if (here.transfer_ns.empty() || there.transfer_ns.empty()) continue;
        double const ns = mean_transfer(here), there_ns = mean_transfer(there);
        if (ns <= 0 || there_ns <= 0) continue;

        double const latency = std::min(latency_of_op(input.analysis, here.op), ns);
        growth.push_back({here.op, {latency, ns - latency}, there_ns, here.total_ns, from, to});
      }
  }
  return growth;
}

/// The largest group that a collective joins; 0 without any.
uint64_t largest_group_of(Analysis const& analysis) {
  uint64_t largest = 0;
  for (CollectiveStats const& collective : analysis.collectives) {
    if (model::is_point_to_point(collective.op)) continue;
    uint64_t const seen = collective.participants.size();
    largest = std::max({largest, seen, uint64_t{collective.expected_participants}});
  }
  return largest;
}

std::optional<CurveRefusal> refusal_of_run(CurveInput const& input) {
  if (!input.analysis.pipelines.empty()) return CurveRefusal::kPipeline;
  uint64_t const group = largest_group_of(input.analysis);
  if (group < 2) return CurveRefusal::kNoCollectives;
  if (group != devices_of(input.base)) return CurveRefusal::kGroups;
  return std::nullopt;
}

/// Numbers that were measured, and powers of two of the fewest up to where models are asked.
std::vector<uint64_t> sizes_to_predict(ScalingSeries const& series) {
  std::set<uint64_t> sizes;
  for (ScalingPoint const& point : series.points) sizes.insert(point.devices);
  for (uint64_t devices = series.points.front().devices; devices <= series.fits.farthest_devices;
       devices *= 2)
    sizes.insert(devices);
  return {sizes.begin(), sizes.end()};
}

ScalingPoint const* point_at(ScalingSeries const& series, uint64_t devices) {
  for (ScalingPoint const& point : series.points)
    if (point.devices == devices) return &point;
  return nullptr;
}

/// The run whose work differs most from the base's: that on the fewest other devices.
RunMeasurements const* probe_for(CurveInput const& input) {
  RunMeasurements const* probe = nullptr;
  for (RunMeasurements const& run : input.samples) {
    if (devices_of(run) == devices_of(input.base)) continue;
    if (probe == nullptr || devices_of(run) < devices_of(*probe)) probe = &run;
  }
  return probe;
}

WhatIfQuestion question_of_sizes(CurveInput const& input, std::vector<uint64_t> const& sizes,
                                 ReplayedCurve& curve) {
  WhatIfQuestion question{{}, false, std::nullopt};
  bool const is_strong = input.series.is_strong();
  RunMeasurements const* const probe = is_strong ? probe_for(input) : nullptr;
  if (probe != nullptr) {
    question.probe = ProbeRun{*probe, 0};
    curve.probe_devices = devices_of(*probe);
  }

  for (uint64_t const devices : sizes) {
    WhatIfChange change;
    change.kind = ChangeKind::kRanks;
    change.ranks = static_cast<uint32_t>(devices);
    change.keeps_batch = is_strong;
    if (curve.is_law_measured) change.law = curve.law;
    change.text = fmt::format("ranks={}", devices);
    question.changes.push_back({std::move(change)});
  }
  return question;
}

/// The answer's step in terms of the replayed one, times the step that was measured.
Estimate scaled_step(WhatIfAnswer const& answer, double replayed_ns, Estimate const& measured) {
  double const step_ns = measured.value * answer.step_ns / replayed_ns;
  auto const share_of = [](double bound, double value) {
    return value > 0 ? std::abs(bound - value) / value : 0;
  };
  double const below = std::hypot(share_of(answer.low_ns, answer.step_ns),
                                  share_of(measured.low.value_or(measured.value), measured.value));
  double const above = std::hypot(share_of(answer.high_ns, answer.step_ns),
                                  share_of(measured.high.value_or(measured.value), measured.value));
  return {step_ns, step_ns * std::max(1 - below, 0.0), step_ns * (1 + above)};
}

void add_answers(CurveInput const& input, std::vector<uint64_t> const& sizes,
                 WhatIfStats const& stats, ReplayedCurve& curve) {
  Estimate const measured = point_at(input.series, curve.base_devices)->step_ns;

  for (size_t i = 0; i < sizes.size(); ++i) {
    WhatIfAnswer const& answer = stats.answers[i];
    if (answer.is_refused) {
      curve.refusal = CurveRefusal::kKernels;
      curve.points.clear();
      return;
    }

    ReplayedPoint point{sizes[i], scaled_step(answer, stats.baseline.step_ns, measured), {}};
    ScalingPoint const* const there = point_at(input.series, sizes[i]);
    if (there != nullptr && sizes[i] != curve.base_devices && there->step_ns.value > 0)
      point.error = point.step_ns.value / there->step_ns.value - 1;
    curve.points.push_back(point);
  }
}

}  // namespace

std::optional<CollectiveLaw> find_collective_law(CurveInput const& input) {
  std::vector<MeasuredGrowth> const growth = growth_from(input);
  if (growth.empty()) return std::nullopt;

  std::optional<CollectiveLaw> best;
  double least = 0;
  for (CollectiveLaw const law :
       {CollectiveLaw::kRing, CollectiveLaw::kTree, CollectiveLaw::kFlat}) {
    double error = 0;
    for (MeasuredGrowth const& each : growth) {
      double const there = time_over_ranks(law, each.op, each.here, each.from, each.to).total_ns();
      double const off = std::log(std::max(there, 1.0) / each.there_ns);
      error += each.weight * off * off;
    }
    if (best && error >= least) continue;
    best = law;
    least = error;
  }
  return best;
}

base::Expected<ReplayedCurve> predict_curve(
    CurveInput const& input,
    std::function<base::Expected<WhatIfStats>(WhatIfQuestion const&)> const& ask) {
  ReplayedCurve curve;
  curve.base_devices = devices_of(input.base);
  curve.base_run = input.base.name;
  curve.refusal = refusal_of_run(input);
  if (curve.refusal) return curve;

  if (auto const law = find_collective_law(input)) {
    curve.law = *law;
    curve.is_law_measured = true;
  }
  std::vector<uint64_t> const sizes = sizes_to_predict(input.series);
  auto const stats = ask(question_of_sizes(input, sizes, curve));
  if (!stats) return base::fail_with(stats);

  curve.base_error = stats->baseline.error;
  if (stats->baseline.is_refused) {
    bool const is_far_off = std::abs(stats->baseline.error) > kReplayRefusal;
    curve.refusal = is_far_off ? CurveRefusal::kFidelity : CurveRefusal::kNoReplay;
    return curve;
  }
  add_answers(input, sizes, *stats, curve);
  return curve;
}

std::vector<size_t> runs_to_replay(std::span<RunMeasurements const> samples) {
  std::map<uint64_t, size_t, std::greater<>> first_of_size;
  for (size_t i = 0; i < samples.size(); ++i)
    if (devices_of(samples[i]) >= 2) first_of_size.try_emplace(devices_of(samples[i]), i);

  std::vector<size_t> runs;
  for (auto const& [devices, index] : first_of_size) runs.push_back(index);
  return runs;
}

bool is_trusted(ReplayedCurve const& curve) {
  // What all runs of a job share, no other run mends.
  bool const is_of_all = curve.refusal == CurveRefusal::kPipeline;
  return is_of_all || (!curve.refusal && std::abs(curve.base_error) <= kReplayCaution);
}

ReplayedCurve better_curve(ReplayedCurve a, ReplayedCurve b) {
  if (a.refusal && !b.refusal) return b;
  if (b.refusal || std::abs(a.base_error) <= std::abs(b.base_error)) return a;
  return b;
}

}  // namespace stepscope::analyzer
