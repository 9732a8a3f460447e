#include "analyzer/metrics/host/python_frames.h"

#include <algorithm>
#include <string_view>

namespace stepscope::analyzer {

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

namespace {

/// Whether each string of the trace names a frame.
std::vector<bool> frame_names(model::Trace const& trace) {
  std::vector<bool> is_frame(trace.strings().size());
  for (uint32_t id = 1; id < is_frame.size(); ++id)
    is_frame[id] = is_python_frame(trace.text(model::StringId{id}));
  return is_frame;
}

}  // namespace

PythonFrames::PythonFrames(model::RankTrace const& rank) {
  model::Trace const& trace = rank.trace;
  std::vector<bool> const is_frame = frame_names(trace);
  if (std::find(is_frame.begin(), is_frame.end(), true) == is_frame.end()) return;

  for (uint32_t t = 0; t < trace.tracks().size(); ++t) {
    if (trace.tracks()[t].kind != model::TrackKind::kThread) continue;
    model::Trace::Rows const rows = trace.rows_of(model::TrackId{t});
    std::vector<int64_t> starts;
    for (uint32_t row = rows.first; row < rows.last; ++row)
      if (is_frame[trace.columns().name[row].value])
        starts.push_back(trace.start(row) + rank.offset_ns);
    if (starts.size() > starts_.size()) starts_ = std::move(starts);
  }
}

uint64_t PythonFrames::begun_in(Interval when) const {
  if (when.end <= when.begin) return 0;
  auto const first = std::lower_bound(starts_.begin(), starts_.end(), when.begin);
  return static_cast<uint64_t>(std::lower_bound(first, starts_.end(), when.end) - first);
}

void PythonFrames::count(DeviceStats& device, std::vector<StepStats>& steps) const {
  if (starts_.empty()) return;

  device.python_frames = begun_in(device.window);
  int64_t last_end = steps.empty() ? 0 : steps.front().window.begin;
  for (StepStats& step : steps) {
    step.python_frames = begun_in(step.window);
    step.python_frames_before = begun_in({last_end, step.window.begin});
    last_end = step.window.end;
  }
}

}  // namespace stepscope::analyzer
