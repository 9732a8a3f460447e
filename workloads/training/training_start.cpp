// Checks before the first step; see training_start.h.
#include "workloads/training/training_start.h"

#include "trace/base/format.h"
#include "workloads/processes/agreement.h"
#include "workloads/training/update_scheme.h"

namespace stepscope::workloads {
namespace {

char const* update_name(UpdateKind update) {
  switch (update) {
    case UpdateKind::kReplicated:
      return "replicated";
    case UpdateKind::kSharded:
      return "sharded (--zero1)";
    case UpdateKind::kShared:
      return "shared";
  }
  return "?";
}

}  // namespace

base::Expected<void> check_size(Device const& device, Network const& network, UpdateKind update,
                                size_t members) {
  size_t const state = held_state_floats(update, network.layout, network.optimizer, members);
  uint64_t const needed = (2 * network.layout.floats + state) * sizeof(float);
  uint64_t const capacity = device.memory().capacity_bytes;
  if (needed <= capacity) return {};
  return base::fail(
      "{}: out of memory: weights, gradients and optimizer take {} of {}; make the network smaller "
      "or raise --memory-limit",
      device.name(), base::format_bytes(needed), base::format_bytes(capacity));
}

base::Expected<Checkpoint> starting_point(TrainOptions const& o, Network const& network,
                                          int64_t global_batch) {
  ParameterLayout const& layout = network.layout;
  Checkpoint fresh{layout.model, 0, global_batch, o.seed, initial_weights(layout, o.seed)};
  fresh.weights.resize(layout.floats * (1 + static_cast<size_t>(network.optimizer.states())));
  if (o.resume.empty()) return fresh;
  return resume_checkpoint(o.resume, fresh, o.steps, network.sample);
}

base::Expected<void> agree_on_training(mpi::Processes& processes, TrainOptions const& o,
                                       Network const& network, size_t devices) {
  auto const setting = [](char const* name, auto const& value) {
    return Setting{name, fmt::format("{}", value)};
  };

  int64_t const samples_per_step = o.batch * o.accumulate;
  return agree_on_settings(
      processes,
      {setting("the model", network.layout.model),
       setting("a number of devices (--device) of", devices), setting("--batch", o.batch),
       setting("--steps", o.steps), setting("--seed", o.seed),
       setting("--accumulate", o.accumulate), setting("--bucket-mb", o.bucket_mb),
       setting("an optimizer that is", update_name(o.update)),
       setting("--precision", precision_name(o.precision)),
       setting("a learning rate in the first step of", network.learning_rate(0, 0)),
       setting("a learning rate half way of",
               network.learning_rate(o.steps / 2, o.steps / 2 * samples_per_step)),
       setting("a learning rate in the last step of",
               network.learning_rate(o.steps - 1, (o.steps - 1) * samples_per_step)),
       setting("a number of samples to train on of", network.train->size()),
       setting("a number of samples to test on of",
               network.test == nullptr ? 0 : network.test->size()),
       setting("augmentation (--no-augment)", o.augment),
       setting("--check-replicas", o.check_replicas),
       setting("--checkpoint-every", o.checkpoint_every),
       // Each has a part of what is saved.
       setting("a --checkpoint of parts",
               o.update == UpdateKind::kSharded && !o.checkpoint.empty()),
       setting("--allow-nan", o.allow_nan), setting("evaluation (--no-evaluate)", o.evaluate)});
}

base::Expected<DeviceGroup> open_training_devices(TrainOptions const& o,
                                                  std::shared_ptr<mpi::Processes> const& processes,
                                                  Network const& network) {
  auto group = open_devices(o.device, {.memory_limit_bytes = o.memory_limit_mib << 20U,
                                       .faults = o.device_faults,
                                       .precision = o.precision,
                                       .processes = processes,
                                       .memory_growth = o.memory_growth,
                                       .log_placement = o.log_placement,
                                       .soft_placement = o.soft_placement,
                                       .graphs = o.graphs});
  if (processes == nullptr) return group;

  base::Expected<void> ready;
  if (!group) ready = base::fail_with(group);
  ready = processes->agree(ready);
  if (ready) ready = agree_on_training(*processes, o, network, group->devices.size());
  if (!ready) return base::fail_with(ready);
  return group;
}

base::Expected<void> agree_on_start(mpi::Processes& processes, int64_t first_step,
                                    uint64_t checksum) {
  return agree_on_settings(
      processes, {{"a first step of", fmt::format("{}", first_step)},
                  {"starting weights (--resume) of checksum", fmt::format("{:016x}", checksum)}});
}

}  // namespace stepscope::workloads
