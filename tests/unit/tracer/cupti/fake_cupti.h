// A CUPTI behind the seam that does what a test says: answers, refuses, requests and completes
// buffers, drops records, takes its time. It writes the layouts of CUPTI 12.0, notes every call,
// and fails the test where the real one would crash.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/tracer/cupti/records.h"
#include "tracer/cupti/cupti_api.h"

namespace stepscope::tracer {

/// One at a time: CUPTI's entry points know no object.
class FakeCupti {
 public:
  FakeCupti();
  ~FakeCupti();
  FakeCupti(FakeCupti const&) = delete;
  FakeCupti& operator=(FakeCupti const&) = delete;

  [[nodiscard]] static CuptiApi api();
  /// The handle of the stream with these numbers.
  [[nodiscard]] static CUstream stream(uint32_t context, uint32_t number);

  /// What a call answers; those that are not here succeed. Named as in CUPTI, without "cupti".
  std::map<std::string, CUptiResult> answers;
  /// Records that are lost from now on, until they are asked for.
  size_t dropped = 0;
  /// Called inside each call that is noted, with its name.
  std::function<void(std::string const&)> inside;
  /// It cannot do without a buffer, as before CUDA 12.9.
  bool crashes_without_buffer = false;
  /// The CUDA context of the program's threads; 0 = none.
  uint32_t current_context = 1;
  /// The lead of its own clock over CLOCK_MONOTONIC.
  int64_t clock_offset_ns = 0;
  /// It has the functions of CUDA 13.3 for one subscriber of several.
  bool shares = false;
  /// The tool that subscribed first, as CUPTI calls it.
  std::string other_tool;

  /// Requests a buffer and completes it with these records, as a thread of the program does. False
  /// when none was given.
  bool play(RecordBuffer const& records);
  /// Requests a buffer that stays with CUPTI until complete() or the next forced flush. False when
  /// none was given.
  bool request();
  void complete(RecordBuffer const& records);
  /// Completes the buffer that was requested last. False when the records do not fit it.
  bool complete_last(RecordBuffer const& records);
  /// The program enters or leaves that function of the runtime; subscribers get a callback.
  void program_calls(CUpti_runtime_api_trace_cbid function);
  void program_calls(CUpti_driver_api_trace_cbid function);
  void program_enters(CUpti_runtime_api_trace_cbid function);
  void program_leaves(CUpti_runtime_api_trace_cbid function);
  /// CUPTI reports its own state.
  void tell_state(CUpti_CallbackIdState state, char const* message);
  /// The driver has been initialized.
  void driver_is_initialized();

  /// Attributes of a subscriber, as if another tool had set one, or no tool had set any.
  void set_attribute(int attribute, uint32_t value) { subscriber_attributes_[attribute] = value; }
  void forget_attributes() { subscriber_attributes_.clear(); }

  [[nodiscard]] std::vector<std::string> calls() const;
  [[nodiscard]] size_t count(std::string const& call) const;
  /// Position of the first such call; fails the test when there is none.
  [[nodiscard]] size_t position(std::string const& call) const;
  [[nodiscard]] std::set<CUpti_ActivityKind> enabled() const;
  /// Callbacks and driver functions that are on.
  [[nodiscard]] size_t enabled_functions() const;
  [[nodiscard]] bool has_subscriber() const { return callback_ != nullptr; }
  [[nodiscard]] std::set<CUpti_ActivityAttribute> attributes() const { return attributes_; }
  /// CUPTI leaves it to the tool to zero buffers.
  [[nodiscard]] bool wants_zeroed_buffers() const { return wants_zeroed_buffers_; }
  [[nodiscard]] CUpti_ActivityThreadIdType thread_id_type() const { return thread_id_type_; }
  [[nodiscard]] uint64_t timestamp() const { return timestamp_ == nullptr ? 0 : timestamp_(); }
  [[nodiscard]] size_t requested_bytes() const { return requested_bytes_; }
  [[nodiscard]] bool driver_function_enabled(CUpti_driver_api_trace_cbid function) const;
  [[nodiscard]] bool runtime_function_enabled(CUpti_runtime_api_trace_cbid function) const;

  /// Buffers whose end was reached.
  [[nodiscard]] size_t buffers_read() const { return buffers_read_; }

  static CUptiResult get_next_record(uint8_t* buffer, size_t valid_bytes, CUpti_Activity** record);
  static CUptiResult get_callback_name(CUpti_CallbackDomain domain, uint32_t function,
                                       char const** name);

 private:
  struct Buffer {
    uint8_t* data = nullptr;
    size_t size = 0;
  };
  friend struct FakeEntryPoints;
  friend struct FakeSubscriberEntryPoints;
  /// In fake_subscriber_api.cpp.
  static SubscriberApi subscriber_api();
  /// The only instance; its constructor sets it.
  static FakeCupti* current_;
  CUptiResult note(std::string const& call);
  void deliver_held();
  void complete(Buffer const& buffer, RecordBuffer const& records);
  void callback(CUpti_CallbackDomain domain, CUpti_CallbackId function, CUpti_ApiCallbackSite site);

  mutable std::mutex mutex_;
  std::vector<std::string> calls_;
  std::set<CUpti_ActivityKind> enabled_;
  std::map<std::pair<CUpti_CallbackDomain, CUpti_CallbackId>, bool> functions_, callbacks_;
  std::set<CUpti_CallbackDomain> domains_;
  std::set<CUpti_ActivityAttribute> attributes_;
  bool wants_zeroed_buffers_ = false;
  CUpti_ActivityThreadIdType thread_id_type_ = CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT;
  std::map<int, uint32_t> subscriber_attributes_;
  SubscriberApi::RequestBuffer request_for_subscriber_ = nullptr;
  SubscriberApi::CompleteBuffer complete_for_subscriber_ = nullptr;
  CUpti_BuffersCallbackRequestFunc request_ = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete_ = nullptr;
  CUpti_TimestampCallbackFunc timestamp_ = nullptr;
  CUpti_CallbackFunc callback_ = nullptr;
  void* callback_data_ = nullptr;
  std::vector<Buffer> held_;
  size_t requested_bytes_ = 0;
  std::atomic<size_t> buffers_read_{0};
};

}  // namespace stepscope::tracer
