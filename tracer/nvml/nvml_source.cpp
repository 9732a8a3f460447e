#include "tracer/nvml/nvml_source.h"

#include <cstdlib>
#include <exception>
#include <system_error>

#include <fmt/format.h>
#include <pthread.h>

namespace stepscope::tracer::nvml {

void NvmlSource::driver_starts() {
  // Read here, where CUDA reads it, and not on a thread of ours: the program may change its environment at any time.
  char const* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  std::lock_guard const lock(mutex_);
  if (visible != nullptr) visible_devices_ = visible;
  wanted_.store(true, std::memory_order_relaxed);
}

void NvmlSource::snapshot() {
  if (!wanted_.load(std::memory_order_relaxed) || thread_.joinable()) return;
  {
    std::lock_guard const lock(mutex_);
    if (stop_requested_) return;
  }
  try {
    thread_ = std::thread([this] { run(); });  // on the writer thread: signals are blocked there, so in the new one
  } catch (std::system_error const&) {
    std::lock_guard const lock(mutex_);
    stop_requested_ = true;
    outcome_ = "not sampled: no thread could be started";
  }
}

void NvmlSource::run() {
  ::pthread_setname_np(::pthread_self(), "stepscope-nvml");
  std::string outcome;
  try {
    outcome = sample_until_stopped();
  } catch (std::exception const& error) {
    outcome = fmt::format("sampling stopped: {}", error.what());
  }
  std::lock_guard const lock(mutex_);
  outcome_ = std::move(outcome);
}

std::string NvmlSource::sample_until_stopped() {
  auto const api = load_();
  if (!api) return "not sampled: no libnvidia-ml.so.1";
  if (Result const result = api->init(); result != kSuccess) return fmt::format("not sampled: NVML error {}", result);
  unsigned count = 0;
  api->device_count(&count);
  std::optional<std::string> visible;
  {
    std::lock_guard const lock(mutex_);
    visible = visible_devices_;
  }
  size_t devices = 0;
  {
    Sampler sampler(*api, visible_devices(visible ? visible->c_str() : nullptr, count));
    devices = sampler.device_count();
    std::vector<Sample> fresh;
    auto next = std::chrono::steady_clock::now();
    while (devices > 0 && wait_until(next)) {
      next += period_;
      fresh.clear();
      if (window_.mode() == CaptureMode::kRecording) sampler.sample(monotonic_ns(), fresh);
      // After a pause (a slow driver, a stopped process) goes on from now.
      next = std::max(next, std::chrono::steady_clock::now());
      std::lock_guard const lock(mutex_);
      samples_.insert(samples_.end(), fresh.begin(), fresh.end());
    }
  }
  if (api->shutdown != nullptr) api->shutdown();
  return fmt::format("{} of {} devices, every {} ms", devices, count, period_.count());
}

bool NvmlSource::wait_until(std::chrono::steady_clock::time_point time) {
  std::unique_lock lock(mutex_);
  return !wake_.wait_until(lock, time, [this] { return stop_requested_; });
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
  drained_.clear();
  {
    std::lock_guard const lock(mutex_);
    std::swap(drained_, samples_);
  }
  for (Sample const& sample : drained_) {
    model::TrackId const track = track_of(sample, store);
    TrackRows& rows = store.rows(track);
    rows.add(model::EventKind::kSample, clock.monotonic_to_trace_ns(sample.at_ns), 0, store.intern(name_of(sample.counter)), 0,
             model::SampleDetail{sample.value});
    store.row_begun(track, rows);
  }
}

void NvmlSource::finish(TraceStore& store, int64_t /*end_ns*/) {
  stop();
  if (outcome_.empty()) return;  // the program did not use CUDA
  store.info.facts.emplace_back("GPU counters", outcome_);
  store.describe_again();
}

void NvmlSource::request_stop() {
  {
    std::lock_guard const lock(mutex_);
    stop_requested_ = true;
  }
  wake_.notify_all();
}

void NvmlSource::stop() {
  request_stop();
  if (thread_.joinable()) thread_.join();
}

}  // namespace stepscope::tracer::nvml
