#include "trace/import/formats/importers.h"

#include <algorithm>
#include <array>
#include <utility>

#include "trace/file/reader.h"
#include "trace/import/formats/chrome/chrome_importer.h"
#include "trace/import/formats/flight_recorder/flight_recorder_importer.h"
#include "trace/import/formats/nccl_inspector/inspector_importer.h"
#include "trace/import/formats/nsys/nsys_importer.h"
#include "trace/import/formats/perfetto/perfetto_importer.h"
#include "trace/import/formats/xplane/xplane_importer.h"

namespace stepscope::import {
namespace {

using Traces = base::Expected<std::vector<model::Trace>>;

Traces only(base::Expected<model::Trace> trace) {
  if (!trace) return base::fail_with(trace);
  std::vector<model::Trace> traces;
  traces.push_back(std::move(*trace));
  return traces;
}

constexpr std::array kImporters = {
    Importer{"stepscope", ".stepscope", [](Input const& input) { return file::is_stepscope_file(input.bytes()); },
             [](Input const& input) { return only(file::read_trace(input.bytes(), input.name())); }},
    Importer{"Nsight Systems SQLite", ".sqlite", is_nsys_export, read_nsys_export},
    Importer{"PyTorch or Chrome JSON", ".json", is_chrome_trace,
             [](Input const& input) { return only(read_chrome_trace(input)); }},
    Importer{"PyTorch flight recorder", ".pkl", is_flight_recorder_dump,
             [](Input const& input) { return only(read_flight_recorder_dump(input)); }},
    Importer{"NCCL inspector", ".jsonl", is_inspector_log, read_inspector_log},
    Importer{"Perfetto trace", ".pftrace", is_perfetto_trace, read_perfetto_trace},
    Importer{"XLA profile (.xplane.pb)", ".pb", is_xplane, [](Input const& input) { return only(read_xplane(input)); }},
};

}  // namespace

std::span<Importer const> importers() { return kImporters; }

std::string importer_names() {
  std::string names;
  for (Importer const& importer : kImporters) names += (names.empty() ? "" : ", ") + std::string(importer.name);
  return names;
}

bool has_trace_name(std::string_view file_name) {
  for (std::string_view const packed : {".gz", ".zst"}) {
    if (file_name.ends_with(packed)) file_name.remove_suffix(packed.size());
  }
  if (is_flight_recorder_name(file_name) || is_inspector_name(file_name) || is_perfetto_name(file_name)) return true;
  return std::any_of(kImporters.begin(), kImporters.end(),
                     [&](Importer const& importer) { return file_name.ends_with(importer.file_suffix); });
}

Importer const* find_importer(Input const& input) {
  auto const found =
      std::find_if(kImporters.begin(), kImporters.end(), [&](Importer const& importer) { return importer.sniff(input); });
  return found == kImporters.end() ? nullptr : &*found;
}

}  // namespace stepscope::import
