#include "tracer/cupti/cupti_control.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>
#include <time.h>

#include "tracer/cupti/activities.h"
#include "tracer/cupti/api_functions.h"

namespace stepscope::tracer {
namespace {

/// Changes of the state of CUPTI itself.
constexpr std::array<CUpti_CallbackId, 3> kStates = {
    CUPTI_CBID_STATE_FATAL_ERROR, CUPTI_CBID_STATE_ERROR, CUPTI_CBID_STATE_WARNING};

constexpr std::array kApiDomains = {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_DRIVER_API};

/// The tightest try counts: one is usually enough, four make a preempted one improbable.
constexpr int kClockTries = 4;

uint64_t CUPTIAPI timestamp() { return static_cast<uint64_t>(monotonic_ns()); }

bool wants_hardware_events(uint32_t version) {
  char const* const requested = std::getenv(kHardwareEventsVariable);
  if (requested == nullptr || *requested == '\0') return version >= kFirstGoodHardwareEvents;
  return std::string_view(requested) == "1";
}

}  // namespace

CuptiControl::CuptiControl(CuptiLibrary library, Note note)
    : library_(std::move(library)),
      workarounds_(workarounds_of(library_.version)),
      note_(std::move(note)) {
  note_("cupti", fmt::format("{}, API version {} (CUDA {})", library_.path, library_.version,
                             cupti_release(library_.version)));
}

base::Expected<void> CuptiControl::check(CUptiResult result, std::string_view call) const {
  if (result != CUPTI_SUCCESS) return base::fail("{}", describe_cupti_error(api(), call, result));
  return {};
}

void CuptiControl::note_failure(CUptiResult result, std::string_view call) {
  if (result == CUPTI_SUCCESS) [[likely]]
    return;
  if (is_new_failure(call))
    note_("cuda tracing",
          fmt::format("a call did not work: {}", describe_cupti_error(api(), call, result)));
}

bool CuptiControl::is_new_failure(std::string_view what) {
  std::lock_guard const lock(failures_mutex_);
  return failures_.emplace(what).second;
}

std::optional<std::string> CuptiControl::hear_state(CUpti_CallbackId state,
                                                    CUpti_StateData const& data) {
  auto const& [result, message] = data.notification;
  std::string text = describe_cupti_error(api(), "CUPTI", result);
  if (message != nullptr) text += fmt::format(" ({})", message);
  if (is_new_failure(text)) note_("cuda tracing", text);
  return state == CUPTI_CBID_STATE_FATAL_ERROR ? std::optional(std::move(text)) : std::nullopt;
}

base::Expected<void> CuptiControl::begin(Callbacks const& callbacks) {
  // First: CUPTI has one user at a time, and only this tells whether it is us.
  if (auto taken = check(api().subscribe(&subscriber_, callbacks.call, callbacks.call_data),
                         "cuptiSubscribe");
      !taken)
    return taken;
  is_subscribed_ = true;
  auto configured = configure(callbacks);
  if (!configured) unsubscribe();
  return configured;
}

base::Expected<void> CuptiControl::configure(Callbacks const& callbacks) {
  auto done =
      check(api().set_thread_id_type(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM), "cuptiSetThreadIdType");
  if (done && !workarounds_.no_timestamp_callback)
    done = check(api().register_timestamp_callback(timestamp),
                 "cuptiActivityRegisterTimestampCallback");

  if (!done) return done;
  note_("cuda clock",
        workarounds_.no_timestamp_callback ? "CUPTI's own, converted" : "CLOCK_MONOTONIC");

  // We zero buffers on our thread, so that CUPTI need not on the program's. One that does not know
  // this does it all the same.
  set_attribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER);

