// What ROCm's rocprofv3 writes with --output-format json: one trace a process. Source:
// rocprofiler-sdk, source/lib/output/generateJSON.cpp.
#pragma once

#include <vector>

#include "trace/base/expected.h"
#include "trace/import/common/input.h"
#include "trace/model/trace.h"

namespace stepscope::import {

struct Importer;

Importer rocprofv3_importer();
bool is_rocprofv3_json(Input const& input);
/// The logs name what is cut off or damaged; the rest is read. Errors: nothing in it, or too much
/// for the machine's memory.
base::Expected<std::vector<model::Trace>> read_rocprofv3_json(Input const& input);

}  // namespace stepscope::import
