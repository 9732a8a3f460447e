// A network too large for one device, cut by layers. Stage s computes its layers on device s and
// sends the activations to stage s + 1, which sends their gradient back. The batch is worked on in
// micro-batches, so that all stages are busy except while the pipeline fills and drains
// (schedule.h). From top to bottom: a micro-batch forward and backward, a step, the stage's
// training loop, evaluation, the whole job. A stage and its memory: stage.cpp; command line:
// command.cpp.
//
// With --tensor each device has a part of every layer instead of some layers (tensor.cpp): each is
// a pipeline of one stage.
//
// Order on a stage's communication stream is that of its schedule: each receive before its pass,
// each send after it. As sends do not wait, that is the order of a plain program with buffered
// messages, which cannot deadlock.
#include "workloads/model_parallel/train.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cmath>
#include <limits>
#include <mutex>
#include <thread>

#include "tracer/api/annotate.h"
#include "workloads/backend/host/threads.h"
#include "workloads/model_parallel/data.h"
#include "workloads/model_parallel/stage.h"
#include "workloads/model_parallel/tensor.h"
#include "workloads/thread_name.h"
#include "workloads/training/checkpoint.h"
#include "workloads/training/loss.h"
#include "workloads/training/optimizer.h"

namespace stepscope::workloads {
namespace {

/// What all host threads share.
struct Job {
  SplitOptions const& options;
  PipelineSchedule schedule;
  Communicator& communicator;
  int64_t stages, samples;  ///< of the pipeline; of a micro-batch
  int64_t first_step;
  float rate;
  PreparedSamples const &train, &test;
  ParameterLayout whole;  ///< of the whole network
  StepLog log;
  std::barrier<> together;  ///< of all devices, between steps
  std::mutex mutex;
  std::vector<float>
      weights;  ///< guarded by the mutex; of the whole network, as the stages have left them
  StopGate gate;
  std::atomic<int64_t> correct = 0;
  std::atomic<bool> interrupted = false;

