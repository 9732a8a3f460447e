// What is written for Perfetto, read back by an independent decoder: nothing is lost, nothing is
// added, and it is where it was.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/synthetic_run.h"
#include "tests/unit/trace/export/perfetto_reader.h"
#include "tests/unit/trace/export/synthetic_traces.h"
#include "tests/unit/workloads/temporary_folder.h"
#include "trace/import/open/open_run.h"
#include "trace/model/build/trace_builder.h"
#include "trace/synth/synth.h"

namespace stepscope::exporting {
namespace {

using model::EventKind;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Pair;
using testing::ReadEvent;
using testing::ReadTrace;
using testing::ReadTrack;
using testing::synthetic_trace;
using ::testing::UnorderedElementsAre;
using workloads::testing::TemporaryFolder;

ReadTrace write_and_read(std::vector<model::Trace> const& traces,
                         std::vector<int64_t> const& offsets) {
  TemporaryFolder const folder;
  testing::write(testing::format_named("perfetto"), folder.file("run.pftrace"), traces, offsets);
  return testing::read_perfetto(folder.file("run.pftrace"));
}

/// Track, category, name, run time, duration.
using Slice = std::tuple<std::string, std::string, std::string, int64_t, int64_t>;

std::string path_of(model::Trace const& trace, model::Track const& track) {
  std::string device;
  if (track.device >= 0) {
    device = fmt::format("device {}", track.device);
    for (model::Device const& known : trace.devices())
      if (known.id == track.device) device += ": " + known.name;
    device += " / ";
  }
  return fmt::format("rank {} / {}{}", trace.info().rank, device, track.name);
}

/// Equal counts, and equal sums by any key, follow from equal lists.
struct Content {
  std::vector<Slice> slices, instants;
  std::vector<std::tuple<std::string, int64_t, double>> samples;
  uint64_t launch_flows = 0;
};

Content content_of(std::vector<model::Trace> const& traces, std::vector<int64_t> const& offsets) {
  Content content;
  for (size_t t = 0; t < traces.size(); ++t) {
    model::Trace const& trace = traces[t];
    for (uint32_t row = 0; row < trace.event_count(); ++row) {
      EventKind const kind = trace.kind(row);
      std::string const path = path_of(trace, trace.track(row));
      int64_t const start = trace.start(row) + offsets[t];
      Slice slice{path, model::kind_info(kind).name, trace.name(row), start,
                  trace.end(row) - trace.start(row)};
      if (kind == EventKind::kSample) {
        content.samples.emplace_back(path, start, trace.detail<model::SampleDetail>(row).value);
      } else if (model::is_mark(kind)) {
        content.instants.push_back(std::move(slice));
      } else {
        content.slices.push_back(std::move(slice));
      }

      if (kind == EventKind::kLaunch && trace.columns().link[row].valid()) ++content.launch_flows;
    }
  }

  std::sort(content.slices.begin(), content.slices.end());
  std::sort(content.instants.begin(), content.instants.end());
  std::sort(content.samples.begin(), content.samples.end());
  return content;
}

bool is_memory(ReadTrack const& track) { return track.is_counter && track.unit == 3; }

Content content_of(ReadTrace const& read, int64_t shift) {
  Content content;
  std::map<uint64_t, int> ends_of_flow;

  for (auto const& [uuid, track] : read.tracks) {
    std::string const path = read.path_of(uuid);
    for (ReadEvent const& event : track.slices) {
      content.slices.emplace_back(path, event.category, event.name, event.start - shift, event.dur);
      for (uint64_t const flow : event.flows) ++ends_of_flow[flow];
    }
    for (ReadEvent const& event : track.instants)
      content.instants.emplace_back(path, event.category, event.name, event.start - shift, 0);

    if (is_memory(track)) continue;
    for (auto const& [time, value] : track.samples)
      content.samples.emplace_back(path, time - shift, value);
  }

  for (auto const& [flow, ends] : ends_of_flow) {
    if (flow >> 63U != 0) continue;  // of a collective
    EXPECT_EQ(ends, 2);
    ++content.launch_flows;
  }

  std::sort(content.slices.begin(), content.slices.end());
  std::sort(content.instants.begin(), content.instants.end());
  std::sort(content.samples.begin(), content.samples.end());
  return content;
}

constexpr uint32_t kRealTime = 1, kBootTime = 6;

void expect_read_back(std::vector<model::Trace> const& traces,
                      std::vector<int64_t> const& offsets) {
  ReadTrace const read = write_and_read(traces, offsets);
  Content const expected = content_of(traces, offsets);
  int64_t const shift =
      read.clocks.contains(kBootTime) ? read.clocks.at(kBootTime) : 60'000'000'000;
  Content const found = content_of(read, shift);

  EXPECT_EQ(found.slices.size(), expected.slices.size());
  EXPECT_TRUE(found.slices == expected.slices);
  EXPECT_TRUE(found.instants == expected.instants);
  EXPECT_TRUE(found.samples == expected.samples);
  EXPECT_EQ(found.launch_flows, expected.launch_flows);
}

std::pair<std::vector<model::Trace>, std::vector<int64_t>> traces_of(model::Run run) {
  std::pair<std::vector<model::Trace>, std::vector<int64_t>> result;
  for (model::RankTrace& rank : run.ranks) {
    result.first.push_back(std::move(rank.trace));
    result.second.push_back(rank.offset_ns);
  }
  return result;
}

ReadEvent const& event_named(ReadTrace const& read, std::string_view name) {
  for (auto const& [uuid, track] : read.tracks)
    for (auto const* const events : {&track.slices, &track.instants})
      for (ReadEvent const& event : *events)
        if (event.name == name) return event;
  ADD_FAILURE() << name;
  static ReadEvent const none;
  return none;
}

std::vector<model::Trace> synthetic_traces(int32_t count) {
  std::vector<model::Trace> traces;
  for (int32_t rank = 0; rank < count; ++rank) traces.push_back(synthetic_trace(rank));
  return traces;
}

TEST(Perfetto, EveryEventOfMadeRunsIsReadBackWhereAndWhenItWas) {
  for (bool const per_device : {false, true}) {
    support::SyntheticOptions options;
    options.process_per_device = per_device;
    options.rank_clock_offset_ns = 5000;
    auto const [traces, offsets] = traces_of(support::make_synthetic_run(options));
    expect_read_back(traces, offsets);
  }

  for (char const* const pattern : {"dp", "pipeline", "moe"}) {
    SCOPED_TRACE(pattern);

    TemporaryFolder const folder;
    synth::SynthOptions options;
    options.pattern = synth::find_pattern(pattern);
    options.ranks = 2;
    options.events_per_rank = 4000;
    ASSERT_TRUE(synth::make_run(options, folder.path()));

    auto run = import::open_run(folder.path());
    ASSERT_TRUE(run);
    auto const [traces, offsets] = traces_of(std::move(*run));
    expect_read_back(traces, offsets);
  }
}

TEST(Perfetto, ProcessesAreRanksEvenWhereTheirSystemsCallThemTheSame) {
  ReadTrace const read = write_and_read(synthetic_traces(2), {0, 1'000'000'000});
  std::vector<std::string> names;
  for (auto const& [uuid, track] : read.tracks)
    if (track.pid) names.push_back(track.name + " " + track.labels[0]);
  EXPECT_THAT(names, UnorderedElementsAre("rank 0 process 4100 on node-0",
                                          "rank 1 process 4100 on node-1"));
}

TEST(Perfetto, ThreadsHaveTheirIdsAndTracksOfTheSameNameAreApart) {
  std::set<std::string> tracks;
  ReadTrace const read = write_and_read(synthetic_traces(1), {0});
  for (auto const& [uuid, track] : read.tracks)
    tracks.insert(read.path_of(uuid) + (track.tid ? fmt::format(" #{}", *track.tid) : ""));

  EXPECT_THAT(tracks, UnorderedElementsAre("rank 0", "rank 0 / main #4100", "rank 0 / main",
                                           "rank 0 / idle #4101", "rank 0 / device 0: NVIDIA H100",
                                           "rank 0 / device 0: NVIDIA H100 / stream 7",
                                           "rank 0 / device 0: NVIDIA H100 / stream 8",
                                           "rank 0 / device 0: NVIDIA H100 / GPU utilization (%)",
                                           "rank 0 / device 0: NVIDIA H100 / memory allocated",
                                           "rank 0 / device 0: NVIDIA H100 / memory reserved"));
}

TEST(Perfetto, OverlapsTouchingEndsAndInstantsKeepTheirTimes) {
  ReadTrace const read = write_and_read(synthetic_traces(1), {0});
  int64_t const shift = read.clocks.at(kBootTime);

  std::map<std::string, std::vector<std::tuple<std::string, int64_t, int64_t>>> of_track;
  int lanes_of_stream = 0;
  for (auto const& [uuid, track] : read.tracks) {
    lanes_of_stream += track.name == "stream 7" ? 1 : 0;
    for (ReadEvent const& slice : track.slices)
      of_track[read.path_of(uuid)].emplace_back(slice.name, slice.start - shift, slice.dur);
  }

  EXPECT_EQ(lanes_of_stream, 2);
  EXPECT_THAT(of_track["rank 0 / device 0: NVIDIA H100 / stream 7"],
              UnorderedElementsAre(
                  std::tuple("gemm<float, 4>", 300, 100), std::tuple("overlapping", 350, 100),
                  std::tuple("within both", 360, 10), std::tuple("Memset (Device)", 450, 10),
                  std::tuple("wait for event", 460, 40),
                  std::tuple("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 500, 300)));

  EXPECT_EQ(event_named(read, "begins before").start - shift, -500);
  EXPECT_EQ(event_named(read, "mark").start - shift, 400);
}

TEST(Perfetto, DetailsAreAnnotations) {
  ReadTrace const read = write_and_read(synthetic_traces(1), {0});

  EXPECT_THAT(
      event_named(read, "gemm<float, 4>").details,
      UnorderedElementsAre(Pair("grid_x", "8"), Pair("grid_y", "1"), Pair("grid_z", "1"),
                           Pair("block_x", "256"), Pair("block_y", "1"), Pair("block_z", "1"),
                           Pair("registers_per_thread", "40"), Pair("shared_memory_bytes", "512"),
                           Pair("occupancy_percent", "75"), Pair("flops", "1500000000"),
                           Pair("correlation", "11")));

  EXPECT_THAT(event_named(read, "copy batch").details,
              UnorderedElementsAre(Pair("bytes", "1048576"), Pair("direction", "host to device"),
                                   Pair("pinned", "1"), Pair("correlation", "13")));

  EXPECT_THAT(event_named(read, "step").details, UnorderedElementsAre(Pair("index", "0")));
  EXPECT_THAT(event_named(read, "annotated").details, Contains(Pair("payload", "0.25")));
  EXPECT_THAT(event_named(read, "annotated mark").details, Contains(Pair("payload", "-7")));
  EXPECT_THAT(event_named(read, "cudaMalloc").details, Contains(Pair("op", "allocate")));

  auto const& collective = event_named(read, "ncclDevKernel_AllReduce_Sum_f32_RING_LL").details;
  EXPECT_THAT(collective, Contains(Pair("op", "all_reduce")));
  EXPECT_THAT(collective, Contains(Pair("communicator", "99")));
  EXPECT_THAT(collective, Contains(Pair("sequence", "5")));
}

TEST(Perfetto, MemoryIsACounterOfItsDeviceInBytes) {
  ReadTrace const read = write_and_read(synthetic_traces(1), {0});
  int64_t const shift = read.clocks.at(kBootTime);
  std::map<std::string, std::vector<std::pair<int64_t, double>>> samples;
  for (auto const& [uuid, track] : read.tracks)
    for (auto const& [time, value] : track.samples)
      if (is_memory(track)) samples[track.name].emplace_back(time - shift, value);
  EXPECT_THAT(samples["memory allocated"], ElementsAre(Pair(250, 5000), Pair(270, 3976)));
  EXPECT_THAT(samples["memory reserved"], ElementsAre(Pair(250, 6000), Pair(270, 6000)));
}

TEST(Perfetto, MemoryThatTheTraceDoesNotKnowIsNoCurve) {
  model::TraceBuilder builder;
  model::TrackId const thread =
      builder.add_track({model::TrackKind::kThread, "main", 1, -1, {}, 0});
  auto const change = [&](int64_t time, int32_t device, uint64_t allocated, uint64_t reserved) {
    builder.events(thread).add(
        model::EventKind::kMemory, time, 0, builder.intern("m"), 0,
        model::MemoryDetail{4096, 64, allocated, reserved, device, model::MemoryOp::kAllocate});
  };

  change(10, 0, 64, 0);
  change(20, 0, 0, 0);
  change(30, 1, 0, 128);
  change(40, 2, 0, 0);

  std::vector<model::Trace> traces;
  traces.push_back(std::move(builder).finish());
  ReadTrace const read = write_and_read(traces, {0});

  std::map<std::string, std::vector<double>> curves;
  for (auto const& [uuid, track] : read.tracks)
    for (auto const& [time, value] : track.samples) curves[read.path_of(uuid)].push_back(value);

  EXPECT_THAT(curves,
              UnorderedElementsAre(Pair("rank 0 / device 0 / memory allocated", ElementsAre(64, 0)),
                                   Pair("rank 0 / device 1 / memory reserved", ElementsAre(128))));
}

TEST(Perfetto, FlowsGoFromLaunchesToTheirOpsAndBetweenTheRanksOfACollective) {
  ReadTrace const read = write_and_read(synthetic_traces(2), {0, 1000});

  std::map<uint64_t, std::vector<std::string>> flows;
  for (auto const& [uuid, track] : read.tracks)
    for (ReadEvent const& event : track.slices)
      for (uint64_t const flow : event.flows)
        flows[flow].push_back(fmt::format("{} {}", event.sequence, event.name));

  std::vector<std::vector<std::string>> ends;
  for (auto& [flow, events] : flows) {
    std::sort(events.begin(), events.end());
    ends.push_back(events);
  }

  std::string const collective = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";
  std::vector<std::vector<std::string>> expected = {{"1 " + collective, "2 " + collective}};
  for (char const* const rank : {"1 ", "2 "}) {
    expected.push_back(
        {std::string(rank) + "cudaLaunchKernel", std::string(rank) + "gemm<float, 4>"});
    expected.push_back(
        {std::string(rank) + "launch of our own", std::string(rank) + "overlapping"});
    expected.push_back({std::string(rank) + "copy batch", std::string(rank) + "cudaMemcpyAsync"});
    expected.push_back({std::string(rank) + "cudaLaunchKernelExC", std::string(rank) + collective});
  }

  for (auto& pair : expected) std::sort(pair.begin(), pair.end());
  EXPECT_THAT(ends, ::testing::UnorderedElementsAreArray(expected));
}

TEST(Perfetto, TimesAreOnOneClockThatTellsTheTimeOfDay) {
  ReadTrace const read = write_and_read(synthetic_traces(2), {0, 1'000'000'000});
  EXPECT_EQ(read.clocks.at(kRealTime), 1'700'000'000'000'000'000);
  std::vector<int64_t> starts;
  for (auto const& [uuid, track] : read.tracks)
    for (ReadEvent const& event : track.slices)
      if (event.name == "gemm<float, 4>") starts.push_back(event.start - read.clocks.at(kBootTime));
  EXPECT_THAT(starts, UnorderedElementsAre(300, 1'000'000'300));
}

TEST(Perfetto, NamesThatAreNoTextOrEndlessAreRepairedAndCut) {
  model::TraceBuilder builder;
  model::TrackId const thread =
      builder.add_track({model::TrackKind::kThread, std::string(100'000, 'n'), 1, -1, {}, 0});
  builder.events(thread).add_range(0, 10, builder.intern("a\xFF"));
  builder.events(thread).add_range(20, 10, builder.intern(std::string(10'000'000, 'x')));
  builder.info().command = std::string(100'000, 'c');

  std::vector<model::Trace> traces;
  traces.push_back(std::move(builder).finish());

  ReadTrace const read = write_and_read(traces, {0});
  EXPECT_EQ(event_named(read, "a\xEF\xBF\xBD").dur, 10);
  EXPECT_EQ(event_named(read, std::string(16'000, 'x') + "…").dur, 10);
}

TEST(Perfetto, ImpossibleTimesAreMovedAndCounted) {
  std::vector<model::Trace> traces = synthetic_traces(1);
  model::TraceBuilder builder;
  model::TrackId const thread = builder.add_track({model::TrackKind::kThread, "t", 1, -1, {}, 0});
  builder.events(thread).add_range(-model::kMaxTime, 10, builder.intern("long before"));
  builder.events(thread).add_range(5, 10, builder.intern("now"));
  traces.push_back(std::move(builder).finish());

  ReadTrace const read = write_and_read(traces, {0, 0});
  EXPECT_EQ(event_named(read, "long before").start, 0);
  EXPECT_EQ(event_named(read, "now").start - read.clocks.at(kBootTime), 5);
  EXPECT_EQ(event_named(read, "2 times outside of what a trace can hold: moved to its border").dur,
            0);

  // As the first they are the begin of the trace.
  std::reverse(traces.begin(), traces.end());
  ReadTrace const first = write_and_read(traces, {0, 0});
  EXPECT_EQ(event_named(first, "now").start - event_named(first, "long before").start,
            model::kMaxTime + 5);
}

TEST(Perfetto, ImpossibleOffsetsAreNoOverflow) {
  for (int64_t const offset : {INT64_MIN, -model::kMaxTime, model::kMaxTime, INT64_MAX}) {
    std::vector<model::Trace> traces = synthetic_traces(2);
    EXPECT_EQ(event_named(write_and_read(traces, {offset, offset}), "gemm<float, 4>").category,
              "kernel");
    EXPECT_EQ(event_named(write_and_read(traces, {0, offset}), "gemm<float, 4>").category,
              "kernel");
  }
}

TEST(Perfetto, ManyTracksOfOneNameAreToldApart) {
  model::TraceBuilder builder;
  constexpr int kTracks = 20'000;
  for (int i = 0; i < kTracks; ++i)
    builder.add_track({model::TrackKind::kStream, i == 7 ? "s (3)" : "s", i, 0, {}, 0});

  std::vector<model::Trace> traces;
  traces.push_back(std::move(builder).finish());

  ReadTrace const read = write_and_read(traces, {0});
  std::set<std::string> names;
  for (auto const& [uuid, track] : read.tracks) names.insert(track.name);

  EXPECT_EQ(names.size(), kTracks + 2U);
}

TEST(Perfetto, AnEmptyRunIsAnEmptyTrace) {
  EXPECT_EQ(write_and_read({}, {}).packets, 0U);
  std::vector<model::Trace> traces;
  traces.push_back(model::TraceBuilder().finish());
  EXPECT_EQ(write_and_read(traces, {0}).tracks.size(), 1U);
}

TEST(Perfetto, WhatTheRecorderLostIsSaid) {
  model::TraceBuilder builder;
  builder.add_track({model::TrackKind::kThread, "t", 1, -1, {}, 1234});
  std::vector<model::Trace> traces;
  traces.push_back(std::move(builder).finish());
  ReadTrace const read = write_and_read(traces, {0});
  EXPECT_THAT(read.tracks.at(1).labels, Contains("1,234 events lost while recording"));
}

}  // namespace
}  // namespace stepscope::exporting
