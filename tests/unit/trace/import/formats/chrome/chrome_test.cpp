// Chrome trace events: against a naive reader on random traces, whatever the blocks; packed, cut
// and damaged ones; what PyTorch's profiler says.
#include "trace/import/formats/chrome/chrome_importer.h"

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <tuple>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/packed.h"
#include "trace/import/formats/chrome/merged_events.h"
#include "trace/import/formats/importers.h"

namespace stepscope::import {
namespace {

using support::packed_by_gzip;
using support::packed_by_zstd;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using Json = nlohmann::json;
using model::EventKind;
/// Kind, name, start since the first event, duration.
using Row = std::tuple<std::string, std::string, int64_t, int64_t>;

base::Expected<model::Trace> read(std::string const& text, size_t block_bytes = 4096,
                                  std::string const& name = "trace.json") {
  return read_chrome_trace(Input(std::as_bytes(std::span(text)), name), block_bytes);
}

std::multiset<Row> events_of(model::Trace const& trace) {
  std::multiset<Row> rows;
  int64_t const first = trace.time_range().first;
  for (uint32_t row = 0; row < trace.event_count(); ++row) {
    rows.emplace(kind_info(trace.kind(row)).name, trace.name(row), trace.start(row) - first,
                 trace.end(row) - trace.start(row));
  }
  return rows;
}

/// Ranges and marks of many threads, with names that look like JSON.
class RandomTrace {
 public:
  explicit RandomTrace(uint32_t seed, int events) : random_(seed) {
    Json list = Json::array();
    for (int i = 0; i < events; ++i) list.push_back(event());
    json_ = {{"displayTimeUnit", "ms"},
             {"traceEvents", list},
             {"otherData", {{"version", "},{\"ph\":\"X\"}"}}}};
  }
  [[nodiscard]] Json const& json() const { return json_; }
  /// By a document tree, and doubles: times are small here.
  [[nodiscard]] std::multiset<Row> expected() const {
    std::multiset<Row> rows;
    int64_t first = INT64_MAX;
    for (Json const& e : json_["traceEvents"])
      if (e["ph"] == "X" || e["ph"] == "i") first = std::min(first, ns(e["ts"]));
    for (Json const& e : json_["traceEvents"]) {
      if (e["ph"] == "X") rows.emplace("range", e["name"], ns(e["ts"]) - first, ns(e["dur"]));
      if (e["ph"] == "i") rows.emplace("mark", e["name"], ns(e["ts"]) - first, 0);
    }
    return rows;
  }

