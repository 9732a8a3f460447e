// Which steps of two runs belong together, and how far one run's time is shifted so that such a
// step begins at the same place in both. Pure.
//
// The rule: both time axes have the same scale. One step, the aligned one, begins at the same place
// in both; a step that takes longer simply runs further. The first step whose beginning is visible
// becomes the aligned one. It stays so until none of it is visible, so that moving by less than
// that moves both runs alike.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "viewer/scene/scene.h"
#include "viewer/scene/view_state.h"

namespace stepscope::viewer {

enum class RunSide : uint8_t { kBase, kNew };

struct StepAlignment {
  enum class By : uint8_t { kNumber, kOrder, kNothing };
  /// A step of both runs.
  struct Pair {
    int64_t base_number = 0, candidate_number = 0;
    int64_t base_begin = 0, base_end = 0, candidate_begin = 0,
            candidate_end = 0;                   ///< view times, each of its own run
    uint32_t base_step = 0, candidate_step = 0;  ///< indexes of Analysis::steps
    [[nodiscard]] int64_t begin(RunSide side) const {
      return side == RunSide::kBase ? base_begin : candidate_begin;
    }
  };
  By by = By::kNothing;     ///< in order: the runs have no step number in common
  std::vector<Pair> pairs;  ///< in the order of the base's time
  uint64_t base_alone = 0, candidate_alone = 0;  ///< steps that the other run does not have
};

/// The steps of the device that has most, of both runs. Without steps: by nothing. O(steps).
StepAlignment align_steps(Scene const& base, Scene const& candidate);

/// What is added to a view time of the base to have the view time of the new run at the same place.
/// Without pairs the runs' beginnings are at the same place.
double shift_at(StepAlignment const& alignment, std::optional<uint32_t> aligned);

/// Index of the aligned step, when `side` was moved to `window`. `aligned`: the one before. None
/// without pairs.
std::optional<uint32_t> aligned_step(StepAlignment const& alignment,
                                     std::optional<uint32_t> aligned, RunSide side,
                                     TimeWindow window);

/// A step of both between their groups of tracks: from where it begins above to where it begins
/// below.
struct StepLink {
  float base_x = 0, candidate_x = 0;
  uint32_t pair = 0;
  bool is_aligned = false;
};
/// The links that are visible above or below, at least `least_gap` pixels apart; the aligned one
/// last. O(width / gap · log steps).
std::vector<StepLink> step_links(StepAlignment const& alignment, std::optional<uint32_t> aligned,
                                 TimeWindow base, float width, float least_gap);

}  // namespace stepscope::viewer
