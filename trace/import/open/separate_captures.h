// Recordings of different times are no ranks of one run. Windows that a profiler took of the same
// processes are: each process then has several traces.
#pragma once

#include <map>
#include <vector>

#include "trace/base/expected.h"
#include "trace/import/open/trace_source.h"

namespace stepscope::import {

/// Keeps the newest capture of a folder, with a note that names the others. Only traces that say
/// when they began are judged, by the epoch's clock: two groups of them are two captures if a
/// minute or more lies between them, or if they do not overlap and one rank is in both, unless the
/// same processes recorded both. So are files of different stages of a server, by their names. Of
/// Stepscope's own recordings in one folder nothing is taken away: the programs of one recording
/// may follow each other. Errors: `are_several_paths` and they are captures of different times; the
/// message says what to do.
base::Expected<void> separate_captures(RunSources& run, bool are_several_paths);

/// Whether these were recorded one after the other, as windows of one profiler are; false where
/// that is not known.
bool follow_each_other(std::vector<RankSource const*> const& sources);

/// Traces that do not say their rank and are later windows of a process that one before them is of.
class LaterWindows {
 public:
  /// Takes them out of `sources`.
  explicit LaterWindows(std::vector<RankSource*>& sources);
  /// The later windows of this trace's process.
  [[nodiscard]] std::vector<RankSource*> const& of(RankSource const* first) const;

 private:
  std::map<RankSource const*, std::vector<RankSource*>> windows_;
};

}  // namespace stepscope::import
