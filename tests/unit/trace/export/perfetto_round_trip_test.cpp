// What is written for Perfetto opens again as the run that it was: every event with all that the
// model holds of it, and so every fact of the analysis.
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "analyzer/results/analysis.h"
#include "tests/support/paths.h"
#include "tests/support/synthetic_run.h"
#include "tests/unit/trace/export/synthetic_traces.h"
#include "tests/unit/workloads/temporary_folder.h"
#include "trace/import/open/open_run.h"
#include "trace/model/build/trace_builder.h"
#include "trace/synth/synth.h"

namespace stepscope::exporting {
namespace {

using workloads::testing::TemporaryFolder;

template <class Row>
void expect_same_row(Row const& a, Row const& b) {
  auto const one = [&](auto const& field) {
    EXPECT_EQ(a.*field.member, b.*field.member) << field.name;
  };
  std::apply([&](auto const&... fields) { (one(fields), ...); }, model::detail_fields<Row>);
}

template <class Row>
void expect_same_table(model::Trace const& a, model::Trace const& b) {
  auto const before = a.details<Row>(), after = b.details<Row>();
  ASSERT_EQ(before.size(), after.size());
  for (size_t i = 0; i < before.size() && !::testing::Test::HasFailure(); ++i)
    expect_same_row(before[i], after[i]);
}

void expect_same_tracks(model::Trace const& a, model::Trace const& b) {
  ASSERT_EQ(a.tracks().size(), b.tracks().size());
  for (size_t i = 0; i < a.tracks().size(); ++i) {
    model::Track const &before = a.tracks()[i], &after = b.tracks()[i];
    EXPECT_EQ(before.name, after.name);
    EXPECT_EQ(before.kind, after.kind);
    EXPECT_EQ(before.id, after.id);
    EXPECT_EQ(before.device, after.device);
    EXPECT_EQ(before.stream_kind, after.stream_kind);
    EXPECT_EQ(before.dropped, after.dropped);
  }

  ASSERT_EQ(a.devices().size(), b.devices().size());
  for (size_t i = 0; i < a.devices().size(); ++i) {
    EXPECT_EQ(a.devices()[i].name, b.devices()[i].name);
    EXPECT_EQ(a.devices()[i].threads, b.devices()[i].threads);
    EXPECT_EQ(a.devices()[i].capacity_bytes, b.devices()[i].capacity_bytes);
  }
}

void expect_same(model::Trace const& a, model::Trace const& b) {
  expect_same_tracks(a, b);

  EXPECT_EQ(a.info().rank, b.info().rank);
  EXPECT_EQ(a.info().host, b.info().host);
  EXPECT_EQ(a.info().process_id, b.info().process_id);
  EXPECT_EQ(a.info().world_size, b.info().world_size);
  EXPECT_EQ(a.info().origin_epoch_ns, b.info().origin_epoch_ns);
  EXPECT_EQ(a.info().facts, b.info().facts);
  EXPECT_EQ(a.log().dropped, b.log().dropped);
  EXPECT_EQ(a.log().notes, b.log().notes);

  ASSERT_EQ(a.event_count(), b.event_count());
  for (uint32_t row = 0; row < a.event_count() && !::testing::Test::HasFailure(); ++row) {
    EXPECT_EQ(a.start(row), b.start(row));
    EXPECT_EQ(a.end(row), b.end(row));
    EXPECT_EQ(a.kind(row), b.kind(row));
    EXPECT_EQ(a.name(row), b.name(row));
    EXPECT_EQ(a.columns().correlation[row], b.columns().correlation[row]);
    EXPECT_EQ(a.columns().link[row].value, b.columns().link[row].value);
    EXPECT_EQ(a.columns().track[row].value, b.columns().track[row].value);
  }

  expect_same_table<model::StepDetail>(a, b);
  expect_same_table<model::KernelDetail>(a, b);
  expect_same_table<model::CopyDetail>(a, b);
  expect_same_table<model::CollectiveDetail>(a, b);
  expect_same_table<model::StreamWaitDetail>(a, b);
  expect_same_table<model::SyncDetail>(a, b);
  expect_same_table<model::MemoryDetail>(a, b);
  expect_same_table<model::SampleDetail>(a, b);
  expect_same_table<model::RangeDetail>(a, b);
}

std::vector<model::Trace> write_and_open(std::vector<model::Trace> const& traces,
                                         std::vector<int64_t> const& offsets) {
  TemporaryFolder const folder;
  testing::write(testing::format_named("perfetto"), folder.file("run.pftrace"), traces, offsets);

  auto sources = import::TraceSource::open(folder.file("run.pftrace"));
  EXPECT_TRUE(sources) << sources.error().message;

  std::vector<model::Trace> opened;
  if (!sources) return opened;
  for (import::TraceSource& source : *sources)
    opened.push_back(std::move(*std::move(source).load()));
  return opened;
}

void expect_round_trip(model::Run run) {
  std::vector<model::Trace> traces;
  std::vector<int64_t> offsets;
  for (model::RankTrace& rank : run.ranks) {
    traces.push_back(std::move(rank.trace));
    offsets.push_back(rank.offset_ns);
  }
  auto const opened = write_and_open(traces, offsets);
  ASSERT_EQ(opened.size(), traces.size());
  for (size_t i = 0; i < traces.size(); ++i) expect_same(traces[i], opened[i]);
}

TEST(PerfettoRoundTrip, SyntheticRunsComeBackWhole) {
  for (bool const per_device : {false, true}) {
    support::SyntheticOptions options;
    options.process_per_device = per_device;
    options.rank_clock_offset_ns = 5000;
    expect_round_trip(support::make_synthetic_run(options));
  }

  for (char const* const pattern : {"dp", "pipeline", "moe"}) {
    SCOPED_TRACE(pattern);

    TemporaryFolder const folder;
    synth::SynthOptions options;
    options.pattern = synth::find_pattern(pattern);
    options.ranks = 3;
    options.events_per_rank = 4000;
    ASSERT_TRUE(synth::make_run(options, folder.path()));
    auto run = import::open_run(folder.path());
    ASSERT_TRUE(run);
    expect_round_trip(std::move(*run));
  }
}

TEST(PerfettoRoundTrip, OneOfEverythingComesBackWhole) {
  std::vector<model::Trace> traces;
  for (int32_t rank = 0; rank < 2; ++rank) traces.push_back(testing::synthetic_trace(rank));
  auto const opened = write_and_open(traces, {0, 1'000'000'000});
  ASSERT_EQ(opened.size(), 2);
  for (size_t i = 0; i < 2; ++i) {
    expect_same_tracks(traces[i], opened[i]);
    EXPECT_EQ(traces[i].event_count(), opened[i].event_count());
    EXPECT_EQ(traces[i].time_range(), opened[i].time_range());
  }
}

TEST(PerfettoRoundTrip, PayloadsKeepTheirTypesAlsoWhereTheyAreZero) {
  model::TraceBuilder builder;
  model::TrackId const thread =
      builder.add_track({model::TrackKind::kThread, "main", 1, -1, {}, 0});
  int64_t time = 0;
  for (auto const type : {model::NumberType::kNone, model::NumberType::kUnsigned,
                          model::NumberType::kSigned, model::NumberType::kReal})
    builder.events(thread).add(model::EventKind::kAnnotatedMark, time += 10, 0,
                               builder.intern("note"), 0, model::RangeDetail{1, 2, type, 0, 0, 0});

  std::vector<model::Trace> traces;
  traces.push_back(std::move(builder).finish());

  auto const opened = write_and_open(traces, {0});
  ASSERT_EQ(opened.size(), 1);
  expect_same(traces[0], opened[0]);
}

TEST(PerfettoRoundTrip, RealTracesComeBackWhole) {
  char const* const named = std::getenv("STEPSCOPE_TRACES");
  std::string const folder = named != nullptr ? named : support::source_path("../shared/traces");
  if (!std::filesystem::exists(folder + "/kineto/dlrm-8ranks"))

    GTEST_SKIP() << "no traces of other tools in " << folder;
  for (char const* const name : {"kineto/dlrm-8ranks", "kineto/v100-ddp-memory-rank1of2.json.gz",
                                 "xplane/jax-conv-8gpu.xplane.pb"}) {
    SCOPED_TRACE(name);
    auto run = import::open_run(folder + "/" + name);
    ASSERT_TRUE(run) << run.error().message;
    expect_round_trip(std::move(*run));
  }
}

}  // namespace
}  // namespace stepscope::exporting