 private:
  static int64_t ns(Json const& us) { return std::llround(us.get<double>() * 1000); }
  int below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  Json event() {
    static std::vector<std::string> const names = {"a",
                                                   "},{",
                                                   "\"},\n  {\"ph\": \"X\", \"ts\": 1}",
                                                   "back\\slash",
                                                   "tab\t",
                                                   "ü€😀",
                                                   "",
                                                   std::string(300, 'n'),
                                                   "{[",
                                                   "]}"};
    Json e = {{"ph", below(10) == 0 ? "i" : "X"},
              {"cat", below(2) == 0 ? "cpu_op" : "mine"},
              {"name", names[static_cast<size_t>(below(static_cast<int>(names.size())))]},
              {"pid", 7},
              {"ts", below(1'000'000) / 8.0}};
    if (below(2) == 0)
      e["tid"] = below(3);
    else
      e["tid"] = std::to_string(below(3));
    if (e["ph"] == "X") e["dur"] = below(1000) / 4.0;
    if (below(3) == 0) e["args"] = {{"list", {{{"x", 1}}, {{"y", "},{"}}}}, {"stack", names[2]}};
    if (below(20) == 0) e = {{"ph", "s"}, {"id", 1}, {"ts", 1}, {"pid", 1}, {"tid", 1}};
    return e;
  }
  std::mt19937 random_;
  Json json_;
};

TEST(ChromeTrace, HasTheEventsOfANaiveReaderWhateverTheBlocks) {
  for (uint32_t seed = 0; seed < 8; ++seed) {
    RandomTrace const made(seed, 400);
    for (int const indent : {-1, 2}) {
      std::string const text = made.json().dump(indent);
      for (size_t const block : {64U, 200U, 1000U, 50'000U, 4'000'000U}) {
        auto const trace = read(text, block);
        ASSERT_TRUE(trace) << trace.error().message;
        ASSERT_EQ(events_of(*trace), made.expected()) << seed << " " << indent << " " << block;
        EXPECT_THAT(trace->log().notes, IsEmpty());
        EXPECT_FALSE(trace->log().truncated);
      }
    }
  }
}

TEST(ChromeTrace, IsReadPacked) {
  RandomTrace const made(99, 3000);
  std::string const text = made.json().dump();
  for (std::string const& packed :
       {packed_by_gzip(text), packed_by_zstd(text),
        packed_by_gzip(text.substr(0, 1000)) + packed_by_gzip(text.substr(1000)),
        packed_by_zstd(text.substr(0, 1000)) + packed_by_zstd(text.substr(1000)),
        packed_by_gzip(text) + std::string(512, '\0')}) {
    for (size_t const block : {300U, 10'000U}) {
      auto const trace = read(packed, block);
      ASSERT_TRUE(trace) << trace.error().message;
      EXPECT_EQ(events_of(*trace), made.expected());
      EXPECT_FALSE(trace->log().truncated) << ::testing::PrintToString(trace->log().notes);
    }
  }
}

TEST(ChromeTrace, ThatIsCutAnywhereKeepsWhatIsWhole) {
  RandomTrace const made(5, 12);
  std::string const text = made.json().dump(1);
  size_t const first_event = text.find("traceEvents") + 15;
  size_t most = 0;
  for (size_t size = first_event; size + 1 < text.size(); ++size) {
    auto const trace = read(text.substr(0, size), 100);
    ASSERT_TRUE(trace) << trace.error().message;
    EXPECT_TRUE(trace->log().truncated) << size;
    EXPECT_FALSE(trace->log().notes.empty());
    EXPECT_GE(trace->event_count(), most);
    most = trace->event_count();
  }
  EXPECT_EQ(most, made.expected().size());
}

TEST(ChromeTrace, ThatIsPackedAndCutKeepsWhatIsWhole) {
  RandomTrace const made(6, 3000);
  std::string const text = made.json().dump();
  for (std::string const& packed : {packed_by_gzip(text), packed_by_zstd(text)}) {
    auto const trace = read(packed.substr(0, packed.size() * 9 / 10));
    ASSERT_TRUE(trace) << trace.error().message;
    EXPECT_TRUE(trace->log().truncated);
    EXPECT_THAT(trace->log().notes, Contains(HasSubstr("data are")));
  }
  std::string damaged = packed_by_gzip(text);
  for (size_t at = damaged.size() / 2; at < damaged.size() / 2 + 64; ++at)
    damaged[at] = static_cast<char>(~damaged[at]);
  auto const trace = read(damaged);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_TRUE(trace->log().truncated);
}

TEST(ChromeTrace, SaysWhereItIsCutWhateverTheBlocks) {
  std::string text = R"({"traceEvents": [)";
  for (int i = 0; i < 30; ++i)
    text += fmt::format(R"({}{{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": {}, "dur": 1}})",
                        i > 0 ? ",\n" : "", i);
  size_t const last = text.rfind('{');
  text.resize(last + 20);
  for (size_t const block : {70, 100, 333, 1 << 20}) {
    auto const trace = read(text, block);
    ASSERT_TRUE(trace) << trace.error().message;
    EXPECT_THAT(trace->log().notes,
                Contains(HasSubstr(fmt::format("in the middle of an event, at byte {}:", last))))
        << block;
  }
}

TEST(ChromeTrace, BombsAreRefused) {
  std::string const bomb = "{\"traceEvents\": [" + std::string(size_t{600} << 20U, ' ');
  auto const trace = read(packed_by_zstd(bomb));
  ASSERT_FALSE(trace && trace->log().notes.empty());
  EXPECT_THAT(
      trace ? trace->log().notes.front() + trace->log().notes.back() : trace.error().message,
      HasSubstr("unpacks to more than"));
}

TEST(ChromeTrace, WhatIsNoEventIsLeftOutAndCounted) {
  std::string const text =
      R"([{"ph":"X","name":"a","ts":1,"dur":1}, 5, {"ph":"X" "name":"b"}, {"ph":"X","name":"c","ts":3,"dur":1},
    {"ph":"X","name":"nan","ts":NaN,"dur":1}, {"ph":"X","name":"huge","ts":1e400,"dur":1}, {"ph":"X","name":"back","ts":9,"dur":-4},
    {"ph":"?","name":"odd","ts":1}])";
  auto const trace = read(text);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(events_of(*trace),
            (std::multiset<Row>{
                {"range", "a", 0, 1000}, {"range", "c", 2000, 1000}, {"range", "back", 8000, 0}}));
  EXPECT_EQ(trace->log().negative_durations, 1U);
  EXPECT_EQ(trace->log().unknown_events, 1U);
  EXPECT_THAT(trace->log().notes, Contains(HasSubstr("2 events have no time")));
  EXPECT_THAT(trace->log().notes, Contains(HasSubstr("are no JSON")));
}

