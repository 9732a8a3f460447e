// The data-parallel training job, from top to bottom: what all threads share, a device's input,
// a training step, the device's training loop, evaluation, the whole job. A device's state:
// device_worker.h.
#include "workloads/training/data_parallel.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "mpi/processes.h"
#include "trace/base/check.h"
#include "trace/base/format.h"
#include "tracer/api/annotate.h"
#include "workloads/data/input_pipeline.h"
#include "workloads/data/test_batch.h"
#include "workloads/processes/agreement.h"
#include "workloads/processes/merge.h"
#include "workloads/thread_name.h"
#include "workloads/training/checkpoint.h"
#include "workloads/training/device_worker.h"
#include "workloads/training/training_start.h"

namespace stepscope::workloads {
namespace {

/// What all host threads share.
struct Job {
  TrainOptions const& options;
  Network const& network;  ///< its layout with room for equal parts of buckets
  ParameterLayout const&
      saved;  ///< the layout of checkpoints and results, the same for any number of devices
  std::vector<JobTurn> const& turns;
  int64_t devices;       ///< of all processes
  int64_t first_device;  ///< of this one
  int64_t first_step;
  mpi::Processes* processes;  ///< null = this one alone
  InputPipeline& pipeline;
  StopGate gate;
  StepLog log;
  ReplicaCheck replicas;
  std::atomic<int64_t> correct = 0;
  std::atomic<bool> interrupted = false;

