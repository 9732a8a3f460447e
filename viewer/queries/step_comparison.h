// A step compared with the median step of its device: which parts are longer, which shorter. The
// numbers are the analysis'.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "viewer/scene/scene.h"

namespace stepscope::viewer {

struct StepComparison {
  struct Part {
    Paint paint = Paint::kCompute;
    int64_t step_ns = 0, median_ns = 0;
    [[nodiscard]] int64_t change_ns() const { return step_ns - median_ns; }
  };
  analyzer::StepPeriod const* step = nullptr;
  analyzer::StepPeriod const* median =
      nullptr;              ///< a step that happened: its parts make up its length
  std::vector<Part> parts;  ///< those that one of both has; their changes sum to that of the length
};

/// Steps of a device, in their order; empty for a device that is not there.
std::span<analyzer::StepStats const> steps_of(Scene const& scene, uint32_t device);
/// The steps of a bar each, with their periods as all reports have them: those of a device, or of
/// all devices where the run has a single one.
struct StepBars {
  std::span<analyzer::StepPeriod const> steps;
  bool is_one_step = false;  ///< one of several devices
};
StepBars step_bars(Scene const& scene, uint32_t device);
/// The step of median window among those that count for statistics, the shorter of two; null
/// without any.
analyzer::StepStats const* median_step(std::span<analyzer::StepStats const> steps);
/// The same by periods.
analyzer::StepPeriod const* median_period(std::span<analyzer::StepPeriod const> steps);
/// `step`: index of Analysis::steps. None: no such step, or no median of its device.
std::optional<StepComparison> compare_with_median(Scene const& scene, uint32_t step);

}  // namespace stepscope::viewer