  [[nodiscard]] bool is_last(Stage const& s) const { return s.index + 1 == stages; }
};

// A micro-batch.

/// `is_next`: the other end is the next stage.
char const* message_name(CollectiveOp op, bool is_next) {
  if (op == CollectiveOp::kSend) return is_next ? "send.activations" : "send.gradients";
  return is_next ? "receive.gradients" : "receive.activations";
}

/// A message from or to the stage next to `s`.
void exchange(Job& job, Stage& s, CollectiveOp op, int64_t peer, float* data, int64_t floats) {
  s.device->collective(
      message_name(op, peer > s.index), job.communicator,
      {op, data, data, static_cast<size_t>(job.samples * floats), static_cast<uint32_t>(peer)});
}

float* input_of(Job const& job, Stage& s, int64_t micro_batch) {
  if (s.index > 0)
    return s.slots[static_cast<size_t>(micro_batch) % s.slots.size()].values.front().floats();
  return s.images.floats() + micro_batch * job.samples * s.descriptions.front().inputs;
}

void forward(Job& job, Stage& s, int64_t micro_batch) {
  Device& device = *s.device;
  size_t const at = static_cast<size_t>(micro_batch) % s.slots.size();
  Slot& slot = s.slots[at];

  if (s.index > 0) {
    if (slot.free) device.wait(StreamKind::kCommunication, slot.free);
    exchange(job, s, CollectiveOp::kReceive, s.index - 1, input_of(job, s, micro_batch),
             s.descriptions.front().inputs);
    device.wait(StreamKind::kCompute, device.record(StreamKind::kCommunication));
  }

  Event const begin = device.record(StreamKind::kCompute);
  for (size_t i = 0; i < s.layers.size(); ++i) {
    s.layers[i]->forward(at, i == 0 ? input_of(job, s, micro_batch) : slot.values[i].floats(),
                         slot.values[i + 1].floats());
  }

  Event const end = device.record(StreamKind::kCompute);
  s.passes.emplace_back(begin, end);
  if (job.is_last(s)) return;

  // The output stays as it is until its gradient has come back, so that the next micro-batch of
  // this slot finds it sent.
  device.wait(StreamKind::kCommunication, end);
  exchange(job, s, CollectiveOp::kSend, s.index + 1, slot.values.back().floats(),
           s.descriptions.back().outputs);
}

void loss_and_gradient(Job& job, Stage& s, Slot const& slot, int64_t micro_batch) {
  softmax_cross_entropy(*s.device,
                        {job.samples, s.descriptions.back().outputs, slot.values.back().floats(),
                         s.labels.ints() + micro_batch * job.samples, s.d_values.back().floats(),
                         s.row_results.floats(), s.results.floats() + 2 * micro_batch});
}

void backward(Job& job, Stage& s, int64_t micro_batch) {
  Device& device = *s.device;
  size_t const at = static_cast<size_t>(micro_batch) % s.slots.size();
  Slot& slot = s.slots[at];

  if (!job.is_last(s)) {
    if (s.d_output_read) device.wait(StreamKind::kCommunication, s.d_output_read);
    exchange(job, s, CollectiveOp::kReceive, s.index + 1, s.d_values.back().floats(),
             s.descriptions.back().outputs);
    device.wait(StreamKind::kCompute, device.record(StreamKind::kCommunication));
  }
  if (s.d_input_sent) device.wait(StreamKind::kCompute, s.d_input_sent);

  Event const begin = device.record(StreamKind::kCompute);

  s.gradients_sum->begin(micro_batch);
  if (job.is_last(s)) loss_and_gradient(job, s, slot, micro_batch);
  for (size_t i = s.layers.size(); i-- > 0;) {
    s.layers[i]->backward(at, i == 0 ? input_of(job, s, micro_batch) : slot.values[i].floats(),
                          slot.values[i + 1].floats(), s.d_values[i + 1].floats(),
                          s.d_values[i].floats());
  }

  s.gradients_sum->finish();
  Event const end = device.record(StreamKind::kCompute);
  s.passes.emplace_back(begin, end);
  slot.free = s.d_output_read = end;

  if (s.index == 0) return;
  device.wait(StreamKind::kCommunication, end);
  exchange(job, s, CollectiveOp::kSend, s.index - 1, s.d_values.front().floats(),
           s.descriptions.front().inputs);
  s.d_input_sent = device.record(StreamKind::kCommunication);
}

// A step.

/// Copies inputs or labels of batch `number`: the next `batch` samples of the data set, which
/// begins anew at its end.
void copy_in(Job const& job, Stage& s, int64_t number, char const* name, Buffer& to,
             std::vector<std::byte> const& from, int64_t size) {
  if (to.bytes() == 0) return;

  size_t const sample_bytes = from.size() / static_cast<size_t>(size);
  auto* const target = static_cast<std::byte*>(to.data());

  for (int64_t done = 0; done < job.options.batch;) {
    int64_t const first = (number * job.options.batch + done) % size;
    int64_t const count = std::min(job.options.batch - done, size - first);
    s.device->copy(StreamKind::kCopy, name, target + static_cast<size_t>(done) * sample_bytes,
                   from.data() + static_cast<size_t>(first) * sample_bytes,
                   static_cast<size_t>(count) * sample_bytes, CopyDirection::kHostToDevice);
    done += count;
  }
}

void copy_batch(Job const& job, Stage& s, int64_t number, PreparedSamples const& samples) {
  copy_in(job, s, number, "h2d.images", s.images, samples.inputs, samples.size);
  copy_in(job, s, number, "h2d.labels", s.labels, samples.labels, samples.size);
  s.device->wait(StreamKind::kCompute, s.device->record(StreamKind::kCopy));
}

/// Enqueued by the last stage: loss and number of correct answers of each micro-batch.
void copy_results(Stage& s, std::vector<float>& results) {
  results.resize(s.results.bytes() / sizeof(float));
  s.device->copy(StreamKind::kCompute, "d2h.loss", results.data(), s.results.data(),
                 s.results.bytes(), CopyDirection::kDeviceToHost);
}

/// One training step of one stage, launched and finished. Returns the event that ends it.
Event train_step(Job& job, Stage& s, int64_t step, std::vector<float>& results) {
  Device& device = *s.device;
  s.passes.clear();
  copy_batch(job, s, step, job.train);

  for (PipelineOp const& op :
       stage_ops(job.schedule, s.index, job.stages, job.options.micro_batches)) {
    api::Phase const phase(op.forward ? "forward" : "backward");
    api::Work const work(fmt::format("micro-batch {}", op.micro_batch).c_str());
    op.forward ? forward(job, s, op.micro_batch) : backward(job, s, op.micro_batch);
  }

  {
    api::Phase const phase("optimizer");
    for (Parameter const& parameter : s.layout.parameters) {
      UpdateSlice const whole = {s.weights.floats() + parameter.offset,
                                 s.gradients.floats() + parameter.offset, nullptr, 0,
                                 parameter.count};
      update_parameter(device, {}, parameter, whole, job.rate, step);
    }
  }

  if (job.is_last(s)) copy_results(s, results);
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

// The training loop of one stage.

/// Ends the training where the device has failed: what is read from it then means nothing. False
/// when it has.
bool check_device(Job& job, Stage const& s) {
  auto const good = s.device->failure();
  if (!good) job.gate.stop("split: " + good.error().message);
  return good.has_value();
}

/// Whether the weights are worth more than the checkpoint before. Ends the training where they are
/// not finite.
bool may_be_saved(Job& job, int64_t next_step) {
  if (job.gate.error()) return false;
  if (job.options.allow_nan || std::all_of(job.weights.begin(), job.weights.end(),
                                           [](float v) { return std::isfinite(v); })) {
    return true;
  }
  job.gate.stop(fmt::format(
      "split: the weights are not finite after step {}, no checkpoint is written", next_step - 1));
  return false;
}

/// All devices bring their weights together, and the first one saves them.
void save(Job& job, Stage& s, int64_t next_step) {
  if (job.options.checkpoint.empty()) return;
  api::Phase const phase("checkpoint");

  {
    std::lock_guard const lock(job.mutex);
    copy_weights(s, job.whole, job.weights, CopyDirection::kDeviceToHost);
  }

  check_device(job, s);
  job.together.arrive_and_wait();

  if (s.device->index() == 0 && may_be_saved(job, next_step)) {
    Checkpoint const checkpoint{job.whole.model, next_step, job.options.batch, job.options.seed,
                                job.weights};
    if (auto saved = save_checkpoint(job.options.checkpoint, checkpoint); !saved)
      job.gate.stop(saved.error().message);
  }

  job.together.arrive_and_wait();  // no stage changes the weights meanwhile
}

void train(Job& job, Stage& s) {
  name_this_thread("stage " + s.device->name());

  std::vector<float> results;
  int64_t step = job.first_step;
  for (; step < job.options.steps && job.gate.may_start(step); ++step) {
    int64_t elapsed_ns = 0;
    {
      // Timed section: one step.
      api::Step const annotation(step);
      auto const begin = std::chrono::steady_clock::now().time_since_epoch();
      elapsed_ns = train_step(job, s, step, results)->reached_ns() - begin.count();
      // End of the timed section.
    }

    bool const works = check_device(job, s);
    s.times.push_back(measure(s.passes));
    // The log shows the mean over the devices; only the last stage has a loss.
    double const loss = job.is_last(s) ? mean_loss(results) : 0.0;
    double const for_log = loss * static_cast<double>(job.stages);
    if (works) job.log.report(s.device->index(), step, {&for_log, 1}, elapsed_ns);
    if (!std::isfinite(loss) && !job.options.allow_nan) {
      job.gate.stop(not_finite("split", "the loss", loss, step, s.device->name()));
    }

    if (InterruptGuard::interrupted()) {
      job.interrupted = true;
      job.gate.stop(std::nullopt);
    }

    int64_t const every = job.options.checkpoint_every;
    if (every > 0 && (step + 1) % every == 0 && step + 1 < job.options.steps)
      save(job, s, step + 1);
  }

  s.device->synchronize();
  job.together.arrive_and_wait();  // from here on all devices see the same error, if any
  if (!job.gate.error()) save(job, s, step);
}

// Evaluation.

/// The test set through the pipeline, forward only.
void evaluate(Job& job, Stage& s) {
  api::Phase const phase("evaluate");
  Device& device = *s.device;
  std::vector<float> results;

  for (int64_t number = 0; number * job.options.batch < job.test.size; ++number) {
    copy_batch(job, s, number, job.test);
    for (int64_t micro_batch = 0; micro_batch < job.options.micro_batches; ++micro_batch) {
      Slot& slot = s.slots[static_cast<size_t>(micro_batch) % s.slots.size()];
      // No gradient comes back to say that the slot's output has been sent.
      if (slot.free) device.wait(StreamKind::kCompute, slot.free);
      forward(job, s, micro_batch);
      if (job.is_last(s)) loss_and_gradient(job, s, slot, micro_batch);
      slot.free = device.record(job.is_last(s) ? StreamKind::kCompute : StreamKind::kCommunication);
    }

    if (job.is_last(s)) copy_results(s, results);
    device.synchronize();

    // Devices that all have the whole network all find the same.
    if (!job.is_last(s) || (job.stages == 1 && device.index() > 0)) continue;
    for (size_t i = 1; i < results.size(); i += 2) job.correct += std::lround(results[i]);
  }
}

// The whole job.

double bubble_of(std::vector<std::unique_ptr<Stage>> const& stages, size_t step) {
  int64_t begin = std::numeric_limits<int64_t>::max();
  int64_t end = std::numeric_limits<int64_t>::min();
  int64_t busy = 0;

  for (auto const& s : stages) {
    begin = std::min(begin, s->times[step].begin_ns);
    end = std::max(end, s->times[step].end_ns);
    busy += s->times[step].busy_ns;
  }

  return 1.0 - static_cast<double>(busy) /
                   (static_cast<double>(stages.size()) * static_cast<double>(end - begin));
}

SplitResult collect(Job& job, std::vector<std::unique_ptr<Stage>> const& stages,
                    int64_t test_size) {
  SplitResult result;

  result.first_step = job.first_step;
  result.tensor = job.options.tensor;
  for (size_t stage = 0; stage < static_cast<size_t>(job.stages); ++stage) {
    for (LayerDescription const& layer : stages[stage]->descriptions) {
      result.layers.push_back(layer.name);
      result.layer_cuts.push_back(layer.part.cut);
    }
  }

  result.loss = job.log.losses(0);
  for (size_t step = 0; step < result.loss.size(); ++step) {
    result.bubble.push_back(bubble_of(stages, step));
    int64_t slowest = 0;
    for (auto const& times : job.log.step_ns()) slowest = std::max(slowest, times[step]);
    result.step_ns.push_back(slowest);
  }
  result.ideal_bubble = ideal_bubble(job.stages, job.options.micro_batches);

  for (auto& s : stages) {
    copy_weights(*s, job.whole, job.weights, CopyDirection::kDeviceToHost);
    result.weight_bytes.push_back(s->weights.bytes());
    uint64_t held = 0;
    for (Slot const& slot : s->slots) {
      for (Buffer const& value : slot.values) held += value.bytes();
    }
    result.activation_bytes.push_back(held);
    std::vector<int64_t>& busy = result.busy_ns.emplace_back();
    for (size_t step = 0; step < result.loss.size(); ++step) busy.push_back(s->times[step].busy_ns);
  }

  result.weights = std::move(job.weights);
  bool const on_host = stages.front()->device->name().starts_with("host");
  result.cores_short = on_host && stages.size() > static_cast<size_t>(host::available_cores());

  if (test_size > 0 && !job.gate.stopped()) {
    result.test_accuracy = static_cast<double>(job.correct) / static_cast<double>(test_size);
  }

  result.interrupted = job.interrupted;
  result.failure = job.gate.error();
  return result;
}

/// Evenly, but for a pathology that gives the first stage more.
base::Expected<std::vector<size_t>> cut_network(LayeredNetwork const& network, size_t stages,
                                                SplitOptions const& o) {
  std::vector<double> costs;
  for (LayerDescription const& layer : network.layers) costs.push_back(layer.cost);
  std::vector<double> shares(stages, 1.0);
  constexpr double kSmallestShare = 1e-3;  // cut_layers() divides by it
  for (FaultInjection const& fault_injection : o.pathologies)
    shares.front() = std::max(kSmallestShare, fault_injection.value);
  return cut_layers(costs, shares);
}

base::Expected<void> check(SplitOptions const& o) {
  if (o.micro_batches < 1 || o.batch % o.micro_batches != 0) {
    return base::fail(
        "--batch {} cannot be divided into {} equal micro-batches, change --batch or "
        "--micro-batches",
        o.batch, o.micro_batches);
  }

  if (o.checkpoint_every > 0 && o.checkpoint.empty())
    return base::fail("--checkpoint-every needs --checkpoint FILE");

  if (o.tensor && !o.pathologies.empty()) {
    return base::fail("--pathology {}: with --tensor there are no stages, leave one of them out",
                      o.pathologies.front().text());
  }

  return {};
}

/// What device `rank` works on: the network, or its part of it.
base::Expected<LayeredNetwork> network_of(SplitOptions const& o, LayeredNetwork const& network,
                                          DeviceGroup const& group, int64_t rank) {
  if (!o.tensor) return network;
  return tensor_part(network, *group.communicator, static_cast<int64_t>(group.devices.size()),
                     rank);
}

using Stages = std::vector<std::unique_ptr<Stage>>;

/// One a device. `cut`: into the stages of the pipeline.
base::Expected<Stages> make_stages(SplitOptions const& o, LayeredNetwork const& network,
                                   PipelineSchedule schedule, DeviceGroup const& group,
                                   std::vector<size_t> const& cut) {
  auto const in_pipeline = static_cast<int64_t>(cut.size()) - 1;
  Stages stages;

  for (auto const& device : group.devices) {
    auto const rank = static_cast<int64_t>(stages.size());
    auto const part = network_of(o, network, group, rank);
    if (!part) return base::fail("split over {}: {}", o.device, part.error().message);
    auto stage = make_stage({o, *part, schedule, in_pipeline, o.batch / o.micro_batches}, *device,
                            cut, rank % in_pipeline);
    if (!stage) return base::fail_with(stage);
    stages.push_back(std::move(*stage));
  }
  return stages;
}

base::Expected<Checkpoint> starting_point(SplitOptions const& o, ParameterLayout const& whole) {
  Checkpoint fresh{whole.model, 0, o.batch, o.seed, initial_weights(whole, o.seed)};
  if (o.resume.empty()) return fresh;
  return resume_checkpoint(o.resume, fresh, o.steps, "image");
}

void run_threads(Job& job, std::vector<std::unique_ptr<Stage>> const& stages) {
  std::vector<std::thread> threads;
  threads.reserve(stages.size());

  for (auto const& stage : stages) {
    threads.emplace_back([&job, &s = *stage] {
      train(job, s);
      if (!job.gate.stopped()) evaluate(job, s);
      check_device(job, s);
    });
  }

  for (std::thread& thread : threads) thread.join();
}

void report_plan(std::FILE* log, SplitOptions const& o, std::string const& network) {
  fmt::print(log, "split on {}: {}, {} images a step in {} micro-batches, {}\n", o.device, network,
             o.batch, o.micro_batches,
             o.tensor ? "fully connected layers cut over the devices" : o.schedule);
}

}  // namespace

base::Expected<SplitResult> train_split(SplitOptions const& o, LayeredNetwork const& network,
                                        CifarDataSet const& data, std::FILE* log) {
  InterruptGuard const interrupts;
  auto const schedule = parse_schedule(o.schedule);
  if (!schedule) return base::fail_with(schedule);
  if (auto good = check(o); !good) return base::fail_with(good);

  auto group = open_devices(o.device, {.memory_limit_bytes = o.memory_limit_mib << 20U,
                                       .precision = o.precision,
                                       .log_placement = o.log_placement,
                                       .soft_placement = o.soft_placement});
  if (!group) return base::fail_with(group);

  auto const devices = static_cast<int64_t>(group->devices.size());
  int64_t const stages_count = o.tensor ? 1 : devices;
  auto const cut = cut_network(network, static_cast<size_t>(stages_count), o);
  if (!cut) return base::fail("split over {}: {}", o.device, cut.error().message);

  record_pathologies(o.pathologies);
  ParameterLayout const whole = lay_out(network.layers, network.name);
  auto start = starting_point(o, whole);
  if (!start) return base::fail_with(start);

  auto const stages = make_stages(o, network, *schedule, *group, *cut);
  if (!stages) return base::fail_with(stages);
  for (auto const& stage : *stages)
    copy_weights(*stage, whole, start->weights, CopyDirection::kHostToDevice);

  int64_t const inputs = network.layers.front().inputs;
  auto const images = static_cast<int64_t>(data.train.size());
  auto const test_images = o.evaluate ? static_cast<int64_t>(data.test.size()) : 0;
  // As many as the training sees.
  PreparedSamples const train =
      prepare_samples(data.train, std::min(images, o.batch * o.steps), inputs, 1);
  PreparedSamples const test = prepare_samples(data.test, test_images, inputs, o.batch);

  if (log != nullptr) report_plan(log, o, network.name);

  Job job{o,
          *schedule,
          *group->communicator,
          stages_count,
          o.batch / o.micro_batches,
          start->step,
          o.learning_rate > 0 ? static_cast<float>(o.learning_rate) : network.learning_rate,
          train,
          test,
          whole,
          StepLog({start->step, devices, o.batch, "images", {"loss"}, o.log_every, log}),
          std::barrier<>(devices),
          {},
          std::move(start->weights)};

  run_threads(job, *stages);
  SplitResult result = collect(job, *stages, test_images);
  result.cut = *cut;
  return result;
}

}  // namespace stepscope::workloads
