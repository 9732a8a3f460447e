// Files that are analyzed, in memory or process by process: the one place that decides which. What
// is found, noted and refused does not depend on that.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/analyze.h"
#include "analyzer/metrics/core/streamed_run.h"
#include "analyzer/results/analysis.h"
#include "run_loading/loading_progress.h"
#include "run_loading/team/team.h"
#include "trace/base/expected.h"
#include "trace/import/open/trace_source.h"
#include "trace/model/run.h"

namespace stepscope::run_loading {

struct AnalyzedRun {
  model::Run
      run;  ///< whole, or of each process the skeleton (analyzer/metrics/steps/skeleton_rows.h)
  analyzer::Analysis analysis;
  /// Reads a process with all its events, if `run` has only outlines. Empty if the run is in
  /// memory.
  std::function<base::Expected<std::shared_ptr<model::RankTrace const>>(size_t process)> read;
};

/// The same run for what reads a few processes at a time. `analyzed` must outlive it, unmoved.
analyzer::StreamedRun streamed_run_of(AnalyzedRun const& analyzed);

enum class Reading : uint8_t {
  kBySize,     ///< streamed where memory would hold more than kMostEventsInMemory and not all
               ///< processes are looked at at once
  kByProcess,  ///< streamed whatever the size
};
inline constexpr uint64_t kMostEventsInMemory = uint64_t{8} << 20;

/// Opens paths (import::open_sources) and analyzes them. What is streamed of formats without an
/// index is packed first (import/open/spilled_source.h). Only runs whose steps are marked can be
/// streamed; the others are analyzed in memory. Errors: those of reading. `is_one_run`: paths of
/// different times are one run nevertheless. `team` may be null. Its processes share the work,
/// whatever the size; it must outlive what is returned. `progress` may be null.
base::Expected<AnalyzedRun> analyze_files(std::vector<std::string> const& paths,
                                          analyzer::AnalyzeOptions const& options, Reading reading,
                                          bool is_one_run = false, Team* team = nullptr,
                                          LoadingProgress* progress = nullptr);

/// Opens paths for commands that look at events themselves: with the files of all processes of the
/// team. Errors: those of import::open_sources().
base::Expected<import::RunSources> open_with_team(std::vector<std::string> const& paths,
                                                  bool is_one_run, Team& team);
/// The same for commands that read process by process: formats without an index are packed first
/// where memory would hold more than kMostEventsInMemory. `team` may be null.
base::Expected<import::RunSources> open_by_size(std::vector<std::string> const& paths,
                                                bool is_one_run, Team* team);
/// import::load_run() of them; `team` may be null. Errors: also that one of its processes is gone.
base::Expected<model::Run> load_with_team(import::RunSources sources, Team* team);

}  // namespace stepscope::run_loading
