// Chrome trace events: against a naive reader on random traces, whatever the blocks; packed, cut
// and damaged ones.
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
#include "trace/import/formats/chrome/block_events.h"

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
  /// The rows by a document tree and doubles, which hold the small times of this trace exactly.
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

}  // namespace
}  // namespace stepscope::import
