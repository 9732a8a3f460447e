#include <algorithm>

#include <fmt/format.h>

#include "trace/synth/jobs/patterns.h"
#include "trace/synth/process/kernels.h"
#include "trace/synth/process/program_builder.h"

namespace stepscope::synth {
namespace {

constexpr int32_t kLayersPerStage = 4;
constexpr int32_t kPermille =
    300;  // a micro-batch is smaller than the batch that the kernels' durations are of
/// Part of a kernel's time that does not depend on the size of its micro-batch.
constexpr int32_t kFixedPercent = 10;
constexpr uint64_t kBoundaryBytes = 32U
                                    << 20;  // activations, or their gradients, between two stages
constexpr uint64_t kStageActivationBytes = 192U << 20;  // of one micro-batch in one stage
constexpr uint64_t kStageParameterBytes = 600U << 20;

/// One stage's part of the schedule.
class Stage {
 public:
  Stage(Job const& job, int32_t stage, model::StringTable& strings)
      : job_(job),
        stage_(stage),
        stages_(job.ranks),
        micro_batches_(static_cast<uint32_t>(job.shape.micro_batches)),
        program_(job, kFastLink, strings) {}

  Program build() && {
    auto const warm_up = std::min(static_cast<uint32_t>(stages_ - stage_ - 1), micro_batches_);
    program_.begin_step(stage_ == 0);

    for (uint32_t batch = 0; batch < warm_up; ++batch) forward(batch);
    for (uint32_t batch = warm_up; batch < micro_batches_; ++batch) {
      forward(batch);
      backward(batch - warm_up);
    }
    for (uint32_t batch = micro_batches_ - warm_up; batch < micro_batches_; ++batch)
      backward(batch);

    program_.end_step(static_cast<uint32_t>(stages_ - 1) * 2 * micro_batches_);
    return std::move(program_).finish(kStageParameterBytes);
  }

 private:
  void forward(uint32_t batch) {
    program_.begin_phase("forward");
    if (stage_ > 0) receive(stage_ - 1, batch, false);

    activations_.push_back(
        program_.allocate(kStageActivationBytes, model::MemoryPurpose::kActivations));

    for (int32_t layer = 0; layer < layers_of(stage_); ++layer) {
      program_.begin_layer(layer_name(layer));
      program_.kernels(attention_forward(), permille());
      program_.kernels(mlp_forward(), permille());
      program_.end_layer();
    }

    if (stage_ + 1 < stages_) send(stage_, batch, false);
    program_.end_phase();
  }

  void backward(uint32_t batch) {
    program_.begin_phase("backward");

    if (stage_ + 1 < stages_) receive(stage_, batch, true);
    for (int32_t layer = layers_of(stage_); layer-- > 0;) {
      program_.begin_layer(layer_name(layer) + " backward");
      program_.kernels(mlp_backward(), permille());
      program_.kernels(attention_backward(), permille());
      program_.end_layer();
    }

    program_.free_block(activations_[batch]);
    if (stage_ > 0) send(stage_ - 1, batch, true);
    program_.end_phase();
  }

  /// `boundary` b lies between stages b and b + 1; gradients travel backward over it.
  void receive(int32_t boundary, uint32_t batch, bool gradients) {
    CollectiveSpec const spec = crossing(boundary, gradients, model::CollectiveOp::kReceive,
                                         gradients ? "receive from next" : "receive from previous");
    program_.meet(spec, join(boundary, batch, gradients));
    program_.await(spec.stream);
  }
  void send(int32_t boundary, uint32_t batch, bool gradients) {
    program_.meet(crossing(boundary, gradients, model::CollectiveOp::kSend,
                           gradients ? "send to previous" : "send to next"),
                  join(boundary, batch, gradients));
  }

  CollectiveSpec crossing(int32_t boundary, bool gradients, model::CollectiveOp op,
                          std::string_view stream) {
    CollectiveSpec spec;
    spec.stream = program_.comm_stream(stream);
    spec.kind = op;
    spec.bytes = kBoundaryBytes * static_cast<uint64_t>(job_.shape.size_percent) / 100;
    spec.communicator =
        kWorldCommunicator + 1 + 2 * static_cast<uint64_t>(boundary) + (gradients ? 1 : 0);

    // The bubble is what a healthy pipeline loses: without it messages are there when they are
    // wanted.
    bool const waits = job_.happens || !job_.is_about(FaultType::kNone);
    spec.participants = waits ? 2 : 1;

    spec.rank = stage_ - boundary;
    spec.peer = 1 - spec.rank;
    spec.is_slow_part = boundary == (stages_ - 1) / 2;
    return spec;
  }
  [[nodiscard]] uint32_t join(int32_t boundary, uint32_t batch, bool gradients) const {
    return (static_cast<uint32_t>(boundary) * 2 + (gradients ? 1 : 0)) * micro_batches_ + batch;
  }
  [[nodiscard]] int32_t layers_of(int32_t stage) const {
    auto const& layers = job_.shape.stage_layers;
    return layers.empty() ? kLayersPerStage : layers[static_cast<size_t>(stage)];
  }
  [[nodiscard]] std::string layer_name(int32_t layer) const {
    for (int32_t before = 0; before < stage_; ++before) layer += layers_of(before);
    return fmt::format("layers.{}", layer);
  }
  [[nodiscard]] int32_t permille() const {
    int32_t const percent = kFixedPercent + (100 - kFixedPercent) * job_.shape.size_percent / 100;
    return kPermille * percent / 100;
  }

  Job const& job_;
  int32_t stage_, stages_;
  uint32_t micro_batches_;
  ProgramBuilder program_;
  std::vector<uint32_t> activations_;
};

}  // namespace

Schedule pipeline(Job const& job, model::StringTable& strings) {
  Schedule schedule;
  for (int32_t stage = 0; stage < job.ranks; ++stage)
    schedule.programs.push_back(Stage(job, stage, strings).build());
  auto const micro_batches = static_cast<uint32_t>(job.shape.micro_batches);
  schedule.joins = static_cast<uint32_t>(job.ranks - 1) * 2 * micro_batches + 1;
  return schedule;
}

}  // namespace stepscope::synth
