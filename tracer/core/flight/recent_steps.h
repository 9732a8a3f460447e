// The training steps of the last while: how long one takes as a rule, whether one took longer, and
// where a ring may begin.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "trace/model/ids.h"

namespace stepscope::tracer {

struct SeenStep {
  model::TrackId track;
  int64_t start_ns = 0, dur_ns = 0;
  int64_t index = 0;
  [[nodiscard]] int64_t end_ns() const { return start_ns + dur_ns; }
};

/// Used by the writer thread alone.
class RecentSteps {
 public:
  /// Steps before a step is judged by their median.
  static constexpr size_t kFewest = 10;

  /// A step that has ended; steps of one track come in their order. Returns the usual length of the
  /// ones before it on that track; 0 = fewer than kFewest.
  int64_t add(SeenStep const& step);
  /// Steps that began before are not asked for any more.
  void forget_before(int64_t ns);

  /// The one that came last; null = none.
  [[nodiscard]] SeenStep const* latest() const { return steps_.empty() ? nullptr : &steps_.back(); }
  // A program may mark steps of different lengths on several threads. What follows is about the
  // track with the longest steps; tracks whose steps have stopped do not count.
  /// The usual length; 0 = fewer than kFewest.
  [[nodiscard]] int64_t usual_ns() const;
  /// Where the last so many steps begin; nothing where they are fewer.
  [[nodiscard]] std::optional<int64_t> begin_of_last(int64_t steps) const;

  struct Begin {
    int64_t ns, index;
  };
  /// The first step that no track had begun before `ns`, and that is not before the index `least`.
  [[nodiscard]] std::optional<Begin> first_whole(int64_t ns, int64_t least = INT64_MIN) const;

 private:
  /// The last steps of a track by their lengths.
  struct OfTrack {
    std::deque<int64_t> lengths;
    int64_t usual_ns = 0;  ///< the median
    int64_t end_ns = 0;    ///< of the last one
  };
  void choose_leading();

  std::deque<SeenStep> steps_;
  std::map<uint32_t, OfTrack> tracks_;
  uint32_t leading_ = 0;  ///< key of tracks_; any where that is empty
};

}  // namespace stepscope::tracer
