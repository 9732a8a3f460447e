// Dumps of PyTorch's flight recorder: what they say, worked out by hand, in both of their forms;
// cut, damaged and hostile ones.
#include "trace/import/formats/flight_recorder/flight_recorder_importer.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <tuple>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/flight_dumps.h"
#include "tests/support/packed.h"
#include "trace/import/common/coarse_times.h"
#include "trace/import/common/whole_input.h"
#include "trace/import/formats/chrome/kineto_arguments.h"
#include "trace/import/formats/importers.h"
#include "trace/import/open/open_run.h"

namespace stepscope::import::flight_recorder_tests {
namespace {

using model::CollectiveDetail;
using model::CollectiveOp;
using model::CollectiveState;
using model::EventKind;
using support::flight_dump;
using support::flight_entry;
using support::FlightPickle;
using support::Json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kEpoch = 1'700'000'000'000'000'000;
constexpr int64_t kMs = 1'000'000;

base::Expected<model::Trace> read_bytes(std::string const& bytes,
                                        std::string const& name = "nccl_trace_rank_1") {
  return read_flight_recorder_dump(Input(std::as_bytes(std::span(bytes)), name));
}
model::Trace read_dump_json(Json const& dump, std::string const& name = "nccl_trace_rank_1") {
  auto trace = read_bytes(FlightPickle::of(dump), name);
  EXPECT_TRUE(trace) << trace.error().message;
  return std::move(*trace);
}

struct Row {
  std::string track, kind, name;
  int64_t start, dur;
  CollectiveDetail detail;
};
std::vector<Row> rows_of(model::Trace const& trace) {
  std::vector<Row> rows;
  for (uint32_t row = 0; row < trace.event_count(); ++row)
    rows.push_back({trace.track(row).name, std::string(kind_info(trace.kind(row)).name),
                    std::string(trace.name(row)), trace.start(row),
                    trace.end(row) - trace.start(row), trace.detail<CollectiveDetail>(row)});
  return rows;
}
std::vector<std::string> names_of(model::Trace const& trace) {
  std::vector<std::string> names;
  for (Row const& row : rows_of(trace)) names.push_back(row.name);
  return names;
}

TEST(FlightRecorder, ACallLastsFromTheCallUntilItWasSeenToBeOver) {
  model::Trace const trace =
      read_dump_json(flight_dump({flight_entry(0, "all_reduce", 1, kEpoch),
                                  flight_entry(1, "_all_gather_base", 2, kEpoch + 5)},
                                 "[0, 1]"));

  EXPECT_EQ(trace.info().tool, "PyTorch flight recorder");
  EXPECT_EQ(trace.info().rank, 1);
  EXPECT_EQ(trace.info().world_size, 2);
  EXPECT_EQ(trace.info().origin_epoch_ns, kEpoch);
  EXPECT_TRUE(trace.devices().empty()) << "nothing is known of the device";

  auto const rows = rows_of(trace);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].track, "calls of group 0 (default_pg)");
  EXPECT_EQ(rows[0].kind, "collective_call");
  EXPECT_EQ(rows[0].name, "all_reduce");
  EXPECT_EQ(rows[0].start, 0);
  EXPECT_EQ(rows[0].dur, 150 * kMs);
  EXPECT_EQ(rows[1].start, 5);

  CollectiveDetail const& detail = rows[0].detail;
  EXPECT_EQ(detail.op, CollectiveOp::kAllReduce);
  EXPECT_EQ(detail.bytes, 40'000U);
  EXPECT_EQ(detail.data_type, model::DataType::kFloat32);
  EXPECT_EQ(detail.sequence, 1U);
  EXPECT_EQ(detail.participants, 2U);
  EXPECT_EQ(detail.rank, 1);
  EXPECT_EQ(detail.state, CollectiveState::kCompleted);

  EXPECT_EQ(rows[1].detail.op, CollectiveOp::kAllGather);
  EXPECT_FALSE(trace.log().truncated);
  EXPECT_EQ(trace.log().dropped, 0U);
  EXPECT_THAT(trace.log().notes, Contains(HasSubstr("TORCH_NCCL_ENABLE_TIMING=1")));
}

TEST(FlightRecorder, ThePickleAndTheJsonAreTheSameTrace) {
  Json entries = {flight_entry(4, "all_reduce", 1, kEpoch),
                  support::pending(flight_entry(5, "reduce_scatter \"x\" \\ ü", 2, kEpoch + 7))};
  entries[0]["duration_ms"] = 1.25;
  Json const dump = flight_dump(entries, "[0, 1]");

  auto const pickled = read_bytes(FlightPickle::of(dump)), json = read_bytes(dump.dump()),
             indented = read_bytes(dump.dump(2));
  ASSERT_TRUE(pickled && json && indented);

  for (auto const* const other : {&*json, &*indented}) {
    auto const a = rows_of(*pickled), b = rows_of(*other);
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(std::tie(a[i].track, a[i].kind, a[i].name, a[i].start, a[i].dur),
                std::tie(b[i].track, b[i].kind, b[i].name, b[i].start, b[i].dur));
      EXPECT_EQ(a[i].detail.communicator, b[i].detail.communicator);
      EXPECT_EQ(a[i].detail.bytes, b[i].detail.bytes);
      EXPECT_EQ(a[i].detail.state, b[i].detail.state);
    }
    EXPECT_EQ(pickled->log().notes, other->log().notes);
  }
}

