// Runs of four equal steps, written event by event in µs, and what a change of them gives.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "analyzer/whatif/whatif.h"
#include "tests/unit/analyzer/metrics/critical_path/critical_path_runs.h"

namespace stepscope::analyzer::testing_support {

inline constexpr int64_t kMadeSteps = 4;

/// One rank with a thread, a stream that computes and one that communicates. Times are µs from the
/// begin of the step.
class StepRank {
 public:
  explicit StepRank(int32_t rank = 0) : rank_(rank) {}

  void begin_step(int64_t number, int64_t length) {
    at_ = number * length;
    rank_.step(thread_, us(0), us(length), number);
  }
  void host(model::EventKind kind, int64_t begin, int64_t end, std::string const& name) {
    rank_.host(thread_, kind, us(begin), us(end), name);
  }
  void range(int64_t begin, int64_t end, std::string const& name) {
    host(model::EventKind::kRange, begin, end, name);
  }
  void allocate(int64_t begin, int64_t end) {
    rank_.allocate(thread_, us(begin), us(end), "malloc");
  }
  uint64_t launch(int64_t begin, int64_t end, std::string const& name = "launch") {
    return rank_.launch(thread_, us(begin), us(end), name);
  }
  /// Waits for all streams of the device.
  void sync(int64_t begin, int64_t end) {
    rank_.sync(thread_, us(begin), us(end), {model::SyncKind::kDevice, 0, -1});
  }
  void kernel(int64_t begin, int64_t end, std::string const& name, uint64_t correlation) {
    rank_.kernel(compute_, us(begin), us(end), name, correlation);
  }
  void copy(int64_t begin, int64_t end, uint64_t correlation) {
    rank_.copy(compute_, us(begin), us(end), "copy", correlation);
  }
  /// The stream that communicates waits for the one that computes.
  void stream_wait(int64_t begin, int64_t end) { rank_.wait(comm_, us(begin), us(end), {0, 0, 0}); }
  /// Both ranks take part.
  void all_reduce(int64_t begin, int64_t end, uint64_t bytes, uint64_t sequence,
                  uint64_t correlation) {
    model::TraceBuilder& builder = rank_.builder();
    model::CollectiveDetail const detail{
        bytes, 1, sequence, model::CollectiveOp::kAllReduce, 2, builder.info().rank, -1};
    builder.events(comm_).add(model::EventKind::kCollective, us(begin), us(end) - us(begin),
                              builder.intern("all-reduce"), correlation, detail);
  }
  PathRank& rank() { return rank_; }
  model::RankTrace finish() && { return std::move(rank_).finish(); }

 private:
  [[nodiscard]] int64_t us(int64_t in_step) const { return 1000 * (at_ + in_step); }

  PathRank rank_;
  model::TrackId thread_ = rank_.thread(1);
  model::TrackId compute_ = rank_.stream(0);
  model::TrackId comm_ = rank_.stream(1);
  int64_t at_ = 0;
};

/// Four steps of one rank. `add_step(rank)` adds what is in a step.
template <class AddStep>
model::Run run_of_steps(int64_t length, AddStep add_step) {
  StepRank rank;
  for (int64_t step = 0; step < kMadeSteps; ++step) {
    rank.begin_step(step, length);
    add_step(rank);
  }
  return path_run(std::move(rank).finish());
}

/// What a run would take with all of these changes at once.
inline WhatIfStats ask(model::Run const& run, std::vector<std::string> const& texts) {
  WhatIfQuestion question{{{}}, false, {}};
  for (std::string const& text : texts) {
    auto const change = parse_change(text);
    EXPECT_TRUE(change) << text;
    if (change) question.changes[0].push_back(*change);
  }

  WhatIfStats stats = what_if(run, analyze(run), question);
  EXPECT_FALSE(stats.baseline.is_refused) << stats.baseline.reason;
  EXPECT_NEAR(stats.baseline.error, 0, 1e-9);
  return stats;
}
inline WhatIfAnswer answer_of(model::Run const& run, std::string const& text) {
  WhatIfAnswer answer = ask(run, {text}).answers.at(0);
  EXPECT_FALSE(answer.is_refused) << text << ": " << answer.reason;
  return answer;
}

/// Mean step as recorded − mean step with all of these changes, µs.
inline double saved_us_at_once(model::Run const& run, std::vector<std::string> const& texts) {
  WhatIfStats const stats = ask(run, texts);
  WhatIfAnswer const& answer = stats.answers.at(0);
  EXPECT_FALSE(answer.is_refused) << answer.change << ": " << answer.reason;
  return (stats.baseline.step_ns - answer.step_ns) / 1000;
}
inline double saved_us(model::Run const& run, std::string const& text) {
  return saved_us_at_once(run, {text});
}

/// Why there is no answer.
inline std::string refusal_of(model::Run const& run, std::string const& text) {
  WhatIfAnswer const answer = ask(run, {text}).answers.at(0);
  EXPECT_TRUE(answer.is_refused) << text;
  return answer.reason;
}

}  // namespace stepscope::analyzer::testing_support
