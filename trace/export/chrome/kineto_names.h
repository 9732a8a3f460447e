// The names by which PyTorch's profiler (Kineto), and all that read its traces, know what an event
// is. What already has such a name keeps it.
#pragma once

#include <string>
#include <string_view>

#include "trace/model/trace.h"

namespace stepscope::exporting {

/// "Float" as c10 calls it; empty when it is not known.
std::string_view data_type_name(model::DataType type);
/// What the call of a launch, a sync or a memory call is named; `name` itself where that tells it,
/// or where nothing does.
std::string_view call_name(model::Trace const& trace, uint32_t row);
/// "enumerate(DataLoader)#wait for batch.__next__"; `name` itself where that is one of PyTorch's.
std::string input_wait_name(std::string_view name);
/// "Memcpy HtoD (Pinned -> Device)"; `name` itself where that tells it.
std::string copy_name(std::string_view name, model::CopyDetail const& copy);

}  // namespace stepscope::exporting
