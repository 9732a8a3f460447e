#include "trace/model/build/lost_launches.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/base/hash_number.h"
#include "trace/model/intervals.h"
#include "trace/model/kind_scan.h"

namespace stepscope::model {
namespace {

enum class CaptureCall : uint8_t { kNone, kBegin, kEnd };

/// CUDA's and HIP's runtime and driver calls: "cudaStreamBeginCaptureToGraph_v12030",
/// "hipStreamEndCapture".
std::vector<CaptureCall> classify_capture_calls(StringTable const& strings) {
  std::vector<CaptureCall> calls(strings.size(), CaptureCall::kNone);
  for (uint32_t id = 0; id < calls.size(); ++id) {
    std::string_view const name = strings.text(StringId{id});
    if (name.find("StreamBeginCapture") != std::string_view::npos) calls[id] = CaptureCall::kBegin;
    if (name.find("StreamEndCapture") != std::string_view::npos) calls[id] = CaptureCall::kEnd;
  }
  return calls;
}

/// When a stream was captured. Another thread may launch on a captured stream (PyTorch's autograd),
/// so the times are of the whole process. A capture without an end counts as none: it could hide
/// launches that were lost.
IntervalSet find_captures(Trace::Columns const& columns, StringTable const& strings) {
  std::vector<CaptureCall> const call_of = classify_capture_calls(strings);
  std::vector<std::pair<int64_t, CaptureCall>> calls;
  Trace::Rows const all{0, static_cast<uint32_t>(columns.kind.size())};
  for_each_row_of<EventKind::kApi>(columns, all, [&](uint32_t row) {
    CaptureCall const call = call_of[columns.name[row].value];
    if (call == CaptureCall::kNone) return;
    bool const is_end = call == CaptureCall::kEnd;
    calls.emplace_back(columns.start[row] + (is_end ? columns.dur[row] : 0), call);
  });

  std::sort(calls.begin(), calls.end());

  std::vector<Interval> captures;
  std::vector<int64_t> open;
  for (auto const& [time, call] : calls) {
    if (call == CaptureCall::kBegin) {
      open.push_back(time);
    } else if (!open.empty()) {
      captures.push_back({open.back(), time});
      open.pop_back();
    }
  }
  return unite(std::move(captures));
}

bool covers(IntervalSet const& set, int64_t time) {
  auto const behind =
      std::upper_bound(set.begin(), set.end(), time,
                       [](int64_t of, Interval const& interval) { return of < interval.begin; });
  return behind != set.begin() && time < std::prev(behind)->end;
}

/// The shortest call of each name that has a device op, for names of memsets and copies.
class ShortestCalls {
 public:
  ShortestCalls(Trace::Columns const& columns, StringTable const& strings)
      : columns_(columns), strings_(strings) {
    Trace::Rows const all{0, static_cast<uint32_t>(columns.kind.size())};
    for_each_row_of<EventKind::kLaunch>(columns, all, [&](uint32_t row) {
      if (!columns.link[row].valid()) return;
      int64_t& shortest = of_name_.try_emplace(columns.name[row].value, INT64_MAX).first->second;
      shortest = std::min(shortest, columns.dur[row]);
    });
  }

  /// A call of 0 bytes returns at once. Recordings do not hold the size of a call without an op, so
  /// its duration has to tell: less than half of what the fastest call that enqueues takes.
  [[nodiscard]] bool enqueues_no_bytes(uint32_t row) const {
    std::string_view const name = strings_.text(columns_.name[row]);
    if (name.find("Memset") == std::string_view::npos &&
        name.find("Memcpy") == std::string_view::npos)
      return false;
    auto const shortest = of_name_.find(columns_.name[row].value);
    return shortest != of_name_.end() && columns_.dur[row] < shortest->second / 2;
  }

 private:
  Trace::Columns const& columns_;
  StringTable const& strings_;
  std::unordered_map<uint32_t, int64_t, base::HashNumber> of_name_;
};

}  // namespace

uint64_t count_lost_launches(Trace::Columns const& columns, StringTable const& strings,
                             std::span<uint32_t const> unlinked) {
  if (unlinked.empty()) return 0;
  IntervalSet const captures = find_captures(columns, strings);
  ShortestCalls const shortest(columns, strings);

  return static_cast<uint64_t>(std::count_if(unlinked.begin(), unlinked.end(), [&](uint32_t row) {
    return !covers(captures, columns.start[row]) && !shortest.enqueues_no_bytes(row);
  }));
}

}  // namespace stepscope::model
