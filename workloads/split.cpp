// A network too large for one device, cut by layers: stage s computes its layers on device s and sends the activations to stage
// s + 1, which sends their gradient back. The batch is worked on in micro-batches, so that all stages are busy but for the time
// in which the pipeline fills and drains (split_schedule.h). From top to bottom: one stage's memory, a micro-batch forward and
// backward, a step, the stage's training loop, the whole job. Command line: split_command.cpp.
//
// Order on a stage's communication stream is that of its schedule: each receive before its pass, each send after it. As sends
// wait for nobody, that is the order of a plain program with buffered messages, which cannot deadlock.
#include "workloads/split.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <thread>

#include "trace/base/check.h"
#include "tracer/api/annotate.h"
#include "workloads/backend/host/threads.h"
#include "workloads/data/cifar10_samples.h"
#include "workloads/gradient_reducer.h"
#include "workloads/loss.h"
#include "workloads/optimizer.h"
#include "workloads/split_schedule.h"
#include "workloads/thread_name.h"

namespace stepscope::workloads {
namespace {

// ---- One stage
// -----------------------------------------------------------------------------------------------------------------

/// The activations of one micro-batch: values[i] goes into the stage's layer i, the last one comes out.
struct Slot {
  std::vector<Buffer> values;  ///< the first stage's values[0] is empty: it reads the batch
  Event free;                  ///< of the compute stream: its backward pass is over
};

struct StageTimes {
  int64_t begin_ns = 0, end_ns = 0, busy_ns = 0;
};

struct Stage {
  Device* device = nullptr;
  int64_t index = 0;
  std::vector<LayerDescription> descriptions;
  ParameterLayout layout;         ///< of its own layers, last layer first
  std::vector<size_t> whole_ids;  ///< where its parameters are in the whole network's layout
  std::vector<Bucket> buckets;
  Buffer weights, gradients, accumulated;
  std::vector<std::unique_ptr<SplitLayer>> layers;
  std::vector<Slot> slots;       ///< micro-batch k is in slots[k % size]
  std::vector<Buffer> d_values;  ///< gradients of a slot's values; one micro-batch at a time
  Event d_output_read;           ///< of the compute stream: d_values.back() may be overwritten
  Event d_input_sent;            ///< of the communication stream: d_values.front() may be overwritten
  Buffer images, labels;         ///< the whole batch's; on the first and on the last stage
  Buffer row_results, results;   ///< on the last stage: loss and correct by row, and by micro-batch
  std::optional<GradientReducer> gradients_sum;
  std::vector<std::pair<Event, Event>> passes;  ///< begin and end of the step's passes
  std::vector<StageTimes> times;                ///< by step
};

/// What all host threads share.
struct Job {
  SplitOptions const& options;
  LayeredNetwork const& network;
  PipelineSchedule schedule;
  Communicator& communicator;
  int64_t stages, samples;  ///< of a micro-batch
  float rate;
  std::vector<std::byte> images, labels;  ///< the whole data set, prepared
  int64_t data_size;
  StepLog log;
  StopGate gate;
  std::atomic<bool> interrupted = false;

  [[nodiscard]] bool is_last(Stage const& s) const { return s.index + 1 == stages; }
};

class Allocator {
 public:
  explicit Allocator(Device& device) : device_(device) {}
  Buffer floats(size_t count, MemoryPurpose purpose, std::string const& owner) {
    if (error_) return {};
    auto made = device_.allocate(count * sizeof(float), purpose, owner);
    if (made) return std::move(*made);
    error_ = made.error();
    return {};
  }
  [[nodiscard]] base::Expected<void> result() const {
    if (error_) return tl::unexpected(*error_);
    return {};
  }

