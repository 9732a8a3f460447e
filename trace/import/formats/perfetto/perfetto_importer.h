// Traces of Perfetto (https://perfetto.dev): what Stepscope itself exported, and track events of
// programs and other tools.
#pragma once

#include <string_view>
#include <vector>

#include "trace/base/expected.h"
#include "trace/import/common/input.h"
#include "trace/model/trace.h"

namespace stepscope::import {

struct Importer;

Importer perfetto_importer();
/// Whether packets of Perfetto stand there; packed or not.
bool is_perfetto_trace(Input const& input);
/// "run.pftrace", "trace.perfetto-trace"; without the suffix of what packs it.
bool is_perfetto_name(std::string_view file_name);
/// One trace a process of our own exports, one for all else. The logs name what is cut, damaged,
/// lost or not modelled. Errors: no event of a program in it, or too many for the machine's memory.
base::Expected<std::vector<model::Trace>> read_perfetto_trace(Input const& input);

}  // namespace stepscope::import
