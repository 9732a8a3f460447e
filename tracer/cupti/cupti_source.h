// The CUDA source: has CUPTI record what the program does on its devices, and turns the buffers
// into rows on the writer thread.
//
// Who calls CUPTI: the writer, and as little as can be threads of the program. They do when CUDA
// starts, when the window opens, before a device is reset, and once when CUPTI is taken down. No
// lock that a fork or the program's exit needs is held meanwhile: CUPTI may take long or, in faulty
// versions, for ever.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "tracer/core/capture_window.h"
#include "tracer/core/device_registry.h"
#include "tracer/core/options.h"
#include "tracer/core/source.h"
#include "tracer/cupti/buffer_pool.h"
#include "tracer/cupti/cupti_control.h"
#include "tracer/cupti/decode/record_decoder.h"
#include "tracer/cupti/record_clock.h"

namespace stepscope::tracer {

/// One at a time in a process: CUPTI's buffer callbacks know no object.
class CuptiSource : public Source {
 public:
  using Loader = std::function<base::Expected<CuptiLibrary>()>;
  /// How long the program's end may wait for the writer to fetch what CUPTI holds.
  static constexpr int64_t kExitTimeoutNs = 5'000'000'000;
  /// A program that makes no call of the runtime for so long calls the driver only.
  static constexpr int64_t kDriverOnlyNs = 500'000'000;

  /// Nothing happens before driver_starts(). The window and the device registry, which learns the
  /// devices that the program uses, outlive the source.
  CuptiSource(CaptureWindow& window, CaptureOptions const& options, DeviceRegistry& devices,
              Loader load = load_cupti, int64_t exit_timeout_ns = kExitTimeoutNs);
  ~CuptiSource() override;

  void driver_starts() override;
  /// A stream that is named while nothing of CUDA is recorded keeps its number for a name.
  void stream_named(void* stream, std::string_view name) override;
  void program_exits() override;
  void program_crashes() noexcept override;

  void snapshot() override;
  void drain(TraceStore& store, ClockFit const& clock) override;
  void end_window(TraceStore& store, int64_t end_ns) override;
  void names_begin_anew(RowWatcher::Renamed const& renamed) override {
    if (decoder_) decoder_->names_begin_anew(renamed);
  }
  void finish(TraceStore& store, int64_t end_ns) override;
  [[nodiscard]] bool idle() const override;
  void refresh(TraceStore& store) override;
  [[nodiscard]] uint64_t dropped() const override;
  [[nodiscard]] std::string_view buffer_setting() const override { return kCudaBufferSetting; }
  [[nodiscard]] std::string problem() const override;
  void release() override;
  /// The program runs its exit handlers.
  [[nodiscard]] bool is_exiting() const { return exiting_; }
  /// Current size of CUPTI's buffers.
  [[nodiscard]] size_t buffer_bytes() const { return pool_.mapped_bytes(); }
  void lock_for_fork() override;
  void unlock_after_fork() override;

 private:
  /// What CUPTI records now.
  enum class Recording : uint8_t { kNotYet, kBaseline, kWindow, kOver };
  /// CUPTI is taken down when a call of CUDA returns after recording has ended.
  enum class TakeDown : uint8_t { kNo, kWanted, kUnderWay, kDone };
  /// What the program's exit waits for: the last records are fetched, then decoded, as names in
  /// them are CUPTI's memory.
  enum class ExitFlush : uint8_t { kNo, kAsked, kFetched, kDone };

  void follow_window() noexcept;
  [[nodiscard]] Recording target() const;
  Recording move_to(Recording to);
  bool attach();
  bool start_recording(Recording what);
  bool enter_window();
  void leave_window();
  void stop_recording();
  void take_down();
  /// Records, and CUPTI may be called.
  [[nodiscard]] bool is_live() const;
  void give_up(std::string reason);
  void note(std::string name, std::string text);

