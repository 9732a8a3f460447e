// How CUPTI, and what is made from its records, numbers copies.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "trace/model/details.h"

namespace stepscope::model {

struct CopyKind {
  std::string_view name;  ///< as in "Memcpy HtoD (Pinned -> Device)"
  CopyDirection direction;
};

/// The copy kind of a CUpti_ActivityMemcpyKind; unknown for other numbers. A = an array of the
/// device.
inline CopyKind const& copy_kind(uint64_t kind) {
  static constexpr std::array<CopyKind, 11> kKinds = {{
      {"unknown", CopyDirection::kUnknown},
      {"HtoD", CopyDirection::kHostToDevice},
      {"DtoH", CopyDirection::kDeviceToHost},
      {"HtoA", CopyDirection::kHostToDevice},
      {"AtoH", CopyDirection::kDeviceToHost},
      {"AtoA", CopyDirection::kDeviceToDevice},
      {"AtoD", CopyDirection::kDeviceToDevice},
      {"DtoA", CopyDirection::kDeviceToDevice},
      {"DtoD", CopyDirection::kDeviceToDevice},
      {"HtoH", CopyDirection::kHostToHost},
      {"PtoP", CopyDirection::kPeerToPeer},
  }};
  return kKinds[kind < kKinds.size() ? kind : 0];
}

}  // namespace stepscope::model
