// A subscriber of CUPTI's double: which records and callbacks it gets of the engine's work.
#pragma once

#include <cupti.h>

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "tests/cuda_doubles/cupti/buffers.h"
#include "tests/cuda_doubles/device/engine.h"
#include "tests/cuda_doubles/device/knobs.h"

namespace stepscope::cuda_doubles {

class Recorder final : public Observer {
 public:
  explicit Recorder(Ledger ledger = Ledger(), bool is_driver_up = false)
      : ledger_(std::move(ledger)), is_driver_up_(is_driver_up) {}

  // What the API asks for. Any thread.
  void subscribe(CUpti_CallbackFunc callback, void* data);
  void unsubscribe();
  CUptiResult enable_callback(bool is_on, CUpti_CallbackDomain domain, CUpti_CallbackId function);
  CUptiResult enable_domain(bool is_on, CUpti_CallbackDomain domain);
  void register_callbacks(ActivityBuffers::Request request, ActivityBuffers::Complete complete);
  void register_timestamp(CUpti_TimestampCallbackFunc timestamp) { timestamp_ = timestamp; }
  CUptiResult enable(CUpti_ActivityKind kind);
  void disable(CUpti_ActivityKind kind);
  void enable_function(CUpti_CallbackDomain domain, CUpti_CallbackId function, bool is_on);
  void set_attribute(int attribute, std::string value);
  /// Its bytes; empty = not set.
  [[nodiscard]] std::string attribute(int attribute);
  void flush(bool is_forced);
  size_t take_dropped();
  /// Everything is as before the first call ("cuptiFinalize").
  void finalize();
  /// In the clock of records, of a time of CLOCK_MONOTONIC.
  [[nodiscard]] uint64_t time_of(int64_t monotonic_ns) const;
  [[nodiscard]] bool is_driver_up() const { return is_driver_up_; }

  void call_begins(ApiCall const& call) override;
  void call_ends(ApiCall const& call) override;
  void* operation_queued(Operation const& operation) override;
  void operation_done(void* token, Operation const& operation, int64_t start_ns,
                      int64_t end_ns) override;
  void operation_dropped(void* token) override;
  void memory_changed(MemoryEvent const& event) override;
  void waited(Synchronization const& wait) override;
  void event_recorded(EventRecord const& record) override;
  void context_made(int device, uint32_t context) override;
  void driver_initialized() override;

 private:
  /// The subscriber, where it wants to hear of a function.
  struct Listener {
    CUpti_CallbackFunc callback = nullptr;
    void* data = nullptr;
  };
  Listener listener_for(CUpti_CallbackDomain domain, CUpti_CallbackId function);
  void call_back(CUpti_ApiCallbackSite site, ApiCall const& call);

  // With the mutex held.
  [[nodiscard]] bool wants(CUpti_ActivityKind kind) const;
  [[nodiscard]] bool wants_call(ApiCall const& call) const;
  /// Adds a record that `fill` fills in, in the structure of the version at hand.
  template <class Layouts, class Fill>
  void add(Layouts layouts, Fill&& fill);
  void add_devices();
  [[nodiscard]] bool loses_times();

  std::mutex mutex_;
  Ledger ledger_;
  ActivityBuffers buffers_{ledger_};
  Listener subscriber_;
  std::set<std::pair<int, uint32_t>> callbacks_;
  std::set<int> domains_;
  std::set<int> kinds_;
  std::map<std::pair<int, uint32_t>, bool> functions_;  ///< chosen one by one
  std::map<int, std::string> attributes_;
  std::set<std::string> kernel_names_;  ///< records point to them
  uint64_t kernels_done_ = 0;
  std::atomic<CUpti_TimestampCallbackFunc> timestamp_{nullptr};
  std::atomic<bool> is_driver_up_{false};
};

/// The classic one of this process; it is never destroyed, as streams' threads outlive main().
Recorder& recorder();

}  // namespace stepscope::cuda_doubles
