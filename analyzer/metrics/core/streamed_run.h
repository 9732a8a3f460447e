// A run of which a few processes at a time are in memory: as large as its files may be.
#pragma once

#include <cstdint>
#include <functional>

#include "analyzer/results/analysis.h"
#include "trace/base/expected.h"

namespace stepscope::analyzer {

/// How many processes memory holds at once: one a core, and not more than a few.
size_t processes_at_once();

/// Whether analyze() finds steps in the outlines of a run's processes.
bool has_marked_steps(model::Run const& outline);

/// The window that leaves nothing out.
inline constexpr Interval kAllTime{INT64_MIN, INT64_MAX};

struct StreamedRun {
  model::Run const& outline;  ///< each process as model::outline_of(trace, outline_rows(trace)) leaves it
  /// The whole of the outline's process, or what of it lies in a window of run time (kAllTime: everything). Called from several
  /// threads at once.
  std::function<base::Expected<model::RankTrace>(size_t process)> read;
  std::function<base::Expected<model::RankTrace>(size_t process, Interval window)> read_window;
};

/// The critical path needs all processes at once. Of processes with more events together than kMostWholePathEvents it is that of
/// the middle steps that hold about kMostPathEvents, whether memory holds the run or not: so both say the same.
inline constexpr uint64_t kMostWholePathEvents = uint64_t{8} << 20;
inline constexpr uint64_t kMostPathEvents = uint64_t{4} << 20;

/// Facts and findings as of a run in memory; rows of events (IdleGap::host_row, Participant::row, …) are those of outline and
/// whole traces, and say nothing without them. A run without marks of steps has none here: detecting them takes all kernels at
/// once. Errors: those of reading.
base::Expected<Analysis> analyze(StreamedRun const& run, AnalyzeOptions const& options = {});

}  // namespace stepscope::analyzer
