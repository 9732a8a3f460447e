// Traces of formats without an index are whole in memory when they are open. Of a run of many that
// is more than there is: packed they are a tenth of it, and are read in parts as our own files are.
#pragma once

#include "trace/import/open/trace_source.h"

namespace stepscope::import {

/// The same events in our own format, in a temporary file that nobody else sees and that is gone
/// with the source. Where it cannot be written, and where it is no trace in memory, the source as
/// it was.
TraceSource packed(TraceSource source);

}  // namespace stepscope::import
