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

/// CUDA's version of the drivers r610: older ones have one subscriber, whatever CUPTI is.
constexpr int kFirstSharedDriver = 13'030;

constexpr std::string_view kFlushAll = "cuptiActivityFlushAll";

uint64_t CUPTIAPI timestamp() { return static_cast<uint64_t>(monotonic_ns()); }

bool is_set_to(char const* variable, std::string_view value) {
  char const* const found = std::getenv(variable);
  return found != nullptr && found == value;
}

bool wants_hardware_events(uint32_t version) {
  char const* const requested = std::getenv(kHardwareEventsVariable);
  if (requested == nullptr || *requested == '\0') return version >= kFirstGoodHardwareEvents;
  return std::string_view(requested) == "1";
}

}  // namespace

CuptiControl::CuptiControl(CuptiLibrary library, Note note)
    : library_(std::move(library)),
      workarounds_(workarounds_of(library_.version)),
      note_(std::move(note)),
      may_finalize_(is_set_to(kFinalizeVariable, "1")) {
  note_("cupti", fmt::format("{}, API version {} (CUDA {})", library_.path, library_.version,
                             cupti_release(library_.version)));
}

base::Expected<void> CuptiControl::check(CallResult const& done) const {
  if (done.worked()) return {};
  bool const is_refused = done.result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  return base::fail("{}", describe_cupti_error(api(), done.call, done.result,
                                               is_refused ? other_tool_ : std::string_view()));
}

void CuptiControl::note_failure(CallResult const& done) {
  if (done.worked()) [[likely]]
    return;
  if (is_new_failure(done.call))
    note_("cuda tracing", fmt::format("a call did not work: {}",
                                      describe_cupti_error(api(), done.call, done.result)));
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
  callbacks_ = callbacks;
  if (begin_shared()) return {};
  return begin_alone();
}

base::Expected<void> CuptiControl::begin_alone() {
  backend_ = classic_cupti(api());
  return subscribe();
}

/// False: the classic functions have to do. Where these are refused, too, the error is theirs.
bool CuptiControl::begin_shared() {
  int const driver = library_.driver_version;
  bool const is_possible = library_.version >= cupti::k13v3 && api().of_subscriber.is_complete() &&
                           (driver == 0 || driver >= kFirstSharedDriver);
  if (!is_possible || is_set_to(kSharedVariable, "0")) return false;

  backend_ = shared_cupti(api());
  auto const begun = subscribe();
  if (begun) return true;

  note_taken_alone(begun.error().message);
  return false;
}

/// Without the advice behind the comma: it is for who is refused both ways.
void CuptiControl::note_taken_alone(std::string_view reason) {
  note_("cuda subscribers",
        fmt::format("CUPTI is taken alone: {}", reason.substr(0, reason.find(", "))));
}

base::Expected<void> CuptiControl::subscribe() {
  // First: without several subscribers only this tells whether CUPTI is ours.
  auto const subscribed = backend_->subscribe(callbacks_.call, callbacks_.call_data);
  if (!backend_->other_tool().empty()) other_tool_ = backend_->other_tool();
  if (auto taken = check(subscribed); !taken) return taken;

  is_subscribed_ = true;
  auto configured = configure();
  if (!configured) {
    watched_.clear();
    rest();
  }
  return configured;
}

void CuptiControl::note_control() {
  note_("cuda clock", has_own_clock() ? "CUPTI's own, converted" : "CLOCK_MONOTONIC");
  if (backend_->reader() != nullptr)
    note_("cuda subscribers", other_tool_.empty()
                                  ? "other tools may record beside this one"
                                  : fmt::format("recorded beside \"{}\"", other_tool_));
  if (backend_->hides_graphs())
    note_("cuda graphs",
          "the tool that subscribed first has CUPTI record each graph as one: kernels of CUDA "
          "graphs are not in the trace");
}

base::Expected<void> CuptiControl::configure() {
  auto done = check(backend_->use_system_thread_ids());
  if (done && !has_own_clock()) done = check(backend_->use_clock(timestamp));
  if (!done) return done;

  // We zero buffers on our thread, so that CUPTI need not on the program's. One that does not know
  // this does it all the same.
  backend_->set_flag(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER);
  if (workarounds_.ask_for_thread_buffers)
    note_failure(backend_->set_flag(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER));

  for (CUpti_CallbackId const state : kStates) watch(CUPTI_CB_DOMAIN_STATE, state);
  prepare_hardware_events();
  backend_->skip_unfinished_queries();

  return check(
      backend_->register_buffers(callbacks_.buffer_requested, callbacks_.buffer_completed));
}

void CuptiControl::prepare_hardware_events() {
  if (api().enable_hw_trace == nullptr || !wants_hardware_events(library_.version)) return;
  if (backend_->takes_hardware_events_at_once()) {
    // The attribute's number is known from the order of a list alone, and it is for all tools.
    if (is_set_to(kHardwareEventsVariable, "1")) ask_for_hardware_events();
  } else
    watch(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED);
}

/// Where the GPU has none, newer versions agree all the same and use software: only the request is
/// known.
void CuptiControl::ask_for_hardware_events() {
  auto const [call, result] = backend_->ask_for_hardware_events();
  if (result != CUPTI_SUCCESS)
    return note_("cuda timestamps", describe_cupti_error(api(), call, result));

  bool const is_risky = library_.version < kFirstGoodHardwareEvents;
  note_("cuda timestamps",
        is_risky ? "hardware events were asked for, with which CUPTI before CUDA 13.4 Update 1 may "
                   "damage memory, also on the thread that flushes (pytorch#186861)"
                 : "hardware events were asked for");
}

