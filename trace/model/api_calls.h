// What a call of the CUDA runtime or driver API (or HIP's, which has the same names) is to us: a
// launch, a wait, an allocation, another call, or noise. Told from the function's name, so that
// functions that newer versions add are classed too.
#pragma once

#include <cstdint>
#include <string_view>

#include "trace/model/details.h"

namespace stepscope::model {

enum class ApiClass : uint8_t {
  kNoise,   ///< asks something of the host alone, many thousand times a second
  kOther,   ///< recorded as what it is
  kLaunch,  ///< enqueues a device op, which carries its correlation
  kSync,    ///< waits for the device
  kMemory   ///< allocates or frees
};

/// "cudaLaunchKernel_ptsz_v7000" → "cudaLaunchKernel": as programs call it.
std::string_view plain_name(std::string_view cupti_name);
/// Of a plain name.
ApiClass classify(std::string_view plain_name);
/// What a kSync function waits for.
SyncKind sync_kind_of(std::string_view plain_name);

}  // namespace stepscope::model
