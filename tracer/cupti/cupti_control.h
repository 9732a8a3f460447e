// Controls CUPTI: what to record, by which clock, when to hand it over, and when to end. Knows
// the faults of versions (known_faults.h), nothing of rows and sessions.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tracer/core/clock.h"
#include "tracer/cupti/cupti_backend.h"
#include "tracer/cupti/known_faults.h"

namespace stepscope::tracer {

/// The hardware's own timestamps (Blackwell and later) cost launches less. They are asked for from
/// that version on. NVIDIA mended their faults in CUDA 13.4 and its update 1: memory that is
/// damaged or leaks, times of zero and a system that crashes. They cannot be turned off again.
/// STEPSCOPE_CUDA_HES: 1 = with older versions, too, 0 = never.
inline constexpr uint32_t kFirstGoodHardwareEvents = cupti::k13v4Update1;
inline constexpr char const* kHardwareEventsVariable = "STEPSCOPE_CUDA_HES";
/// 0: CUPTI is taken alone, as before CUDA 13.3, though other tools could record beside us.
inline constexpr char const* kSharedVariable = "STEPSCOPE_CUPTI_SHARED";
/// 1: CUPTI leaves the process when recording has ended, where its version allows that. It costs
/// later calls nothing then, but a crash in it would be the program's (decision 43).
inline constexpr char const* kFinalizeVariable = "STEPSCOPE_CUPTI_FINALIZE";

/// A stream as records number it.
struct StreamNumber {
  uint32_t context = 0, stream = 0;
};

/// One thread at a time, but for what says something else.
class CuptiControl {
 public:
  /// Keeps a fact for the trace: its name, its text. On any thread.
  using Note = std::function<void(std::string, std::string)>;
  /// Where CUPTI calls us.
  struct Callbacks {
    CUpti_CallbackFunc call = nullptr;
    void* call_data = nullptr;
    CUpti_BuffersCallbackRequestFunc buffer_requested = nullptr;
    CUpti_BuffersCallbackCompleteFunc buffer_completed = nullptr;
  };

  CuptiControl(CuptiLibrary library, Note note);

  [[nodiscard]] CuptiApi const& api() const { return library_.api; }
  [[nodiscard]] Workarounds const& workarounds() const { return workarounds_; }

  /// Subscribes to CUPTI and makes every setting that must precede recording.
  /// Where CUPTI allows it other tools may record beside us; otherwise it is ours alone.
  /// Errors: the call, CUPTI's reason, what to do; the subscription is released then.
  base::Expected<void> begin(Callbacks const& callbacks);
  /// Records the kinds that are wanted before the window, and those of the window. Where CUPTI
  /// refuses that for one of several subscribers, begins again by the classic functions. Errors as
  /// of begin().
  base::Expected<void> start(bool with_window);
  /// Records those of the window, too. Errors as of begin().
  base::Expected<void> start_window() { return enable(false); }
  /// Records only those wanted before the window again, and hands over what it has of the others.
  void end_window();
  /// Has `call` called for these functions of the runtime and the driver.
  void watch(std::vector<std::string_view> const& functions);
  /// In `call`, when CUPTI tells of its own state: keeps it as a fact. The reason when it has ended
  /// itself: it must not be called any more.
  std::optional<std::string> hear_state(CUpti_CallbackId state, CUpti_StateData const& data);
  /// Nothing is recorded any more, and all that was has been handed over.
  void end();
  /// CUPTI stays in the process, at rest: another tool, or a later capture, can subscribe.
  void rest();
  /// It never tells the time of its clock, which is taken for what it is by default then. Only by
  /// who samples the clock.
  void assume_realtime_clock();
  [[nodiscard]] bool is_subscribed() const { return is_subscribed_; }
  /// Why finalize() must not be called; empty = it may, and the user asked for it.
  [[nodiscard]] std::string_view reason_to_stay() const;
  /// Has `call` called for every function of CUDA, one of which can then finalize().
  void watch_everything();
  /// In `call`, when a function returns. The subscriber first: its handle means nothing afterwards.
  void finalize();
  /// In `call`, when the driver has been initialized: the earliest moment for it in CUDA 12.8
  /// to 13.2, and before any context.
  void ask_for_hardware_events();

  // Any thread.
  /// Has CUPTI hand over buffers: those in which nothing runs any more, or all. False when another
  /// thread is at it.
  bool flush(bool all);
  /// It does not use ours. After begin().
  [[nodiscard]] bool has_own_clock() const {
    return workarounds_.no_timestamp_callback || !backend_->takes_clock();
  }
  /// Both clocks, its own and ours, at one moment. Nothing where it has none of its own, or does
  /// not tell its time.
  [[nodiscard]] std::optional<ClockSample> sample_clock() const;
  /// Nothing for what is no stream of the thread's current context.
  [[nodiscard]] std::optional<StreamNumber> find_stream(CUstream stream) const;
  /// Records that CUPTI dropped since it was asked last.
  [[nodiscard]] size_t take_dropped() const { return backend_->take_dropped(); }
  /// Whose layouts records are read by. After begin().
  [[nodiscard]] CUpti_SubscriberHandle reader() const { return backend_->reader(); }

 private:
  [[nodiscard]] std::optional<int64_t> read_clock() const;
  [[nodiscard]] base::Expected<void> check(CallResult const& done) const;
  [[nodiscard]] bool begin_shared();
  base::Expected<void> begin_alone();
  base::Expected<void> enable(bool before_window);
  base::Expected<void> enable_all(bool with_window);
  void disable_choices();
  void disable(std::vector<CUpti_ActivityKind> kinds);
  void note_taken_alone(std::string_view reason);
  base::Expected<void> subscribe();
  base::Expected<void> configure();
  void prepare_hardware_events();
  void note_control();
  void watch(CUpti_CallbackDomain domain, CUpti_CallbackId function);
  void choose_functions();
  void unsubscribe();
  /// The first failure of each call is a fact of the trace; recording goes on.
  void note_failure(CallResult const& done);
  [[nodiscard]] bool is_new_failure(std::string_view what);

  CuptiLibrary const library_;
  Workarounds const workarounds_;
  Note const note_;
  Callbacks callbacks_;                    ///< from begin() on
  bool const may_finalize_;                ///< the user asked for it
  std::unique_ptr<CuptiBackend> backend_;  ///< from begin() on
  std::string other_tool_;                 ///< that refused us, if its name is known
  bool is_subscribed_ = false;
  std::atomic<bool> clock_is_realtime_{false};
  std::vector<CUpti_ActivityKind> enabled_;
  std::vector<std::pair<CUpti_CallbackDomain, CUpti_CallbackId>> watched_;
  std::mutex failures_mutex_;  ///< for what follows; never held while CUPTI is called
  std::set<std::string, std::less<>> failures_;  ///< that are facts already
  std::mutex flush_mutex_;  ///< one thread at a time asks CUPTI to flush buffers or to end
};

}  // namespace stepscope::tracer