 private:
  Device& device_;
  std::optional<base::Error> error_;
};

void make_activations(Stage& s, Job const& job, Allocator& memory) {
  constexpr auto kPurpose = MemoryPurpose::kActivations;
  auto const samples = static_cast<size_t>(job.samples);
  size_t const layers = s.descriptions.size();
  // Value `i`, or its gradient.
  auto const make = [&](size_t i, std::string const& part) {
    if (i == 0 && s.index == 0 && (part.empty() || !job.network.input_gradient)) return Buffer();
    LayerDescription const& layer = s.descriptions[std::min(i, layers - 1)];
    int64_t const floats = i == layers ? layer.outputs : layer.inputs;
    return memory.floats(samples * static_cast<size_t>(floats), kPurpose,
                         layer.name + (i == layers ? ".output" : ".input") + part);
  };
  auto const slots = held_micro_batches(job.schedule, s.index, job.stages, job.options.micro_batches);
  s.slots.resize(static_cast<size_t>(slots));
  for (Slot& slot : s.slots) {
    for (size_t i = 0; i <= layers; ++i) slot.values.push_back(make(i, ""));
  }
  for (size_t i = 0; i <= layers; ++i) s.d_values.push_back(make(i, ".gradient"));
}

base::Expected<void> make_memory(Stage& s, Job const& job) {
  Allocator memory(*s.device);
  s.weights = memory.floats(s.layout.floats, MemoryPurpose::kWeights, "weights");
  s.gradients = memory.floats(s.layout.floats, MemoryPurpose::kGradients, "gradients");
  if (job.options.micro_batches > 1) {
    s.accumulated = memory.floats(s.layout.floats, MemoryPurpose::kGradients, "gradients.accumulated");
  }
  auto const batch = static_cast<size_t>(job.options.batch);
  auto const inputs = static_cast<size_t>(s.descriptions.front().inputs);
  if (s.index == 0) s.images = memory.floats(batch * inputs, MemoryPurpose::kInput, "images");
  if (job.is_last(s)) {
    s.labels = memory.floats(batch, MemoryPurpose::kInput, "labels");
    s.row_results = memory.floats(static_cast<size_t>(job.samples) * 2, MemoryPurpose::kActivations, "loss");
    s.results = memory.floats(static_cast<size_t>(job.options.micro_batches) * 2, MemoryPurpose::kOther, "loss");
  }
  make_activations(s, job, memory);
  return memory.result();
}

base::Expected<void> make_layers(Stage& s, Job const& job) {
  size_t parameter = s.layout.parameters.size();  // the layout begins with the last layer
  for (LayerDescription const& description : s.descriptions) {
    LayerMemory memory = {s.device, job.samples, s.slots.size()};
    if (description.parameters.outputs > 0) {
      parameter -= 2;
      size_t const weights = s.layout.parameters[parameter].offset;
      size_t const bias = s.layout.parameters[parameter + 1].offset;
      memory.weights = s.weights.floats() + weights;
      memory.bias = s.weights.floats() + bias;
      memory.d_weights = s.gradients.floats() + weights;
      memory.d_bias = s.gradients.floats() + bias;
    }
    auto layer = description.make(memory);
    if (!layer) return base::fail_with(layer);
    s.layers.push_back(std::move(*layer));
  }
  return {};
}

/// Copies the stage's parameters between its memory and the whole network's weights.
void copy_weights(Stage& s, ParameterLayout const& whole, std::vector<float>& weights, CopyDirection direction) {
  for (size_t i = 0; i < s.whole_ids.size(); ++i) {
    Parameter const& own = s.layout.parameters[i];
    float* const on_device = s.weights.floats() + own.offset;
    float* const on_host = weights.data() + whole.parameters[s.whole_ids[i]].offset;
    bool const down = direction == CopyDirection::kDeviceToHost;
    s.device->copy(StreamKind::kCopy, down ? "d2h.weights" : "h2d.weights", down ? on_host : on_device,
                   down ? on_device : on_host, own.count * sizeof(float), direction);
  }
  s.device->synchronize(s.device->record(StreamKind::kCopy));
}

// ---- A micro-batch
// -------------------------------------------------------------------------------------------------------------

/// A message from or to the stage next to `s`.
void exchange(Job& job, Stage& s, CollectiveOp op, int64_t peer, float* data, int64_t floats) {
  bool const activations = (op == CollectiveOp::kSend) == (peer > s.index);
  char const* const name = op == CollectiveOp::kSend ? (activations ? "send.activations" : "send.gradients")
                                                     : (activations ? "receive.activations" : "receive.gradients");
  s.device->collective(name, job.communicator,
                       {op, data, data, static_cast<size_t>(job.samples * floats), static_cast<uint32_t>(peer)});
}

float* input_of(Job const& job, Stage& s, int64_t micro_batch) {
  if (s.index > 0) return s.slots[static_cast<size_t>(micro_batch) % s.slots.size()].values.front().floats();
  return s.images.floats() + micro_batch * job.samples * s.descriptions.front().inputs;
}

void forward(Job& job, Stage& s, int64_t micro_batch) {
  Device& device = *s.device;
  size_t const at = static_cast<size_t>(micro_batch) % s.slots.size();
  Slot& slot = s.slots[at];
  if (s.index > 0) {
    if (slot.free) device.wait(StreamKind::kCommunication, slot.free);
    exchange(job, s, CollectiveOp::kReceive, s.index - 1, input_of(job, s, micro_batch), s.descriptions.front().inputs);
    device.wait(StreamKind::kCompute, device.record(StreamKind::kCommunication));
  }
  Event const begin = device.record(StreamKind::kCompute);
  for (size_t i = 0; i < s.layers.size(); ++i) {
    s.layers[i]->forward(at, i == 0 ? input_of(job, s, micro_batch) : slot.values[i].floats(), slot.values[i + 1].floats());
  }
  Event const end = device.record(StreamKind::kCompute);
  s.passes.emplace_back(begin, end);
  if (job.is_last(s)) return;
  // The output stays as it is until its gradient has come back, so that the next micro-batch of this slot finds it sent.
  device.wait(StreamKind::kCommunication, end);
  exchange(job, s, CollectiveOp::kSend, s.index + 1, slot.values.back().floats(), s.descriptions.back().outputs);
}

void loss_and_gradient(Job& job, Stage& s, Slot const& slot, int64_t micro_batch) {
  softmax_cross_entropy(*s.device, {job.samples, s.descriptions.back().outputs, slot.values.back().floats(),
                                    s.labels.ints() + micro_batch * job.samples, s.d_values.back().floats(),
                                    s.row_results.floats(), s.results.floats() + 2 * micro_batch});
}

void backward(Job& job, Stage& s, int64_t micro_batch) {
  Device& device = *s.device;
  size_t const at = static_cast<size_t>(micro_batch) % s.slots.size();
  Slot& slot = s.slots[at];
  if (!job.is_last(s)) {
    if (s.d_output_read) device.wait(StreamKind::kCommunication, s.d_output_read);
    exchange(job, s, CollectiveOp::kReceive, s.index + 1, s.d_values.back().floats(), s.descriptions.back().outputs);
    device.wait(StreamKind::kCompute, device.record(StreamKind::kCommunication));
  }
  if (s.d_input_sent) device.wait(StreamKind::kCompute, s.d_input_sent);
  Event const begin = device.record(StreamKind::kCompute);
  s.gradients_sum->begin(micro_batch);
  if (job.is_last(s)) loss_and_gradient(job, s, slot, micro_batch);
  for (size_t i = s.layers.size(); i-- > 0;) {
    s.layers[i]->backward(at, i == 0 ? input_of(job, s, micro_batch) : slot.values[i].floats(), slot.values[i + 1].floats(),
                          s.d_values[i + 1].floats(), s.d_values[i].floats());
  }
  s.gradients_sum->finish();
  Event const end = device.record(StreamKind::kCompute);
  s.passes.emplace_back(begin, end);
  slot.free = s.d_output_read = end;
  if (s.index == 0) return;
  device.wait(StreamKind::kCommunication, end);
  exchange(job, s, CollectiveOp::kSend, s.index - 1, s.d_values.front().floats(), s.descriptions.front().inputs);
  s.d_input_sent = device.record(StreamKind::kCommunication);
}

// ---- A step
// --------------------------------------------------------------------------------------------------------------------

/// Copies the step's images or labels: the next `batch` samples of the data set, which begins anew at its end.
void copy_in(Job const& job, Stage& s, int64_t step, char const* name, Buffer& to, std::vector<std::byte> const& from) {
  if (to.bytes() == 0) return;
  size_t const sample_bytes = from.size() / static_cast<size_t>(job.data_size);
  auto* const target = static_cast<std::byte*>(to.data());
  for (int64_t done = 0; done < job.options.batch;) {
    int64_t const first = (step * job.options.batch + done) % job.data_size;
    int64_t const count = std::min(job.options.batch - done, job.data_size - first);
    s.device->copy(StreamKind::kCopy, name, target + static_cast<size_t>(done) * sample_bytes,
                   from.data() + static_cast<size_t>(first) * sample_bytes, static_cast<size_t>(count) * sample_bytes,
                   CopyDirection::kHostToDevice);
    done += count;
  }
  s.device->wait(StreamKind::kCompute, s.device->record(StreamKind::kCopy));
}

/// One training step of one stage, launched and finished. Returns the event that ends it.
Event train_step(Job& job, Stage& s, int64_t step, std::vector<float>& results) {
  Device& device = *s.device;
  s.passes.clear();
  copy_in(job, s, step, "h2d.images", s.images, job.images);
  copy_in(job, s, step, "h2d.labels", s.labels, job.labels);
  for (PipelineOp const& op : stage_ops(job.schedule, s.index, job.stages, job.options.micro_batches)) {
    api::Phase const phase(op.forward ? "forward" : "backward");
    api::Work const work(fmt::format("micro-batch {}", op.micro_batch).c_str());
    op.forward ? forward(job, s, op.micro_batch) : backward(job, s, op.micro_batch);
  }
  {
    api::Phase const phase("optimizer");
    for (Parameter const& parameter : s.layout.parameters) {
      UpdateSlice const whole = {s.weights.floats() + parameter.offset, s.gradients.floats() + parameter.offset, nullptr, 0,
                                 parameter.count};
      update_parameter(device, {}, parameter, whole, job.rate, step);
    }
  }
  if (job.is_last(s)) {
    results.resize(s.results.bytes() / sizeof(float));
    device.copy(StreamKind::kCompute, "d2h.loss", results.data(), s.results.data(), s.results.bytes(),
                CopyDirection::kDeviceToHost);
  }
  Event const end = device.record(StreamKind::kCompute);
  device.synchronize(end);
  return end;
}

StageTimes measure(std::vector<std::pair<Event, Event>> const& passes) {
  StageTimes times = {passes.front().first->reached_ns(), passes.back().second->reached_ns(), 0};
  for (auto const& [begin, end] : passes) times.busy_ns += end->reached_ns() - begin->reached_ns();
  return times;
}

double mean_loss(std::vector<float> const& results) {
  double sum = 0;
  for (size_t i = 0; i < results.size(); i += 2) sum += static_cast<double>(results[i]);
  size_t const batches = results.size() / 2;
  return sum / static_cast<double>(batches);
}

// ---- The training loop of one stage
// --------------------------------------------------------------------------------------------

void train(Job& job, Stage& s) {
  name_this_thread("stage " + s.device->name());
  std::vector<float> results;
  for (int64_t step = 0; step < job.options.steps && job.gate.may_start(step); ++step) {
    int64_t elapsed_ns = 0;
    {
      // ==== timed section: one step ====
      api::Step const annotation(step);
      auto const begin = std::chrono::steady_clock::now().time_since_epoch();
      elapsed_ns = train_step(job, s, step, results)->reached_ns() - begin.count();
      // ==== end of the timed section ====
    }
    s.times.push_back(measure(s.passes));
    // The log shows the mean over the devices; only the last stage has a loss.
    double const loss = job.is_last(s) ? mean_loss(results) : 0.0;
    double const for_log = loss * static_cast<double>(job.stages);
    job.log.report(s.index, step, {&for_log, 1}, elapsed_ns);
    if (!std::isfinite(loss) && !job.options.allow_nan) {
      job.gate.stop(not_finite("split", "the loss", loss, step, s.device->name()));
    }
    if (InterruptGuard::interrupted()) {
      job.interrupted = true;
      job.gate.stop(std::nullopt);
    }
  }
  s.device->synchronize();
}

// ---- The whole job
// -------------------------------------------------------------------------------------------------------------

/// Last layer first, as the backward pass goes.
ParameterLayout lay_out(std::vector<LayerDescription> const& layers, std::string const& model) {
  ParameterLayout layout;
  layout.model = model;
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    if (layer->parameters.outputs == 0) continue;
    ParameterLayout::Layer parameters = layer->parameters;
    parameters.name = layer->name;
    layout.add(parameters);
  }
  return layout;
}

base::Expected<std::unique_ptr<Stage>> make_stage(Job const& job, Device& device, std::span<size_t const> cut, int64_t index) {
  auto s = std::make_unique<Stage>();
  s->device = &device;
  s->index = index;
  auto const first = job.network.layers.begin();
  auto const bound = [&](int64_t i) { return first + static_cast<ptrdiff_t>(cut[static_cast<size_t>(i)]); };
  s->descriptions.assign(bound(index), bound(index + 1));
  s->layout = lay_out(s->descriptions, job.network.name);
  size_t const before = lay_out({bound(index + 1), job.network.layers.end()}, "").parameters.size();
  for (size_t i = 0; i < s->layout.parameters.size(); ++i) s->whole_ids.push_back(before + i);
  constexpr double kOneBucket = 1e9;  // MiB: nothing is sent, one sum is enough
  s->buckets = make_buckets(s->layout, kOneBucket);
  if (auto made = make_memory(*s, job); !made) return base::fail_with(made);
  if (auto made = make_layers(*s, job); !made) return base::fail_with(made);
  s->gradients_sum.emplace(device, nullptr, s->buckets, s->gradients.floats(), s->accumulated.floats(),
                           GradientReducer::Settings{false, job.options.micro_batches});
  return s;
}

/// Central crops, at half their width where the network takes no more: neighbours in a row are averaged.
void prepare_image(CifarSamples const& samples, size_t i, std::span<float> image, std::byte* label) {
  std::vector<float> crop(kCropFloats);
  samples.prepare(i, Random(0), reinterpret_cast<std::byte*>(crop.data()), label);
  if (image.size() == crop.size()) {
    std::copy(crop.begin(), crop.end(), image.begin());
    return;
  }
  constexpr size_t kChannels = 3;
  for (size_t at = 0; at < image.size(); ++at) {
    float const* const left = &crop[at / kChannels * 2 * kChannels + at % kChannels];
    image[at] = (left[0] + left[kChannels]) / 2;
  }
}

/// The samples that the training sees, as the devices take them. Prepared before it: a loader would take cores from the stages.
void prepare_data(Job& job, CifarImages const& data) {
  CifarSamples const samples(data, false);
  auto const inputs = static_cast<size_t>(job.network.layers.front().inputs);
  STEPSCOPE_CHECK(inputs == kCropFloats || inputs == kCropFloats / 2);
  job.data_size = std::min(static_cast<int64_t>(samples.size()), job.options.batch * job.options.steps);
  auto const count = static_cast<size_t>(job.data_size);
  job.images.resize(count * inputs * sizeof(float));
  job.labels.resize(count * samples.label_bytes());
  auto* const images = reinterpret_cast<float*>(job.images.data());
  for (size_t i = 0; i < count; ++i) {
    prepare_image(samples, i, {images + i * inputs, inputs}, job.labels.data() + i * samples.label_bytes());
  }
}

double bubble_of(std::vector<std::unique_ptr<Stage>> const& stages, size_t step) {
  int64_t begin = std::numeric_limits<int64_t>::max();
  int64_t end = std::numeric_limits<int64_t>::min();
  int64_t busy = 0;
  for (auto const& s : stages) {
    begin = std::min(begin, s->times[step].begin_ns);
    end = std::max(end, s->times[step].end_ns);
    busy += s->times[step].busy_ns;
  }
  return 1.0 - static_cast<double>(busy) / (static_cast<double>(stages.size()) * static_cast<double>(end - begin));
}

SplitResult collect(Job& job, std::vector<std::unique_ptr<Stage>>& stages, ParameterLayout const& whole,
                    std::vector<float> weights) {
  SplitResult result;
  for (LayerDescription const& layer : job.network.layers) result.layers.push_back(layer.name);
  result.loss = job.log.losses(0);
  for (size_t step = 0; step < result.loss.size(); ++step) {
    result.bubble.push_back(bubble_of(stages, step));
    int64_t slowest = 0;
    for (auto const& times : job.log.step_ns()) slowest = std::max(slowest, times[step]);
    result.step_ns.push_back(slowest);
  }
  result.ideal_bubble = ideal_bubble(job.stages, job.options.micro_batches);
  for (auto& s : stages) {
    copy_weights(*s, whole, weights, CopyDirection::kDeviceToHost);
    uint64_t held = 0;
    for (Slot const& slot : s->slots) {
      for (Buffer const& value : slot.values) held += value.bytes();
    }
    result.activation_bytes.push_back(held);
    std::vector<int64_t>& busy = result.busy_ns.emplace_back();
    for (size_t step = 0; step < result.loss.size(); ++step) busy.push_back(s->times[step].busy_ns);
  }
  result.weights = std::move(weights);
  bool const on_host = stages.front()->device->name().starts_with("host");
  result.cores_short = on_host && job.stages > host::available_cores();
  result.interrupted = job.interrupted;
  result.failure = job.gate.error();
  return result;
}

/// Evenly, but for a pathology that gives the first stage more.
base::Expected<std::vector<size_t>> cut_network(LayeredNetwork const& network, size_t stages, SplitOptions const& o) {
  std::vector<double> costs;
  for (LayerDescription const& layer : network.layers) costs.push_back(layer.cost);
  std::vector<double> shares(stages, 1.0);
  constexpr double kSmallestShare = 1e-3;  // cut_layers() divides by it
  for (Pathology const& pathology : o.pathologies) shares.front() = std::max(kSmallestShare, pathology.value);
  return cut_layers(costs, shares);
}

}  // namespace

