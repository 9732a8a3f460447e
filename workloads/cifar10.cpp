// CIFAR-10: the network of TensorFlow's convolutional tutorial, trained synchronously data-parallel. Source of the network and of
// its constants: "Convolutional Neural Networks" (tensorflow.org tutorials, models/tutorials/image/cifar10). From top to
// bottom: the parameters, one device's replica, forward, backward, update, a device's training loop, evaluation, the whole job.
#include "workloads/cifar10.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "trace/base/check.h"
#include "tracer/api/annotate.h"
#include "workloads/checkpoint.h"
#include "workloads/data/augment.h"
#include "workloads/data/cifar10_generator.h"
#include "workloads/data/input_pipeline.h"
#include "workloads/parameters.h"
#include "workloads/thread_name.h"
#include "workloads/training.h"

namespace stepscope::workloads {
namespace {

constexpr int64_t kSide = kCropSide;     // 24 × 24 images
constexpr int64_t kPooled1 = kSide / 2;  // after the first pooling
constexpr int64_t kPooled2 = kSide / 4;  // after the second
constexpr float kFcDecay = 0.004F;       // weight decay of the two hidden fully connected layers, as in the tutorial
constexpr int64_t kLrnRadius = 4;
constexpr float kLrnBias = 1.0F, kLrnAlpha = 0.001F / 9.0F, kLrnBeta = 0.75F;

// ---- Parameters
// ----------------------------------------------------------------------------------------------------------------

/// In the order of describe_parameters().
enum ParameterId : size_t {
  kFc3Weights,
  kFc3Bias,
  kFc2Weights,
  kFc2Bias,
  kFc1Weights,
  kFc1Bias,
  kConv2Weights,
  kConv2Bias,
  kConv1Weights,
  kConv1Bias,
  kParameters
};

ParameterLayout describe_parameters(Cifar10Widths const& w) {
  ParameterLayout layout;
  layout.model = fmt::format("cifar10-conv{}-fc{}-fc{}", w.conv, w.fc1, w.fc2);
  // Deviations and initial biases are the tutorial's.
  layout.add({"fc3", kCifarClasses, w.fc2, 1.0 / static_cast<double>(w.fc2), 0.0F, 0.0F});
  layout.add({"fc2", w.fc2, w.fc1, 0.04, 0.1F, kFcDecay});
  layout.add({"fc1", w.fc1, kPooled2 * kPooled2 * w.conv, 0.04, 0.1F, kFcDecay});
  layout.add({"conv2", w.conv, 25 * w.conv, 0.05, 0.1F, 0.0F});
  layout.add({"conv1", w.conv, 25 * 3, 0.05, 0.0F, 0.0F});
  return layout;
}

// ---- One device's replica
// ------------------------------------------------------------------------------------------------------

struct InputBuffers {
  Buffer images, labels;
  Event ready;
};

struct Activation {
  Buffer value, gradient;
};

struct Replica {
  Device* device = nullptr;
  ParameterLayout const* layout = nullptr;
  Cifar10Widths widths;
  int64_t batch = 0;

  std::unique_ptr<Conv2d> conv1, conv2;
  std::unique_ptr<MaxPool> pool1, pool2;
  std::unique_ptr<Lrn> norm1, norm2;
  std::unique_ptr<Dense> fc1, fc2, fc3;

  Buffer weights, gradients;
  Activation a_conv1, a_pool1, a_norm1, a_conv2, a_norm2, a_pool2, a_fc1, a_fc2, a_fc3;
  Buffer result;                          ///< loss, correct
  std::array<float, 2> host_result = {};  ///< … on the host
  std::vector<InputBuffers> inputs;       ///< batch s is in inputs[s % size]
  std::vector<Event> reduced;             ///< of this step's buckets, in order

