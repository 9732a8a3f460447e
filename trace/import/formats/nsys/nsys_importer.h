// Reports of Nsight Systems as `nsys export --type sqlite` writes them, of all versions whose
// tables are known: columns are found by name, rows may come in any order, tables may be missing.
// One trace a process.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/base/expected.h"
#include "trace/import/common/input.h"
#include "trace/model/trace.h"

namespace stepscope::import {

struct Importer;

Importer nsys_importer();
/// Whether it is a database with a table of Nsight Systems. A packed file, or one whose tables
/// cannot be found, only has to be a database.
bool is_nsys_export(Input const& input);
/// The logs name what is cut off or damaged; the rest is read. Errors: another program is writing
/// it, no table can be found, nothing in it, or too much for the machine's memory.
base::Expected<std::vector<model::Trace>> read_nsys_export(Input const& input);

/// What to do with a file whose name is that of a report that was not exported (.nsys-rep, .qdrep,
/// .qdstrm); nothing for others.
std::optional<std::string> advice_for_report(std::string_view file_name);

}  // namespace stepscope::import