/// The names of the events that are read of a broken text, whatever the blocks.
std::multiset<std::string> names_of(std::string const& text) {
  std::multiset<std::string> names;
  for (size_t const block : {40U, 100'000U}) {
    auto const trace = read(text, block);
    EXPECT_TRUE(trace) << (trace ? "" : trace.error().message);
    if (!trace) continue;
    names.clear();
    for (uint32_t row = 0; row < trace->event_count(); ++row) names.emplace(trace->name(row));
    EXPECT_FALSE(trace->log().notes.empty());
  }
  return names;
}

TEST(ChromeTrace, WhatFollowsSomethingBrokenIsRead) {
  std::string const b = R"({"ph":"X","name":"b","ts":2,"dur":1})",
                    c = R"({"ph":"X","name":"c","ts":3,"dur":1})";
  std::multiset<std::string> const both = {"b", "c"};
  EXPECT_EQ(names_of(R"([{"ph":"X","name":"a","ts":},)" + b + "," + c + "]"), both);
  EXPECT_EQ(names_of("[5," + b + "," + c + "]"), both);
  EXPECT_EQ(names_of("[null,[{}]," + b + "," + c + ",7]"), both);
  EXPECT_EQ(names_of(R"({"traceEvents":[{"ph":"X" "name":"bad","args":{"l":[{"x":1},{"y":2}]}},)" +
                     b + "," + c + "]}"),
            both);
}

TEST(ChromeTrace, WhatStandsBehindABrokenLastEventIsRead) {
  auto const trace = read(
      R"({"traceEvents":[{"ph":"X","name":"a","ts":1,"dur":1},{"ph":"X" "ts":2}],"baseTimeNanoseconds":1700000000000000000})");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->info().origin_epoch_ns, 1700000000000001000);
  EXPECT_FALSE(trace->log().truncated);
}

TEST(ChromeTrace, ABaseTimeBehindMessagesWithQuotesIsFound) {
  auto const trace = read(
      R"({"traceEvents":[{"ph":"X","name":"a","ts":1,"dur":1}],"WARNING":["a "quoted" word"],"baseTimeNanoseconds":1700000000000000000})");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->info().origin_epoch_ns, 1700000000000001000);
}

TEST(ChromeTrace, AQuoteTooManyLosesLittle) {
  std::string text = "[";
  for (int i = 0; i < 40'000; ++i) {
    std::string const note = i == 10 ? "\"" : "2";
    text += (i > 0 ? ",\n" : "") +
            fmt::format(R"({{"ph":"X","name":"e","ts":{},"dur":1,"args":{{"n":{}}}}})", i, note);
  }
  text += "]";
  auto const trace = read(text, 10'000);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_GT(trace->event_count(), 39'000U);
  EXPECT_FALSE(trace->log().notes.empty());
}

