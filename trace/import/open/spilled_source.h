// Traces of formats without an index are whole in memory while they are open. Many of them together
// exceed the memory. Packed in Stepscope's format they take a tenth, and are read in parts.
#pragma once

#include "trace/import/open/trace_source.h"

namespace stepscope::import {

/// The same events in Stepscope's format, in an unlinked temporary file that vanishes with the
/// source. Returns the source unchanged if the file cannot be written or the trace is not in
/// memory.
TraceSource packed(TraceSource source);

}  // namespace stepscope::import
