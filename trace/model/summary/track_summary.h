// What one track looks like from afar: bins of time with the busy time of each class, how many
// events start, how deep they nest and the longest of them. The lowest level of the pyramid
// (track_pyramid.h) that answers any zoom; this level is what files hold. A bin ends after
// kEventsPerBin starts, or sooner before a pause, so bins are narrow where much happens and wide
// where nothing does: the view of any stretch of time needs bins or, below their width, few events.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "trace/model/event_view.h"

namespace stepscope::model {

inline constexpr size_t kOpClassCount = 4;  ///< OpClass; kNone stands for what runs on the host

/// Columns of equal length, one row a bin; bins follow each other without gaps, in trace time.
struct TrackSummary {
  std::vector<int64_t> begin;  ///< ascending
  std::array<std::vector<int64_t>, kOpClassCount>
      busy;  ///< |∪ of the class's events within the bin|, ns; index = OpClass
  std::vector<uint32_t> starts;  ///< events that start in the bin
  std::vector<uint16_t> depth;   ///< most events open at once; 0 = none
  std::vector<int64_t> longest;  ///< of those that start in the bin, whole duration, ns
  std::vector<StringId> longest_name;
  std::vector<double> low, high;  ///< of the samples in the bin; both 0 when there are none
  int64_t end = 0;                ///< of the last bin

  [[nodiscard]] size_t size() const { return begin.size(); }
  [[nodiscard]] int64_t bin_end(size_t bin) const {
    return bin + 1 < size() ? begin[bin + 1] : end;
  }
};

/// A full bin holds this many starts: about 0.1 bytes an event in the file, and a few µs to look at
/// a bin's events themselves.
inline constexpr uint32_t kEventsPerBin = 128;
/// A bin with this many may end before a pause that is as long as itself: then the pause is a bin
/// of its own.
inline constexpr uint32_t kMinEventsPerBin = 64;

/// `events` sorted by (start, −dur), `depth` as in Trace::Columns. Exact: at every bin's border all
/// values are those of the events.
TrackSummary summarize(EventView const& events, std::span<uint16_t const> depth);

}  // namespace stepscope::model