  [[nodiscard]] float* w(ParameterId id) const { return weights.floats() + layout->parameters[id].offset; }
  [[nodiscard]] float* g(ParameterId id) const { return gradients.floats() + layout->parameters[id].offset; }
};

/// Moves an Expected into `to`; false, with the error kept, when there is none.
template <class T>
bool take(base::Expected<T> from, T& to, std::optional<base::Error>& error) {
  if (error) return false;
  if (!from) {
    error = from.error();
    return false;
  }
  to = std::move(*from);
  return true;
}

base::Expected<void> make_layers(Replica& r) {
  Device& d = *r.device;
  int64_t const b = r.batch;
  int64_t const c = r.widths.conv;
  std::optional<base::Error> error;
  take(d.conv2d("conv1", {b, kSide, kSide, 3, c, 5, 2, true}), r.conv1, error);
  take(d.max_pool("pool1", {b, kSide, kSide, c, 3, 2}), r.pool1, error);
  take(d.lrn("norm1", {b, kPooled1, kPooled1, c, kLrnRadius, kLrnBias, kLrnAlpha, kLrnBeta}), r.norm1, error);
  take(d.conv2d("conv2", {b, kPooled1, kPooled1, c, c, 5, 2, true}), r.conv2, error);
  take(d.lrn("norm2", {b, kPooled1, kPooled1, c, kLrnRadius, kLrnBias, kLrnAlpha, kLrnBeta}), r.norm2, error);
  take(d.max_pool("pool2", {b, kPooled1, kPooled1, c, 3, 2}), r.pool2, error);
  take(d.dense("fc1", {b, kPooled2 * kPooled2 * c, r.widths.fc1, true}), r.fc1, error);
  take(d.dense("fc2", {b, r.widths.fc1, r.widths.fc2, true}), r.fc2, error);
  take(d.dense("fc3", {b, r.widths.fc2, kCifarClasses, false}), r.fc3, error);
  if (error) return tl::unexpected(*error);
  return {};
}

base::Expected<void> make_memory(Replica& r, int64_t staged) {
  std::optional<base::Error> error;
  auto const allocate = [&](Buffer& buffer, int64_t floats, MemoryPurpose purpose, std::string_view owner) {
    if (!error) take(r.device->allocate(static_cast<size_t>(floats) * sizeof(float), purpose, owner), buffer, error);
  };
  auto const activation = [&](Activation& a, int64_t floats, std::string const& owner) {
    allocate(a.value, floats, MemoryPurpose::kActivations, owner);
    allocate(a.gradient, floats, MemoryPurpose::kActivations, owner + ".gradient");
  };
  auto const floats = static_cast<int64_t>(r.layout->floats);
  allocate(r.weights, floats, MemoryPurpose::kWeights, "weights");
  allocate(r.gradients, floats, MemoryPurpose::kGradients, "gradients");
  int64_t const channels = r.batch * r.widths.conv;
  activation(r.a_conv1, channels * kSide * kSide, "conv1");
  activation(r.a_pool1, channels * kPooled1 * kPooled1, "pool1");
  activation(r.a_norm1, channels * kPooled1 * kPooled1, "norm1");
  activation(r.a_conv2, channels * kPooled1 * kPooled1, "conv2");
  activation(r.a_norm2, channels * kPooled1 * kPooled1, "norm2");
  activation(r.a_pool2, channels * kPooled2 * kPooled2, "pool2");
  activation(r.a_fc1, r.batch * r.widths.fc1, "fc1");
  activation(r.a_fc2, r.batch * r.widths.fc2, "fc2");
  activation(r.a_fc3, r.batch * kCifarClasses, "fc3");
  allocate(r.result, 2, MemoryPurpose::kOther, "loss");
  r.inputs.resize(static_cast<size_t>(staged));
  for (InputBuffers& input : r.inputs) {
    allocate(input.images, r.batch * static_cast<int64_t>(kCropFloats), MemoryPurpose::kInput, "images");
    allocate(input.labels, r.batch, MemoryPurpose::kInput, "labels");
  }
  if (error) return tl::unexpected(*error);
  return {};
}

// ---- Forward, backward, update
// -------------------------------------------------------------------------------------------------

void forward(Replica& r, InputBuffers const& input) {
  r.conv1->forward(input.images.floats(), r.w(kConv1Weights), r.w(kConv1Bias), r.a_conv1.value.floats());
  r.pool1->forward(r.a_conv1.value.floats(), r.a_pool1.value.floats());
  r.norm1->forward(r.a_pool1.value.floats(), r.a_norm1.value.floats());
  r.conv2->forward(r.a_norm1.value.floats(), r.w(kConv2Weights), r.w(kConv2Bias), r.a_conv2.value.floats());
  r.norm2->forward(r.a_conv2.value.floats(), r.a_norm2.value.floats());
  r.pool2->forward(r.a_norm2.value.floats(), r.a_pool2.value.floats());
  r.fc1->forward(r.a_pool2.value.floats(), r.w(kFc1Weights), r.w(kFc1Bias), r.a_fc1.value.floats());
  r.fc2->forward(r.a_fc1.value.floats(), r.w(kFc2Weights), r.w(kFc2Bias), r.a_fc2.value.floats());
  r.fc3->forward(r.a_fc2.value.floats(), r.w(kFc3Weights), r.w(kFc3Bias), r.a_fc3.value.floats());
  r.device->softmax_cross_entropy("softmax.loss", r.batch, kCifarClasses, r.a_fc3.value.floats(), input.labels.ints(),
                                  r.a_fc3.gradient.floats(), r.result.floats());
  r.device->copy(StreamKind::kCompute, "d2h.loss", r.host_result.data(), r.result.data(), sizeof r.host_result,
                 CopyDirection::kDeviceToHost);
}

void relu_gradient(Replica& r, char const* name, Activation const& a) {
  r.device->relu_backward(name, a.value.floats(), a.gradient.floats(), a.value.bytes() / sizeof(float));
}

/// Calls `ready(last)` as soon as the gradients of all parameters up to `last` are launched.
template <class Ready>
void backward(Replica& r, InputBuffers const& input, Ready ready) {
  r.fc3->backward_weights(r.a_fc2.value.floats(), r.a_fc3.gradient.floats(), r.g(kFc3Weights), r.g(kFc3Bias));
  ready(kFc3Bias);
  r.fc3->backward_data(r.a_fc3.gradient.floats(), r.w(kFc3Weights), r.a_fc2.gradient.floats());
  relu_gradient(r, "fc2.backward.relu", r.a_fc2);
  r.fc2->backward_weights(r.a_fc1.value.floats(), r.a_fc2.gradient.floats(), r.g(kFc2Weights), r.g(kFc2Bias));
  ready(kFc2Bias);
  r.fc2->backward_data(r.a_fc2.gradient.floats(), r.w(kFc2Weights), r.a_fc1.gradient.floats());
  relu_gradient(r, "fc1.backward.relu", r.a_fc1);
  r.fc1->backward_weights(r.a_pool2.value.floats(), r.a_fc1.gradient.floats(), r.g(kFc1Weights), r.g(kFc1Bias));
  ready(kFc1Bias);
  r.fc1->backward_data(r.a_fc1.gradient.floats(), r.w(kFc1Weights), r.a_pool2.gradient.floats());
  r.pool2->backward(r.a_pool2.gradient.floats(), r.a_norm2.gradient.floats());
  r.norm2->backward(r.a_conv2.value.floats(), r.a_norm2.gradient.floats(), r.a_conv2.gradient.floats());
  relu_gradient(r, "conv2.backward.relu", r.a_conv2);
  r.conv2->backward_weights(r.a_norm1.value.floats(), r.a_conv2.gradient.floats(), r.g(kConv2Weights), r.g(kConv2Bias));
  ready(kConv2Bias);
  r.conv2->backward_data(r.a_conv2.gradient.floats(), r.w(kConv2Weights), r.a_norm1.gradient.floats());
  r.norm1->backward(r.a_pool1.value.floats(), r.a_norm1.gradient.floats(), r.a_pool1.gradient.floats());
  // conv1's ReLU gradient is taken after the pooling: a window's maximum is positive exactly where the pooled value is, and only
  // maxima have a gradient. A quarter of the elements, the same result.
  relu_gradient(r, "conv1.backward.relu", r.a_pool1);
  r.pool1->backward(r.a_pool1.gradient.floats(), r.a_conv1.gradient.floats());
  r.conv1->backward_weights(input.images.floats(), r.a_conv1.gradient.floats(), r.g(kConv1Weights), r.g(kConv1Bias));
  ready(kConv1Bias);
}

/// Launches the all-reduce of every bucket that is complete with parameter `last`, behind the work that is launched so far.
void reduce_buckets(Replica& r, std::vector<Bucket> const& buckets, size_t last, Communicator& communicator) {
  while (r.reduced.size() < buckets.size() && buckets[r.reduced.size()].last <= last) {
    Bucket const& bucket = buckets[r.reduced.size()];
    r.device->wait(StreamKind::kCommunication, r.device->record(StreamKind::kCompute));
    r.device->all_reduce_mean(bucket.name.c_str(), communicator, r.gradients.floats() + bucket.offset, bucket.count);
    r.reduced.push_back(r.device->record(StreamKind::kCommunication));
  }
}

void update(Replica& r, std::vector<Bucket> const& buckets, float rate) {
  for (size_t b = 0; b < buckets.size(); ++b) {
    if (b < r.reduced.size()) r.device->wait(StreamKind::kCompute, r.reduced[b]);
    for (size_t id = buckets[b].first; id <= buckets[b].last; ++id) {
      Parameter const& p = r.layout->parameters[id];
      r.device->sgd_update(p.update_name.c_str(), r.weights.floats() + p.offset, r.gradients.floats() + p.offset, p.count, rate,
                           p.decay);
    }
  }
  r.reduced.clear();
}

// ---- The training loop of one device
// -------------------------------------------------------------------------------------------

/// What all host threads share.
struct Job {
  TrainOptions const& options;
  CifarDataSet const& data;
  ParameterLayout const& layout;
  std::vector<Bucket> buckets;
  Communicator& communicator;
  int64_t devices, first_step;
  InputPipeline& pipeline;
  StopGate gate;
  StepLog log;
  std::atomic<int64_t> correct = 0;
  std::atomic<bool> interrupted = false;
};

/// Takes batch `step` from the loader and copies it to the device.
void stage_input(Job& job, Replica& r, int64_t step) {
  if (step >= job.options.steps) return;
  InputBuffers& input = r.inputs[static_cast<size_t>(step) % r.inputs.size()];
  HostBatch batch = {};
  {
    api::InputWait const wait;
    batch = job.pipeline.next(r.device->index());
  }
  r.device->copy(StreamKind::kCopy, "h2d.images", input.images.data(), batch.images, input.images.bytes(),
                 CopyDirection::kHostToDevice);
  r.device->copy(StreamKind::kCopy, "h2d.labels", input.labels.data(), batch.labels, input.labels.bytes(),
                 CopyDirection::kHostToDevice);
  input.ready = r.device->record(StreamKind::kCopy);
}

float learning_rate(Job const& job, int64_t step) {
  int64_t const samples = step * job.devices * job.options.batch;
  int64_t const epoch = samples / static_cast<int64_t>(job.data.train.size());
  int64_t const decays = epoch / std::max<int64_t>(1, job.options.decay_epochs);
  return static_cast<float>(job.options.learning_rate * std::pow(job.options.decay_rate, decays));
}

/// One training step, launched and finished. The host waits for the device at its end: the step's host range and the device's
/// work then span the same time, and a step's loss is known within it. Returns the event that ends it.
Event train_step(Job& job, Replica& r, int64_t step) {
  Device& device = *r.device;
  {
    api::Phase const phase("input");
    stage_input(job, r, step + job.options.prefetch);
  }
  InputBuffers const& input = r.inputs[static_cast<size_t>(step) % r.inputs.size()];
  {
    api::Phase const phase("forward");
    device.wait(StreamKind::kCompute, input.ready);
    forward(r, input);
  }
  {
    api::Phase const phase("backward");
    bool const overlap = job.options.overlap && job.devices > 1;
    backward(r, input, [&](size_t last) {
      if (overlap) reduce_buckets(r, job.buckets, last, job.communicator);
    });
    if (job.devices > 1) reduce_buckets(r, job.buckets, kParameters, job.communicator);
  }
  {
    api::Phase const phase("optimizer");
    update(r, job.buckets, learning_rate(job, step));
  }
  Event const end = device.record(StreamKind::kCompute);
  device.synchronize(end);
  return end;
}

std::vector<float> download_weights(Replica& r, char const* name) {
  std::vector<float> weights(r.layout->floats);
  r.device->copy(StreamKind::kCopy, name, weights.data(), r.weights.data(), weights.size() * sizeof(float),
                 CopyDirection::kDeviceToHost);
  r.device->synchronize(r.device->record(StreamKind::kCopy));
  return weights;
}

/// The first device saves; all have the same weights.
void save(Job& job, Replica& r, int64_t next_step) {
  if (job.options.checkpoint.empty() || r.device->index() != 0) return;
  api::Phase const phase("checkpoint");
  Checkpoint const checkpoint{job.layout.model, next_step, job.devices * job.options.batch, job.options.seed,
                              download_weights(r, "d2h.checkpoint")};
  // Another device may have met a NaN in this very step: its gradients are in these weights.
  if (!std::all_of(checkpoint.weights.begin(), checkpoint.weights.end(), [](float w) { return std::isfinite(w); })) {
    return job.gate.stop(
        fmt::format("cifar10: the weights are not finite after step {}, no checkpoint is written", next_step - 1));
  }
  if (auto saved = save_checkpoint(job.options.checkpoint, checkpoint); !saved) job.gate.stop(saved.error().message);
}

void train(Job& job, Replica& r) {
  name_this_thread("train " + r.device->name());
  TrainOptions const& o = job.options;
  int64_t step = job.first_step;
  for (int64_t ahead = 0; ahead < o.prefetch; ++ahead) stage_input(job, r, step + ahead);
  for (; step < o.steps && job.gate.may_start(step); ++step) {
    int64_t elapsed_ns = 0;
    {
      // ==== timed section: one step ====
      api::Step const annotation(step);
      auto const begin = std::chrono::steady_clock::now().time_since_epoch();
      // Until the device is done, not until the host is told: on a busy machine that comes milliseconds later.
      elapsed_ns = train_step(job, r, step)->reached_ns() - begin.count();
      // ==== end of the timed section ====
    }
    job.pipeline.release(r.device->index());
    auto const loss = static_cast<double>(r.host_result[0]);
    job.log.report(r.device->index(), step, loss, elapsed_ns);
    if (!std::isfinite(loss)) {
      job.gate.stop(fmt::format("cifar10: the loss is {} at step {} on {}, lower --learning-rate", loss, step, r.device->name()));
    }
    if (InterruptGuard::interrupted()) {
      job.interrupted = true;
      job.gate.stop(std::nullopt);
    }
    if (o.checkpoint_every > 0 && (step + 1) % o.checkpoint_every == 0 && step + 1 < o.steps) save(job, r, step + 1);
  }
  if (!job.gate.error()) save(job, r, step);
}

// ---- Evaluation
// ----------------------------------------------------------------------------------------------------------------

/// Device d takes test batches d, d + devices, …; the last batch is filled up with images that do not count.
void evaluate(Job& job, Replica& r) {
  api::Phase const phase("evaluate");
  CifarImages const& test = job.data.test;
  auto const batch = static_cast<size_t>(r.batch);
  std::vector<float> images(batch * kCropFloats);
  std::vector<int32_t> labels(batch);
  InputBuffers& input = r.inputs.front();
  auto const stride = batch * static_cast<size_t>(job.devices);
  for (size_t first = r.device->index() * batch; first < test.size(); first += stride) {
    for (size_t i = 0; i < batch; ++i) {
      bool const counts = first + i < test.size();
      labels[i] = counts ? test.label(first + i) : -1;
      if (counts) central_image(test.pixels(first + i), CropSpan(images.data() + i * kCropFloats, kCropFloats));
    }
    r.device->copy(StreamKind::kCompute, "h2d.images", input.images.data(), images.data(), input.images.bytes(),
                   CopyDirection::kHostToDevice);
    r.device->copy(StreamKind::kCompute, "h2d.labels", input.labels.data(), labels.data(), input.labels.bytes(),
                   CopyDirection::kHostToDevice);
    forward(r, input);
    r.device->synchronize(r.device->record(StreamKind::kCompute));
    job.correct += std::lround(r.host_result[1]);
  }
}

// ---- The whole job
// -------------------------------------------------------------------------------------------------------------

base::Expected<Checkpoint> starting_point(TrainOptions const& o, ParameterLayout const& layout, int64_t global_batch) {
  if (o.resume.empty()) return Checkpoint{layout.model, 0, global_batch, o.seed, initial_weights(layout, o.seed)};
  auto start = load_checkpoint(o.resume, layout.model, layout.floats);
  if (!start) return start;
  if (start->global_batch != global_batch || start->seed != o.seed) {
    return base::fail(
        "{}: was trained with {} images a step and --seed {}, not {} and {}: the samples would not go on where they stopped",
        o.resume, start->global_batch, start->seed, global_batch, o.seed);
  }
  if (start->step >= o.steps) {
    return base::fail("{}: is already at step {}, give a larger --steps", o.resume, start->step);
  }
  return start;
}

base::Expected<std::unique_ptr<Replica>> make_replica(Device& device, ParameterLayout const& layout, Cifar10Widths const& widths,
                                                      TrainOptions const& o, std::vector<float> const& weights) {
  auto r = std::make_unique<Replica>();
  r->device = &device;
  r->layout = &layout;
  r->widths = widths;
  r->batch = o.batch;
  if (auto made = make_memory(*r, o.prefetch + 1); !made) return base::fail_with(made);
  if (auto made = make_layers(*r); !made) return base::fail_with(made);
  device.copy(StreamKind::kCopy, "h2d.weights", r->weights.data(), weights.data(), weights.size() * sizeof(float),
              CopyDirection::kHostToDevice);
  device.synchronize(device.record(StreamKind::kCopy));
  return r;
}

void run_threads(Job& job, std::vector<std::unique_ptr<Replica>>& replicas) {
  std::vector<std::thread> threads;
  threads.reserve(replicas.size());
  for (auto& replica : replicas) {
    threads.emplace_back([&job, &r = *replica] {
      train(job, r);
      if (job.options.evaluate && !job.gate.stopped()) evaluate(job, r);
      r.device->synchronize();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TrainingResult collect(Job& job, std::vector<std::unique_ptr<Replica>>& replicas) {
  TrainingResult result;
  result.first_step = job.first_step;
  result.step_ns = job.log.step_ns();
  result.loss = job.log.losses();
  result.interrupted = job.interrupted;
  result.failure = job.gate.error();
  if (job.options.evaluate && !job.gate.stopped()) {
    result.test_accuracy = static_cast<double>(job.correct) / static_cast<double>(job.data.test.size());
  }
  for (auto& replica : replicas) {
    result.weights.push_back(download_weights(*replica, "d2h.weights"));
    result.counts = result.counts + replica->device->counts();
    result.memory.push_back(replica->device->memory());
  }
  return result;
}

}  // namespace

base::Expected<TrainingResult> train_cifar10(TrainOptions const& o, Cifar10Widths const& widths, CifarDataSet const& data,
                                             std::FILE* log) {
  InterruptGuard const interrupts;
  auto group = open_devices(o.device, {o.memory_limit_mib << 20U});
  if (!group) return base::fail_with(group);
  auto const devices = static_cast<int64_t>(group->devices.size());
  ParameterLayout const layout = describe_parameters(widths);
  auto start = starting_point(o, layout, devices * o.batch);
  if (!start) return base::fail_with(start);

  std::vector<std::unique_ptr<Replica>> replicas;
  for (auto& device : group->devices) {
    auto replica = make_replica(*device, layout, widths, o, start->weights);
    if (!replica) return base::fail_with(replica);
    replicas.push_back(std::move(*replica));
  }
  if (log != nullptr) {
    fmt::print(log, "cifar10 on {}: {} images a device and step, {} to train on, {} to test\n", o.device, o.batch,
               data.train.size(), data.test.size());
  }
  constexpr int64_t kReadAhead = 2;  // batches a device that the loader may be ahead of what is staged
  InputPipeline pipeline(data.train, {devices, o.batch, start->step, o.steps, o.prefetch + 1 + kReadAhead, o.loader_threads,
                                      o.seed, o.augment, o.input_delay_ms});
  Job job{o,
          data,
          layout,
          make_buckets(layout, o.bucket_mb),
          *group->communicator,
          devices,
          start->step,
          pipeline,
          {},
          StepLog({start->step, devices, devices * o.batch, o.log_every, log})};
  run_threads(job, replicas);
  return collect(job, replicas);
}

base::Expected<int> run_cifar10(std::span<std::string const> arguments) {
  auto const options = parse_train_options("cifar10", kCifar10Description, arguments);
  if (!options) return base::fail_with(options);
  if (!*options) return 0;  // --help
  TrainOptions o = **options;
  std::FILE* const log = o.json ? stderr : stdout;

  // The tutorial trains for hundreds of epochs; the generated set is learned in three.
  if (o.decay_epochs == 0) o.decay_epochs = o.data.empty() ? 1 : 350;
  std::string folder = o.data;
  if (folder.empty()) {
    auto generated = generated_cifar_folder({});
    if (!generated) return base::fail_with(generated);
    folder = *generated;
  }
  auto const data = read_cifar_folder(folder);
  if (!data) return base::fail_with(data);
  auto const result = train_cifar10(o, {}, *data, log);
  if (!result) return base::fail_with(result);
  if (result->test_accuracy) fmt::print(log, "test accuracy {:.1f} %\n", *result->test_accuracy * 100.0);
  if (o.json) fmt::print("{}\n", summarize("cifar10", o, *result));
  if (result->failure) {
    fmt::print(stderr, "stepscope: {}\n", *result->failure);
    return 1;
  }
  constexpr int kInterrupted = 130;  // 128 + SIGINT, as shells report it
  return result->interrupted ? kInterrupted : 0;
}

}  // namespace stepscope::workloads
