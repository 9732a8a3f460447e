// Statements that are rewritten to sums over the columns answer what SQLite answers when it sees
// every row itself.
#include <optional>
#include <random>

#include "query/part.h"
#include "query/process_sums.h"
#include "query/rewrite.h"
#include "tests/support/random_ranks.h"
#include "tests/support/synthetic_run.h"
#include "tests/unit/query/collect.h"

namespace stepscope::query {
namespace {

bool is_rewritten(std::string const& sql) { return rewrite(sql, "groups").has_value(); }

/// The answer where each process of the run is read by itself, perhaps by another program; nothing
/// where its events must be looked at one by one.
std::optional<Collected> by_process(model::Run const& run, std::string const& sql) {
  auto const reads = Database::reads_of(sql);
  if (!reads || *reads != Reads::kSums) return std::nullopt;
  std::vector<std::string> of_processes;
  for (model::RankTrace const& rank : run.ranks)
    of_processes.push_back(*sums_of_process(sql, rank.trace, rank.offset_ns));
  auto sums = sums_of_all(sql, of_processes);
  if (!sums) return std::nullopt;

  model::Run const none;
  auto database = Database::open(none);
  Collected answer;
  Collector collector(answer);
  EXPECT_TRUE(database->run_over(std::move(*sums), sql, collector)) << sql;
  return answer;
}

void expect_same(model::Run const& run, Database& database, std::string const& sql) {
  Collected fast, slow;
  auto const rows = run_into(database, sql, fast);
  auto const expected = run_into(database, sql, slow, {.rewrite = false});

  ASSERT_EQ(rows.has_value(), expected.has_value()) << sql;
  if (!rows) {
    EXPECT_EQ(rows.error().message, expected.error().message) << sql;
    return;
  }

  EXPECT_EQ(fast.names, slow.names) << sql;
  bool const ordered =
      sql.find("order by") != std::string::npos || sql.find("ORDER BY") != std::string::npos;
  EXPECT_EQ(ordered ? fast.rows : fast.sorted(), ordered ? slow.rows : slow.sorted()) << sql;

  auto const divided = by_process(run, sql);
  auto const rewritten = rewrite(sql, "groups");
  bool const has_sums =
      rewritten && group_events(*processes_of(run, Part()), rewritten->plan).has_value();
  EXPECT_EQ(divided.has_value(), has_sums) << sql;
  if (!divided) return;
  EXPECT_EQ(divided->names, fast.names) << sql;
  EXPECT_EQ(divided->rows, fast.rows) << sql;
}

constexpr std::array kRewritten = {
    "select name, count(*), sum(dur_ns) from kernels group by name order by 3 desc, name",
    "SELECT NAME, COUNT(*) AS n, SUM(Dur_Ns) total FROM Kernels GROUP BY name HAVING n > 1 ORDER "
    "BY total DESC, name LIMIT 5;",
    "select count(*) from events",
    "select count(*), count(dur_ns), sum(dur_ns), min(dur_ns), max(end_ns), avg(dur_ns), "
    "total(dur_ns) from events where kind = 'no such kind'",
    "select kind, max(end_ns) - min(start_ns) from events group by kind",
    "select rank, device, stream, name, avg(dur_ns) / 1e3 as us, round(sum(dur_ns) / 1e6, 3) as "
    "\"total ms\" from kernels where name like 'op%' "
    "group by rank, device, 3, name",
    "select substr(name, 1, 2) || '!' as short, count(*) from events group by name -- a comment",
    "select substr(name, 1, 4) as short, count(*) from events group by short order by short desc",
    "select SUBSTR(name, 1, 4), count(*), depth > 1 from events group by substr(name,1,4), 3",
    "select case when kind = 'kernel' then name else kind end as what, sum(dur_ns) from events "
    "group by what having sum(dur_ns) > 500",
    "select 'n', name from events group by name order by count(*) desc, name",
    "select distinct name from events order by name",
    "select distinct kind, class from events where rank in (0, 2) or kind = 'kernel'",
    "select name, count(*) from events where start_ns >= 100 and start_ns < 1e3 and dur_ns between "
    "10 and 200 and kind != 'sample' group by name",
    "select name, count(*) from events where (start_ns = 5 or kind = 'kernel') = 0 and end_ns <= "
    "700 group by name",
    "select direction, count(*), sum(bytes), min(bytes) from copies group by direction",
    "select op, communicator, count(communicator_rank), sum(communicator_rank) from collectives "
    "group by op, communicator",
    "select op, case when op is null then 'none' else op end as o, count(*) from collectives group "
    "by op",
    "select track_name, count(value), sum(value), min(value), max(value), avg(value) from samples "
    "group by track_name",
    "select name, sum(flops), sum(flops) / count(flops), sum(registers_per_thread) from kernels "
    "group by name",
    "select purpose, cast(avg(device) as text) from allocations group by purpose",
    "select min(name), max(name), count(*) from events group by name",
    "select max(id), min(linked_id), sum(depth) from events",
};

TEST(Groups, StatementsAreRewritten) {
  // "start_ns = 5" inside of parentheses is no condition that rows can be chosen by.
  for (std::string const sql : kRewritten)
    EXPECT_EQ(is_rewritten(sql), sql.find("(start_ns = 5") == std::string::npos) << sql;
}

TEST(Groups, AnswerWhatSqliteAnswersRowByRow) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    model::Run const run = support::random_ranks(
        {.seed = seed, .ranks = static_cast<int>(seed % 4), .events_per_track = 60});
    auto database = Database::open(run);
    ASSERT_TRUE(database);
    for (char const* const sql : kRewritten) expect_same(run, *database, sql);
  }
}

