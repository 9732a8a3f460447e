// CUPTI as the tracer uses it: its entry points as function pointers, found in a library at run
// time. The same build works without CUPTI and with any from 12.0 on; tests put a fake in its
// place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <cupti.h>

#include "trace/base/expected.h"
#include "tracer/cupti/subscriber_api.h"

namespace stepscope::tracer {

/// Named as CUPTI names them, without "cupti".
struct CuptiApi {
  decltype(&cuptiGetVersion) get_version = nullptr;
  decltype(&cuptiGetResultString) get_result_string = nullptr;
  decltype(&cuptiGetCallbackName) get_callback_name = nullptr;
  decltype(&cuptiSubscribe) subscribe = nullptr;
  decltype(&cuptiUnsubscribe) unsubscribe = nullptr;
  decltype(&cuptiEnableCallback) enable_callback = nullptr;
  decltype(&cuptiEnableDomain) enable_domain = nullptr;
  decltype(&cuptiSetThreadIdType) set_thread_id_type = nullptr;
  decltype(&cuptiActivitySetAttribute) set_attribute = nullptr;
  decltype(&cuptiGetTimestamp) get_timestamp = nullptr;
  decltype(&cuptiActivityRegisterTimestampCallback) register_timestamp_callback = nullptr;
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityDisable) disable = nullptr;
  decltype(&cuptiActivityGetNextRecord) get_next_record = nullptr;
  decltype(&cuptiActivityGetNumDroppedRecords) get_num_dropped_records = nullptr;
  decltype(&cuptiActivityFlushAll) flush_all = nullptr;
  decltype(&cuptiFinalize) finalize = nullptr;

  // Null where this CUPTI is too old for them. Their types are spelled out: so may be the headers.
  CUptiResult (*enable_runtime_api)(CUpti_CallbackId cbid, uint8_t enable) = nullptr;
  CUptiResult (*enable_driver_api)(CUpti_CallbackId cbid, uint8_t enable) = nullptr;
  CUptiResult (*enable_hw_trace)(uint8_t enable) = nullptr;
  CUptiResult (*enable_all_sync_records)(uint8_t enable) = nullptr;

  // For names of streams; null = they keep their numbers.
  decltype(&cuptiGetContextId) get_context_id = nullptr;
  decltype(&cuptiGetStreamIdEx) get_stream_id = nullptr;
  decltype(&cuCtxGetCurrent) get_current_context = nullptr;  ///< the driver's, of the process

  SubscriberApi of_subscriber;  ///< what newer versions have for one subscriber of several
};

struct CuptiLibrary {
  CuptiApi api;
  std::string path;  ///< of the file it was loaded from
  uint32_t version =
      0;  ///< as cuptiGetVersion() gives it: 19 to 28 for CUDA 12, 13xxyy for CUDA 13
  int driver_version = 0;  ///< 13010 = CUDA 13.1: newest that the driver knows; 0 = not known
};

/// Where CUPTI comes from when it is not to be searched for.
inline constexpr char const* kCuptiVariable = "STEPSCOPE_CUPTI";
/// CUDA 12.0: records of older ones are laid out differently.
inline constexpr uint32_t kOldestCuptiVersion = 19;

/// The one that STEPSCOPE_CUPTI names; else the one that the process has; else one next to the CUDA
/// libraries that the process has; else the loader's; else that of /usr/local/cuda. Errors name
/// what was tried and what to do. It stays loaded.
base::Expected<CuptiLibrary> load_cupti();

/// Files of the major version to try for a process whose CUDA libraries are in `cuda_folders`, best
/// first.
std::vector<std::string> cupti_candidates(int major, std::vector<std::string> const& cuda_folders);

/// "CUPTI_ERROR_…" and, where something can be done about it, what. `other_tool`: the name of who
/// holds CUPTI, if it is known.
std::string describe_cupti_error(CuptiApi const& api, std::string_view call, CUptiResult result,
                                 std::string_view other_tool = {});

}  // namespace stepscope::tracer