TEST(FlightRecorder, AGroupHasTheNumberThatTheProfilersTraceGivesIt) {
  std::string ranks, text;
  for (int r = 0; r < 40; ++r) {
    ranks += fmt::format("{}{}", r > 0 ? ", " : "", r);
    if (r < 30) text += fmt::format("{}{}", r > 0 ? ", " : "", r);
  }

  for (auto const& [of_dump, of_profiler] :
       {std::pair<std::string, std::string>{"[0, 1]", "[0, 1]"},
        {"[" + ranks + "]", "[" + text + ", ...]"}}) {
    model::Trace const trace =
        read_dump_json(flight_dump({flight_entry(0, "all_reduce", 1, kEpoch)}, of_dump));
    auto const arguments = read_kineto_arguments(
        R"json({"Collective name": "allreduce", "Process Group Name": "0", "Process Group Ranks": ")json" +
        of_profiler + "\"}");

    EXPECT_NE(arguments.collective.communicator, 0U);
    EXPECT_EQ(trace.detail<CollectiveDetail>(0).communicator, arguments.collective.communicator);
  }
}

TEST(FlightRecorder, DurationsAreOfTheDeviceAtTheLatestPossibleTime) {
  Json entries = {flight_entry(0, "all_reduce", 1, kEpoch),
                  flight_entry(1, "all_reduce", 2, kEpoch + 1 * kMs),
                  flight_entry(2, "all_reduce", 3, kEpoch + 2 * kMs)};
  double const durations[] = {2.5, 1.5, 4};
  for (int i = 0; i < 3; ++i) {
    entries[i]["duration_ms"] = durations[i];
    entries[i]["time_discovered_started_ns"] = kEpoch + 90 * kMs;
    entries[i]["time_discovered_completed_ns"] = kEpoch + 100 * kMs;  // seen at once
  }

  model::Trace const trace = read_dump_json(flight_dump(entries, "[0, 1]"));
  ASSERT_EQ(trace.devices().size(), 1U);
  EXPECT_TRUE(has_coarse_times(trace.info()));

  std::vector<std::pair<int64_t, int64_t>> spans;
  for (Row const& row : rows_of(trace))
    if (row.kind == "collective") {
      spans.emplace_back(row.start, row.start + row.dur);
      EXPECT_EQ(row.detail.state, CollectiveState::kUnknown) << "of calls only";
    }

  // The last ends when it was seen; the others before the next begins: they share a stream.
  EXPECT_THAT(spans, ElementsAre(std::pair(92 * kMs, 94'500'000), std::pair(94'500'000, 96 * kMs),
                                 std::pair(96 * kMs, 100 * kMs)));
  EXPECT_EQ(trace.log().overlapping_slices, 0U);
  EXPECT_THAT(trace.log().notes, Contains(HasSubstr("latest possible")));
}

