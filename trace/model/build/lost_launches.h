// Which launch calls lost their device op, and which never had one.
#pragma once

#include <cstdint>
#include <span>

#include "trace/model/string_table.h"
#include "trace/model/trace.h"

namespace stepscope::model {

/// How many of the launches in `unlinked` lack an op that the device executed. Launches that a CUDA
/// graph captures have none, nor have memsets and copies of 0 bytes. `columns` needs its links.
uint64_t count_lost_launches(Trace::Columns const& columns, StringTable const& strings,
                             std::span<uint32_t const> unlinked);

}  // namespace stepscope::model