base::Expected<void> CuptiControl::start(bool with_window) {
  auto started = enable_all(with_window);
  if (!started && reader() != nullptr) {
    // No record has been made so far.
    note_taken_alone(started.error().message);
    end();
    rest();
    started = begin_alone();
    if (started) started = enable_all(with_window);
  }

  if (started) note_control();
  return started;
}

base::Expected<void> CuptiControl::enable_all(bool with_window) {
  auto enabled = enable(true);
  return enabled && with_window ? enable(false) : enabled;
}

base::Expected<void> CuptiControl::enable(bool before_window) {
  for (Activity const& activity : kActivities) {
    if (activity.before_window != before_window) continue;

    auto const [call, result] = backend_->enable(activity.kind);
    int const kind = static_cast<int>(activity.kind);
    if (result == CUPTI_SUCCESS) {
      enabled_.push_back(activity.kind);
    } else if (activity.is_essential) {
      return check({fmt::format("{} of kind {}", call, kind), result});
    } else {
      note_("cuda tracing", fmt::format("without records of kind {}: {}", kind,
                                        describe_cupti_error(api(), call, result)));
    }
  }

  if (!before_window) choose_functions();
  return {};
}

/// Records all runtime functions but noise, and the driver functions that matter. Only after the
/// kinds: they override single functions.
void CuptiControl::choose_functions() {
  if (backend_->can_choose(CUPTI_CB_DOMAIN_RUNTIME_API)) {
    for_each_function(
        api(), CUPTI_CB_DOMAIN_RUNTIME_API, [&](CUpti_CallbackId function, std::string_view name) {
          if (classify(name) == ApiClass::kNoise)
            note_failure(backend_->choose(CUPTI_CB_DOMAIN_RUNTIME_API, function, false));
        });
  }

  // All or nothing; the decoder leaves out what is not wanted.
  if (!backend_->can_choose(CUPTI_CB_DOMAIN_DRIVER_API)) {
    if (backend_->enable(CUPTI_ACTIVITY_KIND_DRIVER).worked())
      enabled_.push_back(CUPTI_ACTIVITY_KIND_DRIVER);
    note_("cuda calls",
          "all are recorded: this CUPTI cannot choose among them, which costs each call time");
    return;
  }

  for_each_function(api(), CUPTI_CB_DOMAIN_DRIVER_API,
                    [&](CUpti_CallbackId function, std::string_view name) {
                      ApiClass const api_class = classify(name);
                      if (api_class != ApiClass::kNoise && api_class != ApiClass::kOther)
                        note_failure(backend_->choose(CUPTI_CB_DOMAIN_DRIVER_API, function, true));
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
  note_failure(backend_->watch(domain, function, true));
  watched_.emplace_back(domain, function);
}

void CuptiControl::watch_everything() {
  for (CUpti_CallbackDomain const domain : kApiDomains) note_failure(backend_->watch_all(domain));
}

void CuptiControl::disable_choices() {
  if (!backend_->can_choose(CUPTI_CB_DOMAIN_DRIVER_API)) return;
  for_each_function(api(), CUPTI_CB_DOMAIN_DRIVER_API,
                    [&](CUpti_CallbackId function, std::string_view) {
                      backend_->choose(CUPTI_CB_DOMAIN_DRIVER_API, function, false);
                    });
}

/// Kernels last: before CUDA 13.0 Update 1 disabling them may deadlock in CUPTI; the rest is done
/// by then.
void CuptiControl::disable(std::vector<CUpti_ActivityKind> kinds) {
  std::stable_partition(kinds.begin(), kinds.end(), [](CUpti_ActivityKind kind) {
    return kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  });
  for (CUpti_ActivityKind const kind : kinds) note_failure(backend_->disable(kind));
}

void CuptiControl::end_window() {
  std::lock_guard const lock(flush_mutex_);
  disable_choices();

  auto const first_of_window =
      std::stable_partition(enabled_.begin(), enabled_.end(),
                            [](CUpti_ActivityKind kind) { return is_wanted_before_window(kind); });
  std::vector<CUpti_ActivityKind> const of_window(first_of_window, enabled_.end());
  enabled_.erase(first_of_window, enabled_.end());
  disable(of_window);

  note_failure({kFlushAll, api().flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED)});
}

void CuptiControl::end() {
  std::lock_guard const lock(flush_mutex_);
  disable_choices();
  for (auto const& [domain, function] : std::exchange(watched_, {}))
    backend_->watch(domain, function, false);
  disable(std::exchange(enabled_, {}));
  note_failure({kFlushAll, api().flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED)});
}

void CuptiControl::unsubscribe() {
  note_failure(backend_->unsubscribe());
  is_subscribed_ = false;
}

void CuptiControl::rest() {
  backend_->restore_settings();
  unsubscribe();
}

std::string_view CuptiControl::reason_to_stay() const {
  if (!may_finalize_) return "another capture or tool can use it at once";
  if (backend_->reader() != nullptr) return "other tools may still record with it";
  if (workarounds_.never_finalize) return "taking down that of CUDA 12.5 and older is not safe";
  return {};
}

void CuptiControl::finalize() {
  unsubscribe();
  note_failure({"cuptiFinalize", api().finalize()});
}

bool CuptiControl::flush(bool all) {
  std::unique_lock const lock(flush_mutex_, std::try_to_lock);
  if (lock) note_failure({kFlushAll, api().flush_all(all ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0)});
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
  bool const is_known = backend_->time(time).worked() && time != 0;
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

}  // namespace stepscope::tracer
