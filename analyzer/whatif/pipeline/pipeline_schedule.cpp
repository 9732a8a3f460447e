#include "analyzer/whatif/pipeline/pipeline_schedule.h"

#include <algorithm>

namespace stepscope::analyzer {
namespace {

constexpr double kNotSent = -1;

/// Plays the schedule, stage by stage as far as each can go.
class SchedulePlayer {
 public:
  SchedulePlayer(PipelineUnits const& units, uint32_t micro_batches)
      : units_(units), micro_batches_(micro_batches), stages_(units.stages.size()) {
    for (size_t s = 0; s < units.stages.size(); ++s) {
      stages_[s].ahead = ahead_of(s);
      stages_[s].activations.assign(micro_batches, kNotSent);
      stages_[s].gradients.assign(micro_batches, kNotSent);
    }
    // The first stage has its input, and the last one its loss.
    std::fill(stages_.front().activations.begin(), stages_.front().activations.end(), 0.0);
    std::fill(stages_.back().gradients.begin(), stages_.back().gradients.end(), 0.0);
  }

  PipelineTimes play() {
    for (bool has_moved = true; has_moved;) {
      has_moved = false;
      for (size_t s = 0; s < stages_.size(); ++s) has_moved = play_stage(s) || has_moved;
    }
    PipelineTimes times;
    for (Stage const& stage : stages_) times.end_ns = std::max(times.end_ns, stage.now);
    times.last_gradient_ns = stages_.front().gradients.back();
    return times;
  }

 private:
  struct Stage {
    std::vector<double> activations, gradients;  ///< by micro-batch: when they are there
    uint32_t ahead = 0;                  ///< forward passes before the first backward one, less one
    uint32_t forward = 0, backward = 0;  ///< passes that are over
    double now = 0, activation_link = 0, gradient_link = 0;  ///< when each is free again
  };

  [[nodiscard]] uint32_t ahead_of(size_t stage) const {
    if (units_.schedule == PipelineSchedule::kGpipe) return micro_batches_ - 1;
    auto const behind = static_cast<uint32_t>(units_.stages.size() - stage - 1);
    return std::min(behind, micro_batches_ - 1);
  }

  /// Whether any pass could be played.
  bool play_stage(size_t number) {
    Stage& stage = stages_[number];
    bool has_moved = false;
    while (stage.backward < micro_batches_) {
      bool const is_forward =
          stage.forward < micro_batches_ && stage.forward <= stage.backward + stage.ahead;
      double const input =
          is_forward ? stage.activations[stage.forward] : stage.gradients[stage.backward];
      if (input == kNotSent) break;

      PipelineUnits::Stage const& unit = units_.stages[number];
      stage.now = std::max(stage.now, input) + (is_forward ? unit.forward_ns : unit.backward_ns);
      is_forward ? send_activation(number) : send_gradient(number);
      has_moved = true;
    }
    return has_moved;
  }

  void send_activation(size_t number) {
    Stage& stage = stages_[number];
    uint32_t const batch = stage.forward++;
    if (number + 1 == stages_.size()) return;
    stage.activation_link =
        std::max(stage.now, stage.activation_link) + units_.activation_ns[number];
    stages_[number + 1].activations[batch] = stage.activation_link;
  }
  void send_gradient(size_t number) {
    Stage& stage = stages_[number];
    uint32_t const batch = stage.backward++;
    if (number == 0) return;
    stage.gradient_link = std::max(stage.now, stage.gradient_link) + units_.gradient_ns[number - 1];
    stages_[number - 1].gradients[batch] = stage.gradient_link;
  }

  PipelineUnits const& units_;
  uint32_t micro_batches_;
  std::vector<Stage> stages_;
};

}  // namespace

PipelineTimes play_pipeline(PipelineUnits const& units, uint32_t micro_batches) {
  return SchedulePlayer(units, micro_batches).play();
}

}  // namespace stepscope::analyzer