  [[nodiscard]] std::optional<StreamNumber> find_stream(void* stream);
  void name_streams(TraceStore& store);
  void fetch(bool all);
  void decode_completed(TraceStore& store);
  void note_end_of_window();
  void write_notes(TraceStore& store);
  [[nodiscard]] bool knows_clock();
  void make_decoder(ClockFit const& clock);
  void tell_untimed(TraceStore& store);
  void tell_unreadable(TraceStore& store);

  // CUPTI's callbacks.
  static void on_call(void* source, CUpti_CallbackDomain domain, CUpti_CallbackId function,
                      void const* data);
  static void buffer_requested(uint8_t** buffer, size_t* bytes, size_t* max_records);
  static void buffer_completed(CUcontext context, uint32_t stream, uint8_t* buffer, size_t bytes,
                               size_t valid_bytes);
  void call_begins(CUpti_CallbackDomain domain, std::string_view function);
  void call_returns(CUpti_CallbackDomain domain, std::string_view function);
  void state_changes(CUpti_CallbackId state, CUpti_StateData const& data);
  [[nodiscard]] bool may_take_down(CUpti_CallbackDomain domain) const;
  [[nodiscard]] std::vector<std::string_view> watched_functions() const;
  void count_lost(std::span<uint8_t> records);

  CaptureWindow& window_;
  DeviceRegistry& devices_;
  Loader const load_;
  int64_t const exit_timeout_ns_;
  BufferPool pool_;

  // Changed by the thread that is in follow_window().
  std::optional<CuptiControl> control_;
  std::atomic<bool> has_control_{false};  ///< the one above is there and stays as it is
  std::atomic<Recording> recording_{Recording::kNotYet};
  std::atomic<uint32_t> requests_{0};  ///< to follow the window; 0 = no thread is at it

  std::atomic<bool> driver_started_{false}, capture_is_over_{false}, exiting_{false},
      released_{false};
  std::atomic<bool> leaves_window_{false};  ///< the writer has what was under way at its end
  std::atomic<bool> is_emptying_{false};    ///< CUPTI gives all records back, for the writer
  std::atomic<bool> has_crashed_{false};    ///< the program, while CUPTI recorded it
  std::atomic<bool> has_failed_{false};     ///< CUPTI has ended itself and must not be called
  std::atomic<bool> has_finished_{false};  ///< the writer calls CUPTI no more, nor reads its memory
  std::atomic<TakeDown> take_down_{TakeDown::kNo};
  std::atomic<int64_t> take_down_wanted_ns_{0};
  std::atomic<bool> calls_runtime_{
      false};  ///< seen, by a callback or a record: one of them is waited for
  std::atomic<ExitFlush> exit_flush_{ExitFlush::kNo};
  std::atomic<uint32_t> finding_streams_{
      0};  ///< threads that ask CUPTI for the number of a stream now
  std::atomic<uint64_t> dropped_by_cupti_{0}, lost_in_overflow_{0};
  pid_t process_ = 0;  ///< that CUPTI was attached in: not a fork of it

  mutable std::mutex mutex_;  ///< for what follows; never held while CUPTI is called
  std::vector<std::pair<std::string, std::string>>
      notes_;  ///< facts that the trace does not have yet
  std::string problem_;
  std::vector<std::pair<StreamNumber, std::string>>
      stream_names_;  ///< that the tracks do not have yet

  // The writer thread's own.
  std::optional<RecordDecoder> decoder_;
  std::optional<ClockSample> first_clock_sample_;
  std::optional<int64_t> clock_asked_ns_;  ///< when CUPTI was first asked for it, and said nothing
  std::optional<RecordClock> clock_;
  std::optional<ClockFit> trace_clock_;  ///< only its origin is used, which never changes
  int64_t last_fetch_ns_ = 0;
  bool round_is_over_ = false;
  uint64_t reported_untimed_ = 0, reported_unreadable_ = 0;  ///< in the files of earlier windows
  int rounds_after_window_ = 0;
  struct UnnamedThread {
    model::TrackId track;
    int tries = 0;
  };
  std::vector<UnnamedThread> unnamed_;  ///< whose names the system may still tell
  size_t seen_tracks_ = 0;              ///< of the store: looked through for such threads
};

}  // namespace stepscope::tracer
