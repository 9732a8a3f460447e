// A run that is asked many questions. Its replay graph is built once, and each question is one
// replay of it. what_if() and the viewer use it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "analyzer/metrics/core/streamed_run.h"
#include "analyzer/results/analysis.h"
#include "analyzer/whatif/changes/change.h"
#include "analyzer/whatif/changes/work.h"
#include "analyzer/whatif/replay/predicted_timeline.h"
#include "analyzer/whatif/replay_part.h"
#include "analyzer/whatif/whatif_stats.h"

namespace stepscope::analyzer {

/// An answer, and when everything would happen then.
struct WhatIfPrediction {
  WhatIfAnswer answer;
  /// Without tracks where the answer is refused, or counts work that is not in the graph.
  PredictedTimeline timeline;
};

/// Immutable: several threads may ask at once. It takes about 0.3 KB for each device op.
class ReplaySession {
 public:
  /// Builds the graph and replays the unchanged run. `probe`: what a second run of other work
  /// tells. `analysis` and what the part refers to must outlive the session.
  ReplaySession(ReplayPart part, Analysis const& analysis, std::optional<WorkRatios> probe = {});
  ReplaySession(ReplaySession const&) = delete;
  ReplaySession& operator=(ReplaySession const&) = delete;

  [[nodiscard]] ReplayBaseline const& baseline() const { return baseline_; }
  /// The critical path of a recorded step.
  [[nodiscard]] PathSplit const& path() const { return path_; }
  [[nodiscard]] ReplayPart const& part() const { return part_; }
  [[nodiscard]] Analysis const& analysis() const { return analysis_; }

  /// All of the changes at once; none: the run as recorded. Refusals are in the answer.
  [[nodiscard]] WhatIfAnswer answer(std::span<WhatIfChange const> changes) const;
  /// The same answer with the predicted timeline.
  [[nodiscard]] WhatIfPrediction predict(std::span<WhatIfChange const> changes) const;

 private:
  /// What the changes make of the recorded weights.
  struct ChangedWeights {
    ReplayWeights weights;
    std::vector<ReplayWeights> bounds;
    double added_ns = 0;  ///< to a step, by work that is not in the graph
    double error = 0;     ///< of the changes, as a share of the step
  };

  /// Counts in the answer what is changed; none, with the reason in the answer: it is refused.
  std::optional<ChangedWeights> change(std::span<WhatIfChange const> changes,
                                       WhatIfAnswer& answer) const;
  std::string add_change(WhatIfChange const& change, ChangedWeights& changed,
                         WhatIfAnswer& answer) const;
  [[nodiscard]] std::string unpredictable(WhatIfChange const& change) const;
  void measure();
  void refuse(std::string reason);
  void fill(ChangedWeights const& changed, ReplayTimes const& times, WhatIfAnswer& answer) const;
  void widen(ReplayWeights const& weights, double added_ns, WhatIfAnswer& answer) const;

  ReplayPart part_;
  Analysis const& analysis_;
  std::optional<WorkRatios> probe_;
  ReplayGraph graph_;  ///< refers to part_
  ReplayTimes recorded_;
  ReplayBaseline baseline_;
  PathSplit path_{};
};

/// The part of the run that what_if() replays. Errors: those of reading.
base::Expected<std::unique_ptr<ReplaySession const>> open_replay(
    StreamedRun const& run, Analysis const& analysis, std::optional<WorkRatios> probe = {});
/// The same of a run in memory, which must outlive the session.
std::unique_ptr<ReplaySession const> open_replay(model::Run const& run, Analysis const& analysis,
                                                 std::optional<WorkRatios> probe = {});

/// What each finding's fix gives alone and after the others: see WhatIfStats::fixes. Told to stop,
/// it returns what it has. n findings with fixes are up to n (n + 3) / 2 questions.
std::vector<WhatIfFix> find_fixes(ReplaySession const& session, std::stop_token const& stop = {});

}  // namespace stepscope::analyzer
