#include "trace/import/formats/importers.h"

#include <algorithm>
#include <array>
#include <utility>

#include "trace/import/formats/chrome/chrome_importer.h"
#include "trace/import/formats/flight_recorder/flight_recorder_importer.h"
#include "trace/import/formats/nccl_inspector/inspector_importer.h"
#include "trace/import/formats/nsys/nsys_importer.h"
#include "trace/import/formats/perfetto/perfetto_importer.h"
#include "trace/import/formats/rocpd/rocpd_importer.h"
#include "trace/import/formats/rocprofv3/rocprofv3_importer.h"
#include "trace/import/formats/step_stream/step_stream_importer.h"
#include "trace/import/formats/stepscope/stepscope_importer.h"
#include "trace/import/formats/xplane/xplane_importer.h"

namespace stepscope::import {

/// In the order in which sniff() is asked.
std::span<Importer const> importers() {
  static std::array const list = {
      stepscope_importer(),        //
      step_stream_importer(),      //
      rocpd_importer(),            //
      nsys_importer(),             //
      rocprofv3_importer(),        //
      chrome_importer(),           //
      flight_recorder_importer(),  //
      inspector_importer(),        //
      perfetto_importer(),         //
      xplane_importer(),
  };
  return list;
}

std::string importer_names() {
  std::string names;
  for (Importer const& importer : importers())
    names += (names.empty() ? "" : ", ") + std::string(importer.name);
  return names;
}

bool has_trace_name(std::string_view file_name) {
  for (std::string_view const packed : {".gz", ".zst"}) {
    if (file_name.ends_with(packed)) file_name.remove_suffix(packed.size());
  }

  auto const all = importers();
  return std::any_of(all.begin(), all.end(), [&](Importer const& importer) {
    return file_name.ends_with(importer.file_suffix) ||
           (importer.has_name != nullptr && importer.has_name(file_name));
  });
}

Importer const* find_importer(Input const& input) {
  auto const all = importers();
  auto const found = std::find_if(all.begin(), all.end(),
                                  [&](Importer const& importer) { return importer.sniff(input); });
  return found == all.end() ? nullptr : &*found;
}

bool is_self_describing(std::string_view path) {
  auto const all = importers();
  return std::any_of(all.begin(), all.end(), [&](Importer const& importer) {
    return importer.is_self_describing && path.ends_with(importer.file_suffix);
  });
}

bool is_dump(model::TraceInfo const& info) {
  auto const all = importers();
  return std::any_of(all.begin(), all.end(), [&](Importer const& importer) {
    return importer.is_dump && importer.name == info.tool;
  });
}

std::optional<std::string> newest_capture(std::string const& folder) {
  for (Importer const& importer : importers()) {
    if (importer.newest_capture == nullptr) continue;
    if (auto newest = importer.newest_capture(folder)) return newest;
  }
  return std::nullopt;
}

std::optional<std::string> conversion_advice(std::string_view path) {
  for (Importer const& importer : importers()) {
    if (importer.conversion_advice == nullptr) continue;
    if (auto advice = importer.conversion_advice(path)) return advice;
  }
  return std::nullopt;
}

ImportedTraces one_trace(base::Expected<model::Trace> trace) {
  if (!trace) return base::fail_with(trace);
  std::vector<model::Trace> traces;
  traces.push_back(std::move(*trace));
  return traces;
}

}  // namespace stepscope::import