/// Looking for the end of the events, and through what has none, is bounded: quadratic, these would
/// take hours.
TEST(ChromeTrace, WhatIsBrokenAllOverIsReadInLinearTime) {
  std::string brackets = "[{\"ph\" 1},", opened = "[";
  for (int i = 0; i < 1'000'000; ++i) brackets += "},]";
  brackets += "{\"ph\":\"i\",\"ts\":1}]";
  for (int i = 0; i < 500'000; ++i) opened += "{\"a\":\"},{";
  EXPECT_TRUE(read(brackets, size_t{1} << 24U));
  for (size_t const block : {size_t{1} << 16U, size_t{1} << 24U}) EXPECT_TRUE(read(opened, block));
}

TEST(ChromeTrace, ImpossibleTimesAreMoved) {
  for (
      char const* const text :
      {R"([{"ph":"i","ts":-9200000000000000},{"ph":"B","ts":100000000000000},{"ph":"E","ts":0}])",
       R"([{"ph":"i","ts":-9200000000000000},{"ph":"i","ts":-1},{"ph":"B","ts":9200000000000000}])",
       R"([{"ph":"X","ts":-9200000000000000,"dur":1},{"ph":"X","ts":9200000000000000,"dur":9200000000000000}])"}) {
    auto const trace = read(text);
    ASSERT_TRUE(trace) << trace.error().message;
    auto const [first, last] = trace->time_range();
    EXPECT_LE(first, last);
    EXPECT_LE(last, model::kMaxTime);
  }
}

TEST(ChromeTrace, TracksAreBounded) {
  std::string text = "[";
  for (size_t i = 0; i < kMostTracks + 100; ++i)
    text += fmt::format("{{\"ph\":\"i\",\"tid\":\"t{}\",\"ts\":{}}},", i, i);
  auto const trace = read(text, 100'000);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->event_count(), kMostTracks + 100);
  EXPECT_LE(trace->tracks().size(), kMostTracks + 1);
  EXPECT_THAT(trace->log().notes, Contains(HasSubstr("called others")));
}

TEST(ChromeTrace, OfBeginsAndEndsAloneIsOne) {
  auto const trace = read(R"([{"ph":"B","name":"a","ts":0},{"ph":"E","ts":5}])");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(events_of(*trace), (std::multiset<Row>{{"range", "a", 0, 5000}}));
}

TEST(ChromeTrace, WhatIsNoTraceIsAnError) {
  for (char const* const text :
       {"{}", "{\"a\": 1}", "{\"traceEvents\": 5}", "[]", "{\"traceEvents\": []}", "{\"a\":"}) {
    auto const trace = read(text);
    ASSERT_FALSE(trace) << text;
    EXPECT_THAT(trace.error().message, HasSubstr("trace.json")) << text;
  }
}

TEST(ChromeTrace, AnArrayMayEndWithoutItsBracket) {
  auto const trace = read(R"([{"ph":"X","name":"a","ts":1,"dur":1},)");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->event_count(), 1U);
  EXPECT_FALSE(trace->log().truncated);
}

TEST(ChromeTrace, BeginsAndEndsAreRanges) {
  std::string const text = R"([
    {"ph":"B","name":"outer","pid":1,"tid":1,"ts":0},{"ph":"B","name":"inner","pid":1,"tid":1,"ts":2},{"ph":"E","pid":1,"tid":1,"ts":5},
    {"ph":"B","name":"other","pid":1,"tid":2,"ts":3},{"ph":"E","pid":1,"tid":1,"ts":10},{"ph":"E","pid":1,"tid":1,"ts":11},
    {"ph":"b","cat":"io","id":"0x1","name":"read","pid":1,"tid":1,"ts":1},{"ph":"b","cat":"io","id":"0x2","name":"read","pid":1,"tid":1,"ts":2},
    {"ph":"e","cat":"io","id":"0x1","name":"read","pid":1,"tid":1,"ts":7},{"ph":"e","cat":"io","id":"0x2","name":"read","pid":1,"tid":2,"ts":4},
    {"ph":"X","name":"last","pid":1,"tid":1,"ts":20,"dur":1}])";
  auto const trace = read(text, 80);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(events_of(*trace), (std::multiset<Row>{{"range", "outer", 0, 10'000},
                                                   {"range", "inner", 2'000, 3'000},
                                                   {"range", "other", 3'000, 18'000},
                                                   {"range", "read", 1'000, 6'000},
                                                   {"range", "read", 2'000, 2'000},
                                                   {"range", "last", 20'000, 1'000}}));
  EXPECT_THAT(trace->log().notes, UnorderedElementsAre(HasSubstr("1 range never ends; it is"),
                                                       HasSubstr("1 end of ranges has")));
}

TEST(ChromeTrace, AsynchronousRangesAreToldApartByEitherKindOfId) {
  auto const trace = read(R"json([
    {"ph": "b", "cat": "io", "name": "read", "id2": {"local": "0x1"}, "pid": 1, "tid": 1, "ts": 10},
    {"ph": "b", "cat": "io", "name": "read", "id2": {"local": "0x2"}, "pid": 1, "tid": 1, "ts": 12},
    {"ph": "e", "cat": "io", "name": "read", "id2": {"local": "0x1"}, "pid": 1, "tid": 2, "ts": 20},
    {"ph": "e", "cat": "io", "name": "read", "id2": {"local": "0x2"}, "pid": 1, "tid": 2, "ts": 40}])json",
                          1 << 20);
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->event_count(), 2U);
  EXPECT_EQ(trace->end(0) - trace->start(0), 10'000);
  EXPECT_EQ(trace->end(1) - trace->start(1), 28'000);
}

TEST(ChromeTrace, CountersAreSeries) {
  auto const trace =
      read(R"([{"ph":"C","name":"memory","pid":1,"ts":1,"args":{"used":5,"free":1e3}},
                              {"ph":"C","name":"memory","pid":1,"ts":2,"args":{"used":6.5,"free":"x","deep":[1]}}])");
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->event_count(), 3U);
  std::vector<std::string> names;
  for (auto const& track : trace->tracks()) names.push_back(track.name);
  EXPECT_THAT(names, ElementsAre("memory used", "memory free"));
  EXPECT_EQ(trace->detail<model::SampleDetail>(1).value, 6.5);
}

