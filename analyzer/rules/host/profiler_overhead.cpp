// profiler-overhead: the recording holds every call of a Python function (with_stack), which slows
// the host, and the devices wait for the host. What the host takes in the recording is more than it
// takes without. No cost: without the profiler there is none.
#include <algorithm>
#include <array>
#include <string_view>

#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {
namespace {

/// Begin and end of a frame, two clock reads and two records: PyTorch's tracer takes about so long.
/// Recordings of programs that do nothing but call Python functions have a frame every 0.6 µs.
constexpr double kNsPerFrame = 500;
/// Below, it does not matter to the step how long the host takes.
constexpr double kLeastHostShare = kWarningShare;
/// Fewer frames a step are ranges that a program names like functions.
constexpr double kFewestFrames = 100;

bool is_option_set(model::TraceInfo const& info, std::string_view option) {
  return std::any_of(info.facts.begin(), info.facts.end(), [&](auto const& fact) {
    return fact.first == option && (fact.second == "1" || fact.second == "true");
  });
}

/// Frames that begin in the device's measured time: in its steps, and in what leads to them.
uint64_t count_frames(RuleInput const& input, MeasuredDevice const& device) {
  if (!device.has_steps) {
    auto const stats = rows_of_device(input.facts.devices, device.ref);
    return stats.empty() ? 0 : stats.front().python_frames;
  }

  uint64_t frames = 0;
  for (StepStats const& step : rows_of_device(input.facts.steps, device.ref)) {
    if (!device.is_measured(step.window.begin)) continue;
    frames += step.python_frames;
    if (device.is_measured(step.window.begin - 1)) frames += step.python_frames_before;
  }
  return frames;
}

/// What else the profiler was asked to record of each operation.
std::string options_of(model::TraceInfo const& info) {
  static constexpr std::array<std::string_view, 4> kOptions = {"with_stack", "with_modules",
                                                               "record_shapes", "profile_memory"};
  std::string text;
  for (std::string_view const option : kOptions)
    if (is_option_set(info, option)) text.append(text.empty() ? "" : ", ").append(option);
  return text;
}

double host_share(MeasuredDevice const& device) {
  auto const idle = static_cast<double>(device.idle_of(IdleCause::kLaunchBound));
  return device.total_ns > 0 ? idle / static_cast<double>(device.total_ns) : 0;
}

}  // namespace

void find_profiler_overhead(RuleInput const& input, std::vector<Finding>& findings) {
  MeasuredDevice const* worst = nullptr;
  uint64_t frames_of_worst = 0;
  for (MeasuredDevice const& device : input.measured) {
    if (host_share(device) < kLeastHostShare ||
        (worst != nullptr && host_share(device) <= host_share(*worst)))
      continue;
    uint64_t const frames = count_frames(input, device);
    if (device.per_step(static_cast<int64_t>(frames)) < kFewestFrames) continue;
    worst = &device;
    frames_of_worst = frames;
  }
  if (worst == nullptr) return;

  Finding finding;
  finding.rule = "profiler-overhead";
  finding.where = worst->ref;
  finding.severity = Severity::kWarning;
  double const frames = worst->per_step(static_cast<int64_t>(frames_of_worst));
  finding.metrics = {{"host_share", host_share(*worst)},
                     {"python_frames_per_step", frames},
                     {"recording_ns_per_step", std::min(frames * kNsPerFrame, worst->step_ns())}};
  std::string options =
      options_of(input.run.ranks[static_cast<size_t>(worst->ref.rank_index)].trace.info());
  if (!options.empty()) finding.subjects.emplace_back("options", std::move(options));
  finding.evidence.push_back({worst->ref, worst->periods.front(), std::nullopt});
  findings.push_back(std::move(finding));
}

}  // namespace stepscope::analyzer
