// Small synthetic traces with one event of each kind that exports write, and the odd cases:
// overlaps, touching ends, equal times, names that are no text.
#pragma once

#include <string>

#include "trace/export/exporters.h"
#include "trace/model/trace.h"

namespace stepscope::exporting::testing {

/// Ranks of one run: the same process id on both hosts, one collective of both, clocks that begin 1
/// s apart.
model::Trace synthetic_trace(int32_t rank);

/// Writes these runs' processes; fails the test when that fails.
void write(ExportFormat const& format, std::string const& path,
           std::vector<model::Trace> const& traces, std::vector<int64_t> const& offsets);
ExportFormat const& format_named(std::string_view name);

}  // namespace stepscope::exporting::testing
