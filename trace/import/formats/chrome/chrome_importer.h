// Traces in the format of Chrome's tracing, as PyTorch's profiler (Kineto), and many others, write
// them: JSON, an object with "traceEvents" or a bare array, packed or not. One pass, blocks of the
// text on all cores; no more of the text is held than the blocks that are being read.
#pragma once

#include "trace/base/expected.h"
#include "trace/import/common/input.h"
#include "trace/model/trace.h"

namespace stepscope::import {

struct Importer;

Importer chrome_importer();
bool is_chrome_trace(Input const& input);
/// The log names what is cut off or damaged; the rest is read. Errors: no events, or too many for
/// the machine's memory.
base::Expected<model::Trace> read_chrome_trace(Input const& input);
/// The same in blocks of about `block_bytes`, which change nothing but the time that it takes.
base::Expected<model::Trace> read_chrome_trace(Input const& input, size_t block_bytes);

}  // namespace stepscope::import
