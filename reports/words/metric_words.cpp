// A finding's metric as a label and a value: its key says the unit.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "reports/words/labels.h"
#include "reports/words/language.h"
#include "reports/words/wording.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

/// Labels where the key's own words do not do.
struct LabelOf {
  std::string_view key, label;
};
constexpr std::array kLabels = {
    LabelOf{"share", "share of the step"},
    LabelOf{"step_ns", "step length"},
    LabelOf{"steps", "steps measured"},
    LabelOf{"devices", "devices affected"},
    LabelOf{"bytes_per_step", "growth per step"},
    LabelOf{"alpha_us", "fixed cost of a message"},
    LabelOf{"half_bandwidth_bytes", "size at half bandwidth"},
    LabelOf{"mean_bytes", "mean size"},
    LabelOf{"pressure", "peak of capacity"},
    LabelOf{"overlap", "communication hidden"},
    LabelOf{"compute_ratio", "compute, × of the others"},
    LabelOf{"waiting_ns_per_step", "waiting for peers per step"},
    LabelOf{"cause_share", "of the waiting, for this cause"},
    LabelOf{"longest_minus_mean_ns_per_step", "longest compute − mean, per step"},
    LabelOf{"share_of_worst", "caused by the worst device"},
    LabelOf{"slowdown", "step, × of equal workers"},
    LabelOf{"own_slowdown", "step with it alone slow, × of equal workers"},
    LabelOf{"share_of_loss", "of the loss"},
    LabelOf{"stage_compute", "compute of the stage, × of the mean"},
    LabelOf{"ideal_share", "bubble of equal stages"},
    LabelOf{"doubled_share", "bubble with twice the micro-batches"},
    LabelOf{"slow_share", "slow messages"},
    LabelOf{"exposed_share", "their extra time, exposed"},
    LabelOf{"expected_speedup", "speed-up of these kernels on tensor cores, ×"},
    LabelOf{"reference_ns", "usual time"},
    LabelOf{"kernel_median_ns", "median kernel"},
    LabelOf{"pinning_calls_per_step", "calls that page-lock host memory per step"},
    LabelOf{"unused_bytes", "never in use at the same time"},
    LabelOf{"fragmented_growth_bytes", "reserved although enough was free"},
    LabelOf{"stranded_bytes", "free outside of the largest block"},
    LabelOf{"retries", "cache releases before an allocation"},
    LabelOf{"batch_factor", "batch that fits, × the current batch"},
    LabelOf{"time_to_full_ns", "time until memory is full"},
    LabelOf{"kernel_slowdown", "same kernels, ×"},
    LabelOf{"clock_to_peers", "clock, × of the others"},
    LabelOf{"clock_mhz", "clock, MHz"},
    LabelOf{"sustained_clock_mhz", "sustained clock, MHz"},
    LabelOf{"lowest_clock_mhz", "lowest clock, MHz"},
    LabelOf{"highest_temperature_c", "highest temperature, °C"},
    LabelOf{"highest_power_w", "highest power, W"},
    LabelOf{"call_median_ns", "median launch call"},
    LabelOf{"small_grid_ns_per_step", "kernels with few blocks per step"},
    LabelOf{"busy_share", "device busy"},
    LabelOf{"share_of_waits", "of the exposed waiting"},
    LabelOf{"before_first_op_ns_per_step", "before the first recorded operation per step"},
    LabelOf{"other_host_op_ns_per_step", "other work of the host per step"},
    LabelOf{"long_gaps_ns_per_step", "gaps longer than a millisecond per step"},
    LabelOf{"queued_ns_per_step", "while operations are queued per step"},
    LabelOf{"queued_ops", "operations queued"},
    LabelOf{"op_share", "share of the operations' time"},
    LabelOf{"time_share", "share of the step"},
    LabelOf{"at_most_ns_per_step", "at most per step"},
    LabelOf{"apparent_gbps", "bandwidth by duration"},
    LabelOf{"at_least_gbps", "bandwidth, at least"},
    LabelOf{"host_share", "waiting for the host"},
    LabelOf{"recording_ns_per_step", "recording of Python calls per step"},
};

/// Removes the unit from the key if it ends with it or has it as a word; says whether it did.
bool take_unit(std::string& key, std::string_view unit) {
  size_t const at = key.rfind(unit);
  if (at == std::string::npos) return false;
  bool const starts = at == 0 || key[at - 1] == '_';
  bool const ends = at + unit.size() == key.size() || key[at + unit.size()] == '_';
  if (!starts || !ends) return false;
  size_t const from = at == 0 ? 0 : at - 1;
  key.erase(from, at + unit.size() - from);
  if (!key.empty() && key[0] == '_') key.erase(0, 1);
  return true;
}

std::string plain_metric(double value) {
  if (!std::isfinite(value)) return "n/a";
  if (value >= 0 && value < 1e15 && value == std::floor(value))
    return base::format_count(static_cast<uint64_t>(value));
  return base::format_significant(value, 3);
}

/// A signed byte count; format_bytes takes none.
std::string bytes_text(double value) {
  if (!std::isfinite(value)) return "n/a";
  double const size = std::min(std::fabs(value), 9.2e18);
  return (value < 0 ? "-" : "") + base::format_bytes(static_cast<uint64_t>(std::llround(size)));
}

std::string metric_duration(double ns) {
  if (!std::isfinite(ns)) return "n/a";
  return base::format_duration(std::llround(std::clamp(ns, -9e18, 9e18)));
}

}  // namespace

MetricWords metric_words(std::string_view key, double value) {
  std::string label = shown(key, 60);
  std::string text;
  if (take_unit(label, "ns")) {
    text = metric_duration(value);
  } else if (take_unit(label, "us")) {
    text = metric_duration(value * 1e3);
  } else if (take_unit(label, "ms")) {
    text = metric_duration(value * 1e6);
  } else if (take_unit(label, "bytes")) {
    text = bytes_text(value);
  } else if (take_unit(label, "gbps")) {
    text = base::format_bandwidth(value * 1e9);
  } else if (key.find("share") != std::string_view::npos || key == "pressure" || key == "overlap") {
    text = base::format_share(value);
  } else {
    text = plain_metric(value);
  }

  std::replace(label.begin(), label.end(), '_', ' ');
  auto const known = std::find_if(kLabels.begin(), kLabels.end(),
                                  [&](LabelOf const& entry) { return entry.key == key; });
  if (known != kLabels.end()) label = known->label;

  return {std::string(tr(label.empty() ? "value" : label)), text};
}

}  // namespace stepscope::reports
