// What an event's name tells beyond itself, found out once for each name of a block.
#pragma once

#include <cstdint>
#include <string_view>

#include "trace/model/api_calls.h"
#include "trace/model/kinds.h"

namespace stepscope::import {

struct NameTraits {
  bool is_known = false;
  model::EventKind host_kind = model::EventKind::kRange;  ///< of a host range
  int64_t step = 0;
  model::ApiClass api_class = model::ApiClass::kOther;
  model::SyncKind sync = model::SyncKind::kUnknown;
  bool communicates = false;  ///< as a kernel
};
NameTraits traits_of_name(std::string_view name);

/// "matmul[0.120 ms]" → "matmul": PaddlePaddle puts each call's own duration behind its name. A
/// text that is no duration of this event stays.
std::string_view without_duration(std::string_view name, int64_t dur_ns);

}  // namespace stepscope::import
