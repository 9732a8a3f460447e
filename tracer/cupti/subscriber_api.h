// The functions of CUPTI with which several tools record in one process, found at run time: the
// toolkit's headers of the build may be older. Names, parameters and layouts are after NVIDIA's
// "CUPTI API Reference" of CUDA 13.3 to 13.5 (docs.nvidia.com/cupti/api).
#pragma once

#include <cstddef>
#include <cstdint>

#include <cupti.h>

namespace stepscope::tracer {

/// What a subscriber says of itself, and learns of who was there before ("CUpti_SubscriberParams").
struct SubscriberParams {
  size_t bytes = 0;  ///< of this structure, as far as it is filled in
  char const* name = nullptr;
  char* other_name = nullptr;  ///< CUPTI writes the other subscriber's or tool's name here
  size_t other_name_bytes = 0;
  uint8_t allows_others = 0;  ///< since CUDA 13.2
  uint8_t unused[7] = {};
};

/// CUDA 13.0 and 13.1 end before `allows_others`, and refuse a larger structure.
inline constexpr size_t kFirstSubscriberParamsBytes = offsetof(SubscriberParams, allows_others);
static_assert(kFirstSubscriberParamsBytes == 32 && sizeof(SubscriberParams) == 40);

/// Attributes of a subscriber that this project sets ("CUpti_ActivityAttribute"). The reference
/// lists them behind those that the headers number up to 10. PyTorch's monitor found the numbers
/// 11 and 15 of that list to be right.
enum class SubscriberAttribute : int {
  kHardwareEvents = 13,  ///< uint8_t, for all subscribers; before any kind is enabled
  kGraphsAsOne = 20,     ///< uint8_t, for all subscribers: kernels of graphs are hidden
  kThreadIdType = 21,    ///< CUpti_ActivityThreadIdType; documented from 13.4 on
};

/// Named as CUPTI names them, without "cupti", "Activity" and "_v2". Null where this CUPTI lacks
/// the function.
struct SubscriberApi {
  // `about` is CUPTI's description of the buffer, which only user-defined records need.
  using RequestBuffer = void (*)(uint8_t** buffer, size_t* bytes, size_t* max_records, void* about);
  using CompleteBuffer = void (*)(uint8_t* buffer, size_t bytes, size_t valid_bytes, void* about);
  using Handle = CUpti_SubscriberHandle;

  CUptiResult (*subscribe)(Handle*, CUpti_CallbackFunc, void* data, SubscriberParams*) = nullptr;
  CUptiResult (*register_callbacks)(Handle, RequestBuffer, CompleteBuffer) = nullptr;
  // No configuration: whole records.
  CUptiResult (*enable)(Handle, CUpti_ActivityKind, void* configuration) = nullptr;
  CUptiResult (*disable)(Handle, CUpti_ActivityKind, void* configuration) = nullptr;
  CUptiResult (*set_attribute)(Handle, int attribute, size_t* bytes, void* value) = nullptr;
  CUptiResult (*get_attribute)(Handle, int attribute, size_t* bytes, void* value) = nullptr;
  CUptiResult (*get_timestamp)(Handle, uint64_t* time) = nullptr;
  CUptiResult (*get_next_record)(Handle, uint8_t* buffer, size_t valid_bytes,
                                 CUpti_Activity** record) = nullptr;

  // Recording works without these.
  CUptiResult (*get_num_dropped_records)(Handle, CUcontext, uint32_t stream,
                                         size_t* dropped) = nullptr;
  CUptiResult (*enable_runtime_api)(Handle, CUpti_CallbackId, uint8_t enable) = nullptr;
  CUptiResult (*enable_driver_api)(Handle, CUpti_CallbackId, uint8_t enable) = nullptr;

  /// Whether a capture can be recorded with them: from CUDA 13.3 on.
  [[nodiscard]] bool is_complete() const {
    return subscribe != nullptr && register_callbacks != nullptr && enable != nullptr &&
           disable != nullptr && set_attribute != nullptr && get_attribute != nullptr &&
           get_timestamp != nullptr && get_next_record != nullptr;
  }
};

}  // namespace stepscope::tracer