  if (workarounds_.ask_for_thread_buffers)
    note_failure(set_attribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER),
                 "cuptiActivitySetAttribute");

  for (CUpti_CallbackId const state : kStates) watch(CUPTI_CB_DOMAIN_STATE, state);
  if (api().enable_hw_trace != nullptr && wants_hardware_events(library_.version))
    watch(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED);

  // Queries of unfinished work need no record: no thread waits in them.
  if (api().enable_all_sync_records != nullptr) api().enable_all_sync_records(0);

  return check(api().register_callbacks(callbacks.buffer_requested, callbacks.buffer_completed),
               "cuptiActivityRegisterCallbacks");
}

CUptiResult CuptiControl::set_attribute(CUpti_ActivityAttribute attribute) {
  uint8_t yes = 1;
  size_t bytes = sizeof yes;
  return api().set_attribute(attribute, &bytes, &yes);
}

/// Where the GPU has none, newer versions agree all the same and use software: only the request is
/// known.
void CuptiControl::ask_for_hardware_events() {
  CUptiResult const result = api().enable_hw_trace(1);
  note_("cuda timestamps", result == CUPTI_SUCCESS
                               ? "hardware events were asked for"
                               : describe_cupti_error(api(), "cuptiActivityEnableHWTrace", result));
}

base::Expected<void> CuptiControl::enable(bool before_window) {
  for (Activity const& activity : kActivities) {
    if (activity.before_window != before_window) continue;

    CUptiResult const result = api().enable(activity.kind);
    if (result == CUPTI_SUCCESS) {
      enabled_.push_back(activity.kind);
    } else if (activity.is_essential) {
      return check(result,
                   fmt::format("cuptiActivityEnable of kind {}", static_cast<int>(activity.kind)));
    } else {
      note_("cuda tracing",
            fmt::format("without records of kind {}: {}", static_cast<int>(activity.kind),
                        describe_cupti_error(api(), "cuptiActivityEnable", result)));
    }
  }

  if (!before_window) choose_functions();
  return {};
}

/// Records all runtime functions but noise, and the driver functions that matter. Only after the
/// kinds: they override single functions.
void CuptiControl::choose_functions() {
  if (api().enable_runtime_api != nullptr) {
    for_each_function(
        api(), CUPTI_CB_DOMAIN_RUNTIME_API, [&](CUpti_CallbackId function, std::string_view name) {
          if (classify(name) == ApiClass::kNoise)
            note_failure(api().enable_runtime_api(function, 0), "cuptiActivityEnableRuntimeApi");
        });
  }

  if (api().enable_driver_api ==
      nullptr) {  // all or nothing; the decoder leaves out what is not wanted
    if (api().enable(CUPTI_ACTIVITY_KIND_DRIVER) == CUPTI_SUCCESS)
      enabled_.push_back(CUPTI_ACTIVITY_KIND_DRIVER);
    note_("cuda calls",
          "all are recorded: this CUPTI cannot choose among them, which costs each call time");
    return;
  }

  for_each_function(
      api(), CUPTI_CB_DOMAIN_DRIVER_API, [&](CUpti_CallbackId function, std::string_view name) {
        ApiClass const api_class = classify(name);
        if (api_class != ApiClass::kNoise && api_class != ApiClass::kOther)
          note_failure(api().enable_driver_api(function, 1), "cuptiActivityEnableDriverApi");
      });
}

void CuptiControl::watch(std::vector<std::string_view> const& functions) {
  for (CUpti_CallbackDomain const domain : kApiDomains) {
    for_each_function(api(), domain, [&](CUpti_CallbackId function, std::string_view name) {
      if (std::find(functions.begin(), functions.end(), name) != functions.end())
        watch(domain, function);
    });
  }
}

void CuptiControl::watch(CUpti_CallbackDomain domain, CUpti_CallbackId function) {
  note_failure(api().enable_callback(1, subscriber_, domain, function), "cuptiEnableCallback");
  watched_.emplace_back(domain, function);
}

void CuptiControl::watch_everything() {
  for (CUpti_CallbackDomain const domain : kApiDomains)
    note_failure(api().enable_domain(1, subscriber_, domain), "cuptiEnableDomain");
}

