#include "tracer/cupti/cupti_source.h"

#include <algorithm>
#include <array>
#include <exception>
#include <string_view>

#include <fmt/format.h>

#include "tracer/core/process_info.h"
#include "tracer/cupti/activities.h"

namespace stepscope::tracer {
namespace {

/// How often buffers in which nothing runs any more are fetched: with kMaxAgeNs of the store and the round that calls wait for
/// their details, a program that is killed loses less than a second.
constexpr int64_t kFlushPeriodNs = 100'000'000;

/// Calls after which a context is gone, and what CUPTI has not handed over with it.
constexpr std::array<std::string_view, 4> kResets = {"cudaDeviceReset", "cuDevicePrimaryCtxReset", "cuDevicePrimaryCtxRelease",
                                                     "cuCtxDestroy"};

/// CUPTI's buffer callbacks say nothing of whose they are; there is one CUPTI in a process, and one source that uses it.
std::atomic<BufferPool*> active_pool{nullptr};

void CUPTIAPI buffer_requested(uint8_t** buffer, size_t* bytes, size_t* max_records) {
  BufferPool* const pool = active_pool.load(std::memory_order_acquire);
  *max_records = 0;  // as many as fit
  *buffer = pool == nullptr ? nullptr : pool->request();
  *bytes = *buffer == nullptr ? 0 : pool->buffer_bytes();
}

void CUPTIAPI buffer_completed(CUcontext /*context*/, uint32_t /*stream*/, uint8_t* buffer, size_t /*bytes*/,
                               size_t valid_bytes) {
  BufferPool* const pool = active_pool.load(std::memory_order_acquire);
  if (pool != nullptr && buffer != nullptr) pool->complete(buffer, valid_bytes);
}

uint64_t CUPTIAPI timestamp() { return static_cast<uint64_t>(monotonic_ns()); }

}  // namespace

CuptiSource::CuptiSource(CaptureWindow& window, CaptureOptions const& options, Loader load)
    : window_(window), load_(std::move(load)), pool_(options.cuda_buffers_bytes, options.cuda_buffer_bytes) {
  window_.when_entered([this] { enter_window(); });
}

CuptiSource::~CuptiSource() {
  BufferPool* mine = &pool_;
  active_pool.compare_exchange_strong(mine, nullptr);
}

bool CuptiSource::succeeds(CUptiResult result, std::string_view call) {
  if (result == CUPTI_SUCCESS) return true;
  give_up(describe_cupti_error(library_->api, call, result));
  return false;
}

void CuptiSource::give_up(std::string reason) {
  note("cuda tracing", fmt::format("off: {}", reason));
  problem_ = fmt::format("CUDA calls and kernels were not recorded: {}", reason);
}

void CuptiSource::note(std::string name, std::string text) { notes_.emplace_back(std::move(name), std::move(text)); }

void CuptiSource::driver_starts() {
  try {
    std::lock_guard const lock(mutex_);
    if (state_ == State::kWaiting && window_.mode() != CaptureMode::kStopped) attach();
  } catch (std::exception const&) {
    state_ = State::kDetached;  // no memory: the program goes on without us
  }
}

void CuptiSource::attach() {
  state_ = State::kDetached;
  auto library = load_();
  if (!library) return give_up(library.error().message);
  library_ = std::move(*library);
  has_library_ = true;
  note("cupti", fmt::format("{}, API version {}", library_->path, library_->version));
  if (!configure()) return;
  pool_.prepare();
  active_pool.store(&pool_, std::memory_order_release);
  bool const is_on =
      succeeds(library_->api.register_callbacks(buffer_requested, buffer_completed), "cuptiActivityRegisterCallbacks") &&
      enable(true) && (window_.mode() == CaptureMode::kBaseline || enable(false));
  if (!is_on) {
    for (CUpti_ActivityKind const kind : std::exchange(enabled_, {})) library_->api.disable(kind);
    library_->api.unsubscribe(subscriber_);
    return;
  }
  watch_for_resets();
  note("cuda buffers", fmt::format("{} of {} KiB", pool_.max_buffers(), pool_.buffer_bytes() >> 10));
  state_ = State::kAttached;
}

/// Everything that has to be said before anything is recorded.
bool CuptiSource::configure() {
  CuptiApi const& api = library_->api;
  // First: CUPTI has one user at a time, and only this tells whether it is us.
  if (!succeeds(api.subscribe(&subscriber_, on_call, this), "cuptiSubscribe")) return false;
  bool const is_set = succeeds(api.set_thread_id_type(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM), "cuptiSetThreadIdType") &&
                      succeeds(api.register_timestamp_callback(timestamp), "cuptiActivityRegisterTimestampCallback");
  if (!is_set) {
    api.unsubscribe(subscriber_);
    return false;
  }
  // We zero buffers on our thread, so that CUPTI need not on the program's. One that does not know this does it all the same.
  uint8_t zeroed = 1;
  size_t bytes = sizeof zeroed;
  api.set_attribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &bytes, &zeroed);
  bool const hardware = api.enable_hw_trace != nullptr && api.enable_hw_trace(1) == CUPTI_SUCCESS;
  note("cuda timestamps", hardware ? "hardware events" : "software");
  // Asking whether something is done, and it is not: nobody waits.
  if (api.enable_all_sync_records != nullptr) api.enable_all_sync_records(0);
  return true;
}

