// The data-parallel training job, from top to bottom: one device's state, its input, a training step, the device's training loop,
// evaluation, the whole job. See data_parallel.h.
#include "workloads/data_parallel.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

#include "trace/base/check.h"
#include "trace/base/format.h"
#include "tracer/api/annotate.h"
#include "workloads/checkpoint.h"
#include "workloads/data/input_pipeline.h"
#include "workloads/processes/agreement.h"
#include "workloads/processes/merge.h"
#include "workloads/processes/processes.h"
#include "workloads/thread_name.h"

namespace stepscope::workloads {
namespace {

// ---- One device's state
// --------------------------------------------------------------------------------------------------------

/// A turn of a step: who is trained in it.
struct WorkerTurn {
  Replica* replica;
  GradientReducer reducer;
  std::vector<std::array<float, 2>> host_results;  ///< loss and correct of a step's batches

  [[nodiscard]] double loss() const {
    double sum = 0;
    for (auto const& result_of_batch : host_results) sum += static_cast<double>(result_of_batch[0]);
    return sum / static_cast<double>(host_results.size());
  }
};

struct Worker {
  Device* device = nullptr;
  Buffer weights, gradients, accumulated, optimizer_state, result;
  std::vector<InputBuffers> inputs;  ///< batch b is in inputs[b % size]
  std::unique_ptr<Replica> replica;
  std::vector<WorkerTurn> turns;
  std::optional<StepFaultInjector> faults;

  [[nodiscard]] std::vector<double> losses() const {
    std::vector<double> of_turns;
    for (WorkerTurn const& turn : turns) of_turns.push_back(turn.loss());
    return of_turns;
  }
};

/// What is trained in a turn, and how its gradients are reduced.
struct JobTurn {
  ParameterRange parameters;
  std::vector<Bucket> buckets;
};

/// What all host threads share.
struct Job {
  TrainOptions const& options;
  Network const& network;
  std::vector<JobTurn> const& turns;
  int64_t devices;       ///< of all processes
  int64_t first_device;  ///< of this one
  int64_t first_step;
  Processes* processes;  ///< null = this one alone
  InputPipeline& pipeline;
  StopGate gate;
  StepLog log;
  ReplicaCheck replicas;
  std::atomic<int64_t> correct = 0;
  std::atomic<bool> interrupted = false;