TEST(FlightRecorder, WhatDidNotCompleteSaysHowFarItCame) {
  Json entries = {flight_entry(0, "all_reduce", 1, kEpoch),
                  support::pending(flight_entry(1, "all_reduce", 2, kEpoch + kMs), "started"),
                  support::pending(flight_entry(2, "broadcast", 3, kEpoch + 2 * kMs))};
  entries[0]["time_discovered_started_ns"] = kEpoch + 10;
  entries[1]["frames"] = {
      {{"name", "all_reduce"}, {"filename", "/lib/torch/distributed.py"}, {"line", 9}},
      {{"name", "backward"}, {"filename", "/job/train.py"}, {"line", 34}}};

  model::Trace const trace = read_dump_json(flight_dump(entries, "[0, 1]"));
  auto const rows = rows_of(trace);
  EXPECT_THAT(names_of(trace), ElementsAre("all_reduce", "all_reduce, started, not completed",
                                           "broadcast, not started"));
  EXPECT_EQ(rows[1].detail.state, CollectiveState::kStarted);
  EXPECT_EQ(rows[1].start + rows[1].dur, 150 * kMs) << "until the last thing that the dump tells";
  EXPECT_EQ(rows[2].detail.state, CollectiveState::kEnqueued);

  EXPECT_THAT(trace.log().notes, Contains(HasSubstr("2 calls had not completed")));
  EXPECT_THAT(
      trace.log().notes,
      Contains(HasSubstr(
          "all_reduce 2 of group 0 (default_pg), started, not completed, called in backward "
          "(/job/train.py:34)")));
}

TEST(FlightRecorder, WithoutTimingWhetherACallStartedIsNotSaid) {
  model::Trace const trace = read_dump_json(
      flight_dump({support::pending(flight_entry(0, "all_reduce", 1, kEpoch))}, "[0, 1]"));
  EXPECT_THAT(names_of(trace), ElementsAre("all_reduce, not completed"));
}

/// As PyTorch 2.14 leaves an entry of gloo, whatever became of the call.
Json of_gloo(Json entry) {
  entry = support::pending(std::move(entry));
  entry["profiling_name"] = "gloo:" + entry["profiling_name"].get<std::string>().substr(5);
  entry["retired"] = true;
  return entry;
}

TEST(FlightRecorder, OfBackendsThatNobodyWatchesOnlyTheCallsAreTold) {
  Json const other = support::pending(flight_entry(2, "all_reduce", 3, kEpoch + 9 * kMs));
  model::Trace const trace =
      read_dump_json(flight_dump({of_gloo(flight_entry(0, "all_reduce", 1, kEpoch)),
                                  of_gloo(flight_entry(1, "broadcast", 2, kEpoch + kMs)), other},
                                 "[0, 1]"));

  auto const rows = rows_of(trace);
  EXPECT_THAT(names_of(trace), ElementsAre("all_reduce", "broadcast", "all_reduce, not completed"));
  EXPECT_EQ(rows[0].detail.state, CollectiveState::kCalled);
  EXPECT_EQ(rows[0].dur, 0);
  EXPECT_EQ(rows[0].detail.op, CollectiveOp::kAllReduce);
  EXPECT_EQ(rows[2].detail.state, CollectiveState::kEnqueued) << "NCCL's";

  EXPECT_THAT(
      trace.log().notes,
      Contains(HasSubstr("PyTorch records when the host made 2 calls, not whether they ended")));
  EXPECT_THAT(trace.log().notes, Contains(HasSubstr("one call had not completed")));
}

TEST(FlightRecorder, OfNcclsWhatIsRetiredAndNotCompletedHasTimedOutWhereOthersCompleted) {
  Json timed_out = support::pending(flight_entry(1, "all_reduce", 2, kEpoch + kMs));
  timed_out["retired"] = true;
  auto const with_others = rows_of(
      read_dump_json(flight_dump({flight_entry(0, "all_reduce", 1, kEpoch), timed_out}, "[0, 1]")));
  EXPECT_EQ(with_others[1].detail.state, CollectiveState::kEnqueued);
  auto const alone = rows_of(read_dump_json(flight_dump({timed_out}, "[0, 1]")));
  EXPECT_EQ(alone[0].detail.state, CollectiveState::kCalled)
      << "of a recorder that tells nothing of any";
}

TEST(FlightRecorder, OperationsOfACoalescedLaunchCameAsFarAsIt) {
  Json first = support::pending(flight_entry(0, "_reduce_scatter_base", 7, kEpoch)),
       last = flight_entry(2, "coalesced", 7, kEpoch + 3);
  Json alone = support::pending(flight_entry(3, "all_reduce", 8, kEpoch + 9));
  model::Trace const trace = read_dump_json(flight_dump({first, last, alone}, "[0, 1]"));
  auto const rows = rows_of(trace);
  EXPECT_EQ(rows[0].detail.state, CollectiveState::kCompleted);
  EXPECT_EQ(rows[0].dur, 150 * kMs + 3);
  EXPECT_EQ(rows[2].detail.state, CollectiveState::kEnqueued);
}