bool CuptiSource::enable(bool before_window) {
  for (Activity const& activity : kActivities) {
    if (activity.before_window != before_window) continue;
    CUptiResult const result = library_->api.enable(activity.kind);
    if (result == CUPTI_SUCCESS) {
      enabled_.push_back(activity.kind);
    } else if (activity.is_essential) {
      return succeeds(result, fmt::format("cuptiActivityEnable of kind {}", static_cast<int>(activity.kind)));
    } else {
      note("cuda tracing", fmt::format("without records of kind {}: {}", static_cast<int>(activity.kind),
                                       describe_cupti_error(library_->api, "cuptiActivityEnable", result)));
    }
  }
  if (!before_window) choose_functions();
  return true;
}

/// Of the runtime all but noise, of the driver what programs call it for. Only after the kinds: they override single functions.
void CuptiSource::choose_functions() {
  CuptiApi const& api = library_->api;
  if (api.enable_runtime_api != nullptr) {
    for_each_function(api, CUPTI_CB_DOMAIN_RUNTIME_API, [&](CUpti_CallbackId function, std::string_view name) {
      if (classify(name) == ApiClass::kNoise) api.enable_runtime_api(function, 0);
    });
  }
  if (api.enable_driver_api == nullptr) {  // all or nothing; the decoder leaves out what is not wanted
    if (api.enable(CUPTI_ACTIVITY_KIND_DRIVER) == CUPTI_SUCCESS) enabled_.push_back(CUPTI_ACTIVITY_KIND_DRIVER);
    return;
  }
  for_each_function(api, CUPTI_CB_DOMAIN_DRIVER_API, [&](CUpti_CallbackId function, std::string_view name) {
    ApiClass const api_class = classify(name);
    if (api_class != ApiClass::kNoise && api_class != ApiClass::kOther) api.enable_driver_api(function, 1);
  });
}

void CuptiSource::watch_for_resets() {
  for (CUpti_CallbackDomain const domain : {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_DRIVER_API}) {
    for_each_function(library_->api, domain, [&](CUpti_CallbackId function, std::string_view name) {
      if (std::find(kResets.begin(), kResets.end(), name) != kResets.end())
        library_->api.enable_callback(1, subscriber_, domain, function);
    });
  }
}

void CUPTIAPI CuptiSource::on_call(void* source, CUpti_CallbackDomain domain, CUpti_CallbackId /*function*/, void const* data) {
  if (domain != CUPTI_CB_DOMAIN_RUNTIME_API && domain != CUPTI_CB_DOMAIN_DRIVER_API) return;
  auto& self = *static_cast<CuptiSource*>(source);
  auto const site = static_cast<CUpti_CallbackData const*>(data)->callbackSite;
  if (site == CUPTI_API_ENTER) {
    if (self.state_ == State::kAttached) self.flush(false);
    return;
  }
  if (!self.finalize_wanted_.exchange(false)) return;
  self.library_->api.finalize();
  self.finalized_ = true;
  self.pool_.close(true);
}

void CuptiSource::enter_window() {
  try {
    std::lock_guard const lock(mutex_);
    if (state_ == State::kAttached && !enable(false)) stop_recording();
  } catch (std::exception const&) {
    state_ = State::kDetached;
  }
}

void CuptiSource::flush(bool forced) { library_->api.flush_all(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0); }

void CuptiSource::snapshot() {
  if (state_ != State::kAttached) return;
  pool_.prepare();
  int64_t const now = monotonic_ns();
  if (now - last_flush_ns_ < kFlushPeriodNs) return;
  last_flush_ns_ = now;
  flush(false);
  round_is_over_ = true;
}

