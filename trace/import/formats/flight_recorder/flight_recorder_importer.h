// Dumps of PyTorch's flight recorder: nccl_trace_rank_0, …, one a rank, as pickle or as JSON;
// packed or not. Decisions: docs/design/decisions/0016-collective-dumps.md.
#pragma once

#include <string_view>

#include "trace/base/expected.h"
#include "trace/import/common/input.h"
#include "trace/model/trace.h"

namespace stepscope::import {

struct Importer;

Importer flight_recorder_importer();
bool is_flight_recorder_dump(Input const& input);
/// Whether a file of this name, which has no extension of its own, may be one: "nccl_trace_rank_3",
/// "dump.pkl".
bool is_flight_recorder_name(std::string_view file_name);
/// Whether a file with any other name that ends with a number is one by its content: PyTorch adds
/// the rank to the name that the user chose ("nccl_trace_rank_HOST_3", "_dump_3").
bool is_renamed_flight_recorder_dump(std::string const& path);
/// One trace: the calls, by group, and the operations on the device whose duration the dump states.
/// Errors: it is no dump, or a pickle that would run code.
base::Expected<model::Trace> read_flight_recorder_dump(Input const& input);

}  // namespace stepscope::import