constexpr char const* kKineto = R"json({
  "schemaVersion": 1,
  "deviceProperties": [{"id": 0, "name": "NVIDIA H100", "totalGlobalMem": 85018279936, "numSms": 132},
                       {"id": 1, "name": "NVIDIA H100", "totalGlobalMem": 85018279936, "numSms": 132}],
  "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
  "traceEvents": [
  {"ph": "M", "name": "thread_name", "pid": 55, "tid": "60", "ts": 0, "args": {"name": "thread 60 (python)"
}
},
  {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#6", "pid": 55, "tid": 60, "ts": 100.000, "dur": 900.5},
  {"ph": "X", "cat": "cpu_op", "name": "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "pid": 55, "tid": 60, "ts": 101, "dur": 5},
  {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 55, "tid": 60, "ts": 110, "dur": 20, "args": {"Call stack": "{{{\"]"}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 55, "tid": 60, "ts": 112, "dur": 4, "args": {"correlation": 9}},
  {"ph": "X", "cat": "kernel", "name": "gemm<float, 128>(int)", "pid": 1, "tid": 7, "ts": 120.250, "dur": 30.125,
   "args": {"device": 1, "stream": 7, "correlation": 9, "registers per thread": 32, "shared memory": 1024, "grid": [8, 2, 1], "block": [128, 1, 1],
            "est. achieved occupancy %": 43}},
  {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 1, "tid": 20, "ts": 130, "dur": 10,
   "args": {"device": 1, "stream": 20, "correlation": 10, "bytes": 4096}},
  {"ph": "X", "cat": "gpu_memset", "name": "Memset (Device)", "pid": 1, "tid": 7, "ts": 160, "dur": 1, "args": {"device": 1, "stream": 7, "bytes": 64}},
  {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "pid": 1, "tid": 24, "ts": 170, "dur": 50,
   "args": {"device": 1, "stream": 24, "correlation": 11, "grid": [16, 1, 1], "Collective name": "_allgather_base", "In msg nelems": 100, "Out msg nelems": 800,
            "Group size": 8, "dtype": "BFloat16", "Process Group Name": "0", "Process Group Ranks": "[0, 1]", "Seq": 41}},
  {"ph": "X", "cat": "kernel", "name": "ncclKernel_AllReduce_TREE_LL128_Sum_float(ncclDevComm*)", "pid": 1, "tid": 24, "ts": 230, "dur": 5, "args": {"device": 1, "stream": 24}},
  {"ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "pid": 1, "tid": 7, "ts": 240, "dur": 3,
   "args": {"device": 1, "stream": 7, "wait_on_stream": 24, "wait_on_cuda_event_record_corr_id": 12}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamSynchronize", "pid": 55, "tid": 60, "ts": 250, "dur": 9, "args": {"correlation": 13}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaMalloc", "pid": 55, "tid": 60, "ts": 260, "dur": 9, "args": {"correlation": 14}},
  {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 55, "tid": 60, "ts": 265, "s": "t",
   "args": {"Total Reserved": 4000, "Total Allocated": 3000, "Bytes": -512, "Addr": 77, "Device Id": 1, "Device Type": 1}},
  {"ph": "X", "cat": "gpu_user_annotation", "name": "ProfilerStep#6", "pid": 1, "tid": 7, "ts": 120, "dur": 50},
  {"ph": "X", "cat": "overhead", "name": "Buffer Flush", "pid": 55, "tid": 60, "ts": 280, "dur": 2},
  {"ph": "s", "id": 9, "cat": "ac2g", "name": "ac2g", "pid": 55, "tid": 60, "ts": 112}
  ],
  "traceName": "x.json", "baseTimeNanoseconds": 1700000000000000000
})json";

model::Trace kineto() {
  auto trace = read(kKineto, 500);
  EXPECT_TRUE(trace) << trace.error().message;
  return std::move(*trace);
}

uint32_t row_of(model::Trace const& trace, EventKind kind, std::string_view name = "") {
  for (uint32_t row = 0; row < trace.event_count(); ++row)
    if (trace.kind(row) == kind && trace.name(row).find(name) != std::string_view::npos) return row;
  ADD_FAILURE() << "no " << kind_info(kind).name << " " << name;
  return 0;
}

