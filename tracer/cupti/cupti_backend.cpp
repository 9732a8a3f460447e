#include "tracer/cupti/cupti_backend.h"

#include <array>
#include <atomic>

#include <time.h>

namespace stepscope::tracer {
namespace {

/// CUPTI wants 64 bytes at least (CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN).
using ToolName = std::array<char, 128>;

/// CUPTI's clock where no tool chooses one.
uint64_t CUPTIAPI realtime() {
  constexpr uint64_t kNsPerSecond = 1'000'000'000;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * kNsPerSecond + static_cast<uint64_t>(now.tv_nsec);
}

/// As the toolkit's function of each name.
class ClassicCupti final : public CuptiBackend {
 public:
  using CuptiBackend::CuptiBackend;

  CallResult subscribe(CUpti_CallbackFunc callback, void* data) override {
    CUptiResult const result = api_.subscribe(&subscriber_, callback, data);
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) ask_for_other_tool();
    return {"cuptiSubscribe", result};
  }

  CallResult use_system_thread_ids() override {
    return {"cuptiSetThreadIdType", api_.set_thread_id_type(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM)};
  }
  CallResult set_flag(CUpti_ActivityAttribute attribute) override { return write(attribute, 1); }
  CallResult register_buffers(CUpti_BuffersCallbackRequestFunc request,
                              CUpti_BuffersCallbackCompleteFunc complete) override {
    return {"cuptiActivityRegisterCallbacks", api_.register_callbacks(request, complete)};
  }

  [[nodiscard]] bool takes_clock() const override { return true; }
  CallResult use_clock(CUpti_TimestampCallbackFunc clock) override {
    has_our_clock_ = true;
    return {"cuptiActivityRegisterTimestampCallback", api_.register_timestamp_callback(clock)};
  }
  void skip_unfinished_queries() override {
    if (api_.enable_all_sync_records != nullptr) api_.enable_all_sync_records(0);
  }
  [[nodiscard]] bool takes_hardware_events_at_once() const override { return false; }
  CallResult ask_for_hardware_events() override {
    return {"cuptiActivityEnableHWTrace",
            api_.enable_hw_trace == nullptr ? CUPTI_ERROR_NOT_SUPPORTED : api_.enable_hw_trace(1)};
  }

  CallResult enable(CUpti_ActivityKind kind) override {
    return {"cuptiActivityEnable", api_.enable(kind)};
  }
  CallResult disable(CUpti_ActivityKind kind) override {
    return {"cuptiActivityDisable", api_.disable(kind)};
  }
  [[nodiscard]] bool can_choose(CUpti_CallbackDomain domain) const override {
    return function_for(domain) != nullptr;
  }
  CallResult choose(CUpti_CallbackDomain domain, CUpti_CallbackId function, bool on) override {
    return {domain == CUPTI_CB_DOMAIN_RUNTIME_API ? "cuptiActivityEnableRuntimeApi"
                                                  : "cuptiActivityEnableDriverApi",
            function_for(domain)(function, on ? 1 : 0)};
  }

  CallResult time(uint64_t& time) const override {
    return {"cuptiGetTimestamp", api_.get_timestamp(&time)};
  }
  [[nodiscard]] size_t take_dropped() const override {
    size_t dropped = 0;
    bool const is_known = api_.get_num_dropped_records(nullptr, 0, &dropped) == CUPTI_SUCCESS;
    return is_known ? dropped : 0;
  }

  /// They are CUPTI's as a whole. A later tool would read times of our clock, and would have to
  /// zero its buffers.
  void restore_settings() override {
    write(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, 0);
    api_.set_thread_id_type(CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT);
    if (has_our_clock_) api_.register_timestamp_callback(realtime);
  }

