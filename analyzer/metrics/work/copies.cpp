#include "analyzer/metrics/work/copies.h"

#include <algorithm>
#include <array>

#include "analyzer/metrics/core/saturate.h"

namespace stepscope::analyzer {
namespace {

using model::CopyDirection;
using model::StringId;

constexpr size_t kDirections = 6;
/// In names of copies: "Memcpy HtoD (Pageable -> Device)".
constexpr std::string_view kPageable = "Pageable";

bool is_host_copy(CopyDirection direction) {
  return direction == CopyDirection::kHostToDevice || direction == CopyDirection::kDeviceToHost;
}

bool only_queues(std::string_view call) {
  constexpr std::array<std::string_view, 4> kWords = {"Async", "Enqueue", "Append", "Prefetch"};
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) {
    return call.find(word) != std::string_view::npos;
  });
}

/// What copies' names and calls' names say, each asked once.
class CopyTraits {
 public:
  explicit CopyTraits(DeviceOps const& device) : device_(device) {}

  /// None where the recording does not tell.
  std::optional<bool> is_pageable(uint32_t row) {
    model::CopyDetail const& copy = detail(row);
    if (!is_host_copy(copy.direction)) return std::nullopt;
    if (copy.pinned != 0) return false;
    bool const tells = asked(pageable_names_, name(row), [](std::string_view text) {
      return text.find(kPageable) != std::string_view::npos;
    });
    return tells ? std::optional(true) : std::nullopt;
  }
  bool is_blocking(uint32_t row) {
    model::CopyDetail const& copy = detail(row);
    auto const launch = device_.launch_of(row);
    if (!launch || !is_host_copy(copy.direction)) return false;
    if (asked(blocking_names_, name(*launch), is_blocking_copy_call)) return true;
    // A short copy of pinned memory may well be over before an asynchronous call has returned.
    return copy.pinned == 0 && device_.start(*launch) <= device_.start(row) &&
           device_.end(row) <= device_.end(*launch);
  }
  [[nodiscard]] model::CopyDetail const& detail(uint32_t row) const {
    return device_.trace().detail<model::CopyDetail>(row);
  }

 private:
  /// Copies have few names.
  struct Answer {
    StringId name;
    bool yes;
  };
  [[nodiscard]] StringId name(uint32_t row) const { return device_.trace().columns().name[row]; }
  template <class Ask>
  bool asked(std::vector<Answer>& answers, StringId name, Ask const& ask) {
    constexpr size_t kMostAnswers = 64;  // further ones are asked again
    auto const known = std::find_if(answers.begin(), answers.end(),
                                    [&](Answer const& answer) { return answer.name == name; });
    if (known != answers.end()) return known->yes;
    bool const yes = ask(device_.trace().text(name));
    if (answers.size() < kMostAnswers) answers.push_back({name, yes});
    return yes;
  }

  DeviceOps const& device_;
  std::vector<Answer> pageable_names_, blocking_names_;
};

struct DirectionTotal {
  CopyStats facts;
  bool tells_pageable = false;
  uint64_t pageable = 0, pageable_bytes = 0;
  std::vector<Interval> times;
};

void add_copy(DirectionTotal& total, CopyTraits& traits, uint32_t row, Interval when) {
  CopyStats& facts = total.facts;
  uint64_t const bytes = traits.detail(row).bytes;
  ++facts.count;
  add_saturated(facts.bytes, bytes);
  add_saturated(facts.total_ns, when.length());
  if (bytes < kSmallCopyBytes) ++facts.small_count;
  if (traits.is_blocking(row)) ++facts.blocking_count;

  if (auto const pageable = traits.is_pageable(row)) {
    total.tells_pageable = true;
    if (*pageable) {
      ++total.pageable;
      add_saturated(total.pageable_bytes, bytes);
    }
  }
  if (is_host_copy(facts.direction)) total.times.push_back(when);
}

}  // namespace

bool is_blocking_copy_call(std::string_view name) {
  return name.find("Memcpy") != std::string_view::npos && !only_queues(name);
}

bool waits_for_copy(model::Trace const& trace, uint32_t call, uint32_t copy) {
  if (trace.kind(copy) != model::EventKind::kMemcpy || trace.start(call) > trace.start(copy))
    return false;
  auto const& detail = trace.detail<model::CopyDetail>(copy);
  bool const ends_in_call = trace.end(copy) <= trace.end(call);
  // A short copy of pinned memory may well be over before an asynchronous call has returned.
  if (ends_in_call && detail.pinned == 0 && is_host_copy(detail.direction)) return true;
  bool const reads = detail.direction == CopyDirection::kDeviceToHost;
  return ends_in_call ? !only_queues(trace.name(call))
                      : reads && is_blocking_copy_call(trace.name(call));
}