TEST(Kineto, TellsWhoRecordedIt) {
  model::Trace const trace = kineto();
  EXPECT_EQ(trace.info().rank, 3);
  EXPECT_EQ(trace.info().world_size, 8);
  EXPECT_EQ(trace.info().process_id, 55);
  EXPECT_EQ(trace.info().origin_epoch_ns, 1700000000000000000 + 100'000);
  EXPECT_THAT(trace.info().tool, HasSubstr("Kineto"));
  ASSERT_EQ(trace.devices().size(), 1U);  // the other one did nothing
  EXPECT_EQ(trace.devices()[0].id, 1);
  EXPECT_EQ(trace.devices()[0].capacity_bytes, 85018279936U);
  EXPECT_EQ(trace.devices()[0].threads, 132U);
  EXPECT_THAT(trace.log().notes, IsEmpty());
}

TEST(Kineto, DeviceOpsAreOnTheirStreamsWithTheirDetails) {
  model::Trace const trace = kineto();
  uint32_t const kernel = row_of(trace, EventKind::kKernel);
  EXPECT_EQ(trace.track(kernel).kind, model::TrackKind::kStream);
  EXPECT_EQ(trace.track(kernel).device, 1);
  EXPECT_EQ(trace.track(kernel).id, 7);
  EXPECT_EQ(trace.start(kernel), 20'250);
  EXPECT_EQ(trace.end(kernel) - trace.start(kernel), 30'125);
  auto const& detail = trace.detail<model::KernelDetail>(kernel);
  EXPECT_EQ(detail.registers_per_thread, 32U);
  EXPECT_EQ(detail.grid_x, 8U);
  EXPECT_EQ(detail.grid_y, 2U);
  EXPECT_EQ(detail.block_x, 128U);
  EXPECT_EQ(detail.occupancy_percent, 43);
  // Linked to its launch.
  EXPECT_EQ(trace.columns().link[kernel].value, row_of(trace, EventKind::kLaunch));
  auto const& copy = trace.detail<model::CopyDetail>(row_of(trace, EventKind::kMemcpy));
  EXPECT_EQ(copy.bytes, 4096U);
  EXPECT_EQ(copy.direction, model::CopyDirection::kHostToDevice);
  EXPECT_EQ(copy.pinned, 1);
  EXPECT_EQ(trace.track(row_of(trace, EventKind::kMemcpy)).stream_kind, model::StreamKind::kCopy);
  EXPECT_EQ(trace.detail<model::CopyDetail>(row_of(trace, EventKind::kMemset)).bytes, 64U);
  auto const& wait = trace.detail<model::StreamWaitDetail>(row_of(trace, EventKind::kStreamWait));
  EXPECT_EQ(wait.source_stream, 24);
  EXPECT_EQ(wait.source_correlation, 12U);
}

/// As roctracer's traces are: ops say nothing, each is followed by the end of the arrow from its
/// call.
std::string trace_with_arrows(int count, char const* category, int shift_us) {
  std::string events;
  for (int i = 1; i <= count; ++i) {
    events += fmt::format(
        R"json({{"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 55, "tid": 60, "ts": {0}, "dur": 2, "args": {{"correlation": {1}}}}},
        {{"ph": "s", "id": {1}, "pid": 55, "tid": 60, "ts": {0}, "cat": "ac2g", "name": "ac2g"}},
        {{"ph": "X", "cat": "kernel", "name": "Cijk", "pid": 2, "tid": 3, "ts": {2}, "dur": 5}},
        {{"ph": "f", "id": {1}, "pid": 2, "tid": 3, "ts": {4}, "cat": "{3}", "name": "ac2g", "bp": "e"}},
)json",
        100 * i, i, 100 * i + 10, category, 100 * i + 10 + shift_us);
  }
  events.resize(events.rfind(','));
  return "{\"traceEvents\": [" + events + "]}";
}

