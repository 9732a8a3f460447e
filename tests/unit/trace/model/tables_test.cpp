// Cells of tables: what is unknown, times of the run, texts that are safe to show.
#include "trace/model/tables.h"

#include <limits>

#include <gtest/gtest.h>

#include "trace/model/build/trace_builder.h"

namespace stepscope::model {
namespace {

TraceTable const& table_named(std::string_view name) {
  for (TraceTable const& table : trace_tables())
    if (table.name == name) return table;
  ADD_FAILURE() << name;
  return trace_tables().front();
}
Cell cell(TableSource const& source, std::string_view table, std::string_view column,
          uint32_t row) {
  for (TableColumn const& candidate : table_named(table).columns)
    if (candidate.name == column) return candidate.read(source, row);
  ADD_FAILURE() << table << "." << column;
  return {};
}

Trace kernel_and_launch() {
  TraceBuilder builder;
  builder.info().rank = 3;
  builder.info().process_id = 77;

  TrackId const thread =
      builder.add_track({.kind = TrackKind::kThread, .name = "main\n", .id = 12});
  TrackId const stream =
      builder.add_track({.kind = TrackKind::kStream, .name = "stream 7", .id = 7, .device = 1});

  builder.events(thread).add(EventKind::kLaunch, 100, 5, builder.intern("cudaLaunchKernel"), 9);
  builder.events(stream).add(EventKind::kKernel, 110, 20, builder.intern("gemm"), 9,
                             KernelDetail{.bytes = 64, .grid_x = 2, .graph = 4});

  return std::move(builder).finish();
}

TEST(Tables, AnEventSaysWhereWhenAndWhat) {
  Trace const trace = kernel_and_launch();
  TableSource const source(trace, 1000);

  EXPECT_EQ(cell(source, "kernels", "rank", 1), Cell::of(int64_t{3}));
  EXPECT_EQ(cell(source, "kernels", "process", 1), Cell::of(int64_t{77}));
  EXPECT_EQ(cell(source, "kernels", "start_ns", 1), Cell::of(int64_t{1110}));
  EXPECT_EQ(cell(source, "kernels", "end_ns", 1), Cell::of(int64_t{1130}));
  EXPECT_EQ(cell(source, "kernels", "device", 1), Cell::of(int64_t{1}));
  EXPECT_EQ(cell(source, "kernels", "stream", 1), Cell::of(int64_t{7}));
  EXPECT_TRUE(cell(source, "kernels", "thread", 1).is_null());
  EXPECT_EQ(cell(source, "kernels", "class", 1), Cell::of(std::string_view("compute")));
  EXPECT_EQ(cell(source, "kernels", "linked_id", 1), Cell::of(int64_t{0}));

  EXPECT_EQ(cell(source, "events", "linked_id", 0), Cell::of(int64_t{1}));
  EXPECT_EQ(cell(source, "events", "thread", 0), Cell::of(int64_t{12}));
  EXPECT_TRUE(cell(source, "events", "class", 0).is_null());

  EXPECT_EQ(cell(source, "kernels", "bytes", 1), Cell::of(int64_t{64}));
  EXPECT_EQ(cell(source, "kernels", "shared_memory_bytes", 1), Cell::of(int64_t{0}));
  EXPECT_EQ(cell(source, "kernels", "graph_node", 1), Cell::of(int64_t{0}));

  EXPECT_FALSE(table_named("kernels").has(trace, 0));
  EXPECT_TRUE(table_named("kernels").has(trace, 1));
}

TEST(Tables, TextsHoldNothingThatATerminalObeys) {
  Trace const trace = kernel_and_launch();
  TableSource const source(trace, 0);
  EXPECT_EQ(to_text(cell(source, "events", "track_name", 0)), "main\xEF\xBF\xBD");
}

TEST(Tables, WhatACollectiveDoesNotSayIsNull) {
  TraceBuilder builder;
  TrackId const thread = builder.add_track({});
  int64_t time = 0;

  auto const add = [&](EventKind kind, CollectiveDetail const& detail) {
    builder.events(thread).add(kind, ++time, 1, builder.intern("c"), 0, detail);
  };
  add(EventKind::kCollective, {.op = CollectiveOp::kAllReduce});
  add(EventKind::kCollectiveCall,
      {.bytes = 8, .op = CollectiveOp::kAllReduce, .network_wait_ns = 5});
  add(EventKind::kCollective, {.op = CollectiveOp::kBarrier});

  Trace const trace = std::move(builder).finish();
  TableSource const source(trace, 0);
  auto const of = [&](uint32_t row) {
    std::vector<std::string> texts;
    for (char const* const column :
         {"bytes", "gpu_wait_ns", "peer_wait_ns", "network_wait_ns", "launch"})
      texts.push_back(to_text(cell(source, "collectives", column, row)));
    return texts;
  };

  EXPECT_EQ(of(0), (std::vector<std::string>{"", "", "", "", ""}));
  EXPECT_EQ(of(1), (std::vector<std::string>{"8", "0", "0", "5", to_string(CallLaunch::kBefore)}));
  EXPECT_EQ(of(2), (std::vector<std::string>{"0", "", "", "", ""}));
}

TEST(Tables, TheSequence0IsANumberOnlyWhereItsCommunicatorCounts) {
  TraceBuilder builder;
  TrackId const thread = builder.add_track({});
  int64_t time = 0;

  auto const add = [&](uint64_t communicator, uint64_t sequence, CollectiveOp op) {
    builder.events(thread).add(
        EventKind::kCollective, ++time, 1, builder.intern("c"), 0,
        CollectiveDetail{.communicator = communicator, .sequence = sequence, .op = op});
  };
  add(7, 0, CollectiveOp::kAllReduce);  // counted from 0
  add(7, 1, CollectiveOp::kAllReduce);
  add(7, 0, CollectiveOp::kSend);  // messages have other numbers, or none
  add(8, 0, CollectiveOp::kAllReduce);
  add(0, 0, CollectiveOp::kAllReduce);

  Trace const trace = std::move(builder).finish();
  TableSource const source(trace, 0);

  std::vector<std::string> sequences;
  for (uint32_t row = 0; row < trace.event_count(); ++row)
    sequences.push_back(to_text(cell(source, "collectives", "sequence", row)));

  EXPECT_EQ(sequences, (std::vector<std::string>{"0", "1", "", "", ""}));
}

TEST(Tables, ReservedMemoryIsNullWhereMoreIsAllocated) {
  TraceBuilder builder;
  TrackId const thread = builder.add_track({});
  int64_t time = 0;

  auto const add = [&](uint64_t allocated, uint64_t reserved) {
    builder.events(thread).add(
        EventKind::kMemory, ++time, 1, builder.intern("m"), 0,
        MemoryDetail{.allocated_bytes = allocated, .reserved_bytes = reserved});
  };
  add(64, 0);
  add(64, 128);
  add(0, 0);

  Trace const trace = std::move(builder).finish();
  TableSource const source(trace, 0);
  EXPECT_TRUE(cell(source, "allocations", "reserved_bytes", 0).is_null());
  EXPECT_EQ(cell(source, "allocations", "reserved_bytes", 1), Cell::of(int64_t{128}));
  EXPECT_EQ(cell(source, "allocations", "reserved_bytes", 2), Cell::of(int64_t{0}));
}

TEST(Tables, CellsAreWrittenSoThatTheyAreReadBack) {
  EXPECT_EQ(to_text(Cell{}), "");
  EXPECT_EQ(to_text(Cell::of(INT64_MIN)), "-9223372036854775808");
  EXPECT_EQ(to_text(Cell::of(UINT64_MAX)), "18446744073709551615");
  EXPECT_EQ(to_text(Cell::of(0.1)), "0.1");
  EXPECT_EQ(to_text(Cell::of(1.0 / 3)), "0.3333333333333333");
  EXPECT_EQ(to_text(Cell::address(0xAB)), "0x00000000000000ab");
  EXPECT_TRUE(Cell::of(std::numeric_limits<double>::quiet_NaN()).is_null());
}

}  // namespace
}  // namespace stepscope::model
