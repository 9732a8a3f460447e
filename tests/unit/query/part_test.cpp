// Questions about some steps or one rank see the rows that the same conditions in SQL leave, and
// the analysis of that part.
#include "query/part.h"

#include "analyzer/analyze.h"
#include "analyzer/results/analysis.h"
#include "query/schema.h"
#include "tests/support/synthetic_run.h"
#include "tests/unit/query/collect.h"
#include "trace/model/build/trace_builder.h"

namespace stepscope::query {
namespace {

/// Two processes whose clocks differ; hosts run ahead of their devices.
model::Run run_ahead() {
  support::SyntheticOptions options;
  options.process_per_device = true;
  options.sync_each_step = false;
  options.allocate_in_step = true;
  options.rank_clock_offset_ns = 5'000'000;
  return support::make_synthetic_run(options);
}

Collected ask_part(model::Run const& run, Part const& part, std::string const& sql,
                   bool rewrite = true) {
  auto database = Database::open(run, part);
  EXPECT_TRUE(database) << (database ? "" : database.error().message);
  return database ? ask(*database, sql, {.rewrite = rewrite}) : Collected();
}
std::string why_not(model::Run const& run, Part const& part) {
  auto const database = Database::open(run, part);
  EXPECT_FALSE(database);
  return database ? "" : database.error().message;
}

TEST(QueryPart, OfARankIsWhatTheConditionLeavesInEveryTable) {
  model::Run const run = run_ahead();
  for (char const* const table : {"processes", "devices", "tracks", "events", "kernels",
                                  "collectives", "device_time", "steps"}) {
    auto const part = ask_part(run, {.rank = 1}, fmt::format("select * from {}", table)).sorted();
    EXPECT_FALSE(part.empty()) << table;
    EXPECT_EQ(part, ask(run, fmt::format("select * from {} where rank = 1", table)).sorted())
        << table;
  }
}

TEST(QueryPart, OfStepsHasTheOpsOfTheDevicesWindowAndTheHostsOfItsOwn) {
  model::Run const run = run_ahead();
  Part const part{.steps = std::pair(int64_t{3}, int64_t{4})};

  // What the part should be, in SQL over the whole.
  std::string const windows =
      "with w as (select rank, min(start_ns) b, max(end_ns) e, min(host_start_ns) hb, "
      "max(host_start_ns + host_dur_ns) he from steps where step in (3, 4) group by rank) ";
  std::string const where =
      " join w on w.rank = v.rank where case when v.stream is null then v.start_ns >= hb and "
      "v.start_ns < he "
      "else v.start_ns >= b and v.start_ns < e end";

  for (char const* const table :
       {"events", "kernels", "collectives", "allocations", "step_marks"}) {
    auto const rows =
        ask_part(run, part, fmt::format("select rank, id, start_ns from {}", table)).sorted();
    EXPECT_FALSE(rows.empty()) << table;
    EXPECT_EQ(
        rows,
        ask(run, windows + fmt::format("select v.rank, v.id, v.start_ns from {} v", table) + where)
            .sorted())
        << table;
  }

  EXPECT_LT(ask_part(run, part, "select id from events").rows.size(),
            ask(run, "select id from events").rows.size() / 2);
}

TEST(QueryPart, FindsRowsInEveryWayThatTheWholeDoes) {
  model::Run const run = run_ahead();
  Part const part{.steps = std::pair(int64_t{2}, int64_t{5}), .rank = 1};
  auto database = Database::open(run, part);
  ASSERT_TRUE(database);

  Collected const all = ask(*database, "select id, correlation, start_ns, name from events");
  std::string const inside = all.rows.front()[0], start = all.rows.front()[2];

  EXPECT_EQ(ask_one(*database, "select count(*) from events where id = " + inside), "1");
  EXPECT_EQ(ask_one(*database, "select count(*) from events where id = 0"), "0")
      << "is of the first step";
  EXPECT_EQ(ask_one(*database,
                    "select count(*) from events where correlation is not null and id not in "
                    "(select id from events)"),
            "0");
  EXPECT_EQ(ask(*database, "select id from events where start_ns >= " + start).rows.size(),
            ask(*database, "select id from events where start_ns + 0 >= " + start).rows.size());

  for (std::string const sql :
       {"select name, count(*), sum(dur_ns), min(start_ns) from kernels group by name order by 1",
        "select count(*) from events",
        "select track, count(*) from events group by track order by 1"})
    EXPECT_EQ(ask(*database, sql).rows, ask(*database, sql, {.rewrite = false}).rows) << sql;

  EXPECT_EQ(ask_one(*database, "select count(*) from events"), std::to_string(all.rows.size()));
  for (auto const& row : all.rows)
    if (row[1] != "NULL") {
      EXPECT_NE(ask_one(*database, "select count(*) from events where correlation = " + row[1]),
                "0");
    }
}

TEST(QueryPart, HasTheAnalysisOfThePart) {
  model::Run const run = run_ahead();
  analyzer::AnalyzeOptions options;
  options.steps = std::pair(int64_t{3}, int64_t{4});
  options.rank = 0;
  analyzer::Analysis const analysis = analyzer::analyze(run, options);

  auto database = Database::open(run, {.steps = options.steps, .rank = options.rank});
  ASSERT_TRUE(database);
  ASSERT_EQ(analysis.devices.size(), 1U);

  EXPECT_EQ(ask_one(*database, "select window_ns from device_time"),
            std::to_string(analysis.devices[0].time.window_ns));
  EXPECT_EQ(ask(*database, "select step from steps order by 1").rows,
            (std::vector<std::vector<std::string>>{{"3"}, {"4"}}));
}

TEST(QueryPart, AProcessWithoutStepsHasWhatBeginsInThoseOfTheOthers) {
  model::Run run = run_ahead();
  auto const [first, last] = run.ranks[0].trace.time_range();

  model::TraceBuilder builder;
  builder.info().rank = 2;
  model::TrackId const thread = builder.add_track({});
  constexpr int64_t kOffset = 777;
  for (int64_t i = 0; i < 100; ++i)
    builder.events(thread).add_range(
        first - kOffset + run.ranks[0].offset_ns + (last - first) * i / 100, 5,
        builder.intern("loads"));
  run.ranks.push_back({std::move(builder).finish(), kOffset, ""});

  Part const part{.steps = std::pair(int64_t{3}, int64_t{4})};
  std::string const loads = "select count(*) from events where name = 'loads'";

  EXPECT_EQ(ask_part(run, part, loads).rows,
            ask(run, loads + " and start_ns >= (select min(min(start_ns, host_start_ns)) from "
                             "steps where step in (3, 4)) and start_ns < (select max(max(end_ns, "
                             "host_start_ns + host_dur_ns)) from steps where step in (3, 4))")
                .rows);
  EXPECT_NE(ask_part(run, part, loads).rows, ask(run, loads).rows);
}

TEST(QueryPart, ThatIsNotThereIsAnErrorThatSaysWhatIs) {
  model::Run const run = run_ahead();
  EXPECT_EQ(why_not(run, {.rank = 7}), "rank 7 is not in the run, it has ranks 0 to 1");
  EXPECT_EQ(why_not(run, {.steps = std::pair(int64_t{90}, int64_t{91})}),
            "the run has no steps 90 to 91, it has steps 0 to 7");
  model::Run without;
  without.ranks.push_back({model::TraceBuilder().finish(), 0, ""});
  EXPECT_EQ(why_not(without, {.steps = std::pair(int64_t{0}, int64_t{1})}),
            "the run has no steps 0 to 1, it has none");
}

}  // namespace
}  // namespace stepscope::query