int linked_kernels(model::Trace const& trace) {
  int linked = 0;
  for (uint32_t row = 0; row < trace.event_count(); ++row) {
    if (trace.kind(row) != EventKind::kKernel || !trace.columns().link[row].valid()) continue;
    uint32_t const launch = trace.columns().link[row].value;
    EXPECT_EQ(trace.name(launch), "hipLaunchKernel");
    EXPECT_EQ(trace.start(row) - trace.start(launch), 10'000);
    ++linked;
  }
  return linked;
}

TEST(Kineto, OpsThatSayNothingAreLinkedByTheArrowBehindThemWhereverTheTextIsCut) {
  std::string const text = trace_with_arrows(30, "ac2g", 0);
  for (size_t const block : {100, 130, 170, 300, 700, 1 << 20}) {
    auto const trace = read(text, block);
    ASSERT_TRUE(trace) << trace.error().message;
    EXPECT_EQ(linked_kernels(*trace), 30) << block;
    EXPECT_EQ(trace->log().unmatched_launches, 0U);
  }
}

TEST(Kineto, ArrowsOfOtherThingsLinkNothing) {
  auto const others = read(trace_with_arrows(5, "fwd", 0), 300);
  ASSERT_TRUE(others);
  EXPECT_EQ(linked_kernels(*others), 0);
  auto const elsewhere = read(trace_with_arrows(5, "ac2g", 1), 300);
  ASSERT_TRUE(elsewhere);
  EXPECT_EQ(linked_kernels(*elsewhere), 0);
}

TEST(Kineto, CollectivesSayWhatTheyCommunicate) {
  model::Trace const trace = kineto();
  auto const& gather =
      trace.detail<model::CollectiveDetail>(row_of(trace, EventKind::kCollective, "AllGather"));
  EXPECT_EQ(gather.op, model::CollectiveOp::kAllGather);
  EXPECT_EQ(gather.bytes, 1600U);  // the whole array
  EXPECT_EQ(gather.participants, 8U);
  EXPECT_EQ(gather.sequence, 41U);
  EXPECT_NE(gather.communicator, 0U);
  EXPECT_EQ(gather.algorithm, model::CollectiveAlgorithm::kRing);
  EXPECT_EQ(gather.channels, 16U);
  auto const& reduce =
      trace.detail<model::CollectiveDetail>(row_of(trace, EventKind::kCollective, "AllReduce"));
  EXPECT_EQ(reduce.op, model::CollectiveOp::kAllReduce);
  EXPECT_EQ(reduce.protocol, model::CollectiveProtocol::kLl128);
  EXPECT_EQ(reduce.communicator, 0U);
  EXPECT_EQ(trace.track(row_of(trace, EventKind::kCollective)).stream_kind,
            model::StreamKind::kCommunication);
}

TEST(Kineto, HostEventsAreWhatTheyMean) {
  model::Trace const trace = kineto();
  uint32_t const step = row_of(trace, EventKind::kStep);
  EXPECT_EQ(trace.detail<model::StepDetail>(step).index, 6);
  EXPECT_EQ(trace.track(step).name, "thread 60 (python)");
  EXPECT_EQ(trace.end(step) - trace.start(step), 900'500);
  EXPECT_EQ(trace.track(row_of(trace, EventKind::kInputWait)).name, "thread 60 (python)");
  EXPECT_EQ(trace.detail<model::SyncDetail>(row_of(trace, EventKind::kSync)).sync,
            model::SyncKind::kStream);
  EXPECT_EQ(trace.name(row_of(trace, EventKind::kOverhead)), "Buffer Flush");
  auto const& memory =
      trace.detail<model::MemoryDetail>(row_of(trace, EventKind::kMemory, "[memory]"));
  EXPECT_EQ(memory.op, model::MemoryOp::kFree);
  EXPECT_EQ(memory.bytes, 512U);
  EXPECT_EQ(memory.allocated_bytes, 3000U);
  EXPECT_EQ(memory.reserved_bytes, 4000U);
  EXPECT_EQ(memory.device, 1);
  row_of(trace, EventKind::kMemory, "cudaMalloc");
}

TEST(Kineto, ACommunicatorIsTheSameOnAllRanksAndAnotherForOtherGroups) {
  auto const communicator = [](std::string const& group, std::string const& ranks) {
    return read_kineto_arguments(R"({"Collective name": "allreduce", "Process Group Name": ")" +
                                 group + R"(", "Process Group Ranks": ")" + ranks + "\"}")
        .collective.communicator;
  };
  EXPECT_EQ(communicator("1", "[0, 1]"), communicator("1", "[0, 1]"));
  EXPECT_NE(communicator("1", "[0, 1]"), communicator("1", "[2, 3]"));
  EXPECT_NE(communicator("1", "[0, 1]"), communicator("2", "[0, 1]"));
}

TEST(Kineto, OfAMessageBothRanksAreKnownAndItsOwnNumberIsNone) {
  auto const trace = read(
      R"json({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": 5, "world_size": 8}, "traceEvents": [
    {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_SendRecv(x)", "pid": 0, "tid": 7, "ts": 10, "dur": 4, "args": {"device": 0, "stream": 7,
     "Collective name": "send", "In msg nelems": 8, "Out msg nelems": 8, "Group size": 2, "dtype": "Float", "Process Group Name": "3",
     "Process Group Ranks": "[5, 7]", "Rank": 1, "Dst Rank": 7, "Seq": 12}},
    {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_SendRecv(x)", "pid": 0, "tid": 7, "ts": 20, "dur": 4, "args": {"device": 0, "stream": 7,
     "Collective name": "recv", "In msg nelems": 8, "Out msg nelems": 8, "Group size": 2, "dtype": "Float", "Process Group Name": "3",
     "Process Group Ranks": "[5, 7]", "Rank": 1, "Src Rank": 7, "Seq": 13}}]})json");
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->event_count(), 2U);
  for (uint32_t row = 0; row < 2; ++row) {
    auto const& message = trace->detail<model::CollectiveDetail>(row);
    EXPECT_EQ(message.op, row == 0 ? model::CollectiveOp::kSend : model::CollectiveOp::kReceive);
    EXPECT_EQ(message.rank, 5);
    EXPECT_EQ(message.peer, 7);
    EXPECT_EQ(message.sequence, 0U) << "each rank counts its own";
    EXPECT_EQ(message.bytes, 32U);
  }
}

