// ZeRO stage 1: see update_scheme.h. Each bucket is cut into as many equal parts as there are
// devices; the last part ends in the room behind the bucket. A device's shard is its part of every
// bucket. So each bucket is reduced, updated and gathered on its own, the first as soon as the
// backward pass has its gradients.
#include <algorithm>

#include "trace/base/check.h"
#include "workloads/training/update_scheme.h"

namespace stepscope::workloads {
namespace {

/// One device's part of a bucket.
struct Shard {
  size_t offset, count;  ///< floats in the flat arrays
  size_t state_offset;   ///< in each array of the device's optimizer state
  std::string scatter_name, gather_name, state_name;
};

std::vector<Shard> cut_shards(UpdateContext const& c) {
  std::vector<Shard> shards;
  size_t state = 0;
  for (Bucket const& bucket : *c.buckets) {
    size_t const part = part_of(bucket, c.members);
    shards.push_back({bucket.offset + c.rank * part, part, state, "reduce_scatter." + bucket.name,
                      "all_gather." + bucket.name, "all_gather.optimizer." + bucket.name});
    state += part;
  }
  return shards;
}

class ShardedUpdate final : public UpdateScheme {
 public:
  ShardedUpdate(UpdateContext const& context, std::vector<Shard> shards, Buffer state)
      : c_(context), shards_(std::move(shards)), state_(std::move(state)) {}

  void start(float const* state) override {
    for (size_t i = 0; i < states(); ++i) {
      for (Shard const& shard : shards_) {
        c_.device->copy(StreamKind::kCopy, "h2d.optimizer", state_of(shard, i),
                        state + i * c_.layout->floats + shard.offset, shard.count * sizeof(float),
                        CopyDirection::kHostToDevice);
      }
    }
    c_.device->synchronize(c_.device->record(StreamKind::kCopy));
  }

  [[nodiscard]] bool exchanges() const override { return c_.communicator != nullptr; }

  void exchange(size_t b) override {
    if (c_.communicator == nullptr) return;
    Shard const& shard = shards_[b];
    c_.device->wait(StreamKind::kCommunication, c_.device->record(StreamKind::kCompute));
    c_.device->collective(shard.scatter_name.c_str(), *c_.communicator,
                          {CollectiveOp::kReduceScatter, c_.gradients + (*c_.buckets)[b].offset,
                           c_.gradients + shard.offset, shard.count * c_.members});
    reduced_.push_back(c_.device->record(StreamKind::kCommunication));
  }

  void update(float rate, int64_t step) override {
    for (size_t b = 0; b < shards_.size(); ++b) {
      if (c_.communicator != nullptr) c_.device->wait(StreamKind::kCompute, reduced_[b]);
      update_shard(b, rate, step);
      if (c_.communicator != nullptr)
        gather(shards_[b].gather_name, b, c_.weights + shards_[b].offset, c_.weights);
    }
    reduced_.clear();
    if (c_.communicator != nullptr)
      c_.device->wait(StreamKind::kCompute, c_.device->record(StreamKind::kCommunication));
  }

  void download_state(float* state) override {
    for (size_t i = 0; i < states(); ++i) {
      for (size_t b = 0; b < shards_.size(); ++b)
        gather(shards_[b].state_name, b, state_of(shards_[b], i), c_.gradients);
      c_.device->wait(StreamKind::kCopy, c_.device->record(StreamKind::kCommunication));

      for (Bucket const& bucket : *c_.buckets) {
        if (state == nullptr) break;
        c_.device->copy(StreamKind::kCopy, "d2h.optimizer",
                        state + i * c_.layout->floats + bucket.offset, c_.gradients + bucket.offset,
                        bucket.count * sizeof(float), CopyDirection::kDeviceToHost);
      }

      c_.device->synchronize(
          c_.device->record(StreamKind::kCopy));  // the next array comes to the same place
    }
  }

 private:
  [[nodiscard]] size_t states() const { return static_cast<size_t>(c_.optimizer.states()); }
  [[nodiscard]] size_t held() const { return shards_.back().state_offset + shards_.back().count; }
  [[nodiscard]] float* state_of(Shard const& shard, size_t array) const {
    return state_.bytes() == 0 ? nullptr : state_.floats() + array * held() + shard.state_offset;
  }

  /// The shard's floats of each parameter that is at least partly in it.
  void update_shard(size_t b, float rate, int64_t step) {
    Shard const& shard = shards_[b];
    Bucket const& bucket = (*c_.buckets)[b];

    for (size_t id = bucket.first; id <= bucket.last; ++id) {
      Parameter const& p = c_.layout->parameters[id];
      size_t const begin = std::max(p.offset, shard.offset);
      size_t const end = std::min(p.offset + p.count, shard.offset + shard.count);

      if (begin >= end) continue;
      float* const state = state_of(shard, 0) + (begin - shard.offset);
      update_parameter(*c_.device, c_.optimizer, p,
                       {c_.weights + begin, c_.gradients + begin, state, held(), end - begin}, rate,
                       step);
    }
  }

  /// `part` of every device, once the compute stream has written it, to the bucket's place in
  /// `whole`.
  void gather(std::string const& name, size_t b, float const* part, float* whole) {
    float* const to = whole + (*c_.buckets)[b].offset;
    size_t const count = shards_[b].count * c_.members;
    c_.device->wait(StreamKind::kCommunication, c_.device->record(StreamKind::kCompute));

    if (c_.communicator == nullptr) {
      c_.device->copy(StreamKind::kCommunication, name.c_str(), to, part, count * sizeof(float),
                      CopyDirection::kDeviceToDevice);
    } else {
      c_.device->collective(name.c_str(), *c_.communicator,
                            {CollectiveOp::kAllGather, part, to, count});
    }
  }

  UpdateContext c_;
  std::vector<Shard> shards_;   ///< by bucket
  Buffer state_;                ///< of the shards, array by array
  std::vector<Event> reduced_;  ///< of the step's buckets, in order
};

}  // namespace

base::Expected<std::unique_ptr<UpdateScheme>> make_sharded_update(UpdateContext const& c) {
  STEPSCOPE_CHECK(!c.buckets->empty());
  std::vector<Shard> shards = cut_shards(c);

  Buffer state;
  if (c.optimizer.states() > 0) {
    size_t const held = shards.back().state_offset + shards.back().count;
    size_t const bytes = static_cast<size_t>(c.optimizer.states()) * held * sizeof(float);
    auto made = c.device->allocate(bytes, MemoryPurpose::kOptimizer, "optimizer.shard");
    if (!made) return base::fail_with(made);
    state = std::move(*made);
  }

  return std::make_unique<ShardedUpdate>(c, std::move(shards), std::move(state));
}

}  // namespace stepscope::workloads
