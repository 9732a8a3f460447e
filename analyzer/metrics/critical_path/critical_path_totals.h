// What the critical path is made of: walks its stretches within one process, event by event, and
// sums what they are. Needs the traces of one process at a time. O(events of the threads that the
// path comes to + log n a piece).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/metrics/critical_path/critical_path_walk.h"
#include "analyzer/metrics/critical_path/dependency_graph.h"
#include "analyzer/results/critical_path_stats.h"

namespace stepscope::analyzer {

/// A piece of the path, in run time of its process.
struct PathPiece {
  Interval when;
  int32_t rank_index = 0;
  std::optional<int32_t> device;  ///< none = the host
  std::optional<uint32_t> row;    ///< of the event; of a device op's late start the op
  PathClass path_class = PathClass::kUnexplained;
};

/// Numbers for the names of all traces of a run.
class PathNames {
 public:
  uint32_t number(std::string_view name) {
    auto const [found, is_new] =
        numbers_.try_emplace(std::string(name), static_cast<uint32_t>(texts_.size()));
    if (is_new) texts_.push_back(&found->first);
    return found->second;
  }
  [[nodiscard]] std::string const& text(uint32_t number) const { return *texts_[number]; }

 private:
  std::unordered_map<std::string, uint32_t> numbers_;
  std::vector<std::string const*> texts_;
};

/// Sums over all pieces.
class CriticalPathTotals {
 public:
  /// `pieces`: gets every piece, from the path's end to its begin; may be null.
  CriticalPathTotals(std::vector<PathPiece>* pieces, PathNames& names)
      : pieces_(pieces), names_(names) {}

  /// From here on pieces are this process's. `steps`: those by which its pieces are told apart, by
  /// time, disjoint.
  void enter(model::RankTrace const& rank, std::vector<StepStats> steps);
  void add(PathPiece const& piece);
  void count_op(bool is_guess) {
    ++facts_.ops;
    if (is_guess) ++facts_.guessed_waits;
  }
  /// The sums; of window, jumps, clocks and slack nothing is filled.
  CriticalPathStats finish(int64_t path_ns) &&;

 private:
  [[nodiscard]] bool is_bare(PathPiece const& piece);
  void add_to_place(PathPiece const& piece);
  void add_to_steps(PathPiece const& piece);

  std::vector<PathPiece>* pieces_;
  PathNames& names_;
  model::RankTrace const* rank_ = nullptr;
  std::vector<StepStats> steps_;
  std::vector<uint32_t> number_of_name_;  ///< by StringId of the process
  std::vector<int8_t> is_step_name_;      ///< by StringId of the process; −1 = not asked
  struct Sum {
    int64_t ns = 0;
    uint64_t count = 0;
  };
  std::unordered_map<uint64_t, Sum> by_name_;  ///< (class, name's number + 1; 0 = none)
  std::map<std::pair<int32_t, int32_t>, PathSplit> by_place_;  ///< (rank_index, device; −1 = host)
  std::map<std::pair<int64_t, int32_t>, PathSplit> by_step_;   ///< (step, rank_index)
  // Where the last piece went: most often the next one goes there too.
  std::pair<int32_t, int32_t> last_place_ = {-1, -1};
  PathSplit* of_last_place_ = nullptr;
  Interval last_step_ = {0, 0};
  PathSplit* of_last_step_ = nullptr;
  CriticalPathStats facts_;
};

/// Walks the stretches, all of one process, marks their ops in the graph and adds their pieces.
void account_process(std::span<DeviceOps const> devices, std::vector<PathStretch> const& stretches,
                     DependencyGraph& graph, CriticalPathTotals& account);

}  // namespace stepscope::analyzer
