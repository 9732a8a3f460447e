// Logs of NCCL's inspector plugin: JSON, a record a line (HOST-pidNUMBER.log), packed or not.
// Decisions: docs/design/decisions/0016-collective-dumps.md.
#pragma once

#include <string_view>
#include <vector>

#include "trace/base/expected.h"
#include "trace/import/common/input.h"
#include "trace/model/trace.h"

namespace stepscope::import {

struct Importer;

Importer inspector_importer();
bool is_inspector_log(Input const& input);
/// ".log" and ".jsonl": what else is in such files is no trace.
bool is_inspector_name(std::string_view file_name);
/// One trace a process: its collectives and messages as ops of the device. Errors: no record can be
/// read.
base::Expected<std::vector<model::Trace>> read_inspector_log(Input const& input);

}  // namespace stepscope::import
