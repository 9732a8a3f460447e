// A replica whose forward and backward passes are launched as CUDA graphs (--cuda-graphs). After a
// few batches that are launched operation by operation, each pass is captured once for every place
// where its batch can lie. From then on it is replayed. Exchanges of gradients stay between graphs.
// A backward pass is cut where a bucket is complete, so that buckets are exchanged as early as
// without graphs. The optimizer's step has other arguments in every step (learning rate, Adam's
// corrections), and input, loss and waits belong to the host: they are launched as without.
//
// An operation has to be the same in every step, with the same arguments: what a replica does, with
// memory that it keeps.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "workloads/backend/backend.h"
#include "workloads/training/data_parallel.h"
#include "workloads/training/gradient_reducer.h"

namespace stepscope::workloads {

class GraphedReplica final : public Replica {
 public:
  /// Passes of a kind that are launched operation by operation before one is captured. Libraries
  /// load their kernels at their first launch, which a capture does not allow, and choose among
  /// them.
  static constexpr int kWarmUp = 3;
  /// Places of a batch that get graphs; passes in others are launched as without: a graph takes
  /// some ten KiB an operation.
  static constexpr size_t kMostPlaces = 64;

  /// Both must outlive it. `log` (null = silent) gets a line when a pass cannot be captured, and
  /// why; all are launched as without then.
  GraphedReplica(Replica& replica, Device& device, std::FILE* log)
      : replica_(replica), device_(device), log_(log) {}

  void forward(InputBuffers const& input) override;
  void backward(InputBuffers const& input, GradientReducer& reducer) override;

 private:
  /// What is launched together, and the bucket that is exchanged behind it.
  struct Piece {
    std::unique_ptr<LaunchGraph> graph;  ///< null = nothing but the exchange
    std::optional<size_t> bucket;
  };
  using Pass = std::vector<Piece>;
  struct BackwardPass {
    Pass pieces;
    size_t completed = 0;  ///< buckets
  };
  using BackwardKey = std::pair<InputBuffers const*, GradientReducer::Place>;
  using Cut = std::function<void(size_t bucket)>;

  /// Captures what `work(cut)` enqueues; nothing of it is done. Nothing when it cannot be: said,
  /// and not tried again.
  std::optional<Pass> capture(char const* name, std::function<void(Cut const& cut)> const& work);
  /// Whether the next pass of a kind is still launched operation by operation; counts it.
  static bool is_warm_up(int& done) { return done < kWarmUp && ++done > 0; }

  Replica& replica_;
  Device& device_;
  std::FILE* log_;
  bool given_up_ = false;
  int warm_forwards_ = 0;
  std::array<int, 3> warm_backwards_ = {};  ///< by GradientReducer::Place
  std::map<InputBuffers const*, Pass> forward_;
  std::map<BackwardKey, BackwardPass> backward_;
};

}  // namespace stepscope::workloads
