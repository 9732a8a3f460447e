// Numbers that a program notes (api::note) as curves: a counter track for each name and thread, in
// addition to the marks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "tracer/core/trace_store.h"

namespace stepscope::tracer {

class NoteCurves {
 public:
  /// Adds a point, but not for NaN and infinities, nor for notes beyond kMostTracks curves: their
  /// marks have the numbers. The notes of a thread must come in the order of their times.
  void add(int64_t thread_id, std::string const& name, double value, int64_t now,
           TraceStore& store);

 private:
  static constexpr int64_t kMostTracks = 1'024, kFirstTrack = int64_t{1} << 32;
  std::unordered_map<std::string, std::map<int64_t, model::TrackId>>
      tracks_;  ///< by name, then thread
  int64_t count_ = 0;
};

}  // namespace stepscope::tracer