TEST(FlightRecorder, MessagesSayWhoSendsToWhomInTheJob) {
  Json send = flight_entry(0, "send 0->1", 0, kEpoch),
       receive = flight_entry(1, "recv 0<-1", 0, kEpoch + 1);
  for (Json* const entry : {&send, &receive}) {
    (*entry)["is_p2p"] = true;
    (*entry)["p2p_seq_id"] = 5;
    (*entry)["duration_ms"] = 1;
  }

  model::Trace const trace =
      read_dump_json(flight_dump({send, receive}, "[4, 6]"), "nccl_trace_rank_4");

  for (uint32_t row = 0; row < 2; ++row) {
    auto const& detail = trace.detail<CollectiveDetail>(row);
    EXPECT_EQ(detail.op, row == 0 ? CollectiveOp::kSend : CollectiveOp::kReceive);
    EXPECT_EQ(detail.rank, 4);
    EXPECT_EQ(detail.peer, 6);
    EXPECT_EQ(detail.sequence, 0U) << "each rank counts its own";
  }
}

TEST(FlightRecorder, OldVersionsAreRead) {
  Json entry = flight_entry(0, "all_reduce", 1, kEpoch);
  for (char const* const newer : {"process_group", "collective_seq_id", "p2p_seq_id", "op_id",
                                  "is_p2p", "input_dtypes", "output_dtypes"})
    entry.erase(newer);
  entry["seq_id"] = 12;
  entry["pg_id"] = 3;

  for (Json const& dump : {Json::array({entry}), Json{{"version", "1.0"}, {"entries", {entry}}}}) {
    model::Trace const trace = read_dump_json(dump);
    ASSERT_EQ(trace.event_count(), 1U);
    EXPECT_EQ(trace.detail<CollectiveDetail>(0).sequence, 12U);
    EXPECT_NE(trace.detail<CollectiveDetail>(0).communicator, 0U);
    EXPECT_EQ(trace.detail<CollectiveDetail>(0).bytes, 0U) << "no types";
    EXPECT_EQ(trace.tracks()[0].name, "calls of group 3");
  }

  // A group's ranks as a list.
  Json dump = flight_dump({flight_entry(0, "all_reduce", 1, kEpoch)}, "");
  dump["pg_config"] = {{"0", {0, 1}}};
  EXPECT_EQ(read_dump_json(dump).detail<CollectiveDetail>(0).participants, 2U);
}

TEST(FlightRecorder, TheRankIsTheFilesElseTheOneThatAllGroupsShare) {
  Json dump = flight_dump({flight_entry(0, "all_reduce", 1, kEpoch)}, "[0, 1, 2, 3]");
  EXPECT_EQ(read_dump_json(dump, "nccl_trace_rank_3").info().rank, 3);
  EXPECT_EQ(read_dump_json(dump, "dump.pkl").info().rank, -1);
  dump["pg_config"]["1"] = {{"name", "1"}, {"desc", "tp"}, {"ranks", "[2, 3]"}};
  dump["pg_config"]["2"] = {{"name", "2"}, {"desc", "dp"}, {"ranks", "[0, 2]"}};
  EXPECT_EQ(read_dump_json(dump, "dump.pkl").info().rank, 2);
}

TEST(FlightRecorder, WhatCannotBeIsCountedAndTheRestKept) {
  Json no_name = flight_entry(1, "all_reduce", 2, kEpoch),
       no_state = flight_entry(2, "all_reduce", 3, kEpoch);
  no_name["profiling_name"] = nullptr;
  no_state["state"] = 7;

  Json odd = flight_entry(3, "all_reduce", 4, kEpoch);
  odd["duration_ms"] = "soon";
  odd["collective_seq_id"] = -5;
  odd["input_sizes"] = {{int64_t{1} << 60, int64_t{1} << 60}};
  odd["output_sizes"] = "none";
  odd["time_discovered_started_ns"] = {1};

  Json const good = flight_entry(0, "all_reduce", 1, kEpoch);
  model::Trace const trace =
      read_dump_json(flight_dump({good, no_name, no_state, odd, 5, "x", good, nullptr}, "[0, 1]"));

  EXPECT_EQ(trace.event_count(), 2U);
  EXPECT_THAT(trace.log().notes, Contains(HasSubstr("5 entries have no name, time, state")));
  EXPECT_THAT(trace.log().notes, Contains(HasSubstr("1 entry is there twice")));
  EXPECT_THAT(trace.log().notes, Contains(HasSubstr("3 numbers cannot be")));
  EXPECT_EQ(trace.log().dropped, 5U);
  EXPECT_EQ(trace.detail<CollectiveDetail>(1).sequence, 0U);
  EXPECT_EQ(trace.detail<CollectiveDetail>(1).bytes, 0U);
}

