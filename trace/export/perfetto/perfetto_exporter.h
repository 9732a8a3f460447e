// Writes a run for Perfetto's UI and trace processor: one protobuf file, a process a rank.
#pragma once

#include <memory>
#include <string>

#include "trace/export/exporters.h"

namespace stepscope::exporting {

/// Tracks: threads; below each device its streams and counters. Slices with their details, marks as
/// instants, samples and memory as counters, flows from launches to device ops and between the
/// participants of collectives. Times are ns on one clock. Memory: a few MB, whatever the run.
/// Errors: see PartialFile.
base::Expected<std::unique_ptr<Exporter>> open_perfetto(std::string const& path);

}  // namespace stepscope::exporting
