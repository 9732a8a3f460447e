// The two ways to control CUPTI. The classic one is the only subscriber of the process and sets
// CUPTI as a whole. The shared one has settings of its own and leaves other subscribers theirs;
// CUPTI 13.3 and newer allow it. The records are the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tracer/cupti/cupti_api.h"

namespace stepscope::tracer {

/// What a function of CUPTI answered.
struct CallResult {
  std::string_view call;  ///< the function's name
  CUptiResult result = CUPTI_SUCCESS;

  [[nodiscard]] bool worked() const { return result == CUPTI_SUCCESS; }
};

/// From subscribe() to unsubscribe(). One thread at a time, but for time(), take_dropped() and
/// reading records. The api outlives it.
class CuptiBackend {
 public:
  explicit CuptiBackend(CuptiApi const& api) : api_(api) {}
  virtual ~CuptiBackend() = default;
  CuptiBackend(CuptiBackend const&) = delete;
  CuptiBackend& operator=(CuptiBackend const&) = delete;

  virtual CallResult subscribe(CUpti_CallbackFunc callback, void* data) = 0;
  /// After subscribe(): the name of the tool that subscribed first, if CUPTI knows one.
  [[nodiscard]] std::string const& other_tool() const { return other_tool_; }
  /// Whose layouts records are read by; null = CUPTI's own.
  [[nodiscard]] CUpti_SubscriberHandle reader() const { return reader_; }

  // Settings, before anything is recorded.
  virtual CallResult use_system_thread_ids() = 0;
  virtual CallResult set_flag(CUpti_ActivityAttribute attribute) = 0;
  virtual CallResult register_buffers(CUpti_BuffersCallbackRequestFunc request,
                                      CUpti_BuffersCallbackCompleteFunc complete) = 0;
  /// Whether every subscriber may have a clock of its choice.
  [[nodiscard]] virtual bool takes_clock() const = 0;
  virtual CallResult use_clock(CUpti_TimestampCallbackFunc clock) = 0;
  /// Queries of unfinished work need no record: no thread waits in them.
  virtual void skip_unfinished_queries() = 0;
  /// Whether they can be asked for at once: otherwise when the driver is initialized.
  [[nodiscard]] virtual bool takes_hardware_events_at_once() const = 0;
  virtual CallResult ask_for_hardware_events() = 0;
  /// Another tool had CUPTI record graphs as one: their kernels have no records.
  [[nodiscard]] virtual bool hides_graphs() const { return false; }

  virtual CallResult enable(CUpti_ActivityKind kind) = 0;
  virtual CallResult disable(CUpti_ActivityKind kind) = 0;
  /// Whether single functions of that API can be recorded or left out.
  [[nodiscard]] virtual bool can_choose(CUpti_CallbackDomain domain) const = 0;
  virtual CallResult choose(CUpti_CallbackDomain domain, CUpti_CallbackId function, bool on) = 0;

  CallResult watch(CUpti_CallbackDomain domain, CUpti_CallbackId function, bool on) {
    return {"cuptiEnableCallback", api_.enable_callback(on ? 1 : 0, subscriber_, domain, function)};
  }
  CallResult watch_all(CUpti_CallbackDomain domain) {
    return {"cuptiEnableDomain", api_.enable_domain(1, subscriber_, domain)};
  }

  virtual CallResult time(uint64_t& time) const = 0;
  /// Records that CUPTI dropped since it was asked last.
  [[nodiscard]] virtual size_t take_dropped() const = 0;

  /// CUPTI goes on in the process: settings that concern a later tool are as at the beginning.
  virtual void restore_settings() {}
  CallResult unsubscribe() { return {"cuptiUnsubscribe", api_.unsubscribe(subscriber_)}; }

 protected:
  CuptiApi const& api_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  CUpti_SubscriberHandle reader_ = nullptr;
  std::string other_tool_;
};

std::unique_ptr<CuptiBackend> classic_cupti(CuptiApi const& api);
/// Only where the api's SubscriberApi is complete.
std::unique_ptr<CuptiBackend> shared_cupti(CuptiApi const& api);

/// The next record of a buffer behind `record`, or the first one where that is null.
inline CUptiResult next_record(CuptiApi const& api, CUpti_SubscriberHandle reader,
                               std::span<uint8_t> buffer, CUpti_Activity** record) {
  return reader == nullptr
             ? api.get_next_record(buffer.data(), buffer.size(), record)
             : api.of_subscriber.get_next_record(reader, buffer.data(), buffer.size(), record);
}

}  // namespace stepscope::tracer
