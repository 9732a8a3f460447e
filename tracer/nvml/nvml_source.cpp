#include "tracer/nvml/nvml_source.h"

#include <cstdlib>
#include <utility>

namespace stepscope::tracer::nvml {
namespace {

std::optional<std::string> variable(char const* name) {
  char const* const value = std::getenv(name);
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

}  // namespace

void NvmlSource::driver_starts() {
  // Read here, where CUDA reads them, and not on a thread of ours: the program may change its
  // environment at any time.
  auto visible_devices = variable("CUDA_VISIBLE_DEVICES");
  auto device_order = variable("CUDA_DEVICE_ORDER");
  std::lock_guard const lock(mutex_);
  visible_devices_ = std::move(visible_devices);
  device_order_ = std::move(device_order);
  wanted_.store(true, std::memory_order_relaxed);
}

/// Nothing of ours is in the driver: there is nothing to wait for.
void NvmlSource::program_exits() {
  std::lock_guard const lock(mutex_);
  is_stopping_ = true;
  if (thread_) thread_->request_stop();
}

void NvmlSource::snapshot() {
  if (!wanted_.load(std::memory_order_relaxed)) return;
  std::lock_guard const lock(mutex_);
  if (is_stopping_) return;

  if (!thread_) start_thread();
  if (!thread_) return;

  thread_->set_recording(window_.mode() == CaptureMode::kRecording);

  if (uint64_t const version = devices_.version(); version != device_version_) {
    device_version_ = version;
    if (devices_.is_expected()) thread_->set_devices(devices_.used());
  }
}

void NvmlSource::start_thread() {
  auto thread = SamplingThread::start(
      SamplingThread::Settings{period_, service_, visible_devices_, device_order_});
  if (thread) {
    thread_ = std::move(*thread);
    return;
  }
  is_stopping_ = true;
  outcome_ = "not sampled: no thread could be started";
}

model::TrackId NvmlSource::track_of(Sample const& sample, TraceStore& store) {
  auto const [place, is_new] = tracks_.try_emplace({sample.device, sample.counter});

  if (is_new) {
    model::Track track;
    track.kind = model::TrackKind::kCounter;
    track.name = name_of(sample.counter);
    track.id = static_cast<int64_t>(sample.counter);
    track.device = sample.device;
    place->second = store.add_track(std::move(track));
  }

  return place->second;
}

void NvmlSource::drain(TraceStore& store, ClockFit const& clock) {
  {
    std::lock_guard const lock(mutex_);
    if (!thread_) return;
    thread_->take(drained_, facts_);
  }

  for (Sample const& sample : drained_) {
    model::TrackId const track = track_of(sample, store);
    TrackRows& rows = store.rows(track);
    rows.add(model::EventKind::kSample, clock.monotonic_to_trace_ns(sample.at_ns), 0,
             store.intern(name_of(sample.counter)), 0, model::SampleDetail{sample.value});
    store.row_begun(track, rows);
  }

  if (facts_.empty()) return;
  for (auto& fact : facts_) store.info.facts.push_back(std::move(fact));
  store.describe_again();
}

void NvmlSource::finish(TraceStore& store, int64_t /*end_ns*/) {
  stop();
  std::lock_guard const lock(mutex_);
  if (outcome_.empty()) return;  // the program did not use CUDA
  store.info.facts.emplace_back("GPU counters", outcome_);
  store.describe_again();
}

void NvmlSource::stop() {
  {
    std::lock_guard const lock(mutex_);
    is_stopping_ = true;
    if (!thread_ || std::exchange(is_stopped_, true)) return;
  }
  bool const is_done = thread_->stop(kStopLimit);
  std::lock_guard const lock(mutex_);
  outcome_ = is_done ? thread_->outcome() : "end early: the GPU driver no longer answers";
}

int64_t NvmlSource::threads() const {
  std::lock_guard const lock(mutex_);
  return thread_ && !thread_->wait_until_done(std::chrono::milliseconds(0)) ? 1 : 0;
}

void NvmlSource::lock_for_fork() {
  mutex_.lock();
  if (thread_) thread_->lock_for_fork();
}

void NvmlSource::unlock_after_fork() {
  if (thread_) thread_->unlock_after_fork();
  mutex_.unlock();
}

}  // namespace stepscope::tracer::nvml
