#include "tracer/cupti/cupti_source.h"

#include <algorithm>
#include <array>
#include <exception>

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

namespace stepscope::tracer {
namespace {

/// How often buffers in which nothing runs any more are fetched. With kMaxAgeNs of the store and
/// the round that calls wait for their details, a killed program loses less than a second.
constexpr int64_t kFetchPeriodNs = 100'000'000;

/// After the window records are waited for this long: one round hands over what had ended, the next
/// what ended meanwhile.
constexpr int kRoundsAfterWindow = 2;

/// How long the end of the capture waits for another thread that is at it.
constexpr int64_t kEndTimeoutNs = 5'000'000'000;

/// How long records wait for CUPTI to tell its time. Their memory holds some millions of them.
constexpr int64_t kClockTimeoutNs = 1'000'000'000;

/// Calls after which a context is gone, and what CUPTI has not handed over with it.
constexpr std::array<std::string_view, 4> kResets = {"cudaDeviceReset", "cuDevicePrimaryCtxReset",
                                                     "cuDevicePrimaryCtxRelease", "cuCtxDestroy"};

/// Calls with which the program itself chooses what is recorded.
constexpr std::array<std::string_view, 2> kStarts = {"cudaProfilerStart", "cuProfilerStart"};
constexpr std::array<std::string_view, 2> kStops = {"cudaProfilerStop", "cuProfilerStop"};

template <size_t N>
bool contains(std::array<std::string_view, N> const& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// CUPTI's buffer callbacks say nothing of whose they are; there is one CUPTI in a process, and one
/// source that uses it.
std::atomic<CuptiSource*> active_source{nullptr};

/// False when it did not come true in time.
template <class Condition>
bool wait_until(Condition&& is_true, int64_t timeout_ns) {
  constexpr timespec kPause = {0, 200'000};
  for (int64_t const until = monotonic_ns() + timeout_ns; !is_true();) {
    if (monotonic_ns() > until) return false;
    ::nanosleep(&kPause, nullptr);
  }
  return true;
}

}  // namespace

CuptiSource::CuptiSource(CaptureWindow& window, CaptureOptions const& options,
                         DeviceRegistry& devices, Loader load, int64_t exit_timeout_ns)
    : window_(window),
      devices_(devices),
      load_(std::move(load)),
      exit_timeout_ns_(exit_timeout_ns),
      pool_(options.cuda_buffers_bytes, options.cuda_buffer_bytes) {
  window_.when_entered([this] { follow_window(); });
}

CuptiSource::~CuptiSource() {
  CuptiSource* mine = this;
  active_source.compare_exchange_strong(mine, nullptr);
}

void CuptiSource::driver_starts() {
  driver_started_ = true;
  follow_window();
}

void CuptiSource::stream_named(void* stream, std::string_view name) {
  auto const number = find_stream(stream);
  if (!number) return;
  std::lock_guard const lock(mutex_);
  stream_names_.emplace_back(*number, name);
}

/// CUPTI is not taken down meanwhile: take_down() waits until no thread asks, and none begins to
/// once recording is over.
std::optional<StreamNumber> CuptiSource::find_stream(void* stream) {
  ++finding_streams_;
  std::optional<StreamNumber> number;
  if (is_live() && process_ == ::getpid())
    number = control_->find_stream(static_cast<CUstream>(stream));
  --finding_streams_;
  return number;
}

void CuptiSource::name_streams(TraceStore& store) {
  std::lock_guard const lock(mutex_);
  for (auto& [number, name] : std::exchange(stream_names_, {}))
    decoder_->name_stream(number.context, number.stream, std::move(name), store);
}

/// Has CUPTI record what the window asks for now. No thread waits: a second caller only counts
/// its request, and the first one then looks again.
void CuptiSource::follow_window() noexcept {
  if (requests_.fetch_add(1) != 0) return;

  uint32_t seen = 0;
  do {
    seen = requests_;
    try {
      recording_ = move_to(target());
    } catch (std::exception const&) {
      recording_ = Recording::kOver;  // no memory: the program goes on without us
    }
  } while (!requests_.compare_exchange_strong(seen, 0));
}

CuptiSource::Recording CuptiSource::target() const {
  Recording const now = recording_;
  if (!driver_started_ || exiting_ || now == Recording::kOver) return now;
  if (capture_is_over_ || has_failed_) return Recording::kOver;
  switch (window_.mode()) {
    case CaptureMode::kBaseline:
      return Recording::kBaseline;
    case CaptureMode::kRecording:
      return Recording::kWindow;
    case CaptureMode::kEnding:
      if (leaves_window_ && now == Recording::kWindow) return Recording::kBaseline;
      break;
    case CaptureMode::kStopped:
      break;
  }
  return now == Recording::kNotYet ? Recording::kOver
                                   : now;  // until the writer has what is under way
}

/// Where that leads to.
CuptiSource::Recording CuptiSource::move_to(Recording to) {
  Recording const from = recording_;
  if (from == to) return to;

  if (to == Recording::kOver) {
    if (from != Recording::kNotYet) stop_recording();
    return to;
  }

  if (from == Recording::kWindow && to == Recording::kBaseline) {
    leave_window();
    return to;
  }

  bool const works = from == Recording::kNotYet ? attach() && start_recording(to) : enter_window();
  if (works) return to;
  if (from != Recording::kNotYet) stop_recording();
  return Recording::kOver;
}

bool CuptiSource::attach() {
  auto library = load_();
  if (!library) {
    give_up(library.error().message);
    return false;
  }

  process_ = ::getpid();
  control_.emplace(std::move(*library), [this](std::string name, std::string text) {
    note(std::move(name), std::move(text));
  });
  if (control_->workarounds().never_refuse_buffers) pool_.never_refuse();
  pool_.prepare();

  active_source.store(this, std::memory_order_release);
  auto const begun = control_->begin({.call = on_call,
                                      .call_data = this,
                                      .buffer_requested = buffer_requested,
                                      .buffer_completed = buffer_completed});
  if (!begun) {
    give_up(begun.error().message);
    pool_.cupti_leaves();
    return false;
  }

  has_control_ = true;
  return true;
}

bool CuptiSource::start_recording(Recording what) {
  auto const enabled = control_->start(what != Recording::kBaseline);
  if (!enabled) {
    give_up(enabled.error().message);
    control_->end();
    // A subscriber of its own hinders no other tool, and its records can be read until it leaves.
    if (control_->reader() == nullptr) control_->rest();
    return false;
  }

  devices_.expect();
  control_->watch(watched_functions());
  note("cuda buffers",
       fmt::format("{} of {} KiB", pool_.max_buffers(), pool_.buffer_bytes() >> 10));

  return true;
}

std::vector<std::string_view> CuptiSource::watched_functions() const {
  std::vector<std::string_view> result(kResets.begin(), kResets.end());
  if (!window_.options().from_code) return result;
  result.insert(result.end(), kStarts.begin(), kStarts.end());
  result.insert(result.end(), kStops.begin(), kStops.end());
  return result;
}

void CuptiSource::leave_window() {
  control_->end_window();
  leaves_window_ = false;
}

/// The window opens: what is recorded before it is recorded already.
bool CuptiSource::enter_window() {
  auto const enabled = control_->start_window();
  if (!enabled) give_up(enabled.error().message);
  return enabled.has_value();
}

void CuptiSource::stop_recording() {
  recording_ = Recording::kOver;  // no other thread begins to flush
  if (has_failed_) return;
  control_->end();
  dropped_by_cupti_ += control_->take_dropped();
}

bool CuptiSource::is_live() const {
  Recording const now = recording_;
  return !exiting_ && !has_failed_ && (now == Recording::kBaseline || now == Recording::kWindow);
}

void CUPTIAPI CuptiSource::buffer_requested(uint8_t** buffer, size_t* bytes, size_t* max_records) {
  CuptiSource* const source = active_source.load(std::memory_order_acquire);
  std::span<uint8_t> const memory =
      source == nullptr ? std::span<uint8_t>() : source->pool_.request();
  *buffer = memory.data();
  *bytes = memory.size();
  *max_records = 0;  // as many as fit
}

void CUPTIAPI CuptiSource::buffer_completed(CUcontext /*context*/, uint32_t /*stream*/,
                                            uint8_t* buffer, size_t /*bytes*/, size_t valid_bytes) {
  CuptiSource* const source = active_source.load(std::memory_order_acquire);
  if (source == nullptr || buffer == nullptr) return;
  std::span<uint8_t> const overflow = source->pool_.complete(buffer, valid_bytes);
  if (overflow.data() == nullptr) return;
  source->count_lost(overflow);
  source->pool_.reuse(overflow);
}

/// In an exiting program CUPTI's memory is to be trusted only while the exit handler waits for the
/// writer. It empties CUPTI, or will when its present round is over.
void CuptiSource::count_lost(std::span<uint8_t> records) {
  bool const handler_waits = is_emptying_ || exit_flush_ == ExitFlush::kAsked;
  if ((exiting_ && !handler_waits) || pool_.closed()) return;
  uint64_t lost = 0;
  CUpti_Activity* record = nullptr;
  while (next_record(control_->api(), control_->reader(), records, &record) == CUPTI_SUCCESS)
    ++lost;
  lost_in_overflow_ += lost;
}

void CUPTIAPI CuptiSource::on_call(void* source, CUpti_CallbackDomain domain,
                                   CUpti_CallbackId function_id, void const* data) {
  auto& self = *static_cast<CuptiSource*>(source);
  if (self.process_ != ::getpid())
    return;  // a fork: CUDA does not work in it, and the writer is not there

  if (domain == CUPTI_CB_DOMAIN_RESOURCE) return self.control_->ask_for_hardware_events();
  if (domain == CUPTI_CB_DOMAIN_STATE)
    return self.state_changes(function_id, *static_cast<CUpti_StateData const*>(data));
  if (domain != CUPTI_CB_DOMAIN_RUNTIME_API && domain != CUPTI_CB_DOMAIN_DRIVER_API) return;

  auto const& call = *static_cast<CUpti_CallbackData const*>(data);
  std::string_view const function =
      call.functionName == nullptr ? std::string_view() : plain_name(call.functionName);

  if (call.callbackSite == CUPTI_API_ENTER)
    self.call_begins(domain, function);
  else
    self.call_returns(domain, function);
}

/// After a fatal error CUPTI takes itself down, and any call would start it anew: what was handed
/// over is the capture.
void CuptiSource::state_changes(CUpti_CallbackId state, CUpti_StateData const& data) {
  auto const reason = control_->hear_state(state, data);
  if (!reason || has_failed_.exchange(true)) return;
  std::lock_guard const lock(mutex_);
  problem_ =
      fmt::format("CUDA calls and kernels were recorded only until CUPTI failed: {}", *reason);
}

void CuptiSource::call_begins(CUpti_CallbackDomain domain, std::string_view function) {
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API) calls_runtime_ = true;
  if (!is_live()) return;
  if (contains(kResets, function)) control_->flush(false);
  if (contains(kStops, function)) window_.close_from_code();
}

/// CUPTI may be taken down safely when a CUDA call returns (documentation of cuptiFinalize); until
/// the next one nothing of it runs. Calls of the driver are often made by the runtime, in the
/// middle of its own: they will do only where there is no other.
bool CuptiSource::may_take_down(CUpti_CallbackDomain domain) const {
  if (exiting_) return false;
  return domain == CUPTI_CB_DOMAIN_RUNTIME_API ||
         (!calls_runtime_ && monotonic_ns() - take_down_wanted_ns_ > kDriverOnlyNs);
}

void CuptiSource::call_returns(CUpti_CallbackDomain domain, std::string_view function) {
  if (is_live() && contains(kStarts, function)) window_.open_from_code();
  auto wanted = TakeDown::kWanted;
  if (take_down_ != wanted || !may_take_down(domain)) return;
  if (!take_down_.compare_exchange_strong(wanted, TakeDown::kUnderWay)) return;
  control_->finalize();
  pool_.cupti_leaves();
  take_down_ = TakeDown::kDone;
}

void CuptiSource::fetch(bool all) {
  // Another thread does the same for a device that is reset: it will do, but not at the end.
  is_emptying_ = all;
  bool const is_flushed = control_->flush(all);
  is_emptying_ = false;
  if (!is_flushed && all) return;

  dropped_by_cupti_ += control_->take_dropped();
  auto asked = ExitFlush::kAsked;
  if (all) exit_flush_.compare_exchange_strong(asked, ExitFlush::kFetched);
}

void CuptiSource::snapshot() {
  if (exit_flush_ == ExitFlush::kAsked) return fetch(true);
  if (!is_live() || !has_control_) return;

  pool_.prepare();
  if (clock_)
    if (auto const sample = control_->sample_clock()) clock_->add(*sample);

  int64_t const now = monotonic_ns();
  if (now - last_fetch_ns_ < kFetchPeriodNs) return;
  last_fetch_ns_ = now;
  fetch(false);
  round_is_over_ = true;
}

/// CUPTI may not tell its time before the driver is up. Buffers wait for it; when nothing more will
/// come, or for too long, they are read by what its clock is by default. While another thread still
/// has CUPTI begin (its first calls may load libraries for seconds), buffers wait, too.
bool CuptiSource::knows_clock() {
  if (!control_->has_own_clock() || first_clock_sample_) return true;
  if (recording_ == Recording::kNotYet) return false;

  if (is_live()) first_clock_sample_ = control_->sample_clock();
  if (first_clock_sample_) return true;

  int64_t const now = monotonic_ns();
  if (!clock_asked_ns_) clock_asked_ns_ = now;
  if (is_live() && now - *clock_asked_ns_ < kClockTimeoutNs) return false;
  control_->assume_realtime_clock();
  first_clock_sample_ = control_->sample_clock();
  return true;
}

void CuptiSource::make_decoder(ClockFit const& clock) {
  int64_t const origin_ns = -clock.monotonic_to_trace_ns(0);
  if (first_clock_sample_)
    clock_.emplace(origin_ns, *first_clock_sample_);
  else
    clock_.emplace(origin_ns);
  decoder_.emplace(control_->api(), window_.ends_early(), control_->workarounds(), &devices_,
                   control_->reader());
}

void CuptiSource::drain(TraceStore& store, ClockFit const& clock) {
  write_notes(store);
  if (!trace_clock_) trace_clock_ = clock;
  if (!decoder_) {
    if (!has_control_ || !knows_clock()) return;
    make_decoder(clock);
  }

  name_streams(store);
  clock_->set_now(clock.monotonic_to_trace_ns(monotonic_ns()));
  decode_completed(store);

  if (!std::exchange(round_is_over_, false)) return;
  decoder_->end_round(*clock_, store);
  if (decoder_->window_has_ended()) ++rounds_after_window_;
}

/// Between taking buffers and decoding them: what was begun behind the window is in buffers that
/// were completed after its end.
void CuptiSource::note_end_of_window() {
  if (window_.is_over())
    decoder_->end_window_at(trace_clock_->monotonic_to_trace_ns(window_.end_ns()));
}

void CuptiSource::decode_completed(TraceStore& store) {
  if (exit_flush_ == ExitFlush::kDone) return;  // what came later is not read: CUPTI may be gone

  auto fetched = exit_flush_.load();
  auto const completed = pool_.take_completed();
  note_end_of_window();

  for (std::span<uint8_t> const records : completed) {
    decoder_->decode(records, *clock_, store);
    pool_.give_back(records);
  }
  // A call that is under way for long does not come as a callback.
  if (decoder_->has_runtime_calls()) calls_runtime_ = true;

  if (fetched == ExitFlush::kFetched)
    exit_flush_.compare_exchange_strong(fetched, ExitFlush::kDone);
}

bool CuptiSource::idle() const {
  if (!is_live() || !decoder_) return true;
  return rounds_after_window_ >= kRoundsAfterWindow && decoder_->outstanding_launches() == 0;
}

namespace {

bool has_plain_name(model::Track const& track) {
  return track.name == fmt::format("thread {}", track.id);
}

}  // namespace

void CuptiSource::refresh(TraceStore& store) {
  for (; seen_tracks_ < store.tracks().size(); ++seen_tracks_) {
    model::TrackId const id{static_cast<uint32_t>(seen_tracks_)};
    model::Track const& track = store.track(id);
    if (track.kind == model::TrackKind::kThread && has_plain_name(track))
      unnamed_.push_back({id, 0});
  }

  // A name comes with one of the next calls; a thread that has exited has none any more.
  std::erase_if(unnamed_, [&store](UnnamedThread& thread) {
    model::Track track = store.track(thread.track);
    if (!has_plain_name(track)) return true;
    std::string name = store.system_name(track.id);
    if (name.empty()) return ++thread.tries > ThreadNames::kMaxReads;
    track.name = std::move(name);
    store.set_track(thread.track, std::move(track));
    return true;
  });
}

/// CUPTI is emptied. On the thread of the program that runs its exit handlers no kind is disabled
/// and no wait is without limit. Disabling may deadlock in CUPTI before CUDA 13.0 Update 1. The
/// process ends anyway.
void CuptiSource::program_exits() {
  if (is_live()) exit_flush_ = ExitFlush::kAsked;  // first: who sees the next sees this
  exiting_ = true;

  auto wanted = TakeDown::kWanted;
  take_down_.compare_exchange_strong(wanted, TakeDown::kNo);

  auto const is_over = [this] {
    bool const is_emptied = exit_flush_ == ExitFlush::kNo || exit_flush_ == ExitFlush::kDone;
    bool const writer_is_done = released_ || has_finished_ || (is_emptied && !capture_is_over_);
    return writer_is_done && take_down_ != TakeDown::kUnderWay && requests_ == 0;
  };
  wait_until(is_over, exit_timeout_ns_);

  auto asked = ExitFlush::kAsked;
  exit_flush_.compare_exchange_strong(asked, ExitFlush::kDone);  // the driver may go now
}

/// As for exit handlers nothing is disabled. What CUPTI still has is fetched last, when all else is
/// in the file.
void CuptiSource::program_crashes() noexcept {
  if (is_live()) has_crashed_ = true;  // first: who sees the next sees this
  exiting_ = true;
}

/// CUPTI stays subscribed: disabling costs the program nothing later, and what is allocated between
/// two windows is known in the next.
void CuptiSource::end_window(TraceStore& store, int64_t /*end_ns*/) {
  leaves_window_ = true;
  follow_window();
  wait_until([this] { return requests_ == 0; }, kEndTimeoutNs);
  leaves_window_ = false;

  if (trace_clock_) drain(store, *trace_clock_);
  if (!decoder_) return;
  decoder_->end_window(*clock_, store);
  rounds_after_window_ = 0;
  tell_untimed(store);
  tell_unreadable(store);
}

void CuptiSource::finish(TraceStore& store, int64_t /*end_ns*/) {
  capture_is_over_ = true;

  follow_window();
  if (exit_flush_ == ExitFlush::kAsked || has_crashed_) fetch(true);
  bool const has_ended = wait_until([this] { return requests_ == 0; }, kEndTimeoutNs);

  if (trace_clock_) drain(store, *trace_clock_);
  if (decoder_) {
    decoder_->finish(*clock_, store);
    tell_untimed(store);
    tell_unreadable(store);
  }

  if (has_ended) take_down();
  write_notes(store);
  has_finished_ = true;
}

/// Only after the last buffer was decoded: what CUPTI holds goes with it.
void CuptiSource::take_down() {
  if (exiting_ || has_failed_ || !has_control_ || recording_ != Recording::kOver ||
      !control_->is_subscribed())
    return;

  if (!wait_until([this] { return finding_streams_ == 0; }, kEndTimeoutNs)) return;
  if (auto const reason = control_->reason_to_stay(); !reason.empty()) {
    control_->rest();
    return note("cuda end", fmt::format("CUPTI stays in the process, resting: {}", reason));
  }

  control_->watch_everything();  // before it is wanted: who takes CUPTI down must not do so under
                                 // this call

  take_down_wanted_ns_ = monotonic_ns();
  auto wanted = TakeDown::kWanted;
  take_down_ = wanted;
  if (exiting_) take_down_.compare_exchange_strong(wanted, TakeDown::kNo);
}

/// While the program exits CUPTI is alive and may still write: the process gives the memory back,
/// not we.
void CuptiSource::release() {
  if (!exiting_) {
    capture_is_over_ = true;
    follow_window();
    pool_.writer_leaves();
  }
  released_ = true;
}

void CuptiSource::lock_for_fork() {
  mutex_.lock();
  pool_.lock_for_fork();
}

void CuptiSource::unlock_after_fork() {
  pool_.unlock_after_fork();
  mutex_.unlock();
}

}  // namespace stepscope::tracer