 private:
  using Choose = CUptiResult (*)(CUpti_CallbackId, uint8_t);
  [[nodiscard]] Choose function_for(CUpti_CallbackDomain domain) const {
    return domain == CUPTI_CB_DOMAIN_RUNTIME_API ? api_.enable_runtime_api : api_.enable_driver_api;
  }
  CallResult write(CUpti_ActivityAttribute attribute, uint8_t value) {
    size_t bytes = sizeof value;
    return {"cuptiActivitySetAttribute", api_.set_attribute(attribute, &bytes, &value)};
  }

  /// The classic function does not say who holds CUPTI; the newer one (CUDA 13.0) does when it is
  /// refused, too.
  void ask_for_other_tool() {
    if (api_.of_subscriber.subscribe == nullptr) return;
    ToolName name{};
    SubscriberParams params;
    params.bytes = kFirstSubscriberParamsBytes;
    params.other_name = name.data();
    params.other_name_bytes = name.size();

    CUpti_SubscriberHandle handle = nullptr;
    if (api_.of_subscriber.subscribe(&handle, nullptr, nullptr, &params) == CUPTI_SUCCESS)
      api_.unsubscribe(handle);  // the other one has just left
    name.back() = '\0';
    other_tool_ = name.data();
  }

  bool has_our_clock_ = false;
};

/// Where CUPTI's callbacks for a subscriber's buffers go: they know no object.
std::atomic<CUpti_BuffersCallbackRequestFunc> shared_request{nullptr};
std::atomic<CUpti_BuffersCallbackCompleteFunc> shared_complete{nullptr};

void request_for_subscriber(uint8_t** buffer, size_t* bytes, size_t* max_records, void* /*about*/) {
  shared_request.load(std::memory_order_acquire)(buffer, bytes, max_records);
}

void complete_for_subscriber(uint8_t* buffer, size_t bytes, size_t valid_bytes, void* /*about*/) {
  shared_complete.load(std::memory_order_acquire)(nullptr, 0, buffer, bytes, valid_bytes);
}

/// Calls no classic function: CUPTI refuses one kind once a process has used the other. FlushAll,
/// EnableCallback, EnableDomain and Unsubscribe belong to both.
class SharedCupti final : public CuptiBackend {
 public:
  using CuptiBackend::CuptiBackend;

  CallResult subscribe(CUpti_CallbackFunc callback, void* data) override {
    ToolName name{};
    SubscriberParams params;
    params.bytes = sizeof params;
    params.name = "Stepscope";
    params.other_name = name.data();
    params.other_name_bytes = name.size();
    params.allows_others = 1;

    CUptiResult const result = shared().subscribe(&subscriber_, callback, data, &params);
    reader_ = subscriber_;
    name.back() = '\0';
    other_tool_ = name.data();
    return {"cuptiSubscribe_v2", result};
  }

