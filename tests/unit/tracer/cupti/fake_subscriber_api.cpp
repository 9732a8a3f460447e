// The functions of the fake for one subscriber of several, after "Multiple Subscribers" of CUPTI's
// documentation.
#include <cstring>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/unit/tracer/cupti/fake_cupti.h"
#include "tracer/core/clock.h"

namespace stepscope::tracer {

struct FakeSubscriberEntryPoints {
  using Handle = CUpti_SubscriberHandle;

  static FakeCupti& fake() { return *FakeCupti::current_; }
  static Handle handle() { return reinterpret_cast<Handle>(FakeCupti::current_); }
  /// The answer to a call with that handle, which ends with its subscription.
  static CUptiResult note(Handle subscriber, std::string const& call) {
    if (subscriber != handle() || fake().callback_ == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
    return fake().note(call);
  }

  static CUptiResult subscribe(Handle* subscriber, CUpti_CallbackFunc callback, void* data,
                               SubscriberParams* params) {
    std::string const& other = fake().other_tool;
    if (params->other_name != nullptr && params->other_name_bytes > other.size())
      std::strcpy(params->other_name, other.c_str());

    bool const allows_others = params->bytes == sizeof *params && params->allows_others != 0;
    fake().subscriber_attributes_.clear();  // they belong to a subscription
    CUptiResult const result =
        fake().note(allows_others ? "Subscribe_v2" : "Subscribe_v2 exclusively");
    if (result != CUPTI_SUCCESS) return result;
    *subscriber = handle();
    fake().callback_ = callback;
    fake().callback_data_ = data;
    return result;
  }

  static CUptiResult register_callbacks(Handle subscriber, SubscriberApi::RequestBuffer request,
                                        SubscriberApi::CompleteBuffer complete) {
    fake().request_for_subscriber_ = request;
    fake().complete_for_subscriber_ = complete;

    fake().request_ = [](uint8_t** buffer, size_t* bytes, size_t* max_records) {
      fake().request_for_subscriber_(buffer, bytes, max_records, nullptr);
    };
    fake().complete_ = [](CUcontext, uint32_t, uint8_t* buffer, size_t bytes, size_t valid) {
      fake().complete_for_subscriber_(buffer, bytes, valid, nullptr);
    };
    return note(subscriber, "ActivityRegisterCallbacks_v2");
  }

  static CUptiResult enable(Handle subscriber, CUpti_ActivityKind kind, void* configuration) {
    EXPECT_EQ(configuration, nullptr);
    CUptiResult const result =
        note(subscriber, fmt::format("ActivityEnable_v2 {}", static_cast<int>(kind)));
    if (result == CUPTI_SUCCESS) fake().enabled_.insert(kind);
    return result;
  }
  static CUptiResult disable(Handle subscriber, CUpti_ActivityKind kind, void*) {
    fake().enabled_.erase(kind);
    return note(subscriber, fmt::format("ActivityDisable_v2 {}", static_cast<int>(kind)));
  }

  static CUptiResult set_attribute(Handle subscriber, int attribute, size_t* bytes, void* value) {
    CUptiResult const result =
        note(subscriber, fmt::format("ActivitySetAttribute_v2 {}", attribute));
    uint32_t stored = 0;
    std::memcpy(&stored, value, *bytes);
    if (result == CUPTI_SUCCESS) fake().subscriber_attributes_[attribute] = stored;
    return result;
  }
  static CUptiResult get_attribute(Handle subscriber, int attribute, size_t* bytes, void* value) {
    CUptiResult const result =
        note(subscriber, fmt::format("ActivityGetAttribute_v2 {}", attribute));
    std::memcpy(value, &fake().subscriber_attributes_[attribute], *bytes);
    return result;
  }

  static CUptiResult get_timestamp(Handle, uint64_t* time) {
    *time = static_cast<uint64_t>(monotonic_ns() + fake().clock_offset_ns);
    return CUPTI_SUCCESS;
  }
  static CUptiResult get_next_record(Handle subscriber, uint8_t* buffer, size_t valid_bytes,
                                     CUpti_Activity** record) {
    if (subscriber != handle() || fake().callback_ == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
    return FakeCupti::get_next_record(buffer, valid_bytes, record);
  }
  static CUptiResult get_dropped(Handle subscriber, CUcontext, uint32_t, size_t* dropped) {
    *dropped = std::exchange(fake().dropped, 0);
    return note(subscriber, "ActivityGetNumDroppedRecords_v2");
  }
  static CUptiResult enable_runtime(Handle, CUpti_CallbackId function, uint8_t enable) {
    fake().functions_[{CUPTI_CB_DOMAIN_RUNTIME_API, function}] = enable != 0;
    return CUPTI_SUCCESS;
  }
  static CUptiResult enable_driver(Handle, CUpti_CallbackId function, uint8_t enable) {
    fake().functions_[{CUPTI_CB_DOMAIN_DRIVER_API, function}] = enable != 0;
    return CUPTI_SUCCESS;
  }
};

SubscriberApi FakeCupti::subscriber_api() {
  using Fake = FakeSubscriberEntryPoints;
  return {.subscribe = Fake::subscribe,
          .register_callbacks = Fake::register_callbacks,
          .enable = Fake::enable,
          .disable = Fake::disable,
          .set_attribute = Fake::set_attribute,
          .get_attribute = Fake::get_attribute,
          .get_timestamp = Fake::get_timestamp,
          .get_next_record = Fake::get_next_record,
          .get_num_dropped_records = Fake::get_dropped,
          .enable_runtime_api = Fake::enable_runtime,
          .enable_driver_api = Fake::enable_driver};
}

}  // namespace stepscope::tracer
