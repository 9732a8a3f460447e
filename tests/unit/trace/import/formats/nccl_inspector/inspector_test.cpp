// Logs of NCCL's inspector plugin: what records say, worked out by hand, in all versions; cut,
// damaged and doubled ones.
#include "trace/import/formats/nccl_inspector/inspector_importer.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "analyzer/analyze.h"
#include "analyzer/results/analysis.h"
#include "tests/support/sanitized.h"
#include "trace/import/common/coarse_times.h"
#include "trace/import/formats/importers.h"
#include "trace/import/formats/nccl_inspector/inspector_record.h"

namespace stepscope::import::inspector_tests {
namespace {

using model::CollectiveDetail;
using model::CollectiveOp;
using InspectorJson = nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kBeginUs = 1'752'867'229'000'000;
constexpr int64_t kUs = 1000;

InspectorJson header(int rank, std::string const& id = "0x7f8c496ae9f661", int ranks = 2) {
  return {{"id", id}, {"comm_name", "unknown"}, {"rank", rank}, {"n_ranks", ranks}, {"nnodes", 1}};
}
InspectorJson metadata(int64_t written_us, int pid = 77) {
  return {{"inspector_output_format_version", "v4.0"},
          {"git_rev", ""},
          {"rec_mechanism", "nccl_profiler_interface"},
          {"dump_timestamp_us", written_us},
          {"hostname", "node7"},
          {"pid", pid}};
}
InspectorJson collective(std::string const& op, int64_t sn, int64_t bytes, int64_t exec_us) {
  return {{"coll", op},
          {"coll_sn", sn},
          {"coll_msg_size_bytes", bytes},
          {"coll_exec_time_us", exec_us},
          {"coll_timing_source", "kernel_gpu"},
          {"coll_algobw_gbs", 1.5}};
}
InspectorJson record(int rank, int64_t written_us, InspectorJson coll) {
  return {
      {"header", header(rank)}, {"metadata", metadata(written_us)}, {"coll_perf", std::move(coll)}};
}
/// The verbose form: two channels; the last one was seen to end at `end_us`.
InspectorJson with_times(InspectorJson coll, int64_t end_us) {
  coll["event_trace_sn"] = {{"coll_start_sn", 1}};
  coll["event_trace_ts"] = {
      {"coll_start_ts", end_us - 900},
      {"coll_stop_ts", end_us - 890},
      {"kernel_events",
       {{{"channel_id", 0}, {"kernel_start_ts", end_us - 20}, {"kernel_stop_ts", end_us - 3}},
        {{"channel_id", 1}, {"kernel_start_ts", end_us - 21}, {"kernel_stop_ts", end_us}}}}};
  return coll;
}

std::string lines(std::vector<InspectorJson> const& records) {
  std::string text;
  for (InspectorJson const& each : records) text += each.dump() + "\n";
  return text;
}
base::Expected<std::vector<model::Trace>> read_log(std::string const& text) {
  return read_inspector_log(Input(std::as_bytes(std::span(text)), "node7-pid77.log"));
}
model::Trace read_one(std::string const& text) {
  auto traces = read_log(text);
  EXPECT_TRUE(traces) << traces.error().message;
  EXPECT_EQ(traces->size(), 1U);
  return std::move(traces->front());
}
/// First and end in µs since kBeginUs.
std::vector<std::pair<int64_t, int64_t>> spans_of(model::Trace const& trace) {
  int64_t const offset = trace.info().origin_epoch_ns - kBeginUs * kUs;
  std::vector<std::pair<int64_t, int64_t>> spans;
  for (uint32_t row = 0; row < trace.event_count(); ++row)
    spans.emplace_back((trace.start(row) + offset) / kUs, (trace.end(row) + offset) / kUs);
  return spans;
}

TEST(NcclInspector, VerboseRecordsAreOpsOfTheDevice) {
  model::Trace const trace =
      read_one(lines({record(1, kBeginUs + 9000,
                             with_times(collective("ReduceScatter", 3, 1000, 40), kBeginUs + 500)),
                      record(1, kBeginUs + 9001,
                             with_times(collective("AllReduce", 3, 4096, 10), kBeginUs + 700))}));

  EXPECT_EQ(trace.info().tool, "NCCL inspector v4.0");
  EXPECT_EQ(trace.info().host, "node7");
  EXPECT_EQ(trace.info().process_id, 77);
  EXPECT_EQ(trace.info().rank, 1);
  EXPECT_EQ(trace.info().world_size, 2);
  EXPECT_FALSE(has_coarse_times(trace.info()));
  EXPECT_THAT(spans_of(trace), ElementsAre(std::pair(460, 500), std::pair(690, 700)));

  ASSERT_EQ(trace.tracks().size(), 1U);
  EXPECT_EQ(trace.tracks()[0].name, "communicator 0x7f8c496ae9f661");
  EXPECT_EQ(trace.tracks()[0].stream_kind, model::StreamKind::kCommunication);

  auto const& detail = trace.detail<CollectiveDetail>(0);
  EXPECT_EQ(trace.name(0), "ReduceScatter");
  EXPECT_EQ(trace.kind(0), model::EventKind::kCollective);
  EXPECT_EQ(detail.op, CollectiveOp::kReduceScatter);
  EXPECT_EQ(detail.bytes, 2000U) << "of both ranks";
  EXPECT_EQ(detail.communicator, 0x7f8c496ae9f661U);
  EXPECT_EQ(detail.rank, 1);
  EXPECT_EQ(detail.participants, 2U);
  EXPECT_EQ(detail.channels, 2U);

  EXPECT_EQ(trace.detail<CollectiveDetail>(1).bytes, 4096U);
  EXPECT_NE(detail.sequence, trace.detail<CollectiveDetail>(1).sequence)
      << "NCCL counts by function";
  EXPECT_EQ(detail.sequence, 3U << 4U | 2U) << "as our own recordings number them";
}

TEST(NcclInspector, WithoutTimesRecordsArePlacedAtTheLatestPossible) {
  // Written at once, long after: each ended before the next began.
  model::Trace const trace =
      read_one(lines({record(0, kBeginUs + 100, collective("AllReduce", 1, 8, 30)),
                      record(0, kBeginUs + 101, collective("AllReduce", 2, 8, 20)),
                      record(0, kBeginUs + 102, collective("Broadcast", 1, 8, 5)),
                      record(0, kBeginUs + 900, collective("AllReduce", 3, 8, 50))}));

  EXPECT_THAT(spans_of(trace), ElementsAre(std::pair(47, 77), std::pair(77, 97), std::pair(97, 102),
                                           std::pair(850, 900)));
  EXPECT_EQ(trace.tracks().size(), 1U);
  EXPECT_TRUE(has_coarse_times(trace.info()));
  EXPECT_THAT(trace.log().notes, Contains(HasSubstr("latest possible")));
  EXPECT_EQ(trace.log().overlapping_slices, 0U);
}

TEST(NcclInspector, NewerFormatsAreRead) {
  InspectorJson coll = collective("AllGather", 5, 100, 7),
                message = {{"p2p", "Send"},         {"p2p_sn", 9},
                           {"p2p_peer", 0},         {"p2p_msg_size_bytes", 640},
                           {"p2p_exec_time_us", 4}, {"p2p_timing_source", "kernel_gpu"}};
  coll["coll_algo"] = "NVLS_TREE";
  coll["coll_proto"] = "LL128";

  InspectorJson named = header(1);
  named["comm_name"] = "DP Group 0";

  // From v4.3 on only the statistics in front of a dump have a header.
  InspectorJson const marker = {
      {"header", named},
      {"metadata", metadata(kBeginUs + 50)},
      {"dump_stats", {{"coll_records", 1}, {"coll_dropped_total", 3}, {"p2p_dropped_total", 1}}}};
  InspectorJson const proxy = {{"proxy_trace", {{"record_type", "proxy_step"}}}};

  model::Trace const trace =
      read_one(lines({marker, {{"coll_perf", coll}}, {{"p2p_perf", message}}, proxy, marker}));
  ASSERT_EQ(trace.event_count(), 2U);
  EXPECT_EQ(trace.tracks()[0].name, "DP Group 0");

  std::map<std::string_view, CollectiveDetail> details;
  for (uint32_t row = 0; row < 2; ++row)
    details[trace.name(row)] = trace.detail<CollectiveDetail>(row);

  EXPECT_EQ(details["AllGather"].algorithm, model::CollectiveAlgorithm::kNvlsTree);
  EXPECT_EQ(details["AllGather"].protocol, model::CollectiveProtocol::kLl128);
  EXPECT_EQ(details["Send"].op, CollectiveOp::kSend);
  EXPECT_EQ(details["Send"].peer, 0);
  EXPECT_EQ(details["Send"].rank, 1);
  EXPECT_EQ(details["Send"].sequence, 0U) << "counted by each rank for itself";

  EXPECT_EQ(trace.log().dropped, 4U) << "so far, not each time anew";
  EXPECT_EQ(trace.log().unknown_events, 1U);
}

TEST(NcclInspector, OperationsThatRunAtOnceAreOnStreamsBesideEachOther) {
  model::Trace const trace = read_one(
      lines({record(0, 0, with_times(collective("AllReduce", 1, 8, 100), kBeginUs + 200)),
             record(0, 0, with_times(collective("AllReduce", 2, 8, 100), kBeginUs + 250)),
             record(0, 0, with_times(collective("AllReduce", 3, 8, 30), kBeginUs + 300))}));
  EXPECT_EQ(trace.tracks().size(), 2U);
  EXPECT_EQ(trace.log().overlapping_slices, 0U);
  EXPECT_EQ(trace.event_count(), 3U);
}

TEST(NcclInspector, AProcessWithSeveralGpusHasSeveralDevices) {
  model::Trace const trace =
      read_one(lines({record(1, kBeginUs, collective("AllReduce", 1, 8, 3)),
                      record(0, kBeginUs, collective("AllReduce", 1, 8, 4))}));
  ASSERT_EQ(trace.devices().size(), 2U);
  EXPECT_EQ(trace.info().rank, 0);
  for (uint32_t row = 0; row < 2; ++row)
    EXPECT_EQ(trace.track(row).device, trace.detail<CollectiveDetail>(row).rank);
}

TEST(NcclInspector, LogsOfSeveralProcessesBecomeSeveralTraces) {
  InspectorJson other = record(1, kBeginUs, collective("AllReduce", 1, 8, 3));
  other["metadata"] = metadata(kBeginUs, 78);
  auto const traces =
      read_log(lines({record(0, kBeginUs, collective("AllReduce", 1, 8, 3)), other}));
  ASSERT_TRUE(traces);
  ASSERT_EQ(traces->size(), 2U);
  EXPECT_EQ((*traces)[1].info().process_id, 78);
  EXPECT_EQ((*traces)[1].info().rank, 1);
}

TEST(NcclInspector, WhatOnlyTheHostTimedIsACall) {
  InspectorJson coll = with_times(collective("AllReduce", 1, 8, 10), kBeginUs + 1000);
  coll["coll_timing_source"] = "collective_cpu";
  model::Trace const trace = read_one(lines({record(0, 0, coll)}));
  EXPECT_EQ(trace.kind(0), model::EventKind::kCollectiveCall);
  EXPECT_THAT(spans_of(trace), ElementsAre(std::pair(100, 110)));
  EXPECT_TRUE(trace.devices().empty());
  EXPECT_THAT(trace.log().notes, Contains(HasSubstr("no time on the device")));
}

TEST(NcclInspector, TheAnalysisMatchesRanks) {
  model::Run run;
  for (int rank = 0; rank < 2; ++rank) {
    model::RankTrace of{
        read_one(
            lines({record(rank, 0,
                          with_times(collective("AllReduce", 1, 1'000'000, rank == 0 ? 50 : 20),
                                     kBeginUs + 500)),
                   record(rank, 0,
                          with_times(collective("AllReduce", 2, 1'000'000, 25), kBeginUs + 900))})),
        0, ""};
    of.offset_ns = of.trace.info().origin_epoch_ns - kBeginUs * kUs;
    run.ranks.push_back(std::move(of));
  }

  analyzer::Analysis const analysis = analyzer::analyze(run);
  ASSERT_EQ(analysis.collectives.size(), 2U);
  EXPECT_EQ(analysis.collectives[0].transfer_ns, 20 * kUs);
  EXPECT_EQ(analysis.collectives[0].participants[0].wait_ns, 30 * kUs);
  EXPECT_EQ(analysis.collectives[0].last_participant, 1);
  ASSERT_TRUE(analysis.collectives[0].busbw_gbps);
  EXPECT_DOUBLE_EQ(*analysis.collectives[0].busbw_gbps, 50);  // 1e6 B / 20 µs × 2 (2 − 1) / 2
  EXPECT_THAT(analysis.findings, IsEmpty()) << "what the devices did besides is not known";
}

TEST(NcclInspector, DoubledAndBrokenLinesAreCountedAndTheRestKept) {
  InspectorJson const one = record(0, kBeginUs, collective("AllReduce", 1, 8, 3)),
                      far = record(0, kBeginUs, collective("AllReduce", 9, 8, 3));
  InspectorJson odd = record(0, kBeginUs, collective("AllReduce", 2, 8, 3));
  odd["coll_perf"]["coll_msg_size_bytes"] = "many";
  odd["coll_perf"]["coll_sn"] = -4;
  odd["coll_perf"]["event_trace_ts"] = 5;
  odd["header"]["n_ranks"] = 1e30;

  std::string const text =
      one.dump() + "\n\n" + one.dump() + "\n{\"header\": {\"id\": \"0x1\n{]\n" + odd.dump() +
      "\n{\"coll_perf\": 7}\n" + far.dump() + "\n" + one.dump(2) + one.dump().substr(0, 40);
  model::Trace const trace = read_one(text);

  EXPECT_EQ(trace.event_count(), 4U) << "the indented one is written differently";
  EXPECT_THAT(trace.log().notes, Contains(HasSubstr("1 record is there twice")));
  EXPECT_THAT(trace.log().notes, Contains(HasSubstr("2 lines are no JSON")));
  EXPECT_THAT(trace.log().notes, Contains(HasSubstr("3 numbers cannot be")));
  EXPECT_THAT(trace.log().notes,
              Contains(HasSubstr("6 collectives between others are not in the log")));
  EXPECT_THAT(trace.log().notes, Contains(HasSubstr("in the middle of a record")));
  EXPECT_TRUE(trace.log().truncated);
}

TEST(NcclInspector, DurationsThatCannotBeAreCountedAndMoveNoOther) {
  std::vector<InspectorJson> records;
  for (int i = 0; i < 6; ++i)
    records.push_back(record(0, kBeginUs + 100 + i,
                             collective("AllReduce", i + 1, 8, i < 3 ? 10 : int64_t{1} << 52U)));

  model::Trace const some = read_one(lines(records));
  auto const spans = spans_of(some);
  EXPECT_THAT(spans,
              ::testing::IsSupersetOf({std::pair<int64_t, int64_t>(72, 82), {82, 92}, {92, 102}}));
  EXPECT_GE(std::min_element(spans.begin(), spans.end())->first, 72)
      << "of the others only when they were written is known";
  EXPECT_THAT(some.log().notes, Contains(HasSubstr("3 numbers cannot be")));
  EXPECT_EQ(some.log().impossible_times, 0U);

  // A call that would have taken years.
  InspectorJson long_call = with_times(collective("AllReduce", 1, 8, 10), kBeginUs);
  long_call["coll_timing_source"] = "collective_cpu";
  long_call["event_trace_ts"]["coll_start_ts"] = 5;

  model::Trace const call = read_one(lines({record(0, 0, long_call)}));
  EXPECT_EQ(call.end(0), call.start(0));
  EXPECT_THAT(call.log().notes, Contains(HasSubstr("1 number cannot be")));
}

TEST(NcclInspector, ManyLongDurationsDoNotAddUpToImpossibleTimes) {
  // As ns, 9,300 durations of 11 days leave 64 bits.
  constexpr int kRecords = 10'000;
  std::string text;
  for (int i = 0; i < kRecords; ++i)
    text += record(0, kBeginUs + i, collective("AllReduce", i, 8, InspectorRecord::kMostDurationUs))
                .dump() +
            "\n";

  model::Trace const trace = read_one(text);
  EXPECT_EQ(trace.event_count(), static_cast<uint32_t>(kRecords));
  EXPECT_EQ(trace.log().impossible_times, 0U);
  EXPECT_EQ(trace.info().origin_epoch_ns, -InspectorRecord::kMostDurationUs * kUs);

  for (uint32_t row = 0; row < trace.event_count(); ++row)
    ASSERT_LE(trace.end(row) + trace.info().origin_epoch_ns, (kBeginUs + kRecords) * kUs);
}

TEST(NcclInspector, CutAnywhereItKeepsWhatIsWhole) {
  std::string const text =
      lines({record(0, kBeginUs, collective("AllReduce", 1, 8, 3)),
             record(0, kBeginUs, with_times(collective("AllReduce", 2, 8, 3), kBeginUs))});
  uint32_t most = 0;
  for (size_t size = 1; size < text.size(); ++size) {
    auto const traces = read_log(text.substr(0, size));
    if (!traces) {
      EXPECT_EQ(most, 0U);
      EXPECT_THAT(traces.error().message, HasSubstr("node7-pid77.log: "));
      continue;
    }

    EXPECT_GE(traces->front().event_count(), most);
    most = traces->front().event_count();
    bool const is_whole = text[size] == '\n' || text[size - 1] == '\n';
    EXPECT_EQ(traces->front().log().truncated, !is_whole) << size;
  }

  EXPECT_EQ(most, 2U);
}

TEST(NcclInspector, RecordsBeforeAnyHeaderAreCounted) {
  auto const nothing = read_log(lines({{{"coll_perf", collective("AllReduce", 1, 8, 3)}}}));
  ASSERT_FALSE(nothing);
  model::Trace const trace =
      read_one(lines({{{"coll_perf", collective("AllReduce", 1, 8, 3)}},
                      record(0, kBeginUs, collective("AllReduce", 1, 8, 3))}));
  EXPECT_THAT(trace.log().notes, Contains(HasSubstr("1 record does not tell its communicator")));
  EXPECT_EQ(trace.log().dropped, 1U);
}

TEST(NcclInspector, ManyRecordsAndBrokenQuotesAreReadInLinearTime) {
  uint32_t const records = support::kSanitized ? 2'000 : 20'000;
  std::string text, quotes;
  for (uint32_t i = 0; i < records; ++i)
    text += record(0, kBeginUs + i * 100, collective("AllReduce", i, 8, 3)).dump() + "\n";
  EXPECT_EQ(read_one(text).event_count(), records);
  for (uint32_t i = 0; i < 10 * records; ++i) quotes += "{\"a\n";
  text += quotes;
  EXPECT_EQ(read_one(text).event_count(), records);
}

TEST(NcclInspector, ItIsKnownByItsContent) {
  std::string const text = lines({record(0, kBeginUs, collective("AllReduce", 1, 8, 3))});
  auto const* const importer = find_importer(Input(std::as_bytes(std::span(text)), "x"));
  ASSERT_NE(importer, nullptr);
  EXPECT_EQ(importer->name, "NCCL inspector");
  EXPECT_TRUE(has_trace_name("node7-pid77.log") && has_trace_name("a.jsonl.gz"));
  std::string const other = "{\"level\": \"info\"}\n";
  EXPECT_EQ(find_importer(Input(std::as_bytes(std::span(other)), "x.log")), nullptr);
}

}  // namespace
}  // namespace stepscope::import::inspector_tests