TEST(Kineto, OldNamesOfCategoriesAndQuotedNumbersAreKnown) {
  auto const trace = read(R"json({"schemaVersion": 1, "traceEvents": [
    {"ph": "X", "cat": "Operator", "name": "aten::add", "pid": 25738, "tid": "25738", "ts": 1623142623460111, "dur": 25},
    {"ph": "i", "s": "t", "name": "[memory]", "pid": 25738, "tid": 25738, "ts": 1623142623460121, "args": {"Device Type": 0, "Device Id": -1, "Bytes": 4}},
    {"ph": "X", "cat": "Runtime", "name": "cudaMemcpyAsync", "pid": 25738, "tid": "25738", "ts": 1623142623460130, "dur": 3, "args": {"correlation": 5}},
    {"ph": "X", "cat": "Memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": "stream 7", "ts": 1623142623460140, "dur": 19,
     "args": {
  "device" : 0, "stream" : 7, "correlation" : 5, "bytes" : 19267584}},
    {"ph": "X", "cat": "Kernel", "name": "k", "pid": 0, "tid": "stream 7", "ts": 1623142623460160, "dur": 19, "args": {"correlation": 6}}]
})json");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->tracks().size(), 2U);
  EXPECT_EQ(trace->info().origin_epoch_ns, 1623142623460111000);
  uint32_t const kernel = row_of(*trace, EventKind::kKernel);
  EXPECT_EQ(trace->track(kernel).id, 7);
  EXPECT_EQ(trace->track(kernel).device, 0);
  EXPECT_EQ(trace->kind(row_of(*trace, EventKind::kMark)), EventKind::kMark);
  EXPECT_TRUE(trace->columns().link[row_of(*trace, EventKind::kLaunch)].valid());
}

TEST(Importers, KnowATraceByItsContent) {
  auto const importer = [](std::string const& text) {
    Importer const* const found = find_importer(Input(std::as_bytes(std::span(text)), "x"));
    return found == nullptr ? std::string_view("none") : found->name;
  };
  EXPECT_EQ(importer(kKineto), "PyTorch or Chrome JSON");
  EXPECT_EQ(importer(packed_by_gzip(kKineto)), "PyTorch or Chrome JSON");
  EXPECT_EQ(importer(packed_by_zstd(kKineto)), "PyTorch or Chrome JSON");
  EXPECT_EQ(importer(R"( [ {"ph": "X"} ])"), "PyTorch or Chrome JSON");
  EXPECT_EQ(importer("{\"long\": \"" + std::string(200'000, 'x') + "\", \"traceEvents\": []}"),
            "PyTorch or Chrome JSON");
  for (std::string const& other :
       {std::string("{\"schema\": 1, \"findings\": []}"), std::string("[1, 2]"),
        std::string("hello"), std::string(), packed_by_gzip("hello"), std::string("\x1F\x8B")})
    EXPECT_EQ(importer(other), "none");
  EXPECT_TRUE(has_trace_name("a.json.gz") && has_trace_name("a.json") &&
              has_trace_name("b.json.zst"));
  EXPECT_FALSE(has_trace_name("a.txt.gz"));
}

}  // namespace
}  // namespace stepscope::import