  [[nodiscard]] int64_t samples_per_step() const {
    return devices * options.batch * options.accumulate;
  }
  [[nodiscard]] int64_t device_number(DeviceWorker const& w) const {
    return first_device + w.device->index();
  }
  /// Who is gone, of the other processes.
  [[nodiscard]] std::optional<std::string> lost_process() const {
    return processes == nullptr ? std::nullopt : processes->failure();
  }
};

// Input.

void copy_in(Device& device, StreamKind stream, InputBuffers& input, Network const& network,
             std::byte const* inputs, std::byte const* labels) {
  char const* const name = network.sample == "image" ? "h2d.images" : "h2d.inputs";
  char const* const label_name = network.label == "label" ? "h2d.labels" : "h2d.noise";
  device.copy(stream, name, input.inputs.data(), inputs, input.inputs.bytes(),
              CopyDirection::kHostToDevice);
  if (input.labels.bytes() > 0) {
    device.copy(stream, label_name, input.labels.data(), labels, input.labels.bytes(),
                CopyDirection::kHostToDevice);
  }
}

/// Takes batch `batch` from the loader and copies it to the device.
void stage_input(Job& job, DeviceWorker& w, int64_t batch) {
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

// A training step.

/// Enqueues one batch: input, forward, backward.
void run_batch(Job& job, DeviceWorker& w, size_t t, int64_t step, int64_t number) {
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
    device.copy(StreamKind::kCompute, "d2h.loss", result.data(), w.result.data(), sizeof result,
                CopyDirection::kDeviceToHost);
  }

  {
    api::Phase const phase("backward");
    turn.reducer.begin(number);
    turn.replica->backward(input, turn.reducer);
    turn.reducer.finish();
  }

  input.consumed = device.record(StreamKind::kCompute);
}

/// One training step, launched and finished. The host waits for the device at its end: the step's
/// host range and the device's work then span the same time, and a step's loss is known within it.
/// Returns the event that ends it.
Event train_step(Job& job, DeviceWorker& w, int64_t step) {
  for (size_t t = 0; t < w.turns.size(); ++t) {
    std::optional<api::Phase> turn;
    if (w.turns.size() > 1) turn.emplace(job.turns[t].parameters.name.c_str());
    for (int64_t number = 0; number < job.options.accumulate; ++number)
      run_batch(job, w, t, step, number);

    api::Phase const phase("optimizer");
    w.turns[t].scheme->update(
        static_cast<float>(job.network.learning_rate(step, step * job.samples_per_step())), step);
  }

  Event const end = w.device->record(StreamKind::kCompute);
  w.device->synchronize(end);
  return end;
}

// The training loop of one device.

std::vector<float> download_weights(DeviceWorker& w, char const* name) {
  std::vector<float> weights(w.weights.bytes() / sizeof(float));
  w.device->copy(StreamKind::kCopy, name, weights.data(), w.weights.data(), w.weights.bytes(),
                 CopyDirection::kDeviceToHost);
  w.device->synchronize(w.device->record(StreamKind::kCopy));
  return weights;
}

/// Ends the training where the device has failed: what is read from it then means nothing. False
/// when it has.
bool check_device(Job& job, DeviceWorker const& w, int64_t step) {
  auto const good = w.device->failure();
  if (!good) job.gate.stop(fmt::format("{}: {}", job.network.workload, good.error().message), step);
  return good.has_value();
}

/// The first device saves; all have the same weights, and each may hold a part of the optimizer's
/// state.
void save(Job& job, DeviceWorker& w, int64_t next_step) {
  int64_t const stall_ms = job.options.step_faults.checkpoint_stall_ms;
  if (job.options.checkpoint.empty() && stall_ms == 0) return;

  api::Phase const phase("checkpoint");
  bool const saves = job.device_number(w) == 0;
  if (saves && stall_ms > 0) {
    api::Work const slow("slow store");
    std::this_thread::sleep_for(std::chrono::milliseconds(stall_ms));
  }

  if (job.options.checkpoint.empty()) return;

  ParameterLayout const& layout = job.network.layout;
  std::vector<float> state;
  if (saves) {
    state = download_weights(w, "d2h.checkpoint");
    state.resize(layout.floats * (1 + static_cast<size_t>(job.network.optimizer.states())));
  }

  for (WorkerTurn const& turn : w.turns)
    turn.scheme->download_state(saves ? state.data() + layout.floats : nullptr);
  if (!saves) return;

  check_device(job, w, next_step - 1);
  // What a device or process that is gone should have added is missing in these weights: the
  // checkpoint before is better.
  if (job.gate.error() || job.lost_process()) return;
  Checkpoint const checkpoint{layout.model, next_step, job.samples_per_step(), job.options.seed,
                              rearrange(state, layout, job.saved)};

  // Another device may have met a NaN in this very step: its gradients are in these weights.
  if (!job.options.allow_nan && !std::all_of(checkpoint.weights.begin(), checkpoint.weights.end(),
                                             [](float v) { return std::isfinite(v); })) {
    return job.gate.stop(
        fmt::format("{}: the weights are not finite after step {}, no checkpoint is written",
                    job.network.workload, next_step - 1));
  }

  if (auto saved = save_checkpoint(job.options.checkpoint, checkpoint); !saved)
    job.gate.stop(saved.error().message);
}

/// All replicas must have bit-identical weights: they began with the same and were updated with the
/// same gradients.
void check_replica(Job& job, DeviceWorker& w, int64_t step) {
  if (job.devices == 1 || job.options.check_replicas == 0) return;
  api::Phase const phase("check replicas");
  std::vector<float> const weights = download_weights(w, "d2h.check");
  if (auto different = job.replicas.report(w.device->index(), step, weights)) {
    job.gate.stop(fmt::format("{}: {}", job.network.workload, *different), step);
  }
}

/// Reports the step; ends the training where a loss is not a finite number.
void check_losses(Job& job, DeviceWorker& w, int64_t step, int64_t elapsed_ns) {
  std::vector<double> const losses = w.losses();
  job.log.report(w.device->index(), step, losses, elapsed_ns);

  for (size_t t = 0; t < losses.size(); ++t) {
    if (std::isfinite(losses[t]) || job.options.allow_nan) continue;

    std::string const& name = job.turns[t].parameters.name;
    std::string const what = name.empty() ? "the loss" : "the " + name + "'s loss";
    std::string const rank =
        job.processes == nullptr ? "" : fmt::format("rank {}'s ", job.processes->rank());

    job.gate.stop(not_finite(job.network.workload, what, losses[t], step, rank + w.device->name()),
                  step);
  }
}

void train(Job& job, DeviceWorker& w) {
  TrainOptions const& o = job.options;
  int64_t step = job.first_step;

  auto const is_due = [&](int64_t done) {
    return o.check_replicas > 0 && (done + 1) % o.check_replicas == 0;
  };

  for (int64_t ahead = 0; ahead < o.prefetch; ++ahead)
    stage_input(job, w, step * o.accumulate + ahead);

  for (; step < o.steps && job.gate.may_start(step); ++step) {
    int64_t elapsed_ns = 0;
    {
      // Timed section: one step.
      api::Step const annotation(step);
      auto const begin = std::chrono::steady_clock::now().time_since_epoch();
      if (auto done = w.faults->begin_step(step); !done) job.gate.stop(done.error().message, step);
      // Until the device is done, not until the host notices: on a busy machine that comes
      // milliseconds later.
      elapsed_ns = train_step(job, w, step)->reached_ns() - begin.count();
      w.faults->end_step();
      // End of the timed section.
    }

    for (int64_t batch = 0; batch < o.accumulate; ++batch) job.pipeline.release(w.device->index());
    bool const works = check_device(job, w, step);
    if (auto gone = job.lost_process())
      job.gate.stop(fmt::format("{}: step {}: {}", job.network.workload, step, *gone), step);
    if (works) check_losses(job, w, step, elapsed_ns);
    if (is_due(step)) check_replica(job, w, step);

    if (InterruptGuard::interrupted()) {
      job.interrupted = true;
      job.gate.stop(std::nullopt);
    }

    if (o.checkpoint_every > 0 && (step + 1) % o.checkpoint_every == 0 && step + 1 < o.steps)
      save(job, w, step + 1);
  }

  w.next_step = step;
  // Before these weights are saved.
  if (step > job.first_step && !is_due(step - 1)) check_replica(job, w, step - 1);
}

/// All devices have done their last step. `good`: the training has not failed, on none of them.
void finish(Job& job, DeviceWorker& w, bool good) {
  for (WorkerTurn const& turn : w.turns) turn.scheme->settle();
  if (!good) return;
  save(job, w, w.next_step);
  if (job.network.at_end && job.device_number(w) == 0) job.network.at_end(*w.replica);
}

// Evaluation.

/// Device d takes test batches d, d + devices, …; the last batch is filled up with samples that do
/// not count.
void evaluate(Job& job, DeviceWorker& w) {
  api::Phase const phase("evaluate");
  TestBatch batch(*job.network.test, static_cast<size_t>(job.options.batch));
  InputBuffers& input = w.inputs.front();
  size_t const stride = batch.size * static_cast<size_t>(job.devices);

  for (size_t first = static_cast<size_t>(job.device_number(w)) * batch.size;
       first < batch.test.size() && !job.lost_process(); first += stride) {
    batch.fill(first);
    copy_in(*w.device, StreamKind::kCompute, input, job.network, batch.inputs.data(),
            batch.labels.data());
    w.replica->forward(input);

    std::array<float, 2> result = {};
    w.device->copy(StreamKind::kCompute, "d2h.loss", result.data(), w.result.data(), sizeof result,
                   CopyDirection::kDeviceToHost);
    w.device->synchronize(w.device->record(StreamKind::kCompute));
    job.correct += std::lround(result[1]);
  }
}

// The whole job.

/// What progress lines call them.
std::vector<std::string> loss_names(std::vector<JobTurn> const& turns) {
  std::vector<std::string> names;
  for (JobTurn const& turn : turns)
    names.push_back(turn.parameters.name.empty() ? "loss" : turn.parameters.name + " loss");
  return names;
}

/// Runs `work` for each device on a thread of its own, which is called "<task> <device>".
void on_all(std::vector<std::unique_ptr<DeviceWorker>>& workers, std::string const& task,
            std::function<void(DeviceWorker&)> const& work) {
  std::vector<std::thread> threads;
  threads.reserve(workers.size());

  for (auto& worker : workers) {
    threads.emplace_back([&, &w = *worker] {
      name_this_thread(task + " " + w.device->name());
      work(w);
    });
  }

  for (std::thread& thread : threads) thread.join();
}

void run_threads(Job& job, std::vector<std::unique_ptr<DeviceWorker>>& workers) {
  std::optional<Agreement> agreement;
  if (job.processes != nullptr) {
    agreement.emplace(*job.processes);
    job.gate.agree_by([&](bool wants_end) {
      auto const checked = job.replicas.latest();
      return agreement->ends({wants_end ? 1 : 0, checked.step, checked.checksum});
    });
  }

  auto const share_errors = [&] {
    if (!agreement) return;
    auto const checked = job.replicas.latest();
    Agreement::End const end = agreement->conclude(
        {job.interrupted, job.gate.error(), job.gate.error_step(), checked.step, checked.checksum});
    // A process interrupted in the last step does not evaluate: then no process does.
    if (end.interrupted) {
      job.interrupted = true;
      job.gate.stop(std::nullopt);
    }
    if (end.failure) job.gate.replace_error(*end.failure, end.failed_step);
    if (auto gone = job.lost_process())
      job.gate.stop(fmt::format("{}: {}", job.network.workload, *gone));
  };

  on_all(workers, "train", [&](DeviceWorker& w) { train(job, w); });
  share_errors();
  bool const good = !job.gate.error();
  on_all(workers, "finish", [&](DeviceWorker& w) { finish(job, w, good); });
  share_errors();

  bool const evaluates = job.options.evaluate && job.network.test != nullptr && !job.gate.stopped();
  on_all(workers, "evaluate", [&](DeviceWorker& w) {
    if (evaluates) evaluate(job, w);
    w.device->synchronize();
    check_device(job, w, w.next_step - 1);
  });
}

TrainingResult collect(Job& job, std::vector<std::unique_ptr<DeviceWorker>>& workers) {
  TrainingResult result;
  if (job.processes != nullptr) {
    result.rank = job.processes->rank();
    result.processes = job.processes->size();
  }

  result.first_step = job.first_step;
  result.step_ns = job.log.step_ns();
  for (size_t t = 0; t < job.turns.size(); ++t)
    result.losses.push_back({job.turns[t].parameters.name, job.log.losses(t)});
  result.interrupted = job.interrupted;
  result.failure = job.gate.error();

  for (auto& worker : workers) {
    result.weights.push_back(
        rearrange(download_weights(*worker, "d2h.weights"), job.network.layout, job.saved));
    result.weights_checksums.push_back(ReplicaCheck::checksum(result.weights.back()));
    if (auto staleness = worker->turns.front().scheme->staleness(); !staleness.empty()) {
      result.staleness.push_back(std::move(staleness));
    }
    result.counts = result.counts + worker->device->counts();
    result.memory.push_back(worker->device->memory());
  }

  int64_t correct = job.correct;
  if (job.processes != nullptr) {
    merge_results(*job.processes, result, correct);
    if (auto gone = job.lost_process()) {
      result.lost_processes = true;
      job.gate.stop(fmt::format("{}: {}", job.network.workload, *gone));
      result.failure = job.gate.error();
    }
  }

  result.loss = result.losses.front().by_step;
  if (job.options.evaluate && job.network.test != nullptr && !job.gate.stopped()) {
    auto const answers =
        static_cast<int64_t>(job.network.test->size()) * job.network.answers_per_sample;
    result.test_accuracy = static_cast<double>(correct) / static_cast<double>(answers);
  }
  return result;
}

/// Its layout with room for each member's part of a bucket.
Network with_room(Network network, double bucket_mb, size_t members) {
  std::vector<JobTurn> const turns = make_turns(network, bucket_mb);
  for (JobTurn const& turn : turns)
    network.layout = make_room(network.layout, turn.buckets, members);
  return network;
}

/// What this process trains with.
struct Start {
  int64_t first_step = 0;
  uint64_t checksum = 0;                               ///< of the weights and the optimizer's state
  std::vector<std::unique_ptr<DeviceWorker>> workers;  ///< one for each of its devices
};

/// `described`: the network without room, as checkpoints have it.
base::Expected<Start> make_start(DeviceGroup& group, UpdateSchemeMaker const& make_scheme,
                                 std::vector<JobTurn> const& turns, Network const& described,
                                 Network const& network, TrainOptions const& o) {
  if (auto fits = check_size(*group.devices.front(), described, o.update, group.members); !fits)
    return base::fail_with(fits);

  if (auto known = check_pathologies(o, group.members); !known) return base::fail_with(known);
  auto const point = starting_point(o, described, group.members * o.batch * o.accumulate);
  if (!point) return base::fail_with(point);
  std::vector<float> const state = rearrange(point->weights, described.layout, network.layout);

  Start start;
  start.first_step = point->step;
  start.checksum = ReplicaCheck::checksum(point->weights);

  for (auto& device : group.devices) {
    UpdateContext const context = {
        .device = device.get(),
        .communicator = group.members > 1 ? group.communicator.get() : nullptr,
        .members = group.members,
        .rank = group.first_member + device->index(),
        .layout = &network.layout,
        .optimizer = network.optimizer,
        .exchanges = o.exchanges};
    auto worker = make_device_worker(context, make_scheme, turns, network, o, state);
    if (!worker) return base::fail_with(worker);
    (*worker)->faults.emplace(*device, o.step_faults, group.first_member);
    start.workers.push_back(std::move(*worker));
  }
  return start;
}

/// All processes can train, and begin with the same.
base::Expected<void> agree_to_train(mpi::Processes* processes, base::Expected<Start> const& start) {
  base::Expected<void> ready;
  if (!start) ready = base::fail_with(start);
  if (processes == nullptr) return ready;

  ready = processes->agree(ready);
  if (!ready) return ready;
  return agree_on_start(*processes, start->first_step, start->checksum);
}

void report_start(std::FILE* log, TrainOptions const& o, Network const& network,
                  mpi::Processes const* processes) {
  fmt::print(log, "{} on {}{}: {} {}s a device and step, {} to train on, {} to test\n",
             network.workload, o.device,
             processes == nullptr ? "" : fmt::format(" of {} processes", processes->size()),
             o.batch * o.accumulate, network.sample, network.train->size(),
             network.test == nullptr ? 0 : network.test->size());
}

/// Copies from the loader's memory, and of results into ours, must not wait for the host.
std::vector<std::shared_ptr<void>> pin_memory(
    InputPipeline& pipeline, std::vector<std::unique_ptr<DeviceWorker>> const& workers) {
  std::vector<std::shared_ptr<void>> pinned;
  for (auto const& worker : workers) {
    auto const pin = [&](void const* data, size_t bytes) {
      pinned.push_back(worker->device->pin(data, bytes));
    };

    for (auto const buffer : pipeline.buffers(worker->device->index()))
      pin(buffer.data(), buffer.size());
    for (WorkerTurn const& turn : worker->turns)
      pin(turn.host_results.data(), turn.host_results.size() * sizeof turn.host_results[0]);
  }

  return pinned;
}

}  // namespace

base::Expected<TrainingResult> train_data_parallel(TrainOptions const& o, Network const& described,
                                                   std::FILE* log) {
  InterruptGuard const interrupts;
  auto const joined = mpi::Processes::join(std::chrono::seconds(o.collective_timeout_s));
  if (!joined) return base::fail_with(joined);
  mpi::Processes* const processes = joined->get();
  bool const is_first = processes == nullptr || processes->rank() == 0;
  if (!is_first) log = nullptr;

  auto group = open_training_devices(o, *joined, described);
  if (!group) return base::fail_with(group);

  auto const network = with_room(described, o.bucket_mb, group->members);
  std::vector<JobTurn> const turns = make_turns(network, o.bucket_mb);
  UpdateSchemeMaker const make_scheme = update_schemes(o.update);
  auto start = make_start(*group, make_scheme, turns, described, network, o);
  if (auto ready = agree_to_train(processes, start); !ready) return base::fail_with(ready);

  int64_t const first_step = start->first_step,
                samples_per_step = group->members * o.batch * o.accumulate;
  if (is_first) record_pathologies(o.pathologies);
  if (log != nullptr) report_start(log, o, network, processes);

  auto const devices = static_cast<int64_t>(group->devices.size());
  constexpr int64_t kReadAhead =
      2;  // batches a device that the loader may be ahead of what is staged
  InputPipeline pipeline(*network.train, {devices, o.batch, group->first_member, group->members,
                                          first_step * o.accumulate, o.steps * o.accumulate,
                                          o.prefetch + o.accumulate + kReadAhead, o.loader_threads,
                                          o.seed, o.input_delay_ms});

  auto const pinned = pin_memory(pipeline, start->workers);

  Job job{o,
          network,
          described.layout,
          turns,
          group->members,
          group->first_member,
          first_step,
          processes,
          pipeline,
          {},
          StepLog({first_step, devices, samples_per_step, network.sample + "s", loss_names(turns),
                   o.log_every, log}),
          ReplicaCheck(devices)};

  run_threads(job, start->workers);
  return collect(job, start->workers);
}

}  // namespace stepscope::workloads
