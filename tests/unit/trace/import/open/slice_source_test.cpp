// Slicing a file by reading around what is wanted gives what slicing its whole trace gives.
#include "trace/import/open/slice_source.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "analyzer/metrics/steps/steps.h"
#include "tests/support/synthetic_run.h"
#include "trace/file/format.h"
#include "trace/file/writer.h"
#include "trace/model/build/row_copy.h"
#include "trace/model/build/trace_builder.h"

namespace stepscope::import {
namespace {

using model::Trace;
using support::SyntheticOptions;

class SliceSource : public testing::Test {
 protected:
  ~SliceSource() override { std::filesystem::remove(path_); }
  [[nodiscard]] TraceSource written(Trace const& trace) const {
    EXPECT_TRUE(file::write_trace(trace, path_));
    return open_again();
  }
  [[nodiscard]] TraceSource open_again() const {
    auto sources = TraceSource::open(path_);
    EXPECT_TRUE(sources) << sources.error().message;
    return std::move(sources->front());
  }
  std::string path_ = std::filesystem::path(testing::TempDir()) /
                      ("slice_source_" + std::to_string(::getpid()) + ".stepscope");
};

Trace synthetic_trace(SyntheticOptions const& options) {
  return std::move(make_synthetic_run(options).ranks.front().trace);
}

/// Every row as text, without what depends on the other rows.
std::vector<std::string> rows_of(Trace const& trace) {
  std::vector<std::string> rows;
  auto const& columns = trace.columns();
  for (uint32_t row = 0; row < trace.event_count(); ++row) {
    rows.push_back(fmt::format("{} {}+{} {} {} {}", columns.track[row].value, columns.start[row],
                               columns.dur[row], model::kind_info(columns.kind[row]).name,
                               trace.name(row), columns.correlation[row]));
    if (columns.kind[row] == model::EventKind::kMemory)
      rows.back() += fmt::format(" {}", trace.detail<model::MemoryDetail>(row).allocated_bytes);
  }

  return rows;
}

/// The trace as if the recorder had lost these rows.
Trace without(Trace const& trace, std::function<bool(uint32_t row)> const& is_lost) {
  model::TraceBuilder builder;
  builder.info() = trace.info();
  for (model::Device const& device : trace.devices()) builder.add_device(device);

  for (model::Track const& track : trace.tracks()) {
    model::TrackId const id = builder.add_track(track);
    for (uint32_t row = trace.rows_of(id).first; row < trace.rows_of(id).last; ++row)
      if (!is_lost(row))
        model::append_row(trace, row, builder.intern(trace.name(row)), builder.events(id));
  }

  return std::move(builder).finish();
}

model::Run run_of(Trace trace) {
  model::Run run;
  run.ranks.push_back({std::move(trace), 0, ""});
  return run;
}

std::vector<model::ThreadSteps> steps_of(model::Run const& run, int64_t first, int64_t last) {
  return analyzer::steps_between(analyzer::find_host_steps(run).threads.front(), {first, last}, 0);
}

void expect_same_slices(TraceSource const& source, model::Run const& run) {
  Trace const& trace = run.ranks.front().trace;
  for (auto const& [first, last] : {std::pair{10, 10}, {0, 2}, {17, 19}, {4, 9}, {0, 19}}) {
    SCOPED_TRACE(fmt::format("steps {} to {}", first, last));
    auto const steps = steps_of(run, first, last);
    auto const part = slice_of_steps(source, steps, {});
    ASSERT_TRUE(part) << part.error().message;
    EXPECT_EQ(rows_of(*part), rows_of(model::slice(trace, model::window_of_steps(trace, steps))));
  }

  auto const [begin, end] = trace.time_range();
  for (auto const& [from, to] :
       {std::pair{0.5, 0.51}, {0.0, 0.1}, {0.93, 1.0}, {0.2, 0.7}, {-1.0, 2.0}, {0.99999, 3.0}}) {
    SCOPED_TRACE(fmt::format("time {} to {}", from, to));

    auto const length = static_cast<double>(end - begin);
    model::Interval const time{begin + std::llround(from * length),
                               begin + std::llround(to * length)};

    auto const part = slice_of_time(source, time, {});
    ASSERT_TRUE(part) << part.error().message;
    EXPECT_EQ(rows_of(*part), rows_of(model::slice(trace, {time, time})));
  }
}

SyntheticOptions twenty_steps() {
  SyntheticOptions options;
  options.steps = 20;
  options.allocate_in_step = true;
  options.leak_bytes_per_step = 4096;
  return options;
}

TEST_F(SliceSource, EqualsTheSliceOfTheWholeTrace) {
  model::Run const run = make_synthetic_run(twenty_steps());
  expect_same_slices(written(run.ranks.front().trace), run);
}

TEST_F(SliceSource, EqualsItWhereTheHostRunsFarAhead) {
  SyntheticOptions ahead = twenty_steps();
  ahead.sync_each_step = false;
  model::Run const run = make_synthetic_run(ahead);
  expect_same_slices(written(run.ranks.front().trace), run);
}

TEST_F(SliceSource, EqualsItWhereLaunchesAndOpsWereLost) {
  SyntheticOptions ahead = twenty_steps();
  ahead.sync_each_step = false;
  Trace const whole = synthetic_trace(ahead);

  model::Run const run = run_of(without(whole, [&](uint32_t row) {
    bool const paired =
        whole.kind(row) == model::EventKind::kLaunch || model::is_device_op(whole.kind(row));
    return paired && row % 7 == 3;
  }));

  Trace const& trace = run.ranks.front().trace;
  ASSERT_GT(trace.log().unmatched_launches + trace.log().unmatched_ops, 20U);
  expect_same_slices(written(trace), run);
}

TEST_F(SliceSource, ATraceInMemoryIsSlicedToo) {
  expect_same_slices(TraceSource(synthetic_trace(twenty_steps())),
                     make_synthetic_run(twenty_steps()));
}

TEST_F(SliceSource, ReadsNothingThatLiesFarAway) {
  SyntheticOptions many = twenty_steps();
  many.devices = 1;
  many.steps = 6000;
  model::Run const run = make_synthetic_run(many);
  Trace const& trace = run.ranks.front().trace;
  static_cast<void>(written(trace));

  auto const opened = file::TraceFile::open(path_);
  std::vector<uint64_t> far_away;
  for (file::IndexEntry const& block : opened->blocks())
    if (block.header.type == static_cast<uint16_t>(file::BlockType::kEvents) &&
        block.header.min_start > trace.time_range().second / 2)
      far_away.push_back(block.offset + file::kBlockHeaderSize);

  ASSERT_FALSE(far_away.empty());
  std::fstream bytes(path_, std::ios::in | std::ios::out | std::ios::binary);
  for (uint64_t const place : far_away)
    bytes.seekp(static_cast<std::streamoff>(place)).put('\x5A').put('\xA5');
  bytes.close();

  TraceSource const source = open_again();
  auto const part = slice_of_steps(source, steps_of(run, 10, 11), {});
  ASSERT_TRUE(part);
  EXPECT_EQ(part->log().lost_blocks, 0U);

  auto const all = source.read({});
  EXPECT_EQ((*all)->log().lost_blocks, far_away.size());
}

}  // namespace
}  // namespace stepscope::import
