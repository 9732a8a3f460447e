// The functions of libcupti.so.13 for one subscriber of several, after "CUPTI API Reference" of
// CUDA 13.3 to 13.5 (docs.nvidia.com/cupti/api) and "Multiple Subscribers" of the usage guide.
#include <cupti.h>

#include <cstring>

#include "tests/cuda_doubles/cupti/records.h"
#include "tests/cuda_doubles/cupti/subscribers.h"

namespace stepscope::cuda_doubles {
namespace {

/// CUpti_SubscriberParams. CUDA 13.0 and 13.1 know it without the last member.
struct Parameters {
  size_t bytes;
  char const* name;
  char* other_name;
  size_t other_name_bytes;
  uint8_t allows_others;
};

constexpr uint32_t kFirstWithSeveral = k13v2;
constexpr int64_t kFirstDriverWithSeveral = 13'030;

/// CUpti_ActivityAttribute, as the reference lists them behind the 11 of CUDA 13.0.
enum Attribute : int { kSubscriberState = 12, kHardwareEvents = 13, kEndOfList = 24 };

void copy_name(std::string const& name, Parameters const& parameters) {
  if (parameters.other_name == nullptr || parameters.other_name_bytes == 0) return;
  std::strncpy(parameters.other_name, name.c_str(), parameters.other_name_bytes - 1);
  parameters.other_name[parameters.other_name_bytes - 1] = '\0';
}

/// The answer where the handle is no subscriber's.
template <class Call>
CUptiResult with(CUpti_SubscriberHandle handle, Call&& call) {
  Recorder* const found = subscribers().find(handle);
  return found == nullptr ? CUPTI_ERROR_INVALID_PARAMETER : call(*found);
}

CUptiResult choose(CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain,
                   CUpti_CallbackId function, bool is_on) {
  return with(handle, [&](Recorder& recorder) {
    recorder.enable_function(domain, function, is_on);
    return CUPTI_SUCCESS;
  });
}

}  // namespace
}  // namespace stepscope::cuda_doubles

// NOLINTBEGIN(readability-identifier-naming): names of CUPTI.
using namespace stepscope::cuda_doubles;

#pragma GCC visibility push(default)
extern "C" {

/// The request for several subscribers fails where CUPTI or the driver (r610, of CUDA 13.3) is too
/// old. What the real one answers with an old driver is not documented.
CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback,
                              void* data, CUpti_SubscriberParams* params) {
  auto const* const given = reinterpret_cast<Parameters const*>(params);
  // The real libcupti of CUDA 13.0 Update 1 refuses a structure that is larger than it knows.
  bool const is_large = given != nullptr && given->bytes > offsetof(Parameters, allows_others);
  if (is_large && cupti_version() < kFirstWithSeveral) return CUPTI_ERROR_INVALID_PARAMETER;

  Subscribers::Applicant applicant{.callback = callback, .data = data};
  applicant.is_classic = cupti_version() < kFirstWithSeveral;
  if (given != nullptr && given->name != nullptr) applicant.name = given->name;
  applicant.allows_others = is_large && given->allows_others != 0;

  if (given != nullptr) copy_name(subscribers().first_name(), *given);
  bool const is_driver_old = number_of_knob("DOUBLE_CUDA_DRIVER", 13'000) < kFirstDriverWithSeveral;
  if (applicant.allows_others && is_driver_old)
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  return subscribers().add(applicant, handle);
}

CUptiResult cuptiActivityRegisterCallbacks_v2(CUpti_SubscriberHandle handle,
                                              void (*request)(uint8_t**, size_t*, size_t*, void*),
                                              void (*complete)(uint8_t*, size_t, size_t, void*)) {
  return with(handle, [&](Recorder& recorder) {
    recorder.register_callbacks(
        [request](uint8_t** buffer, size_t* bytes, size_t* max_records) {
          request(buffer, bytes, max_records, nullptr);
        },

        [complete](CUcontext, uint32_t, uint8_t* buffer, size_t bytes, size_t valid_bytes) {
          complete(buffer, bytes, valid_bytes, nullptr);
        });
    return CUPTI_SUCCESS;
  });
}

CUptiResult cuptiActivityEnable_v2(CUpti_SubscriberHandle handle, CUpti_ActivityKind kind,
                                   void* /*configuration*/) {
  return with(handle, [&](Recorder& recorder) { return recorder.enable(kind); });
}

CUptiResult cuptiActivityDisable_v2(CUpti_SubscriberHandle handle, CUpti_ActivityKind kind,
                                    void* /*configuration*/) {
  return with(handle, [&](Recorder& recorder) {
    recorder.disable(kind);
    return CUPTI_SUCCESS;
  });
}

CUptiResult cuptiActivitySetAttribute_v2(CUpti_SubscriberHandle handle, int attribute,
                                         size_t* bytes, void* value) {
  return with(handle, [&](Recorder& recorder) {
    if (attribute < 0 || attribute >= kEndOfList || attribute == kSubscriberState)
      return CUPTI_ERROR_INVALID_PARAMETER;
    if (attribute == kHardwareEvents) return CUPTI_ERROR_NOT_SUPPORTED;
    recorder.set_attribute(attribute, {static_cast<char const*>(value), *bytes});
    return CUPTI_SUCCESS;
  });
}

/// The state of the subscribers can be asked for without being one.
CUptiResult cuptiActivityGetAttribute_v2(CUpti_SubscriberHandle handle, int attribute,
                                         size_t* bytes, void* value) {
  if (attribute == kSubscriberState) {
    *static_cast<uint8_t*>(value) = subscribers().state();
    return CUPTI_SUCCESS;
  }

  return with(handle, [&](Recorder& recorder) {
    std::memset(value, 0, *bytes);
    std::string const set = recorder.attribute(attribute);
    std::memcpy(value, set.data(), std::min(*bytes, set.size()));
    return CUPTI_SUCCESS;
  });
}

CUptiResult cuptiGetTimestamp_v2(CUpti_SubscriberHandle handle, uint64_t* time) {
  return with(handle, [&](Recorder& recorder) {
    *time = recorder.is_driver_up() ? recorder.time_of(now_ns()) : 0;
    return CUPTI_SUCCESS;
  });
}

CUptiResult cuptiActivityGetNextRecord_v2(CUpti_SubscriberHandle handle, uint8_t* buffer,
                                          size_t valid_bytes, CUpti_Activity** record) {
  return with(handle, [&](Recorder&) { return next_record(buffer, valid_bytes, record); });
}

CUptiResult cuptiActivityGetNumDroppedRecords_v2(CUpti_SubscriberHandle handle, CUcontext,
                                                 uint32_t /*stream*/, size_t* dropped) {
  return with(handle, [&](Recorder& recorder) {
    *dropped = recorder.take_dropped();
    return CUPTI_SUCCESS;
  });
}

CUptiResult cuptiActivityEnableRuntimeApi_v2(CUpti_SubscriberHandle handle,
                                             CUpti_CallbackId function, uint8_t is_on) {
  return choose(handle, CUPTI_CB_DOMAIN_RUNTIME_API, function, is_on != 0);
}

CUptiResult cuptiActivityEnableDriverApi_v2(CUpti_SubscriberHandle handle,
                                            CUpti_CallbackId function, uint8_t is_on) {
  return choose(handle, CUPTI_CB_DOMAIN_DRIVER_API, function, is_on != 0);
}

}  // extern "C"
#pragma GCC visibility pop
// NOLINTEND(readability-identifier-naming)
