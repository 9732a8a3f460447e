// A libcupti.so that records nothing and says on stdout when it is flushed for the last time and
// when its own destructors ran.
#include <string_view>

#include <cupti.h>
#include <unistd.h>

namespace {

/// A version without known faults.
constexpr uint32_t kVersion = 130'500;

void say(std::string_view line) {
  [[maybe_unused]] ssize_t const written = ::write(STDOUT_FILENO, line.data(), line.size());
}

struct State {
  State() = default;
  ~State() { say("cupti: gone\n"); }
  State(State const&) = delete;
  State& operator=(State const&) = delete;
};
State const kState;

}  // namespace

extern "C" {
CUptiResult cuptiGetVersion(uint32_t* version) {
  *version = kVersion;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetResultString(CUptiResult, char const** text) {
  *text = "an error";
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain, uint32_t, char const**) {
  return CUPTI_ERROR_INVALID_PARAMETER;
}
CUptiResult cuptiSubscribe(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*) {
  return CUPTI_SUCCESS;
}
CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle) { return CUPTI_SUCCESS; }
CUptiResult cuptiEnableCallback(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain,
                                CUpti_CallbackId) {
  return CUPTI_SUCCESS;
}
CUptiResult cuptiEnableDomain(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain) {
  return CUPTI_SUCCESS;
}
CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType) { return CUPTI_SUCCESS; }
CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute, size_t*, void*) {
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetTimestamp(uint64_t*) { return CUPTI_ERROR_UNKNOWN; }
CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc) {
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc,
                                           CUpti_BuffersCallbackCompleteFunc) {
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnable(CUpti_ActivityKind) { return CUPTI_SUCCESS; }
CUptiResult cuptiActivityDisable(CUpti_ActivityKind) { return CUPTI_SUCCESS; }
CUptiResult cuptiActivityGetNextRecord(uint8_t*, size_t, CUpti_Activity**) {
  return CUPTI_ERROR_MAX_LIMIT_REACHED;
}
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  *dropped = 0;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityFlushAll(uint32_t flag) {
  if (flag == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) say("cupti: flushed\n");
  return CUPTI_SUCCESS;
}
CUptiResult cuptiFinalize() { return CUPTI_SUCCESS; }
}