TEST(Groups, WhatCouldMeanSomethingElseIsLeftAlone) {
  for (std::string const sql : {
           "select * from kernels",
           "select name from kernels",
           "select name, count(*) from kernels",                        // which name?
           "select name, dur_ns, count(*) from kernels group by name",  // which duration?
           "select name, max(dur_ns), start_ns from kernels group by name",
           "select count(distinct name) from kernels",
           "select sum(distinct dur_ns) from kernels",
           "select sum(dur_ns + 1) from kernels",
           "select sum(dur_ns) filter (where rank = 0) from kernels",
           "select name, sum(dur_ns) over (partition by name) from kernels",
           "select k.name, count(*) from kernels k group by k.name",
           "select name, count(*) from kernels k group by name",
           "select kernels.name, count(*) from kernels group by 1",
           "select name, count(*) from kernels, copies group by name",
           "select name, count(*) from kernels join copies using (id) group by name",
           "select name, count(*) from (select * from kernels) group by name",
           "with k as (select * from kernels) select name, count(*) from k group by name",
           "select name, count(*) from kernels group by name union select 'x', 1",
           "select name, count(*) from kernels where id in (select id from copies) group by name",
           "select name, count(*) from kernels where start_ns > end_ns - 5 group by name",
           "select name, count(*) from kernels where start_ns > 1.5 group by name",
           "select name, count(*) from kernels where start_ns > 9223372036854775807 group by name",
           "select start_ns, count(*) from kernels group by start_ns",
           "select substr(name, 1, 3), count(*) from kernels group by substr(name, 1, 4)",
           "select depth, count(*) from kernels group by depth > 1",
           "select start_ns / 100, count(*) from kernels group by 1",
           "select name, count(*) from kernels group by name collate nocase",
           "select group_concat(name) from kernels group by name",
           "select name, count(*) as dur_ns from kernels group by name order by dur_ns",
           "select \"name\", count(*) from kernels group by name",
           "select [name], count(*) from kernels group by name",
           "select name, count(*) from kernels where rowid = 5 group by name",
           "select name, count(*) from kernels where random() > 0 group by name",
           "select name, count(*) from kernels where 0x10 > depth group by name",
           "select name, count(*) from steps group by name",
           "select name, count(*) from kernels group by name; select 1",
           "explain select name, count(*) from kernels group by name",
           "select 1",
           "",
           "select count(* from kernels",
           "select count(*)) from kernels",
           "'",
       })
    EXPECT_FALSE(is_rewritten(sql)) << sql;
}

/// Statements of every form that is rewritten, and some that are not.
class RandomStatement {
 public:
  explicit RandomStatement(uint64_t seed) : random_(seed) {}
  std::string make() {
    static constexpr std::array<char const*, 5> kTables = {"events", "kernels", "collectives",
                                                           "copies", "ranges"};
    std::string const table = kTables[random_() % kTables.size()];

    std::vector<std::string> keys;
    for (size_t count = random_() % 4; keys.size() < count;) keys.push_back(label());
    std::string items;
    for (std::string const& key : keys)
      items += key + (chance(20) ? " AS k" + std::to_string(random_() % 9) : "") + ", ";
    size_t const sums = 1 + random_() % 3;
    for (size_t i = 0; i < sums; ++i)
      items += (i > 0 ? ", " : "") + sum() + (chance(30) ? " s" + std::to_string(i) : "");

    std::string sql = "SELECT " + items + " FROM " + table;
    if (chance(60)) {
      sql += " WHERE " + condition();
      if (chance(50)) sql += (chance(70) ? " AND " : " OR ") + condition();
    }
    for (size_t i = 0; i < keys.size(); ++i)
      sql += (i == 0 ? " GROUP BY " : ", ") + (chance(20) ? std::to_string(i + 1) : keys[i]);
    if (!keys.empty() && chance(30))
      sql += " HAVING " + sum() + " > " + std::to_string(random_() % 300);

    return sql;
  }

