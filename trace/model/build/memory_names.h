// What changes of memory are called that no recorded call made.
#pragma once

#include <string_view>

#include "trace/model/details.h"

namespace stepscope::model {

/// Variables that a program declares with __device__ or __constant__ come with its modules: each is
/// a record of its own, by the thousand and of a few bytes.
inline constexpr std::string_view kModuleVariable = "module variable";

inline std::string_view name_without_call(MemoryDetail const& detail) {
  if (detail.memory == MemoryKind::kDeviceStatic) return kModuleVariable;
  return detail.op == MemoryOp::kFree ? "free" : "allocate";
}

}  // namespace stepscope::model
