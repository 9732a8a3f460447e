// What is read of a run for its critical path and for a replay, and what is not read twice.
#include "analyzer/metrics/critical_path/path_part.h"

#include <atomic>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/synthetic_run.h"

namespace stepscope::analyzer {
namespace {

/// A run that counts how often a process is read.
struct CountedRun {
  explicit CountedRun(model::Run const& run) : streamed(streamed_in_memory(run)) {
    auto const read = streamed.read_window;
    streamed.read_window = [this, read](size_t process, Interval window) {
      ++reads;
      return read(process, window);
    };
  }
  CountedRun(CountedRun const&) = delete;
  CountedRun& operator=(CountedRun const&) = delete;

  std::atomic<int> reads = 0;
  StreamedRun streamed;
};

class RangesOfARun : public ::testing::Test {
 protected:
  RangesOfARun() : run_(support::make_synthetic_run(job())), counted_(run_) {
    auto const [begin, end] = run_.ranks.front().trace.time_range();
    outer_ = {begin + (end - begin) / 4, end - (end - begin) / 4};
    inner_ = {begin + (end - begin) / 3, end - (end - begin) / 3};
  }
  static support::SyntheticOptions job() {
    support::SyntheticOptions job;
    job.process_per_device = true;
    return job;
  }
  ReadRange read(Interval range) {
    auto ranks = read_range(counted_.streamed, all_, range, ReadRange());
    return {range, std::make_shared<model::Run const>(std::move(*ranks))};
  }

  model::Run run_;
  CountedRun counted_;
  std::vector<bool> all_ = std::vector<bool>(run_.ranks.size(), true);
  Interval outer_, inner_;
};

TEST_F(RangesOfARun, WhatWasReadIsCutAndNotReadAgain) {
  ReadRange const expected = read(inner_), before = read(outer_);
  counted_.reads = 0;
  auto const cut = read_range(counted_.streamed, all_, inner_, before);
  ASSERT_TRUE(cut);

  EXPECT_EQ(counted_.reads, 0);
  for (size_t r = 0; r < run_.ranks.size(); ++r) {
    model::Trace const &of_cut = cut->ranks[r].trace, &as_read = expected.run->ranks[r].trace;
    ASSERT_GT(as_read.event_count(), 0U);
    EXPECT_LT(as_read.event_count(), before.run->ranks[r].trace.event_count());
    EXPECT_EQ(of_cut.columns().start, as_read.columns().start);
    EXPECT_EQ(of_cut.columns().dur, as_read.columns().dur);
  }
}

TEST_F(RangesOfARun, WhatWasNotReadBeforeIsRead) {
  ReadRange const before = read(inner_);
  counted_.reads = 0;
  ASSERT_TRUE(read_range(counted_.streamed, all_, outer_, before));
  EXPECT_EQ(counted_.reads, static_cast<int>(run_.ranks.size()));
}

}  // namespace
}  // namespace stepscope::analyzer
