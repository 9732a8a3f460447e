// Streams of steps (trace/stream) as traces: each step, and what each device did in it, as sums.
#pragma once

#include "trace/import/formats/importers.h"

namespace stepscope::import {

/// The steps of one process, each from the end of the step before. A device has one stream; in each
/// step its sums follow one another, as their order was not recorded: waiting for data, copies,
/// compute, communication, idle time. Counters have what is no time: memory, bytes, power. The fact
/// stream::kSumsFact says that these are sums. Errors: not a stream, or damaged in its head.
base::Expected<model::Trace> read_step_stream(Input const& input);

Importer step_stream_importer();

}  // namespace stepscope::import
