// Evaluates a replay graph: when everything would be over, how long steps would be, and which chain
// of work would make them so long. O(nodes + edges), one pass.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analyzer/whatif/replay/replay_graph.h"

namespace stepscope::analyzer {

/// Above this share the replay of the unchanged run misses its step by so much that answers are to
/// be read with caution.
inline constexpr double kReplayCaution = 0.02;
/// Above this there are no answers.
inline constexpr double kReplayRefusal = 0.05;

struct ReplayTimes {
  base::Column<int64_t> over;       ///< by node: when it is over
  std::vector<int64_t> step_end;    ///< by step: when the last of its ops is over
  std::vector<uint32_t> step_last;  ///< by step: the node of that op
};
/// `source`: by edge; empty = the graph's. Each comes before its edge's node: ends of later
/// nodes are not known yet.
ReplayTimes replay(ReplayGraph const& graph, std::span<int64_t const> own,
                   std::span<int64_t const> lag, std::span<uint32_t const> source = {});

/// Where a step of ReplayGraph::steps begins, run time.
int64_t begin_of_step(ReplayTimes const& times, ReplayStep const& step);
/// Lengths of the measured steps, in the order of graph.steps. A step is as long as from the end of
/// the one before it to its own end, where the recording measures it so.
std::vector<double> step_lengths(ReplayGraph const& graph, ReplayTimes const& times);

/// Where the replay of the unchanged run, each delay replaced by the typical one of its kind, and
/// the recording differ most: ops of one name on the critical path.
struct ReplayResidual {
  std::string name;  ///< hostile text
  PathClass path_class = PathClass::kCompute;
  int64_t ns = 0;  ///< a step: recorded delay − typical one; < 0: ops began sooner than typical
  uint64_t count = 0;  ///< of all measured steps
};

struct ReplayPath {
  PathSplit of_step{};  ///< ns of a mean step
  PathClass most = PathClass::kUnexplained;
  std::string most_name;  ///< name with most of that class; empty: none. Hostile text
  std::vector<ReplayResidual> residuals;  ///< recorded − typical delays of its ops; by |ns|
};
/// The chain from the end of the last measured step back to the begin of the first. `times`: of
/// `weights`.
ReplayPath replay_path(ReplayGraph const& graph, ReplayWeights const& weights,
                       ReplayTimes const& times);

}  // namespace stepscope::analyzer
