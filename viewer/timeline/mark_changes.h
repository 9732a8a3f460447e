// Colours the items of a layout by how their ops changed between two runs.
#pragma once

#include "viewer/comparison/change_marks.h"
#include "viewer/timeline/layout.h"

namespace stepscope::viewer {

/// Puts the marks into a layout: those of streams by their ops, a folded mark by the longest of
/// some of its ops. Everything else steps back. O(items).
void mark_changes(Scene const& scene, ChangeMarks const& marks, Layout& layout);

}  // namespace stepscope::viewer