TEST(FlightRecorder, OverwrittenCallsAreSaid) {
  model::Trace const trace =
      read_dump_json(flight_dump({flight_entry(2000, "all_reduce", 2001, kEpoch)}, "[0, 1]"));
  EXPECT_THAT(trace.log().notes, Contains(HasSubstr("the first 2000 calls were overwritten")));
  EXPECT_EQ(trace.log().dropped, 0U) << "that is how it works";
}

TEST(FlightRecorder, AnEmptyDumpIsOne) {
  model::Trace const trace = read_dump_json(flight_dump(Json::array(), "[0, 1]"));
  EXPECT_EQ(trace.event_count(), 0U);
  EXPECT_EQ(trace.info().world_size, 2);
  Json none = flight_dump(Json::array(), "[0, 1]");
  none.erase("entries");  // as the JSON form is without any
  EXPECT_EQ(read_bytes(none.dump())->event_count(), 0U);
}

TEST(FlightRecorder, CutAnywhereItKeepsWhatIsWhole) {
  Json const dump = flight_dump(
      {flight_entry(0, "all_reduce", 1, kEpoch), flight_entry(1, "broadcast", 2, kEpoch + 1)},
      "[0, 1]");

  for (std::string const& bytes : {FlightPickle::of(dump), dump.dump()}) {
    uint32_t most = 0, readable = 0;
    for (size_t size = 3; size < bytes.size(); ++size) {
      auto const trace = read_bytes(bytes.substr(0, size));
      if (!trace) {
        EXPECT_EQ(readable, 0U) << "the more there is the more is read";
        EXPECT_THAT(trace.error().message, HasSubstr("nccl_trace_rank_1: "));
        continue;
      }

      ++readable;
      EXPECT_TRUE(trace->log().truncated) << size;
      EXPECT_GE(trace->event_count(), most);
      most = std::max(most, trace->event_count());
    }
    EXPECT_EQ(most, 2U);
  }
}

TEST(FlightRecorder, OtherDataAreNoDump) {
  for (Json const& other : {Json(5), Json{{"a", 1}}, Json::array(), Json("text")}) {
    auto const trace = read_bytes(FlightPickle::of(other));
    ASSERT_FALSE(trace);
    EXPECT_THAT(trace.error().message, HasSubstr("no dump"));
  }
}

TEST(FlightRecorder, ItIsKnownByItsContent) {
  Json const dump = flight_dump({flight_entry(0, "all_reduce", 1, kEpoch)}, "[0, 1]");
  auto const importer_of = [](std::string const& bytes) {
    Importer const* const importer = find_importer(Input(std::as_bytes(std::span(bytes)), "x"));
    return importer == nullptr ? std::string_view() : importer->name;
  };

  EXPECT_EQ(importer_of(FlightPickle::of(dump)), "PyTorch flight recorder");
  EXPECT_EQ(importer_of(dump.dump()), "PyTorch flight recorder");
  EXPECT_EQ(importer_of(dump.dump(1)), "PyTorch flight recorder");
  EXPECT_EQ(importer_of(FlightPickle::of(Json{{"weights", {1, 2}}})), "");
  EXPECT_EQ(
      importer_of(
          R"json({"distributedInfo": {"pg_config": [], "pg_status": 0}, "traceEvents": []})json"),
      "PyTorch or Chrome JSON");

  for (char const* const name : {"nccl_trace_rank_0", "comm_lib_trace_rank_17",
                                 "nccl_trace_rank_3.json", "a.pkl", "nccl_trace_rank_2.gz"})
    EXPECT_TRUE(has_trace_name(name)) << name;
  for (char const* const name : {"core.1234", "rank_x", "nccl_trace_rank_", "notes"})
    EXPECT_FALSE(has_trace_name(name)) << name;
}