bool is_staged_copy(model::Trace const& trace, uint32_t op) {
  if (trace.kind(op) != model::EventKind::kMemcpy) return false;
  auto const& detail = trace.detail<model::CopyDetail>(op);
  return detail.pinned == 0 && detail.direction == CopyDirection::kHostToDevice &&
         trace.name(op).find(kPageable) != std::string_view::npos;
}

std::vector<CopyStats> copy_table(DeviceOps const& device, std::vector<uint32_t> const& rows) {
  CopyTraits traits(device);
  std::array<DirectionTotal, kDirections> totals;
  RowView const view = device.rows();
  for (uint32_t const row : rows) {
    if (view.kind(row) != model::EventKind::kMemcpy) continue;
    auto const direction = static_cast<size_t>(traits.detail(row).direction);
    DirectionTotal& total = totals[direction < kDirections ? direction : 0];
    total.facts.direction = static_cast<CopyDirection>(direction < kDirections ? direction : 0);
    add_copy(total, traits, row, device.when(row));
  }

  DirectionTotal& in = totals[static_cast<size_t>(CopyDirection::kHostToDevice)];
  DirectionTotal& out = totals[static_cast<size_t>(CopyDirection::kDeviceToHost)];
  in.facts.both_ways_ns = out.facts.both_ways_ns = model::measure(
      model::intersect(model::unite(std::move(in.times)), model::unite(std::move(out.times))));

  std::vector<CopyStats> result;
  for (DirectionTotal& total : totals) {
    CopyStats& facts = total.facts;
    if (facts.count == 0) continue;
    facts.ref = device.ref;
    if (facts.total_ns > 0 && facts.bytes > 0)
      facts.gbps = static_cast<double>(facts.bytes) / static_cast<double>(facts.total_ns);
    if (total.tells_pageable) {
      facts.pageable_count = total.pageable;
      facts.pageable_bytes = total.pageable_bytes;
    }
    result.push_back(facts);
  }
  return result;
}

std::vector<DeviceStats::Copy> longest_copies(DeviceOps const& device,
                                              std::vector<uint32_t> const& rows,
                                              std::vector<StepStats> const& steps) {
  std::vector<DeviceStats::Copy> copies;
  auto const length = [](DeviceStats::Copy const& a, DeviceStats::Copy const& b) {
    return a.when.length() != b.when.length() ? a.when.length() > b.when.length()
                                              : a.when.begin < b.when.begin;
  };

  std::vector<Interval> windows;
  for (StepStats const& step : steps)
    if (!step.warmup) windows.push_back(step.window);
  model::IntervalSet const counted = model::unite(std::move(windows));

  auto at = counted.begin();
  RowView const view = device.rows();
  for (uint32_t const row : rows) {
    if (view.kind(row) != model::EventKind::kMemcpy) continue;
    Interval const when = device.when(row);
    while (at != counted.end() && at->end <= when.begin) ++at;
    if (!steps.empty() && (at == counted.end() || at->begin > when.begin)) continue;
    copies.push_back({when, device.trace().columns().track[row].value});
    if (copies.size() < 4 * kMaxEvidence) continue;
    std::nth_element(copies.begin(), copies.begin() + kMaxEvidence, copies.end(), length);
    copies.resize(kMaxEvidence);
  }

  std::sort(copies.begin(), copies.end(), length);
  if (copies.size() > kMaxEvidence) copies.resize(kMaxEvidence);
  return copies;
}

CopyTimes copy_times(DeviceOps const& device) {
  CopyTraits traits(device);
  std::vector<Interval> slow, staging, within, others;
  RowView const view = device.rows();
  for (uint32_t const row : device.ops) {
    if (view.kind(row) != model::EventKind::kMemcpy) continue;
    if (traits.is_pageable(row).value_or(false) || traits.is_blocking(row))
      slow.push_back(device.when(row));
    if (auto const launch = device.launch_of(row);
        launch && device.start(*launch) < device.start(row) && is_staged_copy(device.trace(), row))
      staging.push_back({device.start(*launch), std::min(device.start(row), device.end(*launch))});
    (traits.detail(row).direction == CopyDirection::kDeviceToDevice ? within : others)
        .push_back(device.when(row));
  }

  CopyTimes times;
  times.slow = model::unite(std::move(slow));
  times.staging = model::unite(std::move(staging));
  if (!within.empty())
    times.within_device =
        model::subtract(model::unite(std::move(within)), model::unite(std::move(others)));
  return times;
}

}  // namespace stepscope::analyzer
