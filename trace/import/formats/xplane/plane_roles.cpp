#include "trace/import/formats/xplane/plane_roles.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "trace/base/format.h"

namespace stepscope::import {
namespace {

constexpr std::string_view kDevicePrefix = "/device:";
constexpr std::string_view kStreamPrefix = "Stream #";
constexpr std::string_view kOverheadLine = "CUPTI overhead";  ///< of the profiler, or of a stream

template <size_t Size>
bool is_one_of(std::string_view name, std::array<std::string_view, Size> const& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Planes of one process's threads, each of another source.
constexpr std::array<std::string_view, 5> kHostPlanes = {
    "/host:CPU", "/host:CUPTI", "/host:ROCTRACER", "/host:python-tracer", "/host:NVTX-CUPTI"};
constexpr std::array<std::string_view, 2> kPlanesWithoutEvents = {"/host:metadata",
                                                                  "/host:__ScopeRangeCallStack__"};
constexpr std::array<std::string_view, 2> kOpLines = {"XLA Ops", "Sparse Core Ops"};
/// Made from the ops of a device after the recording, or counted from them.
constexpr std::array<std::string_view, 5> kDerivedLines = {
    "Framework Ops", "Framework Name Scope", "Source code", "Launch Stats", "Sparse Core Steps"};

/// "/device:TPU:0 SparseCore 1": kind "TPU", number 0, part "SparseCore 1".
struct DeviceName {
  std::string kind, part;
  int32_t number = 0;
};

std::optional<DeviceName> parse_device(std::string_view name) {
  if (!name.starts_with(kDevicePrefix)) return std::nullopt;
  name.remove_prefix(kDevicePrefix.size());
  size_t const colon = name.find(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;

  DeviceName device;
  constexpr size_t kMostBytes = 64;
  device.kind = base::printable(name.substr(0, std::min(colon, kMostBytes)));

  // "/device:CUSTOM:Megascale Trace" is no device.
  char const* const begin = name.data() + colon + 1;
  char const* const end = name.data() + name.size();
  auto const [behind, error] = std::from_chars(begin, end, device.number);
  if (error != std::errc() || device.number < 0 || (behind != end && *behind != ' '))
    return std::nullopt;

  if (behind != end)
    device.part = base::printable(
        std::string_view(behind + 1, std::min(static_cast<size_t>(end - behind - 1), kMostBytes)));

  return device.kind == "CUSTOM" ? std::nullopt : std::optional(device);
}

/// How the lines of a device are read.
enum class DeviceLines : uint8_t { kStreams, kPrograms, kAny };

LineRole role_of_device_line(std::string_view name, DeviceLines lines) {
  if (name == "Steps") return LineRole::kSteps;
  if (name == "_counters_") return LineRole::kCounters;
  if (name == kOverheadLine) return LineRole::kOverhead;
  if (is_one_of(name, kDerivedLines)) return LineRole::kDerived;

  bool const is_op_line = is_one_of(name, kOpLines), is_async = name == "Async XLA Ops";
  if (lines == DeviceLines::kPrograms && is_op_line) return LineRole::kOps;
  if (lines == DeviceLines::kPrograms && is_async) return LineRole::kAsyncOps;

  // Beside streams these are the kernels of each operation as one.
  if (is_op_line || is_async) return LineRole::kDerived;
  if (name.starts_with(kStreamPrefix)) return LineRole::kStream;

  bool const is_range =
      name == "XLA Modules" || name == "Sparse Core Modules" || name == "XLA TraceMe";
  return lines == DeviceLines::kAny && !is_range ? LineRole::kStream : LineRole::kRanges;
}

DeviceLines lines_of(PlaneIndex const& plane) {
  auto const any = [&](auto&& is) {
    return std::any_of(plane.lines.begin(), plane.lines.end(), is);
  };

  if (any([](LineIndex const& line) {
        return line.name.starts_with(kStreamPrefix) || line.name == kOverheadLine;
      }))
    return DeviceLines::kStreams;
  return any([](LineIndex const& line) { return is_one_of(line.name, kOpLines); })
             ? DeviceLines::kPrograms
             : DeviceLines::kAny;
}

}  // namespace

int32_t DeviceNumbers::of(std::string const& name, int32_t wanted) {
  if (auto const known = numbers_.find(name); known != numbers_.end()) return known->second;
  if (taken_.contains(wanted)) {
    while (taken_.contains(next_free_)) ++next_free_;
    wanted = next_free_;
  }
  numbers_[name] = wanted;
  taken_.insert(wanted);
  return wanted;
}

PlanePlan plan_plane(PlaneIndex const& plane, DeviceNumbers& numbers) {
  PlanePlan plan;
  constexpr size_t kMostLabelBytes = 128;
  plan.label = base::printable(plane.name.substr(0, kMostLabelBytes));
  plan.lines.assign(plane.lines.size(), LineRole::kThread);

  if (is_one_of(plane.name, kPlanesWithoutEvents)) {
    plan.role = PlaneRole::kLeftOut;
  } else if (plane.name == "Task Environment") {
    plan.role = PlaneRole::kEnvironment;
  } else if (is_one_of(plane.name, kHostPlanes)) {
    plan.role = PlaneRole::kHostThreads;
  } else if (auto const device = parse_device(plane.name)) {
    plan.role = PlaneRole::kDevice;
    plan.device = numbers.of(fmt::format("{}:{}", device->kind, device->number), device->number);
    plan.part = device->part;
    plan.label = fmt::format("{} {}{}{}", device->kind, device->number,
                             device->part.empty() ? "" : " ", device->part);
    DeviceLines const lines = lines_of(plane);
    plan.vocabulary =
        lines == DeviceLines::kPrograms ? Vocabulary::kXlaOps : Vocabulary::kStreamOps;
    for (size_t i = 0; i < plane.lines.size(); ++i)
      plan.lines[i] = role_of_device_line(plane.lines[i].name, lines);
  }

  return plan;
}

std::optional<int64_t> stream_number(std::string_view line_name) {
  if (!line_name.starts_with(kStreamPrefix)) return std::nullopt;
  line_name.remove_prefix(kStreamPrefix.size());
  int64_t number = 0;
  auto const [end, error] =
      std::from_chars(line_name.data(), line_name.data() + line_name.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

}  // namespace stepscope::import
