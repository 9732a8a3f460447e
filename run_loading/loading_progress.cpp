#include "run_loading/loading_progress.h"

#include <algorithm>

#include <fmt/format.h>

#include "trace/base/format.h"

namespace stepscope::run_loading {

std::string describe(LoadingProgress const& progress) {
  LoadingProgress::Stage const stage = progress.stage;
  size_t const processes = progress.processes;
  if (stage == LoadingProgress::Stage::kOpening) return "opening the files";

  std::string const what =
      processes == 1 ? std::string("1 process") : base::format_count(processes) + " processes";
  std::string const doing = stage == LoadingProgress::Stage::kReading ? "reading " : "analyzing ";
  if (!progress.is_streamed) return doing + what;

  size_t const readings = 2 * std::max<size_t>(processes, 1);
  size_t const done = std::min<size_t>(progress.reading->processes_read, readings);
  return fmt::format("{}{}, {} %", doing, what, 100 * done / readings);
}

}  // namespace stepscope::run_loading