TEST(FlightRecorder, AFolderOfThemIsARun) {
  std::filesystem::path const folder =
      std::filesystem::path(::testing::TempDir()) / "stepscope_flight_run";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);

  for (int rank = 0; rank < 4; ++rank) {
    Json const dump =
        flight_dump({flight_entry(0, "all_reduce", 1, kEpoch + rank)}, "[0, 1, 2, 3]");
    std::ofstream(folder / fmt::format("nccl_trace_rank_{}", rank), std::ios::binary)
        << (rank % 2 == 0 ? FlightPickle::of(dump) : dump.dump());
  }
  std::ofstream(folder / "core.1") << "no trace";
  std::ofstream(folder / "train.log");
  std::ofstream(folder / "errors.log") << "none";

  auto const run = open_run(folder.string());
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_THAT(run->notes, ::testing::IsEmpty()) << "of logs that are no traces";
  ASSERT_EQ(run->ranks.size(), 4U);

  std::set<uint64_t> communicators;
  for (int32_t rank = 0; rank < 4; ++rank) {
    model::RankTrace const& of = run->ranks[static_cast<size_t>(rank)];
    EXPECT_EQ(of.trace.info().rank, rank);
    EXPECT_EQ(of.offset_ns, rank) << "on the hosts' clocks";
    communicators.insert(of.trace.detail<CollectiveDetail>(0).communicator);
  }
  EXPECT_EQ(communicators.size(), 1U);
}

/// Looking at what is shared is bounded: each of these would take minutes.
TEST(FlightRecorder, WhatIsReferredToOftenIsReadInLinearTime) {
  auto const text = [](std::string_view characters) {
    return "U" + std::string(1, static_cast<char>(characters.size())) + std::string(characters);
  };

  std::string const put("q\0", 2), get("h\0", 2);
  std::string shared = "\x80\x02}(" + text("entries") + "](}" + put + "(" + text("profiling_name") +
                       text("nccl:all_reduce") + text("state") + text("completed") +
                       text("time_created_ns") + "K\x05" + text("input_dtypes") + "](" +
                       text("Float") + "e" + text("input_sizes") + "](](";
  for (int i = 0; i < 200'000; ++i) shared += "K\x01";
  shared += "eeu";
  for (int i = 0; i < 200'000; ++i) shared += get;
  shared += "eu.";

  auto const trace = read_bytes(shared);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_GT(trace->event_count(), 0U);
  EXPECT_GT(trace->log().dropped, 0U);
}

TEST(FlightRecorder, ADictionaryThatStandsForManyEntriesIsOne) {
  std::string bytes =
      "\x80\x02}(U\x07"
      "entries](}q" +
      std::string(1, '\0') +
      "(U\x0e"
      "profiling_nameU\x0f"
      "nccl:all_reduceU\x05"
      "stateU\x09"
      "completedU\x0f"
      "time_created_nsK\x05u";
  for (int i = 0; i < 100'000; ++i) bytes += std::string("h\0", 2);

  auto const trace = read_bytes(bytes + "eu.");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_GT(trace->event_count(), 0U);
  EXPECT_LT(trace->event_count(), 10U);
}

TEST(FlightRecorder, AFewPackedBytesCannotBecomeManyValues) {
  // Some kilobytes that would take 1.9 GB.
  std::string const lists =
      "\x80\x02U\x07"
      "entries" +
      std::string(size_t{1} << 25U, ']');

  std::string numbers = "[0";
  for (size_t i = 0; i < size_t{1} << 25U; ++i) numbers += ",0";

  for (std::string const& bomb : {lists, numbers}) {
    auto const trace = read_bytes(support::packed_by_zstd(bomb), "nccl_trace_rank_1.zst");
    ASSERT_FALSE(trace);
    EXPECT_THAT(trace.error().message, HasSubstr("nccl_trace_rank_1.zst: holds more than"));
    EXPECT_THAT(trace.error().message, HasSubstr("record fewer calls"));
  }
}

TEST(WholeInput, UnpacksNoMoreThanAllowed) {
  std::string const text(3'000'000, 'x');
  for (std::string const& packed : {support::packed_by_gzip(text), support::packed_by_zstd(text)}) {
    Input const input(std::as_bytes(std::span(packed)), "a.gz");
    auto const fits = WholeInput::read(input, text.size());
    ASSERT_TRUE(fits) << fits.error().message;
    EXPECT_EQ(fits->text(), text);

    auto const too_large = WholeInput::read(input, text.size() - 1);
    ASSERT_FALSE(too_large);
    EXPECT_THAT(too_large.error().message, HasSubstr("a.gz: unpacks to more than 2.86 MiB"));
    EXPECT_THAT(too_large.error().message, HasSubstr("unpack it by hand"));
  }

  EXPECT_LE(WholeInput::most_unpacked_bytes(),
            static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE) / 4);
}

}  // namespace
}  // namespace stepscope::import::flight_recorder_tests
