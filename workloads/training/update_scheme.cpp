// Choice of a scheme, and the replicated one; see update_scheme.h. The others: sharded_update.cpp,
// shared_update.cpp.
#include "workloads/training/update_scheme.h"

#include "trace/base/check.h"

namespace stepscope::workloads {
namespace {

class ReplicatedUpdate final : public UpdateScheme {
 public:
  ReplicatedUpdate(UpdateContext const& context, Buffer state)
      : c_(context), state_(std::move(state)) {
    for (Bucket const& bucket : *c_.buckets) names_.push_back("allreduce." + bucket.name);
  }

  void start(float const* state) override {
    move_state([&](float* on_device, size_t array, size_t bytes) {
      c_.device->copy(StreamKind::kCopy, "h2d.optimizer", on_device, state + array, bytes,
                      CopyDirection::kHostToDevice);
    });
  }

  [[nodiscard]] bool exchanges() const override { return c_.communicator != nullptr; }

  void exchange(size_t b) override {
    if (c_.communicator == nullptr) return;
    Bucket const& bucket = (*c_.buckets)[b];
    float* const gradients = c_.gradients + bucket.offset;
    c_.device->wait(StreamKind::kCommunication, c_.device->record(StreamKind::kCompute));
    for (int64_t i = 0; i < c_.exchanges; ++i) {
      c_.device->collective(names_[b].c_str(), *c_.communicator,
                            {CollectiveOp::kAllReduce, gradients, gradients, bucket.count});
    }
    reduced_.push_back(c_.device->record(StreamKind::kCommunication));
  }

  void update(float rate, int64_t step) override {
    for (size_t b = 0; b < c_.buckets->size(); ++b) {
      if (c_.communicator != nullptr) c_.device->wait(StreamKind::kCompute, reduced_[b]);
      Bucket const& bucket = (*c_.buckets)[b];
      for (size_t id = bucket.first; id <= bucket.last; ++id) {
        Parameter const& p = c_.layout->parameters[id];
        float* const state = state_.bytes() == 0 ? nullptr : state_.floats() + (p.offset - first());
        update_parameter(*c_.device, c_.optimizer, p,
                         {c_.weights + p.offset, c_.gradients + p.offset, state, held(), p.count},
                         rate, step);
      }
    }
    reduced_.clear();
  }

  void download_state(float* state) override {
    if (state == nullptr) return;
    move_state([&](float* on_device, size_t array, size_t bytes) {
      c_.device->copy(StreamKind::kCopy, "d2h.optimizer", state + array, on_device, bytes,
                      CopyDirection::kDeviceToHost);
    });
  }

 private:
  [[nodiscard]] size_t first() const { return c_.buckets->front().offset; }
  [[nodiscard]] size_t held() const {
    return c_.buckets->back().offset + c_.buckets->back().count - first();
  }
  /// For each array of the state: where it is on the device, and in the whole state.
  template <class Move>
  void move_state(Move const& move) {
    for (size_t i = 0; i < static_cast<size_t>(c_.optimizer.states()); ++i) {
      move(state_.floats() + i * held(), i * c_.layout->floats + first(), held() * sizeof(float));
    }
    c_.device->synchronize(c_.device->record(StreamKind::kCopy));
  }

  UpdateContext c_;
  Buffer state_;                    ///< of the buckets' range of memory, array by array
  std::vector<std::string> names_;  ///< of the all-reduces
  std::vector<Event> reduced_;      ///< of the step's buckets, in order
};

}  // namespace

base::Expected<std::unique_ptr<UpdateScheme>> make_replicated_update(UpdateContext const& c) {
  STEPSCOPE_CHECK(!c.buckets->empty());
  size_t const held =
      c.buckets->back().offset + c.buckets->back().count - c.buckets->front().offset;
  Buffer state;
  if (c.optimizer.states() > 0) {
    size_t const bytes = static_cast<size_t>(c.optimizer.states()) * held * sizeof(float);
    auto made = c.device->allocate(bytes, MemoryPurpose::kOptimizer, "optimizer");
    if (!made) return base::fail_with(made);
    state = std::move(*made);
  }
  return std::make_unique<ReplicatedUpdate>(c, std::move(state));
}

UpdateSchemeMaker update_schemes(UpdateKind kind) {
  if (kind == UpdateKind::kReplicated) return make_replicated_update;
  if (kind == UpdateKind::kSharded) return make_sharded_update;
  return shared_updates();
}

size_t held_state_floats(UpdateKind kind, ParameterLayout const& layout,
                         OptimizerSettings const& optimizer, size_t members) {
  size_t const whole = layout.floats * static_cast<size_t>(optimizer.states());
  return kind == UpdateKind::kSharded ? whole / members : whole;
}

}  // namespace stepscope::workloads
