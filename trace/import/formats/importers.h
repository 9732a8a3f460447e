// THE list of trace formats. A new format is one folder with sniff and read functions, and one line in importers.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/base/expected.h"
#include "trace/import/common/input.h"
#include "trace/model/trace.h"

namespace stepscope::import {

struct Importer {
  std::string_view name;
  std::string_view file_suffix;  ///< which files of a folder are tried, packed (.gz, .zst) or not; content decides
  bool (*sniff)(Input const& input);
  /// One trace a process; a file may hold several. Never none.
  base::Expected<std::vector<model::Trace>> (*read)(Input const& input);
};

std::span<Importer const> importers();
/// "stepscope, …" for messages.
std::string importer_names();
/// Whether a file of this name in a run folder may be a trace.
bool has_trace_name(std::string_view file_name);
/// Of these bytes; null when nobody knows them.
Importer const* find_importer(Input const& input);

}  // namespace stepscope::import