base::Expected<SplitResult> train_split(SplitOptions const& o, LayeredNetwork const& network, CifarImages const& data,
                                        std::FILE* log) {
  InterruptGuard const interrupts;
  auto const schedule = parse_schedule(o.schedule);
  if (!schedule) return base::fail_with(schedule);
  if (o.micro_batches < 1 || o.batch % o.micro_batches != 0) {
    return base::fail("--batch {} cannot be divided into {} equal micro-batches, change --batch or --micro-batches", o.batch,
                      o.micro_batches);
  }
  auto group = open_devices(o.device, {o.memory_limit_mib << 20U});
  if (!group) return base::fail_with(group);
  auto const cut = cut_network(network, group->devices.size(), o);
  if (!cut) return base::fail("split over {}: {}", o.device, cut.error().message);
  record_pathologies(o.pathologies);
  auto const stages_count = static_cast<int64_t>(group->devices.size());
  float const rate = o.learning_rate > 0 ? static_cast<float>(o.learning_rate) : network.learning_rate;
  Job job{o,
          network,
          *schedule,
          *group->communicator,
          stages_count,
          o.batch / o.micro_batches,
          rate,
          {},
          {},
          0,
          StepLog({0, stages_count, o.batch, "images", {"loss"}, o.log_every, log}),
          {}};
  prepare_data(job, data);

  ParameterLayout const whole = lay_out(network.layers, network.name);
  std::vector<float> weights = initial_weights(whole, o.seed);
  std::vector<std::unique_ptr<Stage>> stages;
  for (auto& device : group->devices) {
    auto stage = make_stage(job, *device, *cut, static_cast<int64_t>(stages.size()));
    if (!stage) return base::fail_with(stage);
    stages.push_back(std::move(*stage));
    copy_weights(*stages.back(), whole, weights, CopyDirection::kHostToDevice);
  }
  if (log != nullptr) {
    fmt::print(log, "split on {}: {}, {} images a step in {} micro-batches, {}\n", o.device, network.name, o.batch,
               o.micro_batches, o.schedule);
  }
  std::vector<std::thread> threads;
  for (auto& stage : stages) threads.emplace_back([&job, &s = *stage] { train(job, s); });
  for (std::thread& thread : threads) thread.join();
  SplitResult result = collect(job, stages, whole, std::move(weights));
  result.cut = *cut;
  return result;
}

}  // namespace stepscope::workloads
