// Traces of Perfetto that programs and other tools write, made byte by byte: tracks, names, clocks,
// losses, and damage.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/xspace_writer.h"
#include "trace/import/formats/importers.h"
#include "trace/import/formats/perfetto/perfetto_importer.h"

namespace stepscope::import {
namespace {

using support::MessageWriter;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

std::string message(auto&&... parts) {
  MessageWriter writer;
  (parts(writer), ...);
  return writer.text();
}
auto number(uint32_t field, uint64_t value) {
  return [=](MessageWriter& writer) { writer.varint(field, value); };
}
auto bytes(uint32_t field, std::string value) {
  return [=](MessageWriter& writer) { writer.bytes(field, value); };
}
auto real(uint32_t field, double value) {
  return [=](MessageWriter& writer) { writer.real(field, value); };
}
std::string packet(auto&&... parts) { return message(bytes(1, message(parts...))); }

constexpr uint64_t kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4;

std::string process(uint64_t uuid, uint64_t pid, std::string const& name) {
  return packet(
      bytes(60, message(number(1, uuid), bytes(3, message(number(1, pid), bytes(6, name))))));
}
std::string thread(uint64_t uuid, uint64_t pid, uint64_t tid, std::string const& name) {
  return packet(bytes(60, message(number(1, uuid), bytes(4, message(number(1, pid), number(2, tid),
                                                                    bytes(5, name))))));
}
std::string plain_track(uint64_t uuid, uint64_t parent, std::string const& name) {
  return packet(bytes(60, message(number(1, uuid), number(5, parent), bytes(2, name))));
}
std::string argument(std::string const& name, uint64_t value) {
  return message(bytes(10, name), number(3, value));
}

/// A slice with a name and a category of its own, no interned ones.
std::string slice(uint64_t track, uint64_t begin, uint64_t end, std::string const& name,
                  std::string const& category = "",
                  std::vector<std::string> const& arguments = {}) {
  auto const with_arguments = [&](MessageWriter& writer) {
    for (std::string const& of : arguments) writer.bytes(4, of);
  };

  return packet(number(8, begin), number(10, 1),
                bytes(11, message(number(9, kBegin), number(11, track), bytes(22, category),
                                  bytes(23, name), with_arguments))) +
         packet(number(8, end), number(10, 1),
                bytes(11, message(number(9, kEnd), number(11, track))));
}

std::vector<model::Trace> read(std::string const& trace, std::string const& name = "t.pftrace") {
  Input const input(std::as_bytes(std::span(trace.data(), trace.size())), name);
  EXPECT_TRUE(is_perfetto_trace(input));
  auto traces = read_perfetto_trace(input);
  EXPECT_TRUE(traces) << traces.error().message;
  return traces ? std::move(*traces) : std::vector<model::Trace>();
}

using Event = std::tuple<std::string, std::string, int64_t, int64_t>;
/// Track, name, time since the first event, duration.
std::vector<Event> events_of(model::Trace const& trace) {
  std::vector<Event> events;
  int64_t first = INT64_MAX;
  for (uint32_t row = 0; row < trace.event_count(); ++row)
    first = std::min(first, trace.start(row));
  for (uint32_t row = 0; row < trace.event_count(); ++row)
    events.emplace_back(trace.track(row).name, trace.name(row), trace.start(row) - first,
                        trace.end(row) - trace.start(row));
  return events;
}

TEST(PerfettoImport, SlicesNestOnTheirThreadsWhateverComesFirst) {
  std::string const trace = slice(7, 1000, 9000, "outer") + slice(7, 9000, 9500, "behind") +
                            thread(7, 10, 11, "main") + process(1, 10, "train.py") +
                            slice(8, 2000, 2001, "other thread") + thread(8, 10, 12, "loader");
  auto const traces = read(trace);
  ASSERT_EQ(traces.size(), 1);
  EXPECT_THAT(events_of(traces[0]), UnorderedElementsAre(Event("main", "outer", 0, 8000),
                                                         Event("main", "behind", 8000, 500),
                                                         Event("loader", "other thread", 1000, 1)));
  EXPECT_EQ(traces[0].info().process_id, 10);
}

TEST(PerfettoImport, DeviceWorkIsKnownByPyTorchsCategoriesAndArguments) {
  std::string const trace =
      process(1, 10, "python") + thread(2, 10, 10, "main") + process(3, 0, "GPU 0") +
      thread(4, 0, 7, "stream 7") +
      slice(2, 1000, 1100, "cudaLaunchKernel", "cuda_runtime", {argument("correlation", 5)}) +
      slice(4, 2000, 2500, "gemm", "kernel",
            {argument("correlation", 5), argument("device", 0), argument("stream", 7)}) +
      slice(4, 2600, 2700, "Memcpy HtoD (Pinned -> Device)", "gpu_memcpy", {argument("bytes", 64)});

  auto const traces = read(trace, "rank-3.pftrace");
  ASSERT_EQ(traces.size(), 1);
  ASSERT_EQ(traces[0].devices().size(), 1);
  EXPECT_EQ(traces[0].info().rank, -1) << "its name tells: TraceSource::open()";
  EXPECT_EQ(traces[0].log().unmatched_launches, 0);

  std::set<std::string> on_device;
  for (uint32_t row = 0; row < traces[0].event_count(); ++row)
    if (model::is_device_op(traces[0].kind(row)))
      on_device.emplace(traces[0].track(row).name + " " + std::string(traces[0].name(row)));
  EXPECT_THAT(on_device,
              UnorderedElementsAre("stream 7 gemm", "stream 7 Memcpy HtoD (Pinned -> Device)"));
}

TEST(PerfettoImport, AFlowJoinsALaunchWithItsOpWhereNoArgumentDoes) {
  auto const with_flow = [](uint64_t track, uint64_t begin, uint64_t end, std::string const& name,
                            std::string const& category) {
    std::string flow(8, '\0');
    flow[0] = 42;
    std::string const event = message(number(9, kBegin), number(11, track), bytes(22, category),
                                      bytes(23, name), bytes(47, flow));
    return packet(number(8, begin), number(10, 1), bytes(11, event)) +
           packet(number(8, end), number(10, 1),
                  bytes(11, message(number(9, kEnd), number(11, track))));
  };

  std::string const trace = thread(2, 10, 10, "main") + plain_track(3, 0, "GPU 1") +
                            plain_track(4, 3, "stream 9") +
                            with_flow(2, 1000, 1100, "cudaLaunchKernel", "cuda_runtime") +
                            with_flow(4, 2000, 2500, "gemm", "kernel");

  auto const traces = read(trace);
  ASSERT_EQ(traces.size(), 1);
  ASSERT_EQ(traces[0].devices().size(), 1);
  EXPECT_EQ(traces[0].devices()[0].id, 1);
  EXPECT_EQ(traces[0].log().unmatched_ops + traces[0].log().unmatched_launches, 0);
}

TEST(PerfettoImport, InternedNamesAreOfTheirSequenceAndAreForgottenWhenItSaysSo) {
  auto const named = [](uint64_t sequence, uint64_t flags, uint64_t time,
                        std::string const& interned) {
    return packet(number(8, time), number(10, sequence), number(13, flags), bytes(12, interned),
                  bytes(11, message(number(9, kInstant), number(11, 2), number(10, 1))));
  };

  auto const names = [](std::string const& text) {
    return message(bytes(2, message(number(1, 1), bytes(2, text))));
  };

  std::string const trace = thread(2, 10, 10, "main") + named(1, 3, 100, names("a")) +
                            named(2, 3, 200, names("b")) + named(1, 2, 300, "") +
                            named(1, 3, 400, "") + named(3, 2, 500, names("lost"));

  auto const traces = read(trace);
  ASSERT_EQ(traces.size(), 1);
  EXPECT_THAT(events_of(traces[0]),
              UnorderedElementsAre(Event("main", "a", 0, 0), Event("main", "b", 100, 0),
                                   Event("main", "a", 200, 0), Event("main", "", 300, 0)));
  EXPECT_THAT(traces[0].log().notes, Contains(HasSubstr("1 event refers to names that were lost")));
  EXPECT_EQ(traces[0].log().dropped, 1);
}

TEST(PerfettoImport, ClocksOfSequencesAndIncrementsAreBroughtOntoTheTracesClock) {
  auto const clock = [](uint64_t id, uint64_t time, bool is_incremental = false,
                        uint64_t unit = 0) {
    MessageWriter writer;
    writer.varint(1, id).varint(2, time);
    if (is_incremental) writer.varint(3, 1);
    if (unit > 0) writer.varint(4, unit);
    return writer.text();
  };

  std::string const snapshot = message(bytes(1, clock(6, 1'000'000)), bytes(1, clock(3, 400'000)),
                                       bytes(1, clock(1, 1'700'000'000'000'000'000)));
  std::string const own =
      message(bytes(1, clock(6, 2'000'000)), bytes(1, clock(64, 5, true, 1000)));

  auto const instant = [](std::string const& name) {
    return message(number(9, kInstant), number(11, 2), bytes(23, name));
  };

  std::string const trace =
      thread(2, 10, 10, "main") + packet(number(10, 1), bytes(6, snapshot)) +
      packet(number(10, 1), number(13, 1), bytes(59, message(number(58, 64)))) +
      packet(number(10, 1), bytes(6, own)) +
      packet(number(10, 1), number(8, 3), bytes(11, instant("+3 us"))) +
      packet(number(10, 1), number(8, 4), bytes(11, instant("+7 us"))) +
      packet(number(10, 1), number(8, 900'000), number(58, 3), bytes(11, instant("monotonic"))) +
      packet(number(10, 1), number(8, 1'200'000), number(58, 6), bytes(11, instant("boot"))) +
      packet(number(10, 2), number(8, 1), number(58, 70), bytes(11, instant("of no clock")));

  auto const traces = read(trace);
  ASSERT_EQ(traces.size(), 1);
  EXPECT_THAT(
      events_of(traces[0]),
      UnorderedElementsAre(Event("main", "boot", 0, 0), Event("main", "monotonic", 300'000, 0),
                           Event("main", "+3 us", 803'000, 0), Event("main", "+7 us", 807'000, 0)));

  model::Trace const& read_trace = traces[0];
  EXPECT_EQ(read_trace.info().origin_epoch_ns + read_trace.time_range().first,
            1'700'000'000'000'200'000);
  EXPECT_THAT(read_trace.log().notes,
              Contains(HasSubstr("1 event is timed by a clock that the trace does not describe")));
}

TEST(PerfettoImport, EventsOfATrackThatDoNotComeByTimeAreOrdered) {
  std::string const trace =
      thread(2, 10, 10, "main") + slice(2, 5000, 6000, "late") + slice(2, 1000, 2000, "early");
  auto const traces = read(trace);
  ASSERT_EQ(traces.size(), 1);
  EXPECT_THAT(events_of(traces[0]), UnorderedElementsAre(Event("main", "early", 0, 1000),
                                                         Event("main", "late", 4000, 1000)));
}

TEST(PerfettoImport, CountersHaveTheirValuesAlsoThoseThatOtherEventsCarry) {
  std::string const counter =
      packet(bytes(60, message(number(1, 5), bytes(2, "power"), bytes(8, ""))));
  std::string const trace =
      thread(2, 10, 10, "main") + counter +
      packet(number(8, 100),
             bytes(11, message(number(9, kCounter), number(11, 5), real(44, 2.5)))) +
      packet(number(8, 200), bytes(11, message(number(9, kInstant), number(11, 2), bytes(23, "i"),
                                               number(31, 5), number(12, 7))));

  auto const traces = read(trace);
  ASSERT_EQ(traces.size(), 1);
  std::vector<double> values;
  for (auto const& sample : traces[0].details<model::SampleDetail>())
    values.push_back(sample.value);
  EXPECT_THAT(values, UnorderedElementsAre(2.5, 7.0));
}

TEST(PerfettoImport, WhatIsNotModelledIsCounted) {
  std::string const ftrace = packet(bytes(1, "\x08\x01"), number(10, 9), number(8, 1));
  auto const traces = read(thread(2, 10, 10, "main") + slice(2, 1, 2, "a") + ftrace + ftrace);
  ASSERT_EQ(traces.size(), 1);
  EXPECT_EQ(traces[0].log().unknown_events, 2);
  EXPECT_THAT(traces[0].log().notes, Contains(HasSubstr("2 packets hold ftrace events")));
}

TEST(PerfettoImport, StagesOfAGpuAreItsWork) {
  std::string const stage = message(number(2, 300), number(3, 2), number(11, 1), number(14, 4));
  std::string const names = message(bytes(24, message(number(1, 4), bytes(2, "compute"))));
  auto const traces = read(
      packet(number(8, 100), number(10, 3), number(13, 1), bytes(12, names), bytes(53, stage)) +
      thread(2, 10, 10, "main") + slice(2, 1, 2, "a"));
  ASSERT_EQ(traces.size(), 1);
  ASSERT_EQ(traces[0].devices().size(), 1);
  EXPECT_THAT(events_of(traces[0]), Contains(Event("stream 2", "compute", 99, 300)));
}

TEST(PerfettoImport, ACutFileKeepsWhatCameBeforeAndAnyCutIsReadWithoutACrash) {
  std::string const whole =
      thread(2, 10, 10, "main") + slice(2, 1000, 2000, "a") + slice(2, 3000, 4000, "b");

  for (size_t size = 0; size < whole.size(); ++size) {
    std::string const part = whole.substr(0, size);
    Input const input(std::as_bytes(std::span(part.data(), part.size())), "t.pftrace");
    is_perfetto_trace(input);
    auto const traces = read_perfetto_trace(input);
    if (traces && size + 1 == whole.size()) {
      EXPECT_TRUE((*traces)[0].log().truncated);
    }
  }
}

TEST(PerfettoImport, ArgumentsNestedWithoutEndAreLeftOut) {
  std::string nested = argument("deep", 1);
  for (int depth = 0; depth < 2000; ++depth) nested = message(bytes(10, "list"), bytes(12, nested));
  auto const traces = read(thread(2, 10, 10, "main") + slice(2, 1, 2, "a", "", {nested}));
  ASSERT_EQ(traces.size(), 1);
  EXPECT_EQ(traces[0].event_count(), 1);
}

TEST(PerfettoImport, OtherMessagesAreNotTakenForPackets) {
  std::string const space = message(
      bytes(1, message(number(1, 1), bytes(2, "/host:CPU"), bytes(3, message(number(1, 2))))));
  for (std::string const& other :
       {space, std::string("{\"traceEvents\": []}"), std::string("\n\n\n"), std::string()}) {
    Input const input(std::as_bytes(std::span(other.data(), other.size())), "t");
    EXPECT_FALSE(is_perfetto_trace(input));
  }
}

}  // namespace
}  // namespace stepscope::import
