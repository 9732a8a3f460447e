// The part of a run that --steps, --time and --rank choose.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "trace/base/expected.h"
#include "trace/import/open/trace_source.h"
#include "trace/model/derive/slice.h"

namespace stepscope::cli {

struct PartOptions {
  std::string steps, time;
  std::optional<int32_t> rank;
  /// How many steps before --steps stay as well, where there are any: those in which began what the
  /// first of --steps waits for.
  int64_t steps_before = 0;

  [[nodiscard]] bool is_everything() const { return steps.empty() && time.empty() && !rank; }
};
/// Declares --steps, --time and --rank; `options` outlives the app.
void add_part_options(CLI::App& app, PartOptions& options);

/// What is kept of one process, trace time: steps, or a time.
struct Part {
  std::vector<model::ThreadSteps> steps;
  model::Interval time{INT64_MIN, INT64_MAX};
  model::WholeSteps whole;
};
/// One entry per rank of the run; none = no part of this rank.
using Parts = std::vector<std::optional<Part>>;

/// Takes ranks that are not wanted out of the run. Errors: what was asked for is not there; the
/// message says what is.
base::Expected<Parts> choose_parts(import::RunSources& run, PartOptions const& options);
/// Errors: it does not fit into memory.
base::Expected<model::Trace> read_part(import::TraceSource const& source, Part const& part);

}  // namespace stepscope::cli