void CuptiControl::end() {
  std::lock_guard const lock(flush_mutex_);
  // Kernels last: before CUDA 13.0 Update 1 disabling them may deadlock in CUPTI; the rest is done
  // by then.
  std::stable_partition(enabled_.begin(), enabled_.end(), [](CUpti_ActivityKind kind) {
    return kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  });

  if (api().enable_driver_api != nullptr) {
    for_each_function(
        api(), CUPTI_CB_DOMAIN_DRIVER_API,
        [&](CUpti_CallbackId function, std::string_view) { api().enable_driver_api(function, 0); });
  }

  for (auto const& [domain, function] : std::exchange(watched_, {}))
    api().enable_callback(0, subscriber_, domain, function);
  for (CUpti_ActivityKind const kind : std::exchange(enabled_, {}))
    note_failure(api().disable(kind), "cuptiActivityDisable");

  note_failure(api().flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "cuptiActivityFlushAll");
}

void CuptiControl::unsubscribe() {
  note_failure(api().unsubscribe(subscriber_), "cuptiUnsubscribe");
  is_subscribed_ = false;
}

void CuptiControl::finalize() {
  unsubscribe();
  note_failure(api().finalize(), "cuptiFinalize");
}

bool CuptiControl::flush(bool all) {
  std::unique_lock const lock(flush_mutex_, std::try_to_lock);
  if (lock)
    note_failure(api().flush_all(all ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0),
                 "cuptiActivityFlushAll");
  return lock.owns_lock();
}

void CuptiControl::assume_realtime_clock() {
  clock_is_realtime_ = true;
  note_("cuda clock", "CUPTI does not tell its time: taken for CLOCK_REALTIME, converted");
}

std::optional<int64_t> CuptiControl::read_clock() const {
  if (clock_is_realtime_) {
    constexpr int64_t kNsPerSecond = 1'000'000'000;
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    return static_cast<int64_t>(now.tv_sec) * kNsPerSecond + now.tv_nsec;
  }
  // Before the driver is up some versions call it a success, and report 0.
  uint64_t time = 0;
  bool const is_known = api().get_timestamp(&time) == CUPTI_SUCCESS && time != 0;
  return is_known ? std::optional(static_cast<int64_t>(time)) : std::nullopt;
}

std::optional<ClockSample> CuptiControl::sample_clock() const {
  if (!has_own_clock()) return {};

  std::optional<ClockSample> best;
  int64_t best_width = INT64_MAX;
  for (int i = 0; i < kClockTries; ++i) {
    int64_t const before = monotonic_ns();
    auto const theirs = read_clock();
    int64_t const after = monotonic_ns();

    if (!theirs || after - before >= best_width) continue;
    best_width = after - before;
    best = ClockSample{*theirs, before + (after - before) / 2};
  }

  return best;
}

/// The driver is not asked: it follows handles without a look, those of streams that are gone, too.
/// CUPTI looks them up.
std::optional<StreamNumber> CuptiControl::find_stream(CUstream stream) const {
  CuptiApi const& cupti = api();
  if (cupti.get_current_context == nullptr || cupti.get_context_id == nullptr ||
      cupti.get_stream_id == nullptr)
    return {};

  uint8_t const is_of_thread = stream == CU_STREAM_PER_THREAD ? 1 : 0;
  CUcontext context = nullptr;
  StreamNumber result;

  bool const is_known =
      cupti.get_current_context(&context) == CUDA_SUCCESS && context != nullptr &&
      cupti.get_context_id(context, &result.context) == CUPTI_SUCCESS &&
      cupti.get_stream_id(context, stream, is_of_thread, &result.stream) == CUPTI_SUCCESS;

  return is_known ? std::optional(result) : std::nullopt;
}

size_t CuptiControl::take_dropped() const {
  size_t dropped = 0;
  bool const is_known = api().get_num_dropped_records(nullptr, 0, &dropped) == CUPTI_SUCCESS;
  return is_known ? dropped : 0;
}

}  // namespace stepscope::tracer
