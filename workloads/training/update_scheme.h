// How one device's gradients become new weights in data-parallel training. Replicated: gradients
// are all-reduced and every device updates all weights. Sharded: gradients are reduce-scattered.
// Each device updates its part of the weights, with optimizer state for that part alone, and the
// parts are gathered (ZeRO stage 1: Rajbhandari et al., SC 2020). Shared: one set of weights that
// every device updates with its own gradients, whenever it has them (asynchronous SGD: Dean et al.,
// NIPS 2012).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "workloads/backend/backend.h"
#include "workloads/options.h"
#include "workloads/training/optimizer.h"
#include "workloads/training/parameters.h"

namespace stepscope::workloads {

/// What a scheme works on: one device's arrays. All must outlive it.
struct UpdateContext {
  Device* device = nullptr;
  Communicator* communicator = nullptr;  ///< null: one device
  size_t members = 1, rank = 0;
  ParameterLayout const* layout = nullptr;       ///< with room for equal parts, see make_room()
  std::vector<Bucket> const* buckets = nullptr;  ///< of the turn, one behind the other
  OptimizerSettings optimizer;
  float *weights = nullptr, *gradients = nullptr;
  int64_t exchanges =
      1;  ///< all-reduces of each bucket; those after the first find the mean already there
};

/// Everything but settle() and staleness() is called on all devices in the same order.
class UpdateScheme {
 public:
  virtual ~UpdateScheme() = default;
  /// The weights are on the device. `state`: the optimizer's, states() arrays as long as the
  /// layout.
  virtual void start(float const* state) = 0;
  /// Whether exchange() asks the device for anything.
  [[nodiscard]] virtual bool exchanges() const = 0;
  /// The compute stream has the gradients of bucket `b`, the mean over this device's batches.
  /// Buckets come in order.
  virtual void exchange(size_t b) = 0;
  /// All buckets were exchanged: enqueues their update. Later work of the compute stream sees the
  /// new weights.
  virtual void update(float rate, int64_t step) = 0;
  /// Between steps: the optimizer's state, as start() takes it. Null: this device only helps
  /// another one. May overwrite gradients.
  virtual void download_state(float* state) = 0;
  /// All devices have done their last step: brings the weights to their last state.
  virtual void settle() {}
  /// For each update: how many others came between the moment at which this device took the weights
  /// and its own update. Empty where devices wait for each other.
  [[nodiscard]] virtual std::vector<int64_t> staleness() const { return {}; }
};

/// Makes one device's part of a job's scheme, first that of the first device. Errors: out of
/// memory.
using UpdateSchemeMaker =
    std::function<base::Expected<std::unique_ptr<UpdateScheme>>(UpdateContext const&)>;
UpdateSchemeMaker update_schemes(UpdateKind kind);

/// Optimizer state that a device holds, about, in floats.
size_t held_state_floats(UpdateKind kind, ParameterLayout const& layout,
                         OptimizerSettings const& optimizer, size_t members);

base::Expected<std::unique_ptr<UpdateScheme>> make_replicated_update(UpdateContext const& context);
base::Expected<std::unique_ptr<UpdateScheme>> make_sharded_update(UpdateContext const& context);
/// The optimizer must be one without state.
UpdateSchemeMaker shared_updates();

}  // namespace stepscope::workloads
