// host-bound-launches: devices are idle because the host launches too late, busy with something
// else. Cost: idle time with cause `launch_starved`. It excludes idle time after a blocking sync
// (rule blocking-sync), and the mere cost of launching kernels that are too short (rule
// launch-latency). The finding names the range or call in which the host was for most of the few
// long gaps that hold most of it: cheaper launches would not help.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string_view>

#include "analyzer/metrics/host/long_gaps.h"
#include "analyzer/metrics/steps/step_names.h"
#include "analyzer/rules/host/idle_cost.h"
#include "analyzer/rules/host/launch_cost.h"
#include "analyzer/rules/rules.h"
#include "trace/model/api_calls.h"

namespace stepscope::analyzer {
namespace {

constexpr double kMost = 0.5;
/// Work that takes a smaller part of the loss is not worth a second name.
constexpr double kLeastOther = 0.1;

/// Gives the finding the subject {"gaps", "long"} where that is so, and the host op of these gaps.
/// What the host did before the recording's first op may belong to the start of the program.
void name_long_work(RuleInput const& input,
                    std::function<bool(MeasuredDevice const&, size_t)> const& counts,
                    Finding& finding) {
  auto const device =
      std::find_if(input.measured.begin(), input.measured.end(),
                   [&](MeasuredDevice const& measured) { return measured.ref == finding.where; });
  auto const facts = input.facts.devices.begin() + (device - input.measured.begin());
  std::vector<size_t> gaps;
  int64_t all = 0, in_long = 0;
  for (size_t place = 0; place < device->gaps.size(); ++place) {
    if (!counts(*device, place)) continue;
    Interval const gap = device->gaps.when(place);
    all += gap.length();
    if (gap.length() < kLongGapNs || gap.begin < facts->all_ops.begin) continue;
    in_long += gap.length();
    gaps.push_back(place);
  }
  if (gaps.empty() || static_cast<double>(in_long) < kMost * static_cast<double>(all)) return;

  std::string const name = busiest_host_op(input, *device, gaps);
  model::Trace const& trace = input.run.ranks[static_cast<size_t>(device->ref.rank_index)].trace;
  int64_t of_name = 0;
  for (size_t const place : gaps)
    if (IdleGap const gap = device->gaps[place];
        gap.host_name.valid() && trace.text(gap.host_name) == name)
      of_name += gap.when.length();
  // A call that is slow itself is no work that could be done elsewhere, and a step is no work at
  // all.
  if (name.empty() || step_name(name) ||
      model::classify(model::plain_name(name)) != model::ApiClass::kOther)
    return;
  if (static_cast<double>(of_name) < kMost * static_cast<double>(in_long)) return;

  blame_host_op(input, *device, gaps, name, finding);
  finding.subjects.emplace_back("gaps", "long");
  finding.metrics.emplace_back("long_gaps_ns_per_step", device->per_step(of_name));
}

/// Names the second piece of work of the finding's gaps: subject "other_host_op", metric
/// "other_host_op_ns_per_step".
void name_other_work(RuleInput const& input, Finding& finding) {
  auto const stats = rows_of_device(input.facts.devices, *finding.where);
  auto const device = rows_of_device(input.measured, *finding.where);
  if (stats.empty() || device.empty() || !finding.cost_ns_per_step) return;

  std::map<model::StringId, int64_t> by_name;
  for (DeviceStats::HostWork const& work : stats.front().other_work_in_long_gaps)
    if (device.front().is_measured(work.when.begin)) by_name[work.name] += work.when.length();
  auto const most =
      std::max_element(by_name.begin(), by_name.end(),
                       [](auto const& a, auto const& b) { return a.second < b.second; });
  if (most == by_name.end()) return;

  double const ns = device.front().per_step(most->second);
  if (ns < kLeastOther * static_cast<double>(*finding.cost_ns_per_step)) return;
  model::Trace const& trace = input.run.ranks[static_cast<size_t>(finding.where->rank_index)].trace;
  finding.subjects.emplace_back("other_host_op", trace.text(most->first));
  finding.metrics.emplace_back("other_host_op_ns_per_step", ns);
}

/// What compilers and loaders of device code are called in ranges and calls: XLA's, Triton's,
/// PyTorch's, and the driver's own.
bool is_compilation_name(std::string_view name) {
  constexpr std::array<std::string_view, 10> kParts = {
      "XlaCompile", "XlaOptimize",           "XlaEmit",    "XlaAutotune",   "module loading",
      "ModuleLoad", "lazy function loading", "compile_fx", "async_compile", "CachingAutotuner"};
  return std::any_of(kParts.begin(), kParts.end(), [&](std::string_view part) {
    return name.find(part) != std::string_view::npos;
  });
}

/// Gives the finding the subject {"gaps", "compilation"} where the host mostly compiled: a name for
/// each module would hide it.
void name_compilation(RuleInput const& input,
                      std::function<bool(MeasuredDevice const&, size_t)> const& counts,
                      Finding& finding) {
  auto const devices = rows_of_device(input.measured, *finding.where);
  if (devices.empty()) return;
  MeasuredDevice const& device = devices.front();
  model::Trace const& trace = input.run.ranks[static_cast<size_t>(device.ref.rank_index)].trace;
  int64_t all = 0, compiling = 0;

  for (size_t place = 0; place < device.gaps.size(); ++place) {
    if (!counts(device, place)) continue;
    IdleGap const gap = device.gaps[place];
    all += gap.when.length();
    if (gap.host_name.valid() && is_compilation_name(trace.text(gap.host_name)))
      compiling += gap.when.length();
  }
  if (all == 0 || static_cast<double>(compiling) < kMost * static_cast<double>(all)) return;

  std::erase_if(finding.subjects, [](auto const& subject) { return subject.first == "gaps"; });
  finding.subjects.emplace_back("gaps", "compilation");
}

/// Gives the finding the subject {"gaps", "before_first_op"} where most of the loss comes before
/// the recording's first op, and no other subject of that role.
void mark_lead_in(Finding& finding) {
  auto const is_gaps = [](auto const& subject) { return subject.first == "gaps"; };
  if (std::any_of(finding.subjects.begin(), finding.subjects.end(), is_gaps)) return;

  for (auto const& [key, value] : finding.metrics)
    if (key == "before_first_op_ns_per_step" && finding.cost_ns_per_step &&
        value >= kMost * static_cast<double>(*finding.cost_ns_per_step)) {
      finding.subjects.emplace_back("gaps", "before_first_op");
      return;
    }
}

}  // namespace

void find_host_bound_launches(RuleInput const& input, std::vector<Finding>& findings) {
  std::vector<std::vector<bool>> launch_cost;
  for (MeasuredDevice const& device : input.measured)
    launch_cost.push_back(launch_cost_gaps(input, device));

  auto const counts = [&](MeasuredDevice const& device, size_t place) {
    std::vector<bool> const& is_launch_cost =
        launch_cost[static_cast<size_t>(&device - input.measured.data())];
    if (!is_launch_cost.empty() && is_launch_cost[place]) return false;
    return device.gaps.cause(place) == IdleCause::kLaunchBound && !is_way_from_sync(device, place);
  };

  auto finding = find_idle_cost("host-bound-launches", input, kWarningShare,
                                {IdleCause::kLaunchBound}, counts);
  if (!finding) return;

  name_long_work(input, counts, *finding);
  name_other_work(input, *finding);
  name_compilation(input, counts, *finding);
  mark_lead_in(*finding);
  findings.push_back(std::move(*finding));
}

}  // namespace stepscope::analyzer
