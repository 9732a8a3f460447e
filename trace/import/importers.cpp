#include "trace/import/importers.h"

#include <algorithm>
#include <array>

#include "trace/file/reader.h"

namespace stepscope::import {
namespace {

constexpr std::array kImporters = {
    Importer{"stepscope", ".stepscope", file::is_stepscope_file, file::read_trace},
};

}  // namespace

std::span<Importer const> importers() { return kImporters; }

std::string importer_names() {
  std::string names;
  for (Importer const& importer : kImporters) names += (names.empty() ? "" : ", ") + std::string(importer.name);
  return names;
}

bool has_trace_name(std::string_view file_name) {
  return std::any_of(kImporters.begin(), kImporters.end(),
                     [&](Importer const& importer) { return file_name.ends_with(importer.file_suffix); });
}

}  // namespace stepscope::import
