// What a run answers in SQL: every table and column, times of ranks with offsets, the analysis's
// numbers; and what it refuses.
#include "analyzer/analyze.h"
#include "analyzer/results/analysis.h"
#include "query/schema.h"
#include "tests/support/host_program.h"
#include "tests/support/random_ranks.h"
#include "tests/support/synthetic_run.h"
#include "tests/unit/query/collect.h"

namespace stepscope::query {
namespace {

model::Run two_ranks() {
  support::SyntheticOptions options;
  options.process_per_device = true;
  options.rank_clock_offset_ns = 5'000'000;
  return support::make_synthetic_run(options);
}

TEST(Query, EveryColumnOfEveryTableCanBeNamedWithoutQuotes) {
  for (model::Run const& run : {two_ranks(), support::random_ranks({.seed = 4}), model::Run{}}) {
    auto database = Database::open(run);
    ASSERT_TRUE(database);

    for (SchemaTable const& table : schema()) {
      std::string columns;
      std::vector<std::string> names;
      for (SchemaColumn const& column : table.columns) {
        columns += fmt::format("{}{}", columns.empty() ? "" : ", ", column.name);
        names.emplace_back(column.name);
      }

      EXPECT_EQ(ask(*database, fmt::format("select {} from {}", columns, table.name)).names, names);
      EXPECT_EQ(ask(*database, fmt::format("select * from {}", table.name)).names, names);
    }
  }
}

TEST(Query, ARunWithoutEventsHasTablesWithoutRows) {
  auto const none = model::Run{};
  auto database = Database::open(none);
  ASSERT_TRUE(database);
  for (SchemaTable const& table : schema())
    EXPECT_EQ(ask_one(*database, fmt::format("select count(*) from {}", table.name)), "0");

  model::Run empty;
  empty.ranks.push_back({model::TraceBuilder().finish(), 0, ""});
  auto database_of_empty = Database::open(empty);
  ASSERT_TRUE(database_of_empty);
  EXPECT_EQ(ask_one(*database_of_empty, "select count(*) from events"), "0");
  EXPECT_EQ(ask_one(*database_of_empty, "select count(*) from processes"), "1");
}

TEST(Query, AProgramWithoutADeviceHasItsStepsRangesAndThreads) {
  model::Run const run = support::loop_with_waits(4, 7);
  auto database = Database::open(run);
  ASSERT_TRUE(database);

  analyzer::Analysis const analysis = analyzer::analyze(run);
  analyzer::HostStats const& host = analysis.hosts.at(0);

  EXPECT_EQ(
      ask_one(*database, "select cast(avg(period_ns) as integer) from host_steps where not warmup"),
      std::to_string(*host.mean_ns));
  EXPECT_EQ(ask_one(*database, "select sum(outlier) from host_steps"), "1");
  EXPECT_EQ(
      ask(*database,
          "select rank, thread, start_ns, dur_ns, end_ns, input_ns from host_steps where step = 1")
          .rows,
      (std::vector<std::vector<std::string>>{
          {"0", "'main'", "110007", "100000", "210007", "30000"}}));
  EXPECT_EQ(
      ask(*database,
          "select kind, count, inclusive_ns, exclusive_ns from host_ranges where name = 'forward'")
          .rows,
      (std::vector<std::vector<std::string>>{{"'phase'", "10", "900000", "300000"}}));
  EXPECT_EQ(ask(*database, "select thread, steps, busy_ns, window_ns from host_threads").rows,
            (std::vector<std::vector<std::string>>{{"'main'", "10",
                                                    std::to_string(host.threads[0].busy_ns),
                                                    std::to_string(host.window.length())}}));
  EXPECT_EQ(ask_one(*database, "select count(*) from steps"), "0");
}

TEST(Query, NegotiationsSayWhoCameLast) {
  support::HostProgram program;
  program.range(0, 5000, "NEGOTIATE_ALLREDUCE");
  for (auto const& [at, rank] : {std::pair(10, "0"), {900, "2"}, {4000, "1"}})
    program.range(at, at, rank, model::EventKind::kMark);

  model::Run const run = std::move(program).run();
  auto database = Database::open(run);
  ASSERT_TRUE(database);

  EXPECT_EQ(ask(*database,
                "select recorded_by, negotiations, rank, last, late_ns, worst_start_ns, worst_ns "
                "from negotiations where rank < 2 order by rank")
                .rows,
            (std::vector<std::vector<std::string>>{{"0", "1", "0", "0", "0", "NULL", "NULL"},
                                                   {"0", "1", "1", "1", "3100", "900", "3100"}}));
}

TEST(Query, TimesAreThoseOfTheRun) {
  model::Run const run = two_ranks();
  ASSERT_EQ(run.ranks.size(), 2U);
  ASSERT_NE(run.ranks[0].offset_ns, run.ranks[1].offset_ns);

  auto database = Database::open(run);
  ASSERT_TRUE(database);

  for (model::RankTrace const& rank : run.ranks) {
    auto const [first, last] = rank.trace.time_range();
    std::string const where = fmt::format("from events where rank = {}", rank.trace.info().rank);
    EXPECT_EQ(ask_one(*database, "select min(start_ns) " + where),
              std::to_string(first + rank.offset_ns));
    EXPECT_EQ(ask_one(*database, "select max(end_ns) " + where),
              std::to_string(last + rank.offset_ns));
    EXPECT_EQ(ask_one(*database, fmt::format("select offset_ns from processes where rank = {}",
                                             rank.trace.info().rank)),
              std::to_string(rank.offset_ns));
    // The instant of one event in run time finds that event.
    EXPECT_EQ(ask_one(*database, fmt::format("select min(start_ns) {} and start_ns >= {}", where,
                                             first + rank.offset_ns)),
              std::to_string(first + rank.offset_ns));
  }
}

TEST(Query, WaitingForLatePeersIsThatOfTheAnalysis) {
  model::Run const run = two_ranks();
  analyzer::Analysis const analysis = analyzer::analyze(run);
  auto database = Database::open(run);
  ASSERT_TRUE(database);

  int64_t late_ns = 0;
  for (analyzer::StepStats const& step : analysis.steps) late_ns += step.time.exposed_late_ns;
  EXPECT_EQ(ask_one(*database, "select sum(exposed_late_ns) from steps"), std::to_string(late_ns));
  ASSERT_FALSE(analysis.waits.empty());
  analyzer::WaitStats const& waits = analysis.waits.front();
  EXPECT_EQ(
      ask(*database,
          "select rank, device, cause, host_op, gpu_ns, exposed_ns, collectives "
          "from waits limit 1")
          .rows,
      (std::vector<std::vector<std::string>>{
          {std::to_string(run.ranks[static_cast<size_t>(waits.ref.rank_index)].trace.info().rank),
           std::to_string(waits.ref.device), fmt::format("'{}'", analyzer::cause_of(waits)),
           waits.host_op.empty() ? "NULL" : fmt::format("'{}'", waits.host_op),
           std::to_string(waits.gpu_ns), std::to_string(waits.exposed_ns),
           std::to_string(waits.collectives)}}));
}

TEST(Query, NumbersOfTheAnalysisAreItsOwn) {
  model::Run const run = two_ranks();
  analyzer::Analysis const analysis = analyzer::analyze(run);
  auto database = Database::open(run);
  ASSERT_TRUE(database);
  ASSERT_FALSE(analysis.devices.empty());
  ASSERT_FALSE(analysis.collectives.empty());
  ASSERT_FALSE(analysis.steps.empty());

  EXPECT_EQ(ask_one(*database, "select count(*) from device_time"),
            std::to_string(analysis.devices.size()));
  for (analyzer::DeviceStats const& device : analysis.devices)
    EXPECT_EQ(
        ask(*database,
            fmt::format("select window_ns, busy_ns, exposed_comm_ns, idle_sync_ns from device_time "
                        "where rank = {}",
                        run.ranks[static_cast<size_t>(device.ref.rank_index)].trace.info().rank))
            .rows,
        (std::vector<std::vector<std::string>>{
            {std::to_string(device.time.window_ns), std::to_string(device.time.busy_ns),
             std::to_string(device.time.exposed_comm_ns),
             std::to_string(
                 device.time.idle_by_cause[static_cast<size_t>(analyzer::IdleCause::kSync)])}}));

  EXPECT_EQ(ask_one(*database, "select count(*) from steps"),
            std::to_string(analysis.steps.size()));
  EXPECT_EQ(ask_one(*database,
                    "select count(*) from steps where dur_ns != compute_ns + exposed_comm_ns + "
                    "exposed_copy_ns + idle_ns"),
            "0");

  EXPECT_EQ(ask_one(*database, "select count(distinct collective) from matched_collectives"),
            std::to_string(analysis.collectives.size()));
  EXPECT_EQ(ask_one(*database, "select count(*) from findings"),
            std::to_string(analysis.findings.size()));

  size_t participants = 0;
  int64_t wait_ns = 0;
  for (auto const& collective : analysis.collectives)
    for (auto const& participant : collective.participants) {
      ++participants;
      wait_ns += participant.wait_ns;
    }
  EXPECT_EQ(ask(*database,
                "select count(*), sum(wait_ns), sum(dur_ns - transfer_ns) from matched_collectives")
                .rows,
            (std::vector<std::vector<std::string>>{
                {std::to_string(participants), std::to_string(wait_ns), std::to_string(wait_ns)}}));

  // A participant's id is that of its event.
  EXPECT_EQ(ask_one(*database,
                    "select count(*) from matched_collectives m join collectives c on c.id = m.id "
                    "and c.rank = m.rank and c.start_ns = m.start_ns"),
            std::to_string(participants));
}

TEST(Query, GapsAddUpToTheIdleTimeOfTheirDevices) {
  model::Run const run = two_ranks();
  analyzer::Analysis const analysis = analyzer::analyze(run);
  // What the analysis explains begins before the first op.
  ASSERT_LT(analysis.gaps[0].when.begin, analysis.devices.at(0).window.begin);

  auto database = Database::open(run);
  ASSERT_TRUE(database);

  EXPECT_EQ(
      ask(*database, "select rank, device, sum(dur_ns) from idle_gaps group by 1, 2 order by 1, 2")
          .rows,
      ask(*database, "select rank, device, idle_ns from device_time order by 1, 2").rows);

  for (int i = 0; i < analyzer::kIdleCauseCount; ++i) {
    std::string const cause = analyzer::to_string(static_cast<analyzer::IdleCause>(i));
    EXPECT_EQ(ask_one(*database,
                      fmt::format("select total(dur_ns) from idle_gaps where cause = '{}'", cause)),
              ask_one(*database, fmt::format("select total(idle_{}_ns) from device_time", cause)))
        << cause;
  }
}

TEST(Query, WhatIsNotKnownOfAMatchedCollectiveIsNull) {
  model::TraceBuilder builder;
  model::TrackId const stream = builder.add_track(
      {.kind = model::TrackKind::kStream, .name = "stream 1", .id = 1, .device = 0});

  model::CollectiveDetail const barrier{.communicator = 16, .op = model::CollectiveOp::kBarrier};
  builder.events(stream).add(model::EventKind::kCollective, 0, 5, builder.intern("nccl"), 0,
                             model::CollectiveDetail{});
  builder.events(stream).add(model::EventKind::kCollective, 10, 5, builder.intern("nccl"), 0,
                             barrier);

  model::Run run;
  run.ranks.push_back({std::move(builder).finish(), 0, ""});
  auto database = Database::open(run);
  ASSERT_TRUE(database);

  EXPECT_EQ(
      ask(*database, "select communicator, op, bytes from matched_collectives order by start_ns")
          .rows,
      (std::vector<std::vector<std::string>>{{"NULL", "NULL", "NULL"},
                                             {"'0x0000000000000010'", "'barrier'", "0"}}));
}

TEST(Query, ParametersAreRefused) {
  model::Run const run = two_ranks();
  auto database = Database::open(run);
  ASSERT_TRUE(database);

  for (std::string const where :
       {"rank = ?", "rank = ?2", "name = @name", "name = :name", "name = $name"}) {
    EXPECT_NE(ask_wrongly(*database, "select count(*) from kernels where " + where)
                  .message.find("write the value"),
              std::string::npos)
        << where;
  }

  EXPECT_EQ(ask_one(*database, "select '? @x' /* ? */"), "'? @x'");
}

/// A run with an event of every kind, a device and a track, all of them without values.
model::Run run_without_values() {
  model::TraceBuilder builder;
  builder.info().process_id = 0;
  model::TrackId const thread = builder.add_track({});
  builder.add_device({});
  int table = 0;
  auto const add = [&]<class Row>(model::DetailColumn<Row> const&) {
    for (uint8_t kind = 0; kind < model::kKindCount; ++kind)
      if (model::kKindTable[kind].table == static_cast<model::DetailTable>(table))
        builder.events(thread).add(static_cast<model::EventKind>(kind), 0, 0, model::StringId{0}, 0,
                                   Row{});
    ++table;
  };
  std::apply([&](auto const&... rows) { (add(rows), ...); }, model::DetailTables{});

  model::Run run;
  run.ranks.push_back({std::move(builder).finish(), 0, ""});
  return run;
}

TEST(Query, UnknownIsNull) {
  model::Run const run = run_without_values();
  auto database = Database::open(run);
  ASSERT_TRUE(database);

  EXPECT_EQ(ask(*database,
                "select bytes, flops, grid_x, block_x, registers_per_thread, shared_memory_bytes, "
                "occupancy_percent, graph, graph_node, "
                "correlation, linked_id, device, stream, process from kernels")
                .rows.at(0),
            std::vector<std::string>(14, "NULL"));
  EXPECT_EQ(
      ask(*database, "select direction, peer_device, graph, graph_node from copies").rows.at(0),
      std::vector<std::string>(4, "NULL"));
  EXPECT_EQ(ask(*database,
                "select bytes, communicator, sequence, op, participants, communicator_rank, peer, "
                "data_type, algorithm, protocol, channels, plan, gpu_wait_ns, peer_wait_ns, "
                "network_wait_ns, graph, graph_node from collectives")
                .rows.at(0),
            std::vector<std::string>(17, "NULL"));
  EXPECT_EQ(ask(*database, "select sync, device, stream, source_correlation from syncs").rows.at(0),
            std::vector<std::string>(4, "NULL"));
  EXPECT_EQ(ask(*database, "select op, device, memory_kind, pool from allocations").rows.at(0),
            std::vector<std::string>(4, "NULL"));
  EXPECT_EQ(
      ask(*database, "select source_device, source_stream, source_correlation from stream_waits")
          .rows.at(0),
      std::vector<std::string>(3, "NULL"));
  EXPECT_EQ(ask(*database,
                "select category, color, payload_type, payload, bytes, communicator from ranges")
                .rows.at(0),
            std::vector<std::string>(6, "NULL"));
  EXPECT_EQ(ask(*database, "select capacity_bytes, threads, peak_flops from devices").rows.at(0),
            std::vector<std::string>(3, "NULL"));

  // What is 0 and known stays 0.
  EXPECT_EQ(ask(*database, "select bytes, pinned from copies").rows.at(0),
            std::vector<std::string>(2, "0"));
  EXPECT_EQ(ask(*database, "select step from step_marks").rows.at(0),
            std::vector<std::string>(1, "0"));
  EXPECT_EQ(ask(*database, "select value from samples").rows.at(0),
            std::vector<std::string>(1, "0"));
}

TEST(Query, LargeUnsignedNumbersAreNotNegative) {
  model::TraceBuilder builder;
  model::TrackId const thread = builder.add_track({});
  builder.events(thread).add(
      model::EventKind::kMemory, 0, 1, builder.intern("m"), 0,
      model::MemoryDetail{.address = 0xFEDC'BA98'7654'3210, .bytes = UINT64_MAX, .pool = 16});
  builder.events(thread).add(
      model::EventKind::kAnnotatedRange, 5, 1, builder.intern("r"), 0,
      model::RangeDetail{.payload_type = model::NumberType::kSigned, .payload = UINT64_MAX});
  builder.events(thread).add(model::EventKind::kAnnotatedRange, 6, 1, builder.intern("r"), 0,
                             model::RangeDetail{.payload_type = model::NumberType::kReal,
                                                .payload = std::bit_cast<uint64_t>(2.5)});

  model::Run run;
  run.ranks.push_back({std::move(builder).finish(), 0, ""});
  auto database = Database::open(run);
  ASSERT_TRUE(database);

  EXPECT_EQ(
      ask(*database, "select address, pool, bytes, typeof(bytes) from allocations").rows.at(0),
      (std::vector<std::string>{"'0xfedcba9876543210'", "'0x0000000000000010'", "1.84467441e+19",
                                "'real'"}));
  EXPECT_EQ(
      ask_one(
          *database,
          "select count(*) from allocations where address = '0xfedcba9876543210' and bytes > 0"),
      "1");
  EXPECT_EQ(ask(*database, "select payload from ranges order by start_ns").rows,
            (std::vector<std::vector<std::string>>{{"-1"}, {"2.5"}}));
  EXPECT_EQ(ask_one(*database, "select sum(payload) from ranges"), "1.5");
  EXPECT_EQ(ask_one(*database, "select sum(bytes) from allocations"), "1.84467441e+19");
}

TEST(Query, HostileNamesAreText) {
  model::Run const run = support::random_ranks({.seed = 5});
  auto database = Database::open(run);
  ASSERT_TRUE(database);

  for (auto const& row : ask(*database,
                             "select distinct name from events union select host from processes "
                             "union select name from devices")
                             .rows)
    for (char const c : row[0])
      EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F) << row[0];

  // Two texts that are shown alike are one group.
  EXPECT_EQ(ask(*database, "select name, count(*) from events where name like '-1,%' group by name")
                .rows.size(),
            1U);
}

TEST(Query, NothingButSelectIsAllowed) {
  model::Run const run = two_ranks();
  auto database = Database::open(run);
  ASSERT_TRUE(database);

  for (std::string const sql :
       {"attach database '/tmp/x.db' as x", "create table t(a)", "create temp table t(a)",
        "insert into kernels values(1)", "delete from events", "update events set name = 'x'",
        "drop table kernels", "pragma journal_mode", "pragma database_list",
        "select * from pragma_database_list", "pragma temp_store_directory='/'",
        "vacuum into '/tmp/x.db'", "select load_extension('x')", "begin",
        "create virtual table x using kernels", "detach main", "reindex", "analyze"}) {
    QueryError const error = ask_wrongly(*database, sql);
    EXPECT_FALSE(error.message.empty()) << sql;
  }

  EXPECT_NE(ask_wrongly(*database, "create table t(a)").message.find("only SELECT"),
            std::string::npos);
  EXPECT_NE(ask_wrongly(*database, "attach database 'x' as x").message.find("only SELECT"),
            std::string::npos);

  // And afterwards everything is as before.
  EXPECT_NE(ask_one(*database, "select count(*) from events"), "0");
}

TEST(Query, ErrorsSayWhatIsMeantAndWhere) {
  model::Run const run = two_ranks();
  auto database = Database::open(run);
  ASSERT_TRUE(database);

  QueryError const table = ask_wrongly(*database, "select name from kernel");
  EXPECT_EQ(table.message, "no such table: kernel, did you mean kernels?");
  QueryError const column = ask_wrongly(*database, "select k.duration from kernels k");
  EXPECT_EQ(column.message, "no such column: k.duration, did you mean dur_ns?");
  EXPECT_EQ(ask_wrongly(*database, "select grid_x from events").message,
            "no such column: grid_x, but in kernels");
  EXPECT_EQ(column.offset, 7U);

  EXPECT_EQ(ask_wrongly(*database, "select naem from kernels").message,
            "no such column: naem, did you mean name?");
  EXPECT_NE(ask_wrongly(*database, "select 1 from something_else_entirely")
                .message.find("kernels, copies"),
            std::string::npos);

  QueryError const syntax = ask_wrongly(*database, "select name\nfrm kernels where");
  EXPECT_NE(syntax.message.find("syntax error"), std::string::npos);
  ASSERT_TRUE(syntax.offset);
  EXPECT_GE(*syntax.offset, 12U);

  EXPECT_EQ(ask_wrongly(*database, "").message, "the statement is empty, write a SELECT");
  EXPECT_EQ(ask_wrongly(*database, "-- nothing").message, "the statement is empty, write a SELECT");
  EXPECT_NE(ask_wrongly(*database, "select 1; select 2").message.find("one at a time"),
            std::string::npos);
  EXPECT_EQ(ask(*database, "select 1; -- and no more").rows.size(), 1U);
}

TEST(Query, WhatAStatementReadsIsKnownWithoutARun) {
  auto const reads = [](std::string const& sql) { return Database::reads_of(sql).value(); };
  for (std::string const sql :
       {"select * from findings", "select count(*) from STEPS",
        "select g.rank from idle_gaps g join device_time d using (rank, device)",
        "with s as (select * from steps) select count(*) from s",
        "with s as (select * from steps limit 5) select count(*) from s"})
    EXPECT_EQ(reads(sql), Reads::kAnalysis) << sql;

  for (std::string const sql : {"select count(*) from events",
                                "select name, sum(dur_ns) from kernels where rank = 3 group by 1"})
    EXPECT_EQ(reads(sql), Reads::kSums) << sql;

  for (std::string const sql :
       {"select * from kernels limit 1", "select count(*) from kernels k",
        "select count(*) from events, findings", "select * from tracks",
        "select step, (select count(*) from kernels) from steps",
        "select 1 where exists (select 1 from copies)", "explain select count(*) from events",
        // Ids of events, which a run that is read process by process does not have.
        "select * from idle_gaps", "select next_id from idle_gaps",
        "select Id from Matched_Collectives",
        "with steps as (select name from kernels) select * from steps",
        // What needs no analysis.
        "select 1", "explain query plan select * from findings"})
    EXPECT_EQ(reads(sql), Reads::kEvents) << sql;

  auto const wrong = Database::reads_of("select naem from kernels");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "no such column: naem, did you mean name?");
  EXPECT_EQ(wrong.error().offset, 7U);
}

TEST(Query, AnAnalysisIsAskedWithTheOutlinesOfItsProcesses) {
  model::Run const run = two_ranks();
  model::Run outlines;
  for (model::RankTrace const& rank : run.ranks) {
    model::TraceBuilder builder;
    builder.info() = rank.trace.info();
    outlines.ranks.push_back({std::move(builder).finish(), rank.offset_ns, rank.file});
  }

  auto analyzed = Database::open(outlines, analyzer::analyze(run));
  auto whole = Database::open(run);
  ASSERT_TRUE(analyzed);
  for (std::string const table : {"steps", "findings", "device_time", "links"})
    EXPECT_EQ(ask(*analyzed, "select * from " + table).rows,
              ask(*whole, "select * from " + table).rows)
        << table;
}

TEST(Query, ExplainTellsWhichConditionsTablesTake) {
  model::Run const run = two_ranks();
  Collected const plan = ask(run,
                             "explain query plan select name from kernels where rank = 1 and "
                             "start_ns >= 5 order by track, start_ns");
  ASSERT_EQ(plan.rows.size(), 1U) << "it sorts";
  EXPECT_NE(plan.rows[0].back().find("VIRTUAL TABLE INDEX"), std::string::npos);
}

}  // namespace
}  // namespace stepscope::query
