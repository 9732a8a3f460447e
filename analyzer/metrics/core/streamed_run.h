// A run whose processes are in memory a few at a time, so that it may be as large as its files.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analyzer/results/device_ref.h"
#include "trace/base/expected.h"
#include "trace/model/run.h"

namespace stepscope::analyzer {

/// The window that leaves nothing out.
inline constexpr Interval kAllTime{INT64_MIN, INT64_MAX};

struct StreamedRun {
  model::Run const&
      skeleton;  ///< each process as model::skeleton_of(trace, skeleton_rows(trace)) leaves it
  /// The whole of the skeleton's process. Called from several threads at once.
  std::function<base::Expected<model::RankTrace>(size_t process)> read;
  /// The part of it in a window of run time (kAllTime: everything). Called from several threads at
  /// once.
  std::function<base::Expected<model::RankTrace>(size_t process, Interval window)> read_window;
  /// The parts of several processes in a window, in their order, where others read them, too;
  /// empty: read_window() of each.
  std::function<std::vector<base::Expected<model::RankTrace>>(std::vector<size_t> const& processes,
                                                              Interval window)>
      read_windows = {};
};

/// The part of a process in a window of run time.
model::RankTrace window_in_memory(model::RankTrace const& rank, Interval window);
/// A run in memory, read as if it were not. `run` must outlive it.
StreamedRun streamed_in_memory(model::Run const& run);

/// The critical path needs all processes at once. Where they have more events together than this,
/// the path is that of their middle steps, which hold about kMostPathEvents. The limit holds for
/// runs in memory, too: both ways to read a run find the same path.
inline constexpr uint64_t kMostWholePathEvents = uint64_t{8} << 20;
inline constexpr uint64_t kMostPathEvents = uint64_t{4} << 20;

}  // namespace stepscope::analyzer
