// The panels of two runs beside each other.
#pragma once

#include <string>

#include "viewer/session/run_pair.h"

namespace stepscope::viewer {

/// Both groups of tracks, in what is left of the window. Returns the height of the front one's rows
/// at scale 1. `outside`: null in a picture.
float compared_timelines(RunPair& pair, PathLine const* base_path, PathLine const* candidate_path,
                         Outside* outside);
/// The height of the front one's rows, of `rows_height` that a single run has, at scale 1.
float compared_rows_height(RunPair const& pair, float rows_height);
/// A pair of bars a step, of both runs, above each other's number. A click shows the step in both.
void step_pairs(RunPair& pair, float height);
/// Why no step is one of both: one sentence.
std::string why_no_pairs(RunPair& pair);
/// What changed, whether it is real, and why: verdict, conditions that differ, the split, and
/// tables by kernel, class and collective. A click lets those ops stand out in both runs.
void comparison_panel(RunPair& pair);

}  // namespace stepscope::viewer
