// What is written as Chrome trace events is valid JSON, says what Kineto would, and opens again
// with the same device times, steps and collectives.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "analyzer/analyze.h"
#include "analyzer/results/analysis.h"
#include "tests/support/synthetic_run.h"
#include "tests/unit/trace/export/synthetic_traces.h"
#include "tests/unit/workloads/temporary_folder.h"
#include "trace/import/open/open_run.h"
#include "trace/model/build/trace_builder.h"
#include "trace/synth/synth.h"

namespace stepscope::exporting {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;
using Json = nlohmann::json;
using testing::format_named;
using testing::synthetic_trace;
using workloads::testing::TemporaryFolder;

void write_run(model::Run run, std::string const& path) {
  std::vector<model::Trace> traces;
  std::vector<int64_t> offsets;
  for (model::RankTrace& rank : run.ranks) {
    traces.push_back(std::move(rank.trace));
    offsets.push_back(rank.offset_ns);
  }
  testing::write(format_named("chrome"), path, traces, offsets);
}

model::Run open(std::string const& path) {
  auto run = import::open_run(path);
  EXPECT_TRUE(run) << run.error().message;
  return run ? std::move(*run) : model::Run();
}

/// Idle causes among them: input waits, launches and waits are found again.
Json split_of(analyzer::TimeSplit const& time) {
  return {time.window_ns,       time.busy_ns,      time.idle_ns,         time.compute_ns,
          time.comm_ns,         time.copy_ns,      time.exposed_comm_ns, time.exposed_copy_ns,
          time.exposed_wait_ns, time.idle_by_cause};
}

/// What must be the same; times count from the first device op.
Json facts_of(model::Run const& run) {
  analyzer::Analysis const analysis = analyzer::analyze(run);
  int64_t begin = INT64_MAX;
  for (analyzer::DeviceStats const& device : analysis.devices)
    begin = std::min(begin, device.window.begin);

  auto const when = [&](model::Interval window) {
    return Json{window.begin - begin, window.end - begin};
  };

  Json facts;
  for (analyzer::DeviceStats const& device : analysis.devices)
    facts["devices"].push_back({device.ref.rank_index, device.ref.device, device.name,
                                when(device.window), split_of(device.time), device.kernels,
                                device.copies, device.collectives, device.launches});
  for (analyzer::StepStats const& step : analysis.steps)
    facts["steps"].push_back({step.ref.rank_index, step.ref.device, step.step,
                              when(step.host_window), when(step.window), split_of(step.time)});

  for (analyzer::CollectiveStats const& collective : analysis.collectives) {
    Json participants;
    for (auto const& one : collective.participants)
      participants.push_back({one.ref.rank_index, one.ref.device, when(one.when), one.wait_ns});
    facts["collectives"].push_back({to_string(collective.op), collective.bytes, collective.sequence,
                                    collective.transfer_ns, collective.skew_ns,
                                    collective.busbw_gbps.value_or(-1), participants});
  }

  // Collectives that begin at one instant are sorted by communicator, and its number may differ.
  if (facts.contains("collectives"))
    std::sort(facts["collectives"].begin(), facts["collectives"].end());
  facts["negative latencies"] = analysis.integrity.negative_latencies;
  return facts;
}

void expect_same_facts(model::Run const& run, model::Run const& again) {
  Json const difference = Json::diff(facts_of(run), facts_of(again));
  EXPECT_TRUE(difference.empty()) << difference.dump(1).substr(0, 2000);
}

std::multimap<std::string, Json> events_of(Json const& document, std::string const& phase = "X") {
  std::multimap<std::string, Json> events;
  for (Json const& event : document.at("traceEvents"))
    if (event.at("ph") == phase) events.emplace(event.at("name"), event);
  return events;
}

Json write_and_parse(std::vector<model::Trace> const& traces, std::vector<int64_t> const& offsets) {
  TemporaryFolder const folder;
  testing::write(format_named("chrome"), folder.file("run.json"), traces, offsets);
  Json document =
      Json::parse(workloads::testing::read_bytes(folder.file("run.json")), nullptr, false);
  EXPECT_FALSE(document.is_discarded());
  return document;
}

Json one_document(int32_t rank = 0) {
  std::vector<model::Trace> traces;
  traces.push_back(synthetic_trace(rank));
  return write_and_parse(traces, {0});
}

TEST(ChromeExport, ARunOfOneProcessOpensAgainWithTheSameFacts) {
  for (support::StepMarks const marks :
       {support::StepMarks::kAnnotation, support::StepMarks::kProfilerStep}) {
    TemporaryFolder const folder;
    support::SyntheticOptions options;
    options.marks = marks;
    write_run(support::make_synthetic_run(options), folder.file("run.json"));
    expect_same_facts(support::make_synthetic_run(options), open(folder.file("run.json")));
  }
}

TEST(ChromeExport, AFolderOpensAgainAsTheSameRunOfManyRanks) {
  for (char const* const pattern : {"dp", "pipeline", "moe"}) {
    SCOPED_TRACE(pattern);
    TemporaryFolder const source, target;
    synth::SynthOptions options;
    options.pattern = synth::find_pattern(pattern);
    options.ranks = 4;
    options.events_per_rank = 3000;
    ASSERT_TRUE(synth::make_run(options, source.path()));

    write_run(open(source.path()), target.path());
    EXPECT_TRUE(std::filesystem::exists(target.file("rank-3.json")));

    model::Run const again = open(target.path());
    ASSERT_EQ(again.ranks.size(), 4U);
    EXPECT_EQ(again.ranks[3].trace.info().rank, 3);
    EXPECT_EQ(again.ranks[3].trace.info().world_size, 4);
    EXPECT_THAT(again.ranks[3].trace.log().notes, ElementsAre());
    expect_same_facts(open(source.path()), again);
  }
}

TEST(ChromeExport, EventsThatItReadsAreWrittenTheSameAgain) {
  TemporaryFolder const folder;
  support::SyntheticOptions const options;

  write_run(support::make_synthetic_run(options), folder.file("once.json"));
  model::Run const once = open(folder.file("once.json"));
  write_run(open(folder.file("once.json")), folder.file("twice.json"));
  model::Run const twice = open(folder.file("twice.json"));

  model::Trace const& a = once.ranks[0].trace;
  model::Trace const& b = twice.ranks[0].trace;
  EXPECT_EQ(a.info().origin_epoch_ns, b.info().origin_epoch_ns);

  ASSERT_EQ(a.event_count(), b.event_count());
  EXPECT_EQ(a.columns().start, b.columns().start);
  EXPECT_EQ(a.columns().dur, b.columns().dur);
  EXPECT_EQ(a.columns().kind, b.columns().kind);
  EXPECT_EQ(a.columns().correlation, b.columns().correlation);
  for (uint32_t row = 0; row < a.event_count(); ++row) ASSERT_EQ(a.name(row), b.name(row));
}

TEST(ChromeExport, EventsHaveTheCategoriesAndArgumentsOfKineto) {
  Json const document = one_document();
  auto const events = events_of(document);

  Json const& kernel = events.find("gemm<float, 4>")->second;
  EXPECT_EQ(kernel.at("cat"), "kernel");
  EXPECT_EQ(kernel.at("args").at("grid"), Json({8, 1, 1}));
  EXPECT_EQ(kernel.at("args").at("block"), Json({256, 1, 1}));
  EXPECT_EQ(kernel.at("args").at("stream"), 7);
  EXPECT_EQ(kernel.at("args").at("device"), 0);
  EXPECT_EQ(kernel.at("args").at("correlation"), 11);
  EXPECT_EQ(kernel.at("args").at("registers per thread"), 40);

  Json const& copy = events.find("Memcpy HtoD (Pinned -> Device)")->second;
  EXPECT_EQ(copy.at("cat"), "gpu_memcpy");
  EXPECT_EQ(copy.at("args").at("bytes"), 1 << 20);
  EXPECT_EQ(copy.at("args").at("name"), "copy batch");

  EXPECT_EQ(events.find("Memset (Device)")->second.at("cat"), "gpu_memset");
  EXPECT_EQ(events.find("wait for event")->second.at("args").at("wait_on_stream"), 8);

  Json const& collective =
      events.find("ncclDevKernel_AllReduce_Sum_f32_RING_LL")->second.at("args");
  EXPECT_EQ(collective.at("Collective name"), "allreduce");
  EXPECT_EQ(collective.at("In msg nelems"), 1024);
  EXPECT_EQ(collective.at("dtype"), "Float");
  EXPECT_EQ(collective.at("Group size"), 2);
  EXPECT_EQ(collective.at("Seq"), 5);

  EXPECT_EQ(events.count("ProfilerStep#0"), 1U);
  EXPECT_EQ(events.count("ProfilerStep#1"), 1U);
  EXPECT_EQ(events.count("cudaLaunchKernel"), 2U);
  EXPECT_EQ(events.find("cudaStreamSynchronize")->second.at("args").at("name"), "wait");
  EXPECT_EQ(
      events.find("enumerate(DataLoader)#wait for batch.__next__")->second.at("args").at("name"),
      "wait for batch");

  EXPECT_EQ(events.find("cudaMemcpyAsync")->second.at("cat"), "cuda_runtime");
  EXPECT_EQ(events.find("buffer flush")->second.at("cat"), "overhead");

  EXPECT_EQ(document.at("deviceProperties")[0].at("name"), "NVIDIA H100");
  EXPECT_EQ(document.at("distributedInfo"), Json({{"rank", 0}, {"world_size", 2}}));
  EXPECT_EQ(document.at("baseTimeNanoseconds"), 1'700'000'000'000'000'000);
  EXPECT_EQ(document.at("displayTimeUnit"), "ns");
}

TEST(ChromeExport, MessagesAreToldInElementsOfEitherSide) {
  using model::CollectiveOp;
  model::TraceBuilder builder;
  model::TrackId const stream =
      builder.add_track({model::TrackKind::kStream, "stream 1", 1, 0, {}, 0});

  auto const add = [&](char const* name, CollectiveOp op, uint64_t bytes, model::DataType type,
                       int32_t peer) {
    model::CollectiveDetail detail{bytes, 9, 1, op, 4, 0, peer, type};
    builder.events(stream).add(model::EventKind::kCollective, 0, 10, builder.intern(name), 0,
                               detail);
  };

  add("gather", CollectiveOp::kAllGather, 4096, model::DataType::kFloat32, -1);
  add("scatter", CollectiveOp::kReduceScatter, 4096, model::DataType::kBfloat16, -1);
  add("send", CollectiveOp::kSend, 7, model::DataType::kFloat32, 2);
  add("receive", CollectiveOp::kReceive, 8, model::DataType::kUnknown, 3);

  std::vector<model::Trace> traces;
  traces.push_back(std::move(builder).finish());
  Json const document = write_and_parse(traces, {0});

  std::vector<std::tuple<std::string, int64_t, int64_t, std::string, int, int>> messages;
  for (auto const& [name, event] : events_of(document)) {
    Json const& a = event.at("args");
    messages.emplace_back(a.at("Collective name"), a.at("In msg nelems"), a.at("Out msg nelems"),
                          a.at("dtype"), a.value("Src Rank", -1), a.value("Dst Rank", -1));
  }

  EXPECT_THAT(messages, UnorderedElementsAre(
                            std::tuple("_allgather_base", 256, 1024, "Float", -1, -1),
                            std::tuple("_reduce_scatter_base", 2048, 512, "BFloat16", -1, -1),
                            std::tuple("send", 7, 7, "Byte", -1, 2),
                            std::tuple("recv", 8, 8, "Byte", 3, -1)));
}

TEST(ChromeExport, CountersInstantsMemoryAndArrowsAreThere) {
  Json const document = one_document();
  auto const counters = events_of(document, "C");
  EXPECT_EQ(counters.count("GPU utilization (%)"), 2U);
  EXPECT_EQ(counters.find("GPU utilization (%)")->second.at("args").at("value"), 12.5);

  auto const instants = events_of(document, "i");
  EXPECT_EQ(instants.count("mark"), 1U);
  ASSERT_EQ(instants.count("[memory]"), 2U);
  EXPECT_EQ(instants.find("[memory]")->second.at("args").at("Total Allocated"), 5000);

  std::map<int64_t, std::vector<double>> arrows;
  for (char const* const phase : {"s", "f"})
    for (auto const& [name, event] : events_of(document, phase))
      arrows[event.at("id")].push_back(event.at("ts"));

  EXPECT_EQ(arrows.size(), 4U);
  for (auto const& [id, times] : arrows) EXPECT_EQ(times.size(), 2U);
}

TEST(ChromeExport, SlicesOfARowNestAndStreamsStayWhole) {
  Json const document = one_document();
  std::map<std::pair<int64_t, int64_t>, std::vector<std::pair<int64_t, int64_t>>> rows;
  std::set<int64_t> rows_of_stream;

  for (auto const& [name, event] : events_of(document)) {
    auto const ns = [&](char const* key) {
      return std::llround(event.at(key).get<double>() * 1000);
    };
    rows[{event.at("pid"), event.at("tid")}].emplace_back(ns("ts"), ns("ts") + ns("dur"));
    if (event.at("cat") == "kernel" && event.at("args").at("stream") == 7)
      rows_of_stream.insert(event.at("tid").get<int64_t>());
  }

  for (auto const& [row, slices] : rows)
    for (auto const& [begin, end] : slices)
      for (auto const& [other_begin, other_end] : slices)
        EXPECT_FALSE(begin < other_begin && other_begin < end && end < other_end)
            << row.second << ": " << begin << " " << other_begin;
  EXPECT_EQ(rows_of_stream.size(), 2U);

  TemporaryFolder const folder;
  workloads::testing::write_bytes(folder.file("run.json"), document.dump());
  model::Run const again = open(folder.file("run.json"));
  int streams = 0;
  for (model::Track const& track : again.ranks[0].trace.tracks())
    streams += track.kind == model::TrackKind::kStream ? 1 : 0;
  EXPECT_EQ(streams, 2);
}

TEST(ChromeExport, ProcessesOfSeveralRanksAreToldApart) {
  std::vector<model::Trace> traces;
  for (int32_t const rank : {0, 1}) traces.push_back(synthetic_trace(rank));
  Json const document = write_and_parse(traces, {0, 1'000'000'000});

  std::map<int64_t, std::string> names, labels;
  for (auto const& [what, event] : events_of(document, "M")) {
    if (what == "process_name") names[event.at("pid")] = event.at("args").at("name");
    if (what == "process_labels") labels[event.at("pid")] = event.at("args").at("labels");
  }

  std::vector<std::string> all;
  for (auto const& [pid, name] : names) all.push_back(name + ", " + labels[pid]);
  EXPECT_THAT(all, UnorderedElementsAre("rank 0: python train.py, rank 0",
                                        "rank 1: python train.py, rank 1",
                                        "rank 0: python train.py, rank 0 GPU 0",
                                        "rank 1: python train.py, rank 1 GPU 0"));

  std::vector<double> starts;
  auto const events = events_of(document);
  for (auto [at, end] = events.equal_range("gemm<float, 4>"); at != end; ++at)
    starts.push_back(at->second.at("ts"));
  EXPECT_THAT(starts, UnorderedElementsAre(0.3, 1'000'000.3));

  EXPECT_FALSE(document.contains("distributedInfo"));
}

TEST(ChromeExport, TextsAreEscapedAndLongOnesCut) {
  model::TraceBuilder builder;
  model::TrackId const thread =
      builder.add_track({model::TrackKind::kThread, "\"\\\n\x02", 1, -1, {}, 0});
  builder.events(thread).add_range(0, 10, builder.intern("not \xFF text \x01\n\"\\"));
  builder.events(thread).add_range(20, 10, builder.intern(std::string(10'000'000, 'x')));
  builder.add_device({0, "dev\"ice", 0, 0, 0});
  builder.info().host = "ho\"st";

  std::vector<model::Trace> traces;
  traces.push_back(std::move(builder).finish());

  Json const document = write_and_parse(traces, {0});
  auto const events = events_of(document);
  EXPECT_EQ(events.count("not \xEF\xBF\xBD text \x01\n\"\\"), 1U);
  EXPECT_EQ(events.count(std::string(16'000, 'x') + "…"), 1U);
  EXPECT_EQ(document.at("host_name"), "ho\"st");
}

std::set<std::string> names_in(std::string const& folder) {
  std::set<std::string> names;
  for (auto const& entry : std::filesystem::directory_iterator(folder))
    names.insert(entry.path().filename().string());
  return names;
}

TEST(ChromeExport, WhatLiesInTheFolderIsNotTouchedBeforeTheEnd) {
  TemporaryFolder const folder;
  workloads::testing::write_bytes(folder.file("rank-0.json"), "{}");
  {
    auto exporter = format_named("chrome").open(folder.path());
    ASSERT_TRUE(exporter);
    ASSERT_TRUE((*exporter)->add(synthetic_trace(0), 0));
  }
  EXPECT_EQ(workloads::testing::read_bytes(folder.file("rank-0.json")), "{}");
}

TEST(ChromeExport, OfALargerRunNoFileStaysAndNoOtherFileGoes) {
  TemporaryFolder const folder;
  std::set<std::string> const others = {"notes.json",     "rank-.json",       "rank--7.json",
                                        "rank-0-.json",   "rank-7-copy.json", "rank-7.json.x",
                                        "rank-7 of.json", "rank-mine.json"};
  for (std::string const& name : others) workloads::testing::write_bytes(folder.file(name), "{}");
  for (char const* const name : {"rank-0.json", "rank-7.json", "rank-7-2.json"})
    workloads::testing::write_bytes(folder.file(name), "{}");

  std::filesystem::create_directory(folder.file("rank-9.json"));
  auto exporter = format_named("chrome").open(folder.path());
  ASSERT_TRUE(exporter);
  for (int copy = 0; copy < 2; ++copy) ASSERT_TRUE((*exporter)->add(synthetic_trace(0), 0));
  ASSERT_TRUE((*exporter)->finish());
  EXPECT_TRUE(names_in(folder.path())
                  .contains("rank-7.json"));  // may be of the same run, which was exported in part

  EXPECT_EQ((*exporter)->remove_leftovers(), 2U);
  exporter->reset();  // the folder is locked until then

  std::set<std::string> expected = others;
  expected.insert({"rank-0-2.json", "rank-0.json", "rank-9.json"});
  EXPECT_EQ(names_in(folder.path()), expected);
}

TEST(ChromeExport, AFileOfSeveralRanksSaysWhatItIsFor) {
  for (int32_t const ranks : {1, 2}) {
    TemporaryFolder const folder;
    for (std::string const& path : {folder.file("run.json"), folder.path()}) {
      auto exporter = format_named("chrome").open(path);
      ASSERT_TRUE(exporter);
      for (int32_t rank = 0; rank < ranks; ++rank)
        ASSERT_TRUE((*exporter)->add(synthetic_trace(rank), 0));
      ASSERT_TRUE((*exporter)->finish());

      bool const has_advice = ranks == 2 && path != folder.path();
      EXPECT_EQ((*exporter)->note(),
                has_advice
                    ? "2 ranks in one file: for viewing; -o FOLDER/ makes one that can be analyzed"
                    : "");
    }
  }
}

TEST(ChromeExport, ReservedMemoryIsOnlyToldWhereTheTraceKnowsIt) {
  model::TraceBuilder builder;
  model::TrackId const thread =
      builder.add_track({model::TrackKind::kThread, "main", 1, -1, {}, 0});
  auto const allocate = [&](int64_t time, int32_t device, uint64_t reserved) {
    builder.events(thread).add(
        model::EventKind::kMemory, time, 0, builder.intern("[memory]"), 0,
        model::MemoryDetail{4096, 64, 64, reserved, device, model::MemoryOp::kAllocate});
  };

  allocate(10, 0, 0);
  allocate(20, 1, 0);
  allocate(30, 1, 128);

  std::vector<model::Trace> traces;
  traces.push_back(std::move(builder).finish());
  Json const document = write_and_parse(traces, {0});

  std::vector<std::tuple<int, int, int>> changes;
  for (auto const& [name, event] : events_of(document, "i")) {
    Json const& a = event.at("args");
    changes.emplace_back(a.at("Device Id"), a.at("Total Allocated"), a.value("Total Reserved", -1));
  }

  EXPECT_THAT(changes, UnorderedElementsAre(std::tuple(0, 64, -1), std::tuple(1, 64, 0),
                                            std::tuple(1, 64, 128)));
}

TEST(ChromeExport, AFolderThatItMadeIsRemovedWithWhatWasInIt) {
  TemporaryFolder const folder;
  {
    auto exporter = format_named("chrome").open(folder.file("new") + "/");
    ASSERT_TRUE(exporter) << exporter.error().message;
    ASSERT_TRUE((*exporter)->add(synthetic_trace(0), 0));
  }
  EXPECT_FALSE(std::filesystem::exists(folder.file("new")));
}

}  // namespace
}  // namespace stepscope::exporting
