// What waits for what in one step of a pipeline, after the model of StragglerAnalysis (Lin et al.,
// "Understanding Stragglers in Large Model Training Using What-if Analysis", OSDI 2025). All steps
// and data-parallel ranks share it; an evaluation is one pass over the operations.
//
//   passes      in the order in which the stage made them
//   a message   sent: follows its pass. Received: comes before its pass, and follows the earlier
//               pass of its direction. Messages of one name follow one another. The first
//               gradients' messages follow the last pass but one before the first backward pass.
//   weights     are gathered before the first forward pass of their part of the model
//   gradients   after the last pass: gc, all-reduces of layer norms and embeddings, reduce-scatters
//               (where they overlap with passes: after the last backward pass of their part),
//               clipping, optimizer
//   collectives begin on all participants when the last one is there
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/metrics/pipeline/pipeline_steps.h"

namespace stepscope::analyzer {

class PassGraph {
 public:
  /// Fails where passes or their messages are missing, or operations wait in a circle.
  static base::Expected<PassGraph> make(PipelineSteps const& steps);

  /// The end of a step that begins at 0. Nothing but operations takes time in it.
  /// `duration(operation, lane)`: its length, of a collective its transfer. `ends`: room to use
  /// again.
  template <class Duration>
  double step_end(size_t lanes, std::vector<double>& ends, Duration&& duration) const {
    ends.resize(before_begin_.size() * lanes);
    double last = 0;
    for (PipelineSteps::Joined const& joined : order_) {
      double of_all = 0;
      if (joined.joins_data_ranks)
        for (size_t lane = 0; lane < lanes; ++lane)
          of_all = std::max(of_all, ready(joined, lane, lanes, ends));

      for (size_t lane = 0; lane < lanes; ++lane) {
        double const begin = joined.joins_data_ranks ? of_all : ready(joined, lane, lanes, ends);
        for (uint32_t const operation : joined.operations) {
          double const end = begin + duration(operation, lane);
          ends[operation * lanes + lane] = end;
          last = std::max(last, end);
        }
      }
    }
    return last;
  }

 private:
  /// When all that its operations wait for on this data rank is over.
  [[nodiscard]] double ready(PipelineSteps::Joined const& joined, size_t lane, size_t lanes,
                             std::vector<double> const& ends) const {
    double begin = 0;
    for (uint32_t const operation : joined.operations)
      for (uint32_t i = before_begin_[operation]; i < before_end_[operation]; ++i)
        begin = std::max(begin, ends[before_[i] * lanes + lane]);
    return begin;
  }

  std::vector<PipelineSteps::Joined> order_;         ///< each after all that it waits for
  std::vector<uint32_t> before_;                     ///< operations that others wait for
  std::vector<uint32_t> before_begin_, before_end_;  ///< by operation: its part of before_
};

}  // namespace stepscope::analyzer
