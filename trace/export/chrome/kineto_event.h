// An event in Kineto's terms: its category, its name, and its arguments as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/export/chrome/json_file.h"
#include "trace/model/trace.h"

namespace stepscope::exporting {

std::string_view kineto_category(model::Trace const& trace, uint32_t row);
/// The event's own name, or one that tells as much as Kineto's would.
std::string kineto_name(model::Trace const& trace, uint32_t row);
/// The members of "args". Where kineto_name() is another than the event's own, that one is there as
/// "name".
void append_kineto_arguments(model::Trace const& trace, uint32_t row, JsonMembers& arguments);
/// The arguments of "[memory]": what an allocator holds after a call. Readers need what is
/// allocated; what is reserved may be unknown.
void append_memory_arguments(model::MemoryDetail const& memory, bool has_reserved,
                             JsonMembers& arguments);

}  // namespace stepscope::exporting
