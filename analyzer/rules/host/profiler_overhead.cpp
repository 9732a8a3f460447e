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

/// "torch/nn/modules/module.py(1501): _call_impl", "<built-in method linear>", "nn.Module:
/// Linear_3": as Kineto names frames.
bool is_python_frame(std::string_view name) {
  size_t const at = name.find(".py(");
  if (at != std::string_view::npos) {
    size_t const close = name.find("): ", at);
    std::string_view const line =
        name.substr(at + 4, close == std::string_view::npos ? 0 : close - at - 4);
    return !line.empty() &&
           std::all_of(line.begin(), line.end(), [](char c) { return c >= '0' && c <= '9'; });
  }
  return name.starts_with("<built-in ") || name.starts_with("nn.Module: ");
}

bool is_option_set(model::TraceInfo const& info, std::string_view option) {
  return std::any_of(info.facts.begin(), info.facts.end(), [&](auto const& fact) {
    return fact.first == option && (fact.second == "1" || fact.second == "true");
  });
}

/// Frames that begin in the device's measured time, on the thread with most of them: it is the one
/// that runs the model. Outlines of long recordings hold none.
uint64_t count_frames(model::RankTrace const& rank, MeasuredDevice const& device) {
  model::Trace const& trace = rank.trace;
  std::vector<bool> is_frame(trace.strings().size());
  for (uint32_t id = 1; id < is_frame.size(); ++id)
    is_frame[id] = is_python_frame(trace.text(model::StringId{id}));
  if (std::find(is_frame.begin(), is_frame.end(), true) == is_frame.end()) return 0;

  uint64_t most = 0;
  for (uint32_t t = 0; t < trace.tracks().size(); ++t) {
    if (trace.tracks()[t].kind != model::TrackKind::kThread) continue;
    model::Trace::Rows const rows = trace.rows_of(model::TrackId{t});
    uint64_t frames = 0;
    for (uint32_t row = rows.first; row < rows.last; ++row)
      if (is_frame[trace.columns().name[row].value] &&
          device.is_measured(trace.start(row) + rank.offset_ns))
        ++frames;
    most = std::max(most, frames);
  }
  return most;
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
  auto const idle = static_cast<double>(device.idle_of(IdleCause::kLaunchStarved));
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
    model::RankTrace const& rank = input.run.ranks[static_cast<size_t>(device.ref.rank_index)];
    uint64_t const frames = count_frames(rank, device);
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
