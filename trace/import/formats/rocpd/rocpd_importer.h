// rocpd, the SQLite database that rocprofv3 writes since ROCm 7: one trace a process. Source:
// rocprofiler-sdk, source/share/rocprofiler-sdk-rocpd/rocpd_tables.sql.
#pragma once

#include <vector>

#include "trace/base/expected.h"
#include "trace/import/common/input.h"
#include "trace/model/trace.h"

namespace stepscope::import {

struct Importer;

Importer rocpd_importer();
/// Whether it is a database with rocpd's tables. The begin decides for a packed file.
bool is_rocpd(Input const& input);
/// The logs name what is cut off or damaged; the rest is read. Errors: another program is writing
/// it, no table can be found, nothing in it, or too much for the machine's memory.
base::Expected<std::vector<model::Trace>> read_rocpd(Input const& input);

}  // namespace stepscope::import