  /// The documents name this attribute for CUDA 13.4. It is read before and after: a CUPTI that
  /// takes the number for another setting would mostly answer something else.
  CallResult use_system_thread_ids() override {
    auto const before = expect_thread_ids(CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT);
    if (!before.worked()) return before;

    auto const written =
        write(SubscriberAttribute::kThreadIdType, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
    return written.worked() ? expect_thread_ids(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM) : written;
  }
  CallResult set_flag(CUpti_ActivityAttribute attribute) override {
    return write(static_cast<SubscriberAttribute>(attribute), uint8_t{1});
  }
  CallResult register_buffers(CUpti_BuffersCallbackRequestFunc request,
                              CUpti_BuffersCallbackCompleteFunc complete) override {
    shared_request.store(request, std::memory_order_release);
    shared_complete.store(complete, std::memory_order_release);
    return {
        "cuptiActivityRegisterCallbacks_v2",
        shared().register_callbacks(subscriber_, request_for_subscriber, complete_for_subscriber)};
  }

  /// In CUDA 13.3 one callback is for all subscribers; only 13.4 gives each its own.
  [[nodiscard]] bool takes_clock() const override { return false; }
  CallResult use_clock(CUpti_TimestampCallbackFunc /*clock*/) override {
    return {"cuptiActivitySetAttribute_v2", CUPTI_ERROR_NOT_SUPPORTED};
  }
  void skip_unfinished_queries() override {}  // a subscriber gets them on request only
  [[nodiscard]] bool takes_hardware_events_at_once() const override { return true; }
  CallResult ask_for_hardware_events() override {
    return write(SubscriberAttribute::kHardwareEvents, uint8_t{1});
  }
  [[nodiscard]] bool hides_graphs() const override {
    uint8_t value = 0;
    return read(SubscriberAttribute::kGraphsAsOne, value).worked() && value == 1;
  }

  CallResult enable(CUpti_ActivityKind kind) override {
    return {"cuptiActivityEnable_v2", shared().enable(subscriber_, kind, nullptr)};
  }
  CallResult disable(CUpti_ActivityKind kind) override {
    return {"cuptiActivityDisable_v2", shared().disable(subscriber_, kind, nullptr)};
  }
  [[nodiscard]] bool can_choose(CUpti_CallbackDomain domain) const override {
    return function_for(domain) != nullptr;
  }
  CallResult choose(CUpti_CallbackDomain domain, CUpti_CallbackId function, bool on) override {
    return {domain == CUPTI_CB_DOMAIN_RUNTIME_API ? "cuptiActivityEnableRuntimeApi_v2"
                                                  : "cuptiActivityEnableDriverApi_v2",
            function_for(domain)(subscriber_, function, on ? 1 : 0)};
  }

  CallResult time(uint64_t& time) const override {
    return {"cuptiGetTimestamp_v2", shared().get_timestamp(subscriber_, &time)};
  }
  [[nodiscard]] size_t take_dropped() const override {
    size_t dropped = 0;
    bool const is_known =
        shared().get_num_dropped_records != nullptr &&
        shared().get_num_dropped_records(subscriber_, nullptr, 0, &dropped) == CUPTI_SUCCESS;
    return is_known ? dropped : 0;
  }

 private:
  using Choose = CUptiResult (*)(CUpti_SubscriberHandle, CUpti_CallbackId, uint8_t);
  [[nodiscard]] SubscriberApi const& shared() const { return api_.of_subscriber; }
  [[nodiscard]] Choose function_for(CUpti_CallbackDomain domain) const {
    return domain == CUPTI_CB_DOMAIN_RUNTIME_API ? shared().enable_runtime_api
                                                 : shared().enable_driver_api;
  }
  [[nodiscard]] CallResult expect_thread_ids(CUpti_ActivityThreadIdType expected) const {
    CUpti_ActivityThreadIdType type = CUPTI_ACTIVITY_THREAD_ID_TYPE_SIZE;
    auto const read = this->read(SubscriberAttribute::kThreadIdType, type);
    bool const is_other = read.worked() && type != expected;
    return is_other ? CallResult{read.call, CUPTI_ERROR_NOT_SUPPORTED} : read;
  }
  template <class Value>
  CallResult write(SubscriberAttribute attribute, Value value) {
    size_t bytes = sizeof value;
    return {"cuptiActivitySetAttribute_v2",
            shared().set_attribute(subscriber_, static_cast<int>(attribute), &bytes, &value)};
  }
  template <class Value>
  [[nodiscard]] CallResult read(SubscriberAttribute attribute, Value& value) const {
    size_t bytes = sizeof value;
    return {"cuptiActivityGetAttribute_v2",
            shared().get_attribute(subscriber_, static_cast<int>(attribute), &bytes, &value)};
  }
};

}  // namespace

std::unique_ptr<CuptiBackend> classic_cupti(CuptiApi const& api) {
  return std::make_unique<ClassicCupti>(api);
}

std::unique_ptr<CuptiBackend> shared_cupti(CuptiApi const& api) {
  return std::make_unique<SharedCupti>(api);
}

}  // namespace stepscope::tracer
