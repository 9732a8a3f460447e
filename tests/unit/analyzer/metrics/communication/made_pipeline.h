// Pipelines written pass by pass: stages hand micro-batches on, in GPipe's schedule or with one
// forward and one backward pass in turn.
#pragma once

#include <map>
#include <tuple>

#include "tests/unit/analyzer/made_ranks.h"

namespace stepscope::analyzer::testing_support {

struct MadePipeline {
  int32_t stages = 4;
  int64_t micro_batches = 8;
  bool one_by_one = true;  ///< 1F1B, else GPipe
  int64_t steps = 6;
  std::vector<int64_t> pass_ns =
      {};  ///< of a forward or backward pass, by stage; 100 µs where it is not said
  int64_t transfer_ns = 10;
  std::map<int32_t, int64_t> slow_boundary =
      {};                           ///< transfer of the messages between this stage and the next
  std::vector<int32_t> ranks = {};  ///< by stage; its own number where it is not said
  bool with_shapes = false;         ///< before each message another of 8 bytes
  bool waits = false;               ///< at the end of a step hosts wait for their devices
  uint64_t communicators = 100;     ///< the number of the first

  [[nodiscard]] model::Run make() const;
};

/// Simulates step after step; all ranks reduce at the end of each.
class PipelineMaker {
 public:
  explicit PipelineMaker(MadePipeline const& options)
      : options_(options), made_(options.stages), now_(static_cast<size_t>(options.stages)) {}

  model::Run run() {
    int64_t begin = 1'000'000;
    for (int64_t step = 0; step < options_.steps; ++step) {
      begin_ = begin;
      std::fill(now_.begin(), now_.end(), begin);
      sent_.clear();
      run_passes();

      int64_t const end = *std::max_element(now_.begin(), now_.end()) + 10;
      for (int32_t s = 0; s < options_.stages; ++s) {
        made_.collective(
            rank(s), now_[at(s)], end, begin,
            all_reduce_of(s, options_.stages, ++reductions_[s], options_.communicators));
        made_.step(rank(s), begin, end, step);
        if (options_.waits)
          made_.host(rank(s), model::EventKind::kSync, begin + 1, end, "wait",
                     model::SyncDetail{model::SyncKind::kDevice, 0, -1});
      }

      begin = end;
    }
    return made_.finish();
  }

 private:
  struct Pass {
    bool forward;
    int64_t micro_batch;
  };
  static size_t at(int32_t stage) { return static_cast<size_t>(stage); }
  [[nodiscard]] int32_t rank(int32_t stage) const {
    return options_.ranks.empty() ? stage : options_.ranks[at(stage)];
  }
  [[nodiscard]] int64_t pass_ns(int32_t stage) const {
    return at(stage) < options_.pass_ns.size() ? options_.pass_ns[at(stage)] : 100'000;
  }

  [[nodiscard]] std::vector<Pass> passes(int32_t stage) const {
    int64_t const m = options_.micro_batches;
    int64_t const ahead =
        options_.one_by_one ? std::min<int64_t>(m, options_.stages - stage) - 1 : m - 1;
    std::vector<Pass> result;
    for (int64_t i = 0; i < m + ahead; ++i) {
      if (i < m) result.push_back({true, i});
      if (i >= ahead) result.push_back({false, i - ahead});
    }
    return result;
  }

  void run_passes() {
    std::vector<std::vector<Pass>> todo;
    std::vector<size_t> next(now_.size());
    for (int32_t s = 0; s < options_.stages; ++s) todo.push_back(passes(s));
    for (bool moved = true; moved;) {
      moved = false;
      for (int32_t s = 0; s < options_.stages; ++s)
        while (next[at(s)] < todo[at(s)].size() && run_pass(s, todo[at(s)][next[at(s)]]))
          ++next[at(s)], moved = true;
    }
  }

  /// Returns false if its input has not been sent yet.
  bool run_pass(int32_t stage, Pass pass) {
    int32_t const from = pass.forward ? stage - 1 : stage + 1,
                  to = pass.forward ? stage + 1 : stage - 1;
    int64_t& now = now_[at(stage)];

    if (from >= 0 && from < options_.stages) {
      auto const message = sent_.find({pass.forward, from, pass.micro_batch});
      if (message == sent_.end()) return false;
      if (options_.with_shapes) exchange(from, stage, message->second, 8);
      exchange(from, stage, message->second, 1'000'000);
    }

    made_.kernel(rank(stage), now, now + pass_ns(stage), begin_);
    now += pass_ns(stage);
    if (to >= 0 && to < options_.stages) sent_[{pass.forward, stage, pass.micro_batch}] = now;
    return true;
  }

  /// Both sides end together. The receiver waits for the message; the sender computes meanwhile.
  void exchange(int32_t from, int32_t to, int64_t computed, uint64_t bytes) {
    using model::CollectiveOp;
    auto const slow = options_.slow_boundary.find(std::min(from, to));
    int64_t& last = ends_[{from, to}];
    int64_t const send = std::max(computed, last), receive = now_[at(to)];
    last = std::max(send, receive) +
           (slow == options_.slow_boundary.end() ? options_.transfer_ns : slow->second);

    uint64_t const number = ++numbers_[{from, to}];
    uint64_t const communicator =
        options_.communicators + static_cast<uint64_t>(1 + 10 * from + to);
    model::CollectiveDetail const detail{bytes, communicator, number, CollectiveOp::kSend, 2, 0, 1};
    model::CollectiveDetail const other{bytes, communicator, number, CollectiveOp::kReceive, 2, 1,
                                        0};

    made_.collective(rank(from), send, last, begin_, detail, from < to ? 1 : 2);
    made_.collective(rank(to), receive, last, begin_, other, 0);
    now_[at(to)] = last;
  }

  MadePipeline const& options_;
  MadeRanks made_;
  std::vector<int64_t> now_;
  int64_t begin_ = 0;
  std::map<std::tuple<bool, int32_t, int64_t>, int64_t> sent_;
  std::map<std::pair<int32_t, int32_t>, int64_t> ends_;
  std::map<std::pair<int32_t, int32_t>, uint64_t> numbers_;
  std::map<int32_t, uint64_t> reductions_;
};

inline model::Run MadePipeline::make() const { return PipelineMaker(*this).run(); }

}  // namespace stepscope::analyzer::testing_support
