// What a search does with programs and their runs: records them, measures a pair, replays a
// recording.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/compare/run_sample.h"
#include "cli/commands/capture/tune_folder.h"
#include "cli/commands/watched_process.h"
#include "trace/base/expected.h"
#include "tune/study.h"

namespace stepscope::cli {

/// What became of an action that runs programs.
struct TuneRunEnd {
  bool is_interrupted = false, is_timed_out = false;
  std::string failure;  ///< empty: it went well
  double seconds = 0;
  tune::PairResult pair;  ///< of a pair
  std::string run;        ///< of a recording
};

class TuneRuns {
 public:
  TuneRuns(TuneFolder const& folder, ProcessWatch& watch) : folder_(folder), watch_(watch) {}

  /// In turn, as long as the programs can; the study's first pair finds out whether they can.
  /// Errors: the folder cannot be written.
  base::Expected<TuneRunEnd> run_pair(tune::Study const& study, tune::Action const& action);
  base::Expected<TuneRunEnd> record(tune::Study const& study, tune::Action const& action);

  /// Two runs as a pair; the failure says why they are not one.
  TuneRunEnd measure(tune::Study const& study, tune::Action const& action,
                     std::string const& base_run, std::string const& candidate_run);

 private:
  struct Side {
    tune::Settings settings;
    std::string run;
    std::optional<int64_t> steps;  ///< of a short run
  };
  [[nodiscard]] std::vector<std::string> program(Side const& side) const;
  [[nodiscard]] double timeout_s(tune::Study const& study) const;
  base::Expected<TuneRunEnd> run_interleaved(tune::Study const& study, Side const& base,
                                             Side const& candidate);
  base::Expected<TuneRunEnd> run_alone(tune::Study const& study, Side const& side);
  base::Expected<TuneRunEnd> watched(std::vector<std::string> const& words,
                                     std::vector<Side> const& sides, tune::Study const& study);
  [[nodiscard]] std::string broken_requirement(tune::Study const& study,
                                               std::string const& candidate_run) const;

  TuneFolder const& folder_;
  ProcessWatch& watch_;
};

/// What a replay of the run says of each candidate. A run that cannot be replayed says nothing of
/// any; `reason` has why.
std::vector<tune::Prediction> predict_candidates(std::string const& run,
                                                 std::vector<tune::Candidate> const& candidates,
                                                 std::string& reason);

}  // namespace stepscope::cli
