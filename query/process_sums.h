// Sums over groups (groups.h) of a run whose processes are read one after the other, perhaps by
// several programs: what each process gives, as bytes, and all of it together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "query/groups.h"
#include "trace/base/expected.h"
#include "trace/file/codec/event_codec.h"
#include "trace/model/trace.h"

namespace stepscope::query {

/// What sums_of_process() reads of events.
file::ColumnSelection columns_of_sums(std::string_view sql);

/// The sums that a statement of Reads::kSums (database.h) wants of one process, for sums_of_all().
/// Errors: the statement asks for no sums.
base::Expected<std::string> sums_of_process(std::string_view sql, model::Trace const& trace,
                                            int64_t offset_ns);

/// The rows of group_events(), of what each process gave, in the order of the run's ranks. Nothing,
/// too, where a statement or bytes are no such ones.
std::optional<Rows> sums_of_all(std::string_view sql, std::vector<std::string> of_processes);

}  // namespace stepscope::query
