// Recordings of different times are no ranks of one run. Windows that a profiler recorded of the
// same processes belong to one run: each process then has several traces.
#pragma once

#include <map>
#include <vector>

#include "trace/base/expected.h"
#include "trace/import/open/trace_source.h"

namespace stepscope::import {

/// Keeps the newest capture of a folder, with a note that names the others. Only traces that state
/// their begin by the epoch's clock are compared. Two groups of them are two captures if
/// - a minute or more lies between them, or
/// - they do not overlap and one rank is in both,
/// unless the same processes recorded both. Files of different stages of a server are captures,
/// too, by their names. Self-describing recordings in one folder all stay: the programs of one
/// recording may follow each other. Errors: `are_several_paths` and they are captures of different
/// times.
base::Expected<void> separate_captures(RunSources& run, bool are_several_paths);

/// Whether these were recorded one after the other, like the windows of one profiler. False where
/// their times are not known.
bool follow_each_other(std::vector<RankSource const*> const& sources);

/// Later windows: traces without a rank whose process has an earlier trace.
class LaterWindows {
 public:
  /// Removes the later windows from `sources`.
  explicit LaterWindows(std::vector<RankSource*>& sources);
  /// The later windows of this trace's process.
  [[nodiscard]] std::vector<RankSource*> const& of(RankSource const* first) const;

 private:
  std::map<RankSource const*, std::vector<RankSource*>> windows_;
};

}  // namespace stepscope::import