void CuptiSource::drain(TraceStore& store, ClockFit const& clock) {
  write_notes(store);
  if (!clock_) clock_ = clock;
  if (!decoder_) {
    if (!has_library_) return;
    decoder_.emplace(library_->api, window_.filtered());
  }
  if (!counting_stopped_ && window_.all_threads_done()) {
    counting_stopped_ = true;
    decoder_->stop_counting_at(clock.latest_ns());
  }
  for (std::span<uint8_t> const records : pool_.take_completed()) {
    decoder_->decode(records, clock, store);
    pool_.give_back(records);
  }
  if (std::exchange(round_is_over_, false)) decoder_->end_round(clock, store);
}

bool CuptiSource::idle() const { return state_ != State::kAttached || !decoder_ || decoder_->outstanding_ops() == 0; }

void CuptiSource::write_notes(TraceStore& store) {
  std::lock_guard const lock(mutex_);
  if (notes_.empty()) return;
  for (auto& fact : std::exchange(notes_, {})) store.info.facts.push_back(std::move(fact));
  store.describe_again();
}

void CuptiSource::refresh(TraceStore& store) {
  for (; named_tracks_ < store.tracks().size(); ++named_tracks_) {
    model::TrackId const id{static_cast<uint32_t>(named_tracks_)};
    model::Track track = store.track(id);
    bool const has_plain_name = track.kind == model::TrackKind::kThread && track.name == fmt::format("thread {}", track.id);
    std::string name = has_plain_name ? thread_name(track.id) : std::string();
    if (name.empty()) continue;
    track.name = std::move(name);
    store.set_track(id, std::move(track));
  }
}

/// No record comes after this.
void CuptiSource::stop_recording() {
  CuptiApi const& api = library_->api;
  for (CUpti_ActivityKind const kind : std::exchange(enabled_, {})) api.disable(kind);
  if (api.enable_driver_api != nullptr) {
    for_each_function(api, CUPTI_CB_DOMAIN_DRIVER_API,
                      [&](CUpti_CallbackId function, std::string_view) { api.enable_driver_api(function, 0); });
  }
  flush(true);
  count_dropped();
  state_ = State::kDetached;
}

void CuptiSource::count_dropped() {
  size_t dropped = 0;
  if (library_->api.get_num_dropped_records(nullptr, 0, &dropped) == CUPTI_SUCCESS) dropped_ += dropped;
}

void CuptiSource::program_exits() {
  std::lock_guard const lock(mutex_);
  exiting_ = true;
  finalize_wanted_ = false;
  if (state_ == State::kAttached) stop_recording();
}

/// CUPTI may be taken down safely when a CUDA call returns (documentation of cuptiFinalize); until the next one nothing of it
/// runs.
void CuptiSource::detach() {
  std::lock_guard const lock(mutex_);
  bool const was_attached = state_ == State::kAttached;
  if (was_attached) stop_recording();
  state_ = State::kDetached;
  if (!was_attached || exiting_) return;
  finalize_wanted_ = true;
  for (CUpti_CallbackDomain const domain : {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_DRIVER_API})
    library_->api.enable_domain(1, subscriber_, domain);
}

void CuptiSource::finish(TraceStore& store, int64_t /*end_ns*/) {
  detach();
  if (clock_) drain(store, *clock_);
  if (!decoder_) return;
  decoder_->finish(*clock_, store);
  uint64_t const untimed = decoder_->untimed();
  if (untimed == 0) return;
  std::string const text = fmt::format(
      "{} kernels and copies have no times and were left out: they were still running when capture ended, or CUPTI had no room "
      "for "
      "their times on the device",
      untimed);
  store.log.notes.push_back(text);
  std::lock_guard const lock(mutex_);
  if (problem_.empty()) problem_ = text;
}

std::string CuptiSource::problem() const {
  std::lock_guard const lock(mutex_);
  return problem_;
}

/// While the program exits CUPTI is alive and may still hold buffers: the process gives their memory back, not we.
void CuptiSource::release() { pool_.close(finalized_ || state_ == State::kWaiting); }

void CuptiSource::lock_for_fork() {
  mutex_.lock();
  pool_.lock_for_fork();
}

void CuptiSource::unlock_after_fork() {
  pool_.unlock_after_fork();
  mutex_.unlock();
}

}  // namespace stepscope::tracer
