#include "trace/synth/process/process.h"

#include <algorithm>

#include <fmt/format.h>

#include "trace/base/check.h"
#include "trace/synth/process/kernel_changes.h"
#include "trace/synth/process/pace.h"

namespace stepscope::synth {
namespace {

using model::EventKind;
using model::MemoryOp;
using model::OpClass;
using model::TrackKind;

constexpr int64_t kRunBeginNs = 3'000'000;
constexpr int64_t kLatestOriginNs = 1'000'000;  // processes of a job start within so long
constexpr int64_t kOriginEpochNs =
    1'767'225'600'000'000'000;  // 2026-01-01: a synthetic run has no date of its own
constexpr int32_t kRanksPerHost = 8;
constexpr double kIdleWatts = 90, kBusyWatts = 310;
constexpr std::string_view kClockName = "SM clock (MHz)";
constexpr double kFullClockMhz = 1'980;
constexpr uint32_t kLoaderTrack = 1, kFirstStreamTrack = 2;
constexpr uint32_t kClockCounter = 2;  // among the counters, which follow the streams

std::vector<model::Track> tracks_of(Process::Setup const& setup) {
  std::vector<model::Track> tracks;

  tracks.push_back({TrackKind::kThread, "main", 4100 + setup.rank, -1, {}, 0});
  tracks.push_back({TrackKind::kThread, "loader", 4900 + setup.rank, -1, {}, 0});

  int64_t number = kFirstStreamNumber;
  for (StreamSpec const& stream : setup.program->streams)
    tracks.push_back({TrackKind::kStream, stream.name, number++, 0, stream.kind, 0});

  tracks.push_back({TrackKind::kCounter, "GPU utilization (%)", 0, 0, {}, 0});
  tracks.push_back({TrackKind::kCounter, "power (W)", 1, 0, {}, 0});
  if (setup.job->is_tuned())
    tracks.push_back({TrackKind::kCounter, std::string(kClockName), kClockCounter, 0, {}, 0});
  return tracks;
}

int64_t origin_offset(Process::Setup const& setup) {
  return setup.rank == 0
             ? 0
             : static_cast<int64_t>(hash_of(setup.job->seed, setup.rank, 0x0FF5) % kLatestOriginNs);
}

model::Device device_of(Job const& job) {
  if (!job.is_tuned()) return {0, "made device", kCapacityBytes, 108, 312e12};
  return {0, "NVIDIA H100 80GB HBM3", kCapacityBytes, kMultiprocessors, 989e12};
}

}  // namespace

CommonNames::CommonNames(Job const& job, model::StringTable& strings)
    : step(strings.intern("step")),
      launch_kernel(strings.intern("cudaLaunchKernel")),
      launch_copy(strings.intern("cudaMemcpyAsync")),
      launch_collective(strings.intern("cudaLaunchKernelExC")),
      synchronize(strings.intern("cudaDeviceSynchronize")),
      event_wait(strings.intern("cudaStreamWaitEvent")),
      stream_wait(strings.intern("wait for event")),
      input_wait(strings.intern("wait for batch")),
      allocate(strings.intern("cudaMalloc")),
      free(strings.intern("cudaFree")),
      cache_allocate(strings.intern("allocate")),
      cache_free(strings.intern("free")),
      load_batch(strings.intern("load batch")),
      read(strings.intern("read")),
      decode(strings.intern("decode")),
      augment(strings.intern("augment")),
      garbage(strings.intern("gc.collect")),
      late(strings.intern("write checkpoint")),
      utilization(strings.intern("GPU utilization (%)")),
      power(strings.intern("power (W)")) {
  if (!job.is_tuned()) return;

  elsewhere = strings.intern("busy elsewhere");
  checkpoint = strings.intern("save checkpoint");
  compile = strings.intern("compile graph");
  clock = strings.intern(kClockName);
}

base::Expected<Process> Process::create(Setup const& setup) {
  model::TraceInfo info;

  info.tool = "stepscope synth";
  info.host = fmt::format("node-{}", setup.rank / kRanksPerHost);
  info.command = fmt::format("train --pattern {}", setup.pattern);
  info.process_id = 4100 + setup.rank;
  info.rank = setup.rank;
  info.world_size = setup.job->ranks;

  info.origin_epoch_ns = kOriginEpochNs + origin_offset(setup);
  info.facts = {{"seed", fmt::format("{}", setup.job->seed)}};
  if (setup.job->has(FaultType::kPythonFrames)) info.facts.emplace_back("with_stack", "1");

  auto file = setup.folder.empty()
                  ? RankFile::create_nowhere(tracks_of(setup))
                  : RankFile::create(path_of(setup), info, device_of(*setup.job), tracks_of(setup),
                                     *setup.strings, setup.block_rows);
  if (!file) return base::fail_with(file);
  return Process(setup, std::move(*file));
}

std::string Process::path_of(Setup const& setup) {
  return fmt::format("{}/rank-{}.stepscope", setup.folder, setup.rank);
}

Process::Process(Setup const& setup, RankFile file)
    : setup_(setup),
      file_(std::move(file)),
      account_(setup.program->streams.size()),
      random_(hash_of(setup.job->seed, setup.rank, 0x9A2D)),
      offset_ns_(origin_offset(setup)),
      now_(kRunBeginNs),
      streams_(setup.program->streams.size()),
      join_end_(setup.joins, -1),
      memory_(setup.job->is_tuned()),
      block_address_(setup.program->blocks.size()),
      loader_free_(now_ - kLatestOriginNs) {
  for (BlockSpec const& block : setup.program->resident)
    memory_call(block, memory_.allocate(block.bytes), MemoryOp::kAllocate, setup_.names->allocate,
                random_.vary(kDeviceAllocationNs, 100));
}

void Process::begin_step(int64_t step, StepFaults const& faults) {
  now_ += random_.vary(kBetweenStepsNs, kHostJitterPermille);
  step_ = step;
  step_begin_ = now_;
  faults_ = faults;
  next_action_ = 0;
  std::fill(join_end_.begin(), join_end_.end(), -1);
  open_rows_.push_back(thread().size());
  thread().add(EventKind::kStep, at(now_), 0, setup_.names->step, 0, model::StepDetail{step});
  if (setup_.job->is_tuned()) sample_clock();
}

base::Expected<void> Process::finish() {
  file_.set_dropped(0, dropped_launches_);
  return file_.finish();
}

bool Process::advance() {
  auto const& actions = setup_.program->step;
  while (next_action_ < actions.size()) {
    if (!std::visit([&](auto const& action) { return play(action); }, actions[next_action_]))
      return false;
    ++next_action_;
  }
  return true;
}

base::Expected<TimeTruth> Process::end_step() {
  close();
  TimeTruth const truth = account_.finish_step(step_begin_);
  sample_counters(truth);
  if (auto const done = file_.end_step(); !done) return base::fail_with(done);
  return truth;
}

std::optional<Process::Offer> Process::offer(uint32_t stream_number) {
  Stream& stream = streams_[stream_number];
  if (stream.queue.empty() || stream.queue.front().offered) return std::nullopt;
  QueuedCollective& head = stream.queue.front();
  head.offered = true;
  hold(stream_number, std::max(stream.end, head.launch.end), head.ready, kComputeStream);
  return Offer{head.spec, earliest(stream, head.launch), head.launch.end,
               faults_.rendezvous && head.spec->can_rendezvous};
}

void Process::conclude(uint32_t stream_number, Outcome const& outcome) {
  Stream& stream = streams_[stream_number];
  STEPSCOPE_CHECK(!stream.queue.empty());
  QueuedCollective const head = stream.queue.front();
  stream.queue.pop_front();

  CollectiveSpec const& spec = *head.spec;
  uint64_t const sequence = static_cast<uint64_t>(step_) * spec.per_step + spec.place + 1;
  bool const is_size_recorded = !setup_.job->has(FaultType::kUnsizedBuckets);
  model::CollectiveDetail const detail{is_size_recorded ? spec.bytes : 0,
                                       spec.communicator,
                                       sequence,
                                       spec.kind,
                                       spec.participants,
                                       spec.rank < 0 ? setup_.rank : spec.rank,
                                       spec.peer};

  int64_t const dur = outcome.end - outcome.begin;
  stream_events(stream_number)
      .add(EventKind::kCollective, at(outcome.begin), dur, spec.name, head.launch.correlation,
           detail);

  account_.add_op(
      stream_number,
      {{outcome.begin, outcome.end}, OpClass::kComm, head.launch.end, outcome.peers_launched});
  account_.add_wait({outcome.begin, outcome.end - outcome.transfer_ns});

  stream.end = outcome.end;
  join_end_[spec.join] = outcome.end;

  ++counts_.kernels;
  ++counts_.collectives;
}

void Process::open(EventKind kind, model::StringId name) {
  open_rows_.push_back(thread().size());
  thread().add(kind, at(now_), 0, name);
}

void Process::close() {
  size_t const row = open_rows_.back();
  open_rows_.pop_back();
  thread().dur[row] = at(now_) - thread().start[row];
}

void Process::spend(EventKind kind, model::StringId name, int64_t dur_ns) {
  thread().add(kind, at(now_), dur_ns, name);
  now_ += dur_ns;
}

Process::LaunchCall Process::launch(model::StringId name) {
  return add_launch(name, now_ + random_.vary(kLaunchNs, kHostJitterPermille));
}

Process::LaunchCall Process::add_launch(model::StringId name, int64_t end) {
  ++correlation_;

  Job const& job = *setup_.job;
  bool const is_lost =
      job.has(FaultType::kLostRecords) &&
      static_cast<double>(hash_of(job.seed, setup_.rank, correlation_) % 100) < job.fault->amount;

  if (is_lost) {
    ++dropped_launches_;
  } else {
    thread().add(EventKind::kLaunch, at(now_), end - now_, name, correlation_);
    ++counts_.launches;
  }

  now_ = end;
  return {correlation_, now_};
}

void Process::synchronize(int64_t until, model::SyncDetail const& detail) {
  thread().add(EventKind::kSync, at(now_), until - now_, setup_.names->synchronize, 0, detail);
  account_.add_sync({now_, until});
  now_ = until;
}

std::optional<int64_t> Process::all_done() const {
  int64_t until = 0;
  for (Stream const& stream : streams_) {
    if (!stream.queue.empty()) return std::nullopt;
    until = std::max(until, stream.end);
  }
  return until;
}

model::StringId Process::name_of(HostWorkKind work) const {
  switch (work) {
    case HostWorkKind::kElsewhere:
      return setup_.names->elsewhere;
    case HostWorkKind::kCheckpoint:
      return setup_.names->checkpoint;
    case HostWorkKind::kCompile:
      return setup_.names->compile;
    case HostWorkKind::kGarbage:
      break;
  }
  return setup_.names->garbage;
}

void Process::memory_call(BlockSpec const& block, uint64_t address, MemoryOp op,
                          model::StringId name, int64_t dur_ns) {
  model::MemoryDetail const detail{address, block.bytes, memory_.allocated(), memory_.reserved(),
                                   0,       op,          block.purpose};
  thread().add(EventKind::kMemory, at(now_), dur_ns, name, 0, detail);
  account_.add_allocation({now_, now_ + dur_ns});
  now_ += dur_ns;
}

void Process::load_batch(int64_t until, bool late) {
  int64_t const begin = loader_free_;
  // Usually it is done long before the batch is asked for.
  int64_t const dur = late ? until - begin : (until - begin) * 3 / 5;

  int64_t const read = dur / 4;
  int64_t const decode = dur / 2;

  model::EventBatch& events = file_.events(kLoaderTrack);
  events.add(EventKind::kRange, at(begin), dur, setup_.names->load_batch);
  events.add(EventKind::kRange, at(begin), read, setup_.names->read);
  events.add(EventKind::kRange, at(begin + read), decode, setup_.names->decode);
  events.add(EventKind::kRange, at(begin + read + decode), dur - read - decode,
             setup_.names->augment);

  loader_free_ = until;
}

model::EventBatch& Process::stream_events(uint32_t stream) {
  return file_.events(kFirstStreamTrack + stream);
}

int64_t Process::earliest(Stream const& stream, LaunchCall const& call) {
  return std::max({call.end + random_.vary(kStartLatencyNs, 300),
                   stream.end + random_.vary(kNextKernelNs, 300), stream.held_until + kWakeNs});
}

void Process::hold(uint32_t stream_number, int64_t from, int64_t until, uint32_t source_stream) {
  Stream& stream = streams_[stream_number];
  from = std::max(from, stream.held_until);
  if (until <= from) return;
  int32_t const source = kFirstStreamNumber + static_cast<int32_t>(source_stream);
  stream_events(stream_number)
      .add(EventKind::kStreamWait, at(from), until - from, setup_.names->stream_wait, 0,
           model::StreamWaitDetail{0, source});
  stream.held_until = until;
  account_.add_hold(stream_number, {from, until});
}

void Process::sample_clock() {
  double const clock = faults_.throttled
                           ? kFullClockMhz * 1000 / static_cast<double>(faults_.permille)
                           : kFullClockMhz;
  uint32_t const track = kFirstStreamTrack + stream_count() + kClockCounter;
  file_.events(track).add(EventKind::kSample, at(now_), 0, setup_.names->clock, 0,
                          model::SampleDetail{clock});
}

void Process::sample_counters(TimeTruth const& step) {
  auto const first = kFirstStreamTrack + stream_count();
  double const busy = static_cast<double>(step.busy_ns) / static_cast<double>(step.window.length());
  file_.events(first).add(EventKind::kSample, at(now_), 0, setup_.names->utilization, 0,
                          model::SampleDetail{busy * 100});
  file_.events(first + 1).add(EventKind::kSample, at(now_), 0, setup_.names->power, 0,
                              model::SampleDetail{kIdleWatts + busy * kBusyWatts});
}

}  // namespace stepscope::synth
