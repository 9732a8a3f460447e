// The functions of libcupti.so.13 that the tracer looks up, after NVIDIA's "CUPTI API Reference"
// (docs.nvidia.com/cupti/api).
#include <cupti.h>

#include "tests/cuda_doubles/cupti/function_names.h"
#include "tests/cuda_doubles/cupti/recorder.h"
#include "tests/cuda_doubles/cupti/records.h"
#include "tests/cuda_doubles/cupti/subscribers.h"

// NOLINTBEGIN(readability-identifier-naming): names of CUPTI.
using stepscope::cuda_doubles::recorder;
using stepscope::cuda_doubles::subscribers;

namespace {

/// Classic functions are refused beside those of a subscriber ("V1/V2 API Mixing").
CUptiResult refuse_or(auto&& call) {
  if (subscribers().are_shared()) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  call();
  return CUPTI_SUCCESS;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

/// 19 to 28 are those of CUDA 12, 13xxyy those of CUDA 13.
CUptiResult cuptiGetVersion(uint32_t* version) {
  *version = stepscope::cuda_doubles::cupti_version();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, char const** name) {
  switch (result) {
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      *name = "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED";
      break;
    case CUPTI_ERROR_NOT_SUPPORTED:
      *name = "CUPTI_ERROR_NOT_SUPPORTED";
      break;
    default:
      *name = "CUPTI_ERROR_UNKNOWN";
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t number, char const** name) {
  *name = stepscope::cuda_doubles::function_name(domain, number);
  return *name == nullptr ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                           void* data) {
  return subscribers().add({.callback = callback, .data = data}, subscriber);
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  return subscribers().remove(subscriber);
}

CUptiResult cuptiEnableCallback(uint32_t is_on, CUpti_SubscriberHandle subscriber,
                                CUpti_CallbackDomain domain, CUpti_CallbackId number) {
  auto* const found = subscribers().find(subscriber);
  return found == nullptr ? CUPTI_ERROR_INVALID_PARAMETER
                          : found->enable_callback(is_on != 0, domain, number);
}

CUptiResult cuptiEnableDomain(uint32_t is_on, CUpti_SubscriberHandle subscriber,
                              CUpti_CallbackDomain domain) {
  auto* const found = subscribers().find(subscriber);
  return found == nullptr ? CUPTI_ERROR_INVALID_PARAMETER
                          : found->enable_domain(is_on != 0, domain);
}

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType /*type*/) {
  return refuse_or([] {});
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute /*attribute*/, size_t* /*bytes*/,
                                      void* /*value*/) {
  return CUPTI_SUCCESS;
}

/// Before the driver is up the real one of CUDA 13.0 Update 1 reports success and 0.
CUptiResult cuptiGetTimestamp(uint64_t* time) {
  bool const is_up = recorder().is_driver_up();
  *time = is_up ? recorder().time_of(stepscope::cuda_doubles::now_ns()) : 0;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc timestamp) {
  return refuse_or([&] { recorder().register_timestamp(timestamp); });
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  return refuse_or([&] { recorder().register_callbacks(request, complete); });
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  return refuse_or([&] { recorder().enable(kind); });
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  recorder().disable(kind);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId number, uint8_t is_on) {
  recorder().enable_function(CUPTI_CB_DOMAIN_RUNTIME_API, number, is_on != 0);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId number, uint8_t is_on) {
  recorder().enable_function(CUPTI_CB_DOMAIN_DRIVER_API, number, is_on != 0);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableHWTrace(uint8_t /*is_on*/) { return CUPTI_ERROR_NOT_SUPPORTED; }

CUptiResult cuptiActivityEnableAllSyncRecords(uint8_t /*is_on*/) { return CUPTI_SUCCESS; }

CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid_bytes,
                                       CUpti_Activity** record) {
  return stepscope::cuda_doubles::next_record(buffer, valid_bytes, record);
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext /*context*/, uint32_t /*stream*/,
                                              size_t* dropped) {
  *dropped = recorder().take_dropped();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(uint32_t flags) {
  subscribers().flush((flags & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiFinalize() {
  subscribers().finalize();
  return CUPTI_SUCCESS;
}

/// The driver's double makes contexts of their numbers.
CUptiResult cuptiGetContextId(CUcontext context, uint32_t* number) {
  *number = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(context));
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamIdEx(CUcontext /*context*/, CUstream stream, uint8_t /*per_thread*/,
                               uint32_t* number) {
  uint32_t context = 0;
  *number = stepscope::cuda_doubles::engine()->number_of(stream, &context);
  return *number != 0 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_STREAM;
}

}  // extern "C"
#pragma GCC visibility pop
// NOLINTEND(readability-identifier-naming)
