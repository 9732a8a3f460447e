// How a device gets what it trains with; see device_worker.h.
#include "workloads/training/device_worker.h"

namespace stepscope::workloads {

std::vector<JobTurn> make_turns(Network const& network, double bucket_mb) {
  std::vector<ParameterRange> ranges = network.turns;
  if (ranges.empty()) ranges.push_back({0, network.layout.parameters.size() - 1, ""});
  std::vector<JobTurn> turns;
  for (ParameterRange const& range : ranges)
    turns.push_back({range, make_buckets(network.layout, range, bucket_mb)});
  return turns;
}

namespace {

base::Expected<void> make_memory(DeviceWorker& w, Network const& network, TrainOptions const& o) {
  std::optional<base::Error> error;
  auto const allocate = [&](Buffer& buffer, size_t bytes, MemoryPurpose purpose,
                            std::string_view owner) {
    if (error || bytes == 0) return;
    auto made = w.device->allocate(bytes, purpose, owner);
    if (made) {
      buffer = std::move(*made);
    } else {
      error = made.error();
    }
  };

  size_t const floats = network.layout.floats * sizeof(float);
  allocate(w.weights, floats, MemoryPurpose::kWeights, "weights");
  allocate(w.gradients, floats, MemoryPurpose::kGradients, "gradients");
  if (o.accumulate > 1)
    allocate(w.accumulated, floats, MemoryPurpose::kGradients, "gradients.accumulated");
  allocate(w.result, 2 * sizeof(float), MemoryPurpose::kOther, "loss");

  // Later turns use the samples of the first: all batches of a step stay until its end.
  int64_t const in_use = network.turns.size() > 1 ? o.accumulate : 1;
  w.inputs.resize(static_cast<size_t>(o.prefetch + in_use));
  auto const batch = static_cast<size_t>(o.batch);
  for (InputBuffers& input : w.inputs) {
    allocate(input.inputs, batch * network.train->input_bytes(), MemoryPurpose::kInput,
             network.sample + "s");
    allocate(input.labels, batch * network.train->label_bytes(), MemoryPurpose::kInput,
             network.label + "s");
  }

  if (error) return tl::unexpected(*error);
  return {};
}

}  // namespace

base::Expected<std::unique_ptr<DeviceWorker>> make_device_worker(
    UpdateContext context, UpdateSchemeMaker const& make_scheme, std::vector<JobTurn> const& turns,
    Network const& network, TrainOptions const& o, std::vector<float> const& state) {
  Device& device = *context.device;
  auto w = std::make_unique<DeviceWorker>();
  w->device = &device;
  if (auto made = make_memory(*w, network, o); !made) return base::fail_with(made);

  auto replica = network.make_replica({&device, &network.layout, o.batch, w->weights.floats(),
                                       w->gradients.floats(), w->result.floats()});
  if (!replica) return base::fail_with(replica);
  w->replica = std::move(*replica);

  context.weights = w->weights.floats();
  context.gradients = w->gradients.floats();
  for (JobTurn const& turn : turns) {
    context.buckets = &turn.buckets;
    auto scheme = make_scheme(context);
    if (!scheme) return base::fail_with(scheme);
    GradientReducer reducer(device, scheme->get(), turn.buckets, w->gradients.floats(),
                            w->accumulated.floats(), {o.overlap, o.accumulate});
    Replica* trained = &w->replica->in_turn(w->turns.size());
    auto graphed = o.graphs ? std::make_unique<GraphedReplica>(*trained, device, stderr) : nullptr;
    if (graphed != nullptr) trained = graphed.get();
    w->turns.push_back({trained, std::move(graphed), std::move(*scheme), std::move(reducer),
                        std::vector<std::array<float, 2>>(static_cast<size_t>(o.accumulate))});
  }

  device.copy(StreamKind::kCopy, "h2d.weights", w->weights.data(), state.data(), w->weights.bytes(),
              CopyDirection::kHostToDevice);
  device.synchronize(device.record(StreamKind::kCopy));
  for (WorkerTurn const& turn : w->turns) turn.scheme->start(state.data() + network.layout.floats);
  return w;
}

}  // namespace stepscope::workloads