 private:
  bool chance(uint64_t percent) { return random_() % 100 < percent; }
  std::string label() {
    static constexpr std::array<char const*, 11> kLabels = {
        "name",  "kind",   "class",  "rank",       "process", "track",
        "depth", "device", "stream", "track_name", "thread"};
    return kLabels[random_() % kLabels.size()];
  }
  std::string number() {
    static constexpr std::array<char const*, 7> kNumbers = {
        "start_ns", "end_ns", "dur_ns", "depth", "id", "linked_id", "track"};
    return kNumbers[random_() % kNumbers.size()];
  }
  std::string sum() {
    static constexpr std::array<char const*, 6> kSums = {"count", "sum", "avg",
                                                         "min",   "max", "total"};
    if (chance(30)) return "count(*)";
    std::string const call = std::string(kSums[random_() % kSums.size()]) + "(" + number() + ")";
    if (chance(20)) return "ifnull(" + call + ", -1)";
    return chance(20) ? call + " * 2" : call;
  }
  std::string condition() {
    static constexpr std::array<char const*, 6> kOperators = {"=", "<", "<=", ">", ">=", "!="};
    std::string const op = kOperators[random_() % kOperators.size()];
    switch (random_() % 6) {
      case 0:
        return "name " + op + " 'op " + std::to_string(random_() % 9) + "'";
      case 1:
        return "start_ns " + op + " " + std::to_string(random_() % 1500);
      case 2:
        return "dur_ns BETWEEN " + std::to_string(random_() % 100) + " AND " +
               std::to_string(random_() % 300);
      case 3:
        return "(kind IN ('kernel', 'memcpy') OR rank = " + std::to_string(random_() % 3) + ")";
      case 4:
        return "NOT track_name IS NULL";
      default:
        return "end_ns " + op + " -" + std::to_string(random_() % 500);
    }
  }
  std::mt19937_64 random_;
};

TEST(Groups, RandomStatementsAnswerTheSameRewrittenOrNot) {
  model::Run const run = support::random_ranks({.seed = 3, .ranks = 3});
  auto database = Database::open(run);
  ASSERT_TRUE(database);

  int rewritten = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    std::string const sql = RandomStatement(seed).make();
    rewritten += is_rewritten(sql) ? 1 : 0;
    expect_same(run, *database, sql);
    if (HasFailure()) break;
  }

  EXPECT_GT(rewritten, 150);
}

TEST(Groups, SumsThatLeaveSixtyFourBitsAreSqlitesToRefuse) {
  model::TraceBuilder builder;
  model::TrackId const track = builder.add_track({});
  for (int i = 0; i < 40; ++i)
    builder.events(track).add_range(0, model::kMaxTime, builder.intern("long"));

  model::Run run;
  run.ranks.push_back({std::move(builder).finish(), 0, ""});
  auto database = Database::open(run);
  ASSERT_TRUE(database);

  EXPECT_NE(
      ask_wrongly(*database, "select sum(dur_ns) from events").message.find("integer overflow"),
      std::string::npos);
  EXPECT_EQ(ask_one(*database, "select max(dur_ns) from events"), std::to_string(model::kMaxTime));
  EXPECT_FALSE(by_process(run, "select sum(dur_ns) from events"));
}

TEST(Groups, SumsOfProcessesThatAreNoSuchOnesAreNotAdded) {
  std::string const sql = "select name, sum(dur_ns) from events group by name";
  model::Run const run = support::random_ranks({.seed = 3, .ranks = 1});
  std::string const good = *sums_of_process(sql, run.ranks[0].trace, 0);
  ASSERT_TRUE(sums_of_all(sql, std::vector{good, good}));

  for (std::string const& bad :
       {std::string(), good.substr(0, good.size() - 1), good + "x",
        *sums_of_process("select count(*) from events", run.ranks[0].trace, 0)})
    EXPECT_FALSE(sums_of_all(sql, std::vector{good, bad}));
  EXPECT_FALSE(sums_of_all("select name from events", std::vector{good}));
  EXPECT_FALSE(sums_of_process("select name from events", run.ranks[0].trace, 0));
}

TEST(Groups, HeadingsAreWhatWasWritten) {
  model::Run const run = support::make_synthetic_run();
  Collected const answer = ask(
      run, "select name, count( * ), sum(dur_ns)/1e6, rank  as r from kernels group by name, rank");
  EXPECT_EQ(answer.names, (std::vector<std::string>{"name", "count( * )", "sum(dur_ns)/1e6", "r"}));
}

}  // namespace
}  // namespace stepscope::query