  [[nodiscard]] int64_t samples_per_step() const { return devices * options.batch * options.accumulate; }
  [[nodiscard]] int64_t device_number(Worker const& w) const { return first_device + w.device->index(); }
};

std::vector<JobTurn> make_turns(Network const& network, double bucket_mb) {
  std::vector<ParameterRange> ranges = network.turns;
  if (ranges.empty()) ranges.push_back({0, network.layout.parameters.size() - 1, ""});
  std::vector<JobTurn> turns;
  for (ParameterRange const& range : ranges) turns.push_back({range, make_buckets(network.layout, range, bucket_mb)});
  return turns;
}

size_t state_floats(Network const& network) { return network.layout.floats * static_cast<size_t>(network.optimizer.states()); }

base::Expected<void> make_memory(Worker& w, Network const& network, TrainOptions const& o) {
  std::optional<base::Error> error;
  auto const allocate = [&](Buffer& buffer, size_t bytes, MemoryPurpose purpose, std::string_view owner) {
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
  if (o.accumulate > 1) allocate(w.accumulated, floats, MemoryPurpose::kGradients, "gradients.accumulated");
  allocate(w.optimizer_state, state_floats(network) * sizeof(float), MemoryPurpose::kOptimizer, "optimizer");
  allocate(w.result, 2 * sizeof(float), MemoryPurpose::kOther, "loss");
  // Later turns use the samples of the first: all batches of a step stay until its end.
  int64_t const in_use = network.turns.size() > 1 ? o.accumulate : 1;
  w.inputs.resize(static_cast<size_t>(o.prefetch + in_use));
  auto const batch = static_cast<size_t>(o.batch);
  for (InputBuffers& input : w.inputs) {
    allocate(input.inputs, batch * network.train->input_bytes(), MemoryPurpose::kInput, network.sample + "s");
    allocate(input.labels, batch * network.train->label_bytes(), MemoryPurpose::kInput, network.label + "s");
  }
  if (error) return tl::unexpected(*error);
  return {};
}

base::Expected<std::unique_ptr<Worker>> make_worker(Device& device, Communicator* communicator, std::vector<JobTurn> const& turns,
                                                    Network const& network, TrainOptions const& o,
                                                    std::vector<float> const& state) {
  auto w = std::make_unique<Worker>();
  w->device = &device;
  if (auto made = make_memory(*w, network, o); !made) return base::fail_with(made);
  auto replica =
      network.make_replica({&device, &network.layout, o.batch, w->weights.floats(), w->gradients.floats(), w->result.floats()});
  if (!replica) return base::fail_with(replica);
  w->replica = std::move(*replica);
  for (JobTurn const& turn : turns) {
    GradientReducer reducer(device, communicator, turn.buckets, w->gradients.floats(), w->accumulated.floats(),
                            {o.overlap, o.accumulate});
    w->turns.push_back({&w->replica->in_turn(w->turns.size()), std::move(reducer),
                        std::vector<std::array<float, 2>>(static_cast<size_t>(o.accumulate))});
  }
  device.copy(StreamKind::kCopy, "h2d.weights", w->weights.data(), state.data(), w->weights.bytes(),
              CopyDirection::kHostToDevice);
  if (state_floats(network) > 0) {
    device.copy(StreamKind::kCopy, "h2d.optimizer", w->optimizer_state.data(), state.data() + network.layout.floats,
                w->optimizer_state.bytes(), CopyDirection::kHostToDevice);
  }
  device.synchronize(device.record(StreamKind::kCopy));
  return w;
}

// ---- Input
// ---------------------------------------------------------------------------------------------------------------------

void copy_in(Device& device, StreamKind stream, InputBuffers& input, Network const& network, std::byte const* inputs,
             std::byte const* labels) {
  char const* const name = network.sample == "image" ? "h2d.images" : "h2d.inputs";
  char const* const label_name = network.label == "label" ? "h2d.labels" : "h2d.noise";
  device.copy(stream, name, input.inputs.data(), inputs, input.inputs.bytes(), CopyDirection::kHostToDevice);
  if (input.labels.bytes() > 0) {
    device.copy(stream, label_name, input.labels.data(), labels, input.labels.bytes(), CopyDirection::kHostToDevice);
  }
}

/// Takes batch `batch` from the loader and copies it to the device.
void stage_input(Job& job, Worker& w, int64_t batch) {
  if (batch >= job.options.steps * job.options.accumulate) return;
  InputBuffers& input = w.inputs[static_cast<size_t>(batch) % w.inputs.size()];
  HostBatch host = {};
  {
    api::InputWait const wait;
    host = job.pipeline.next(w.device->index());
  }
  if (input.consumed) w.device->wait(StreamKind::kCopy, input.consumed);
  copy_in(*w.device, StreamKind::kCopy, input, job.network, host.inputs, host.labels);
  input.ready = w.device->record(StreamKind::kCopy);
}

// ---- A training step
// -----------------------------------------------------------------------------------------------------------

/// Enqueues one batch: input, forward, backward.
void run_batch(Job& job, Worker& w, size_t t, int64_t step, int64_t number) {
  Device& device = *w.device;
  WorkerTurn& turn = w.turns[t];
  int64_t const batch = step * job.options.accumulate + number;
  if (t == 0) {
    api::Phase const phase("input");
    stage_input(job, w, batch + job.options.prefetch);
  }
  InputBuffers& input = w.inputs[static_cast<size_t>(batch) % w.inputs.size()];
  {
    api::Phase const phase("forward");
    device.wait(StreamKind::kCompute, input.ready);
    turn.replica->forward(input);
    auto& result = turn.host_results[static_cast<size_t>(number)];
    device.copy(StreamKind::kCompute, "d2h.loss", result.data(), w.result.data(), sizeof result, CopyDirection::kDeviceToHost);
  }
  {
    api::Phase const phase("backward");
    turn.reducer.begin(number);
    turn.replica->backward(input, turn.reducer);
    turn.reducer.finish();
  }
  input.consumed = device.record(StreamKind::kCompute);
}

void update(Job& job, Worker& w, size_t t, int64_t step) {
  auto const rate = static_cast<float>(job.network.learning_rate(step, step * job.samples_per_step()));
  ParameterLayout const& layout = job.network.layout;
  std::vector<Bucket> const& buckets = job.turns[t].buckets;
  for (size_t b = 0; b < buckets.size(); ++b) {
    w.turns[t].reducer.await(b);
    for (size_t id = buckets[b].first; id <= buckets[b].last; ++id) {
      update_parameter(*w.device, job.network.optimizer, layout.parameters[id], w.weights.floats(), w.gradients.floats(),
                       w.optimizer_state.floats(), layout.floats, rate, step);
    }
  }
}

/// One training step, launched and finished. The host waits for the device at its end: the step's host range and the device's
/// work then span the same time, and a step's loss is known within it. Returns the event that ends it.
Event train_step(Job& job, Worker& w, int64_t step) {
  for (size_t t = 0; t < w.turns.size(); ++t) {
    std::optional<api::Phase> turn;
    if (w.turns.size() > 1) turn.emplace(job.turns[t].parameters.name.c_str());
    for (int64_t number = 0; number < job.options.accumulate; ++number) run_batch(job, w, t, step, number);
    api::Phase const phase("optimizer");
    update(job, w, t, step);
  }
  Event const end = w.device->record(StreamKind::kCompute);
  w.device->synchronize(end);
  return end;
}

// ---- The training loop of one device
// -------------------------------------------------------------------------------------------

/// Weights, and the optimizer's state behind them.
std::vector<float> download_state(Job const& job, Worker& w, char const* name) {
  std::vector<float> state(job.network.layout.floats + state_floats(job.network));
  w.device->copy(StreamKind::kCopy, name, state.data(), w.weights.data(), w.weights.bytes(), CopyDirection::kDeviceToHost);
  if (w.optimizer_state.bytes() > 0) {
    w.device->copy(StreamKind::kCopy, "d2h.optimizer", state.data() + job.network.layout.floats, w.optimizer_state.data(),
                   w.optimizer_state.bytes(), CopyDirection::kDeviceToHost);
  }
  w.device->synchronize(w.device->record(StreamKind::kCopy));
  return state;
}

/// The first device saves; all have the same weights.
void save(Job& job, Worker& w, int64_t next_step) {
  int64_t const stall_ms = job.options.step_faults.checkpoint_stall_ms;
  if ((job.options.checkpoint.empty() && stall_ms == 0) || job.device_number(w) != 0) return;
  api::Phase const phase("checkpoint");
  if (stall_ms > 0) {
    api::Work const slow("slow store");
    std::this_thread::sleep_for(std::chrono::milliseconds(stall_ms));
    if (job.options.checkpoint.empty()) return;
  }
  Checkpoint const checkpoint{job.network.layout.model, next_step, job.samples_per_step(), job.options.seed,
                              download_state(job, w, "d2h.checkpoint")};
  // Another device may have met a NaN in this very step: its gradients are in these weights.
  if (!job.options.allow_nan &&
      !std::all_of(checkpoint.weights.begin(), checkpoint.weights.end(), [](float v) { return std::isfinite(v); })) {
    return job.gate.stop(fmt::format("{}: the weights are not finite after step {}, no checkpoint is written",
                                     job.network.workload, next_step - 1));
  }
  if (auto saved = save_checkpoint(job.options.checkpoint, checkpoint); !saved) job.gate.stop(saved.error().message);
}

/// All replicas must have bit-identical weights: they began with the same and were updated with the same gradients.
void check_replica(Job& job, Worker& w, int64_t step) {
  int64_t const every = job.options.check_replicas;
  if (job.devices == 1 || every == 0 || (step + 1) % every != 0) return;
  api::Phase const phase("check replicas");
  std::vector<float> const state = download_state(job, w, "d2h.check");
  auto const weights = std::span(state).first(job.network.layout.floats);
  if (auto different = job.replicas.report(w.device->index(), step, weights)) {
    job.gate.stop(fmt::format("{}: {}", job.network.workload, *different));
  }
}

/// Reports the step; ends the training where a loss is not a finite number.
void check_losses(Job& job, Worker& w, int64_t step, int64_t elapsed_ns) {
  std::vector<double> const losses = w.losses();
  job.log.report(w.device->index(), step, losses, elapsed_ns);
  for (size_t t = 0; t < losses.size(); ++t) {
    if (std::isfinite(losses[t]) || job.options.allow_nan) continue;
    std::string const& name = job.turns[t].parameters.name;
    std::string const what = name.empty() ? "the loss" : "the " + name + "'s loss";
    job.gate.stop(not_finite(job.network.workload, what, losses[t], step, w.device->name()));
  }
}

void train(Job& job, Worker& w) {
  name_this_thread("train " + w.device->name());
  TrainOptions const& o = job.options;
  int64_t step = job.first_step;
  for (int64_t ahead = 0; ahead < o.prefetch; ++ahead) stage_input(job, w, step * o.accumulate + ahead);
  for (; step < o.steps && job.gate.may_start(step); ++step) {
    int64_t elapsed_ns = 0;
    {
      // ==== timed section: one step ====
      api::Step const annotation(step);
      auto const begin = std::chrono::steady_clock::now().time_since_epoch();
      if (auto done = w.faults->begin_step(step); !done) job.gate.stop(done.error().message);
      // Until the device is done, not until the host is told: on a busy machine that comes milliseconds later.
      elapsed_ns = train_step(job, w, step)->reached_ns() - begin.count();
      w.faults->end_step();
      // ==== end of the timed section ====
    }
    for (int64_t batch = 0; batch < o.accumulate; ++batch) job.pipeline.release(w.device->index());
    if (job.processes != nullptr) {
      if (auto gone = job.processes->failure()) job.gate.stop(fmt::format("{}: step {}: {}", job.network.workload, step, *gone));
    }
    check_losses(job, w, step, elapsed_ns);
    check_replica(job, w, step);
    if (InterruptGuard::interrupted()) {
      job.interrupted = true;
      job.gate.stop(std::nullopt);
    }
    if (o.checkpoint_every > 0 && (step + 1) % o.checkpoint_every == 0 && step + 1 < o.steps) save(job, w, step + 1);
  }
  if (!job.gate.error()) save(job, w, step);
  if (!job.gate.error() && job.network.at_end && job.device_number(w) == 0) job.network.at_end(*w.replica);
}

// ---- Evaluation
// ----------------------------------------------------------------------------------------------------------------

/// Device d takes test batches d, d + devices, …; the last batch is filled up with samples that do not count.
void evaluate(Job& job, Worker& w) {
  api::Phase const phase("evaluate");
  Samples const& test = *job.network.test;
  auto const batch = static_cast<size_t>(job.options.batch);
  std::vector<std::byte> inputs(batch * test.input_bytes()), labels(batch * test.label_bytes());
  InputBuffers& input = w.inputs.front();
  auto const stride = batch * static_cast<size_t>(job.devices);
  for (size_t first = static_cast<size_t>(job.device_number(w)) * batch; first < test.size(); first += stride) {
    for (size_t i = 0; i < batch; ++i) {
      std::byte* const label = labels.data() + i * test.label_bytes();
      if (first + i < test.size()) {
        test.prepare(first + i, Random(0), inputs.data() + i * test.input_bytes(), label);
      } else {
        std::memset(label, 0xFF, test.label_bytes());  // int32 −1
      }
    }
    copy_in(*w.device, StreamKind::kCompute, input, job.network, inputs.data(), labels.data());
    w.replica->forward(input);
    std::array<float, 2> result = {};
    w.device->copy(StreamKind::kCompute, "d2h.loss", result.data(), w.result.data(), sizeof result, CopyDirection::kDeviceToHost);
    w.device->synchronize(w.device->record(StreamKind::kCompute));
    job.correct += std::lround(result[1]);
  }
}

// ---- The whole job
// -------------------------------------------------------------------------------------------------------------

/// Said before the weights are made on the host, which no memory limit holds back.
base::Expected<void> check_size(Device const& device, Network const& network) {
  uint64_t const needed = (2 * network.layout.floats + state_floats(network)) * sizeof(float);
  uint64_t const capacity = device.memory().capacity_bytes;
  if (needed <= capacity) return {};
  return base::fail(
      "{}: out of memory: weights, gradients and optimizer take {} of {}; make the network smaller or raise --memory-limit",
      device.name(), base::format_bytes(needed), base::format_bytes(capacity));
}

base::Expected<Checkpoint> starting_point(TrainOptions const& o, Network const& network, int64_t global_batch) {
  ParameterLayout const& layout = network.layout;
  size_t const floats = layout.floats + state_floats(network);
  if (o.resume.empty()) {
    Checkpoint fresh{layout.model, 0, global_batch, o.seed, initial_weights(layout, o.seed)};
    fresh.weights.resize(floats);
    return fresh;
  }
  auto start = load_checkpoint(o.resume, layout.model, floats);
  if (!start) return start;
  if (start->global_batch != global_batch || start->seed != o.seed) {
    return base::fail(
        "{}: was trained with {} {}s a step and --seed {}, not {} and {}: the samples would not go on where they stopped",
        o.resume, start->global_batch, network.sample, start->seed, global_batch, o.seed);
  }
  if (start->step >= o.steps) {
    return base::fail("{}: is already at step {}, give a larger --steps", o.resume, start->step);
  }
  return start;
}

/// What progress lines call them.
std::vector<std::string> loss_names(std::vector<JobTurn> const& turns) {
  std::vector<std::string> names;
  for (JobTurn const& turn : turns) names.push_back(turn.parameters.name.empty() ? "loss" : turn.parameters.name + " loss");
  return names;
}

void on_all(std::vector<std::unique_ptr<Worker>>& workers, std::function<void(Worker&)> const& work) {
  std::vector<std::thread> threads;
  threads.reserve(workers.size());
  for (auto& worker : workers) threads.emplace_back([&work, &w = *worker] { work(w); });
  for (std::thread& thread : threads) thread.join();
}

void run_threads(Job& job, std::vector<std::unique_ptr<Worker>>& workers) {
  std::optional<Agreement> agreement;
  if (job.processes != nullptr) {
    agreement.emplace(*job.processes);
    job.gate.agree_by([&](bool wants_end) {
      auto const checked = job.replicas.latest();
      return agreement->ends({wants_end ? 1 : 0, checked.step, checked.checksum});
    });
  }
  on_all(workers, [&](Worker& w) { train(job, w); });
  if (agreement) {
    for (std::string const& failure : agreement->conclude(job.gate.error())) {
      if (!failure.empty()) job.gate.stop(failure);
    }
    if (auto gone = job.processes->failure()) job.gate.stop(fmt::format("{}: {}", job.network.workload, *gone));
  }
  bool const evaluates = job.options.evaluate && job.network.test != nullptr && !job.gate.stopped();
  on_all(workers, [&](Worker& w) {
    if (evaluates) evaluate(job, w);
    w.device->synchronize();
  });
}

TrainingResult collect(Job& job, std::vector<std::unique_ptr<Worker>>& workers) {
  TrainingResult result;
  if (job.processes != nullptr) {
    result.rank = job.processes->rank();
    result.processes = job.processes->size();
  }
  result.first_step = job.first_step;
  result.step_ns = job.log.step_ns();
  for (size_t t = 0; t < job.turns.size(); ++t) result.losses.push_back({job.turns[t].parameters.name, job.log.losses(t)});
  result.interrupted = job.interrupted;
  result.failure = job.gate.error();
  for (auto& worker : workers) {
    result.weights.push_back(download_state(job, *worker, "d2h.weights"));
    result.weights.back().resize(job.network.layout.floats);
    result.weights_checksums.push_back(ReplicaCheck::checksum(result.weights.back()));
    result.counts = result.counts + worker->device->counts();
    result.memory.push_back(worker->device->memory());
  }
  int64_t correct = job.correct;
  if (job.processes != nullptr) merge_results(*job.processes, result, correct);
  result.loss = result.losses.front().by_step;
  if (job.options.evaluate && job.network.test != nullptr && !job.gate.stopped()) {
    auto const answers = static_cast<int64_t>(job.network.test->size()) * job.network.answers_per_sample;
    result.test_accuracy = static_cast<double>(correct) / static_cast<double>(answers);
  }
  return result;
}

/// What this process trains with.
struct Start {
  Checkpoint point;
  std::vector<std::unique_ptr<Worker>> workers;  ///< one for each of its devices
};

base::Expected<Start> make_start(DeviceGroup& group, std::vector<JobTurn> const& turns, Network const& network,
                                 TrainOptions const& o) {
  if (auto fits = check_size(*group.devices.front(), network); !fits) return base::fail_with(fits);
  if (auto known = check_pathologies(o, group.members); !known) return base::fail_with(known);
  auto point = starting_point(o, network, group.members * o.batch * o.accumulate);
  if (!point) return base::fail_with(point);
  Communicator* const communicator = group.members > 1 ? group.communicator.get() : nullptr;
  Start start;
  for (auto& device : group.devices) {
    auto worker = make_worker(*device, communicator, turns, network, o, point->weights);
    if (!worker) return base::fail_with(worker);
    (*worker)->faults.emplace(*device, o.step_faults, group.first_member);
    start.workers.push_back(std::move(*worker));
  }
  start.point = std::move(*point);
  return start;
}

}  // namespace

base::Expected<TrainingResult> train_data_parallel(TrainOptions const& o, Network const& network, std::FILE* log) {
  InterruptGuard const interrupts;
  auto const joined = Processes::join(std::chrono::seconds(o.collective_timeout_s));
  if (!joined) return base::fail_with(joined);
  Processes* const processes = joined->get();
  bool const is_first = processes == nullptr || processes->rank() == 0;
  if (!is_first) log = nullptr;
  auto group = open_devices(o.device, {o.memory_limit_mib << 20U, o.device_faults, *joined});
  if (!group) return base::fail_with(group);
  std::vector<JobTurn> const turns = make_turns(network, o.bucket_mb);
  auto start = make_start(*group, turns, network, o);
  base::Expected<void> ready;
  if (!start) ready = base::fail_with(start);
  if (processes != nullptr) ready = processes->agree(ready);
  if (!ready) return base::fail_with(ready);
  int64_t const first_step = start->point.step, samples_per_step = group->members * o.batch * o.accumulate;
  if (is_first) record_pathologies(o.pathologies);
  if (log != nullptr) {
    fmt::print(log, "{} on {}{}: {} {}s a device and step, {} to train on, {} to test\n", network.workload, o.device,
               processes == nullptr ? "" : fmt::format(" of {} processes", processes->size()), o.batch * o.accumulate,
               network.sample, network.train->size(), network.test == nullptr ? 0 : network.test->size());
  }
  auto const devices = static_cast<int64_t>(group->devices.size());
  constexpr int64_t kReadAhead = 2;  // batches a device that the loader may be ahead of what is staged
  InputPipeline pipeline(
      *network.train, {devices, o.batch, group->first_member, group->members, first_step * o.accumulate, o.steps * o.accumulate,
                       o.prefetch + o.accumulate + kReadAhead, o.loader_threads, o.seed, o.input_delay_ms});
  Job job{o,
          network,
          turns,
          group->members,
          group->first_member,
          first_step,
          processes,
          pipeline,
          {},
          StepLog({first_step, devices, samples_per_step, network.sample + "s", loss_names(turns), o.log_every, log}),
          ReplicaCheck(devices)};
  run_threads(job, start->workers);
  return collect(job, start->workers);
}

int finish_training(std::string const& workload, TrainOptions const& o, TrainingResult const& result) {
  std::FILE* const log = o.json ? stderr : stdout;
  bool const tells = result.rank == 0;
  if (tells && result.test_accuracy) fmt::print(log, "test accuracy {:.1f} %\n", *result.test_accuracy * 100.0);
  if (tells && o.json) fmt::print("{}\n", summarize(workload, o, result));
  if (result.failure) {
    fmt::print(stderr, "stepscope: {}\n", *result.failure);
    return 1;
  }
  constexpr int kInterrupted = 130;  // 128 + SIGINT, as shells report it
  return result.interrupted ? kInterrupted : 0;
}

}  // namespace stepscope::workloads
