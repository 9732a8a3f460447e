// The CUDA source: has CUPTI record what the program does on its devices, and turns the buffers into rows on the writer thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tracer/core/capture_window.h"
#include "tracer/core/options.h"
#include "tracer/core/source.h"
#include "tracer/cupti/buffer_pool.h"
#include "tracer/cupti/cupti_api.h"
#include "tracer/cupti/record_decoder.h"

namespace stepscope::tracer {

/// One at a time in a process: CUPTI's buffer callbacks know no object.
class CuptiSource : public Source {
 public:
  using Loader = std::function<base::Expected<CuptiLibrary>()>;

  /// Nothing happens before driver_starts(). The window outlives the source.
  CuptiSource(CaptureWindow& window, CaptureOptions const& options, Loader load = load_cupti);
  ~CuptiSource() override;

  void driver_starts() override;
  void program_exits() override;

  void snapshot() override;
  void drain(TraceStore& store, ClockFit const& clock) override;
  void finish(TraceStore& store, int64_t end_ns) override;
  [[nodiscard]] bool idle() const override;
  void refresh(TraceStore& store) override;
  [[nodiscard]] uint64_t dropped() const override { return dropped_; }
  [[nodiscard]] std::string_view buffer_setting() const override { return kCudaBufferSetting; }
  [[nodiscard]] std::string problem() const override;
  void release() override;
  void lock_for_fork() override;
  void unlock_after_fork() override;

 private:
  /// Rises only.
  enum class State : uint8_t {
    kWaiting,   ///< for the driver
    kAttached,  ///< records
    kDetached   ///< CUPTI records nothing any more, or never did
  };
  void attach();
  bool configure();
  bool enable(bool before_window);
  void choose_functions();
  void watch_for_resets();
  void enter_window();
  void detach();
  void stop_recording();
  bool succeeds(CUptiResult result, std::string_view call);
  void give_up(std::string reason);
  void note(std::string name, std::string text);
  void flush(bool forced);
  void count_dropped();
  void write_notes(TraceStore& store);
  static void on_call(void* source, CUpti_CallbackDomain domain, CUpti_CallbackId function, void const* data);

  CaptureWindow& window_;
  Loader const load_;
  BufferPool pool_;

  mutable std::mutex mutex_;  ///< attaching, entering the window, detaching; and what they note
  std::atomic<State> state_{State::kWaiting};
  std::optional<CuptiLibrary> library_;
  std::atomic<bool> has_library_{false};  ///< library_ is there and stays as it is
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::vector<CUpti_ActivityKind> enabled_;
  std::vector<std::pair<std::string, std::string>> notes_;  ///< facts that the trace does not have yet
  std::string problem_;
  std::atomic<bool> exiting_{false}, finalize_wanted_{false}, finalized_{false};

  // The writer thread's own.
  std::optional<RecordDecoder> decoder_;
  std::optional<ClockFit> clock_;  ///< only its origin is used, which never changes
  int64_t last_flush_ns_ = 0;
  bool round_is_over_ = false, counting_stopped_ = false;
  uint64_t dropped_ = 0;
  size_t named_tracks_ = 0;
};

}  // namespace stepscope::tracer
