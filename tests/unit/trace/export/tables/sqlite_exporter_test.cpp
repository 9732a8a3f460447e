#include "trace/export/sqlite/sqlite_exporter.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <sqlite3.h>

#include "query/database.h"
#include "tests/support/random_ranks.h"
#include "tests/unit/trace/export/tables/exported.h"
#include "trace/model/build/trace_builder.h"
#include "trace/model/tables.h"

namespace stepscope::exporting {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string shown(int type, std::string const& text) {
  if (type == SQLITE_NULL) return "NULL";
  return type == SQLITE_TEXT ? "'" + text + "'" : text;
}

constexpr int kCountedAtOnce = 100;

/// The answer of SQLite alone. `instructions`: grows by those of its machine.
Rows read_file(std::string const& path, std::string const& sql, uint64_t* instructions = nullptr) {
  sqlite3* database = nullptr;
  EXPECT_EQ(sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);

  if (instructions != nullptr) {
    auto const count = [](void* of) {
      *static_cast<uint64_t*>(of) += kCountedAtOnce;
      return 0;
    };
    sqlite3_progress_handler(database, kCountedAtOnce, count, instructions);
  }

  sqlite3_stmt* statement = nullptr;
  EXPECT_EQ(sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr), SQLITE_OK)
      << sql << "\n"
      << sqlite3_errmsg(database);

  Rows rows;
  while (sqlite3_step(statement) == SQLITE_ROW) {
    auto& row = rows.emplace_back();
    for (int i = 0; i < sqlite3_column_count(statement); ++i) {
      int const type = sqlite3_column_type(statement, i);
      if (type == SQLITE_FLOAT) {
        row.push_back(fmt::format("{}", sqlite3_column_double(statement, i)));
        continue;
      }
      auto const* const text = reinterpret_cast<char const*>(sqlite3_column_text(statement, i));
      row.push_back(shown(
          type, text == nullptr
                    ? ""
                    : std::string(text, static_cast<size_t>(sqlite3_column_bytes(statement, i)))));
    }
  }

  sqlite3_finalize(statement);
  sqlite3_close(database);
  return rows;
}

/// The same cells from the trace.
std::string shown(model::Cell const& cell) {
  if (cell.is_null()) return "NULL";
  if (cell.type == model::Cell::Type::kUnsigned)
    return fmt::format("{}", static_cast<double>(cell.bits));
  bool const is_text =
      cell.type == model::Cell::Type::kText || cell.type == model::Cell::Type::kAddress;
  return is_text ? "'" + model::to_text(cell) + "'" : model::to_text(cell);
}

/// Two ranks, each with so many launches on a thread and their kernels on one of eight streams.
model::Run launches_and_kernels(uint64_t count) {
  model::Run run;
  for (int32_t rank = 0; rank < 2; ++rank) {
    model::TraceBuilder builder;
    builder.info().rank = rank;

    auto const thread =
        builder.add_track({.kind = model::TrackKind::kThread, .name = "main", .id = 1});
    std::vector<model::TrackId> streams;
    for (int64_t id = 0; id < 8; ++id)
      streams.push_back(builder.add_track(
          {.kind = model::TrackKind::kStream, .name = "stream", .id = id, .device = 0}));

    auto const launch = builder.intern("launch"), kernel = builder.intern("kernel");
    for (uint64_t i = 0; i < count; ++i) {
      auto const at = static_cast<int64_t>(i) * 100;
      builder.events(thread).add(model::EventKind::kLaunch, at, 10, launch, i + 1);
      builder.events(streams[i % 8])
          .add(model::EventKind::kKernel, at + 20, 50, kernel, i + 1, model::KernelDetail{});
    }

    run.ranks.push_back({std::move(builder).finish(), 0, "made"});
  }
  return run;
}

class SqliteExport : public Exported {};

TEST_F(SqliteExport, EveryTableOfQueriesIsThereWithEveryCell) {
  model::Run const run = support::random_ranks({.seed = 6, .ranks = 3});
  std::string const file = path("run.sqlite");
  ASSERT_TRUE(write(run, open_sqlite(file)));

  EXPECT_EQ(there(), std::vector<std::string>{"run.sqlite"});
  EXPECT_EQ(read_file(file, "PRAGMA integrity_check"), (Rows{{"'ok'"}}));
  EXPECT_EQ(read_file(file, "PRAGMA foreign_key_check"), Rows{});

  for (model::TraceTable const& table : model::trace_tables()) {
    std::string columns;
    for (model::TableColumn const& column : table.columns)
      columns += fmt::format("{}{}", columns.empty() ? "" : ", ", column.name);

    Rows expected;
    for (model::RankTrace const& rank : run.ranks) {
      model::TableSource const source(rank.trace, rank.offset_ns);
      for (uint32_t row = 0; row < table.row_count(rank.trace); ++row) {
        if (!table.has(rank.trace, row)) continue;
        auto& cells = expected.emplace_back();
        for (model::TableColumn const& column : table.columns)
          cells.push_back(shown(column.read(source, row)));
      }
    }

    Rows found = read_file(file, fmt::format("SELECT {} FROM {}", columns, table.name));
    std::sort(expected.begin(), expected.end());
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, expected) << table.name;
  }
}

TEST_F(SqliteExport, CountsAndSumsAreThoseOfTheColumns) {
  model::Run const run = support::random_ranks({.seed = 9, .ranks = 2, .events_per_track = 200});
  std::string const file = path("run.sqlite");
  ASSERT_TRUE(write(run, open_sqlite(file)));

  uint64_t events = 0;
  int64_t dur_ns = 0, start_ns = 0;
  for (model::RankTrace const& rank : run.ranks)
    for (uint32_t row = 0; row < rank.trace.event_count(); ++row) {
      ++events;
      dur_ns += rank.trace.columns().dur[row];
      start_ns += rank.trace.start(row) + rank.offset_ns;
    }

  EXPECT_EQ(read_file(file, "SELECT count(*), sum(dur_ns), sum(start_ns) FROM events"),
            (Rows{{std::to_string(events), std::to_string(dur_ns), std::to_string(start_ns)}}));
}

TEST_F(SqliteExport, EventsThatReferToEachOtherAreFoundWithoutALookAtAllOfThem) {
  uint64_t work[2] = {0, 0};
  uint64_t kernels[2] = {0, 0};

  for (int const many : {0, 1}) {
    model::Run const run = launches_and_kernels(many != 0 ? 4000 : 1000);
    std::string const file = path(many != 0 ? "many.sqlite" : "few.sqlite");
    ASSERT_TRUE(write(run, open_sqlite(file)));

    Rows const rows = read_file(
        file,
        "select count(*) from kernels k join events l on l.rank = k.rank and l.id = k.linked_id",
        &work[many]);
    ASSERT_EQ(rows.size(), 1U);
    kernels[many] = std::stoull(rows[0][0]);
  }

  ASSERT_GT(kernels[0], 100U);
  EXPECT_EQ(kernels[1], 4 * kernels[0]);
  // Four times the events are four times the work, and little of it: a few dozen instructions for
  // each.
  EXPECT_LT(work[1], 6 * work[0]);
  EXPECT_LT(work[1], 300 * kernels[1]);
}

TEST_F(SqliteExport, RowsThatFillNoStatementAreThereToo) {
  // As many rows go in at once as a statement has room for: before, at and behind each such number,
  // each of a process of its own.
  for (int const count : {1, 31, 32, 33, 63, 64, 65}) {
    model::Run run;
    for (int32_t rank = 0; rank < 2; ++rank) {
      model::TraceBuilder builder;
      builder.info().rank = rank;
      model::TrackId const track = builder.add_track({.name = "main"});
      for (int i = 0; i < count; ++i)
        builder.events(track).add_range(i, 1, builder.intern(fmt::format("{} of {}", i, rank)));
      run.ranks.push_back({std::move(builder).finish(), 0, ""});
    }

    std::string const file = path(fmt::format("{}.sqlite", count));
    ASSERT_TRUE(write(run, open_sqlite(file)));
    Rows const rows = read_file(file, "SELECT rank, start_ns, name FROM events ORDER BY rank, id");
    ASSERT_EQ(rows.size(), 2U * static_cast<size_t>(count));

    for (int i = 0; i < 2 * count; ++i)
      EXPECT_EQ(rows[static_cast<size_t>(i)],
                (std::vector{std::to_string(i / count), std::to_string(i % count),
                             fmt::format("'{} of {}'", i % count, i / count)}));
  }
}

TEST_F(SqliteExport, NamesAreDataAndNothingElse) {
  model::TraceBuilder builder;
  builder.info().host = "'); DROP TABLE texts; --";
  model::TrackId const track = builder.add_track({.name = "\"; DROP TABLE tracks; --"});

  std::string const name = "Robert'); DROP TABLE event_data; --";
  builder.events(track).add_range(0, 1, builder.intern(name));
  builder.events(track).add_range(2, 1, builder.intern(std::string(1'000'000, 'x')));
  builder.events(track).add_range(4, 1, builder.intern(""));

  model::Run run;
  run.ranks.push_back({std::move(builder).finish(), 0, ""});
  ASSERT_TRUE(write(run, open_sqlite(path("run.sqlite"))));

  EXPECT_EQ(read_file(path("run.sqlite"), "SELECT name FROM events ORDER BY start_ns LIMIT 1"),
            (Rows{{"'" + name + "'"}}));
  EXPECT_EQ(read_file(path("run.sqlite"), "SELECT length(name) FROM events ORDER BY start_ns"),
            (Rows{{std::to_string(name.size())}, {"1000000"}, {"0"}}));
}

TEST_F(SqliteExport, WhatIsNotFinishedLeavesTheOldFile) {
  std::ofstream(path("run.sqlite")) << "old";
  model::Run const run = support::random_ranks({.seed = 2, .ranks = 1});

  {
    auto exporter = open_sqlite(path("run.sqlite"));
    ASSERT_TRUE(exporter);
    ASSERT_TRUE((*exporter)->add(run.ranks[0].trace, 0));
  }

  EXPECT_EQ(there(), std::vector<std::string>{"run.sqlite"});
  std::ifstream file(path("run.sqlite"));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "old");

  ASSERT_TRUE(write(run, open_sqlite(path("run.sqlite"))));
  EXPECT_EQ(read_file(path("run.sqlite"), "SELECT count(*) FROM processes"), (Rows{{"1"}}));
}

TEST_F(SqliteExport, AnEmptyRunIsADatabaseWithoutRows) {
  ASSERT_TRUE(write({}, open_sqlite(path("run.sqlite"))));
  for (model::TraceTable const& table : model::trace_tables())
    EXPECT_EQ(read_file(path("run.sqlite"), fmt::format("SELECT * FROM {}", table.name)), Rows{})
        << table.name;
  EXPECT_FALSE(open_sqlite(path("no/such/folder/run.sqlite")));
}

TEST_F(SqliteExport, AFolderIsRefusedBeforeAnythingIsWritten) {
  std::filesystem::create_directories(path("there"));

  for (std::string const name : {"there", "there/", "new/"}) {
    auto const exporter = open_sqlite(path(name));
    ASSERT_FALSE(exporter) << name;
    EXPECT_NE(exporter.error().message.find("run.sqlite"), std::string::npos)
        << exporter.error().message;
  }

  auto const nowhere = open_sqlite(path("missing/run.sqlite"));
  ASSERT_FALSE(nowhere);
  EXPECT_NE(nowhere.error().message.find("No such file or directory"), std::string::npos)
      << nowhere.error().message;
  EXPECT_EQ(there(), std::vector<std::string>{"there"});
}

/// What a query asks of a run it can ask of its export.
TEST_F(SqliteExport, QueriesRunOnItAsTheyAre) {
  model::Run const run = support::random_ranks({.seed = 11, .ranks = 2});
  ASSERT_TRUE(write(run, open_sqlite(path("run.sqlite"))));

  auto database = query::Database::open(run);
  ASSERT_TRUE(database);

  class Keep final : public query::RowSink {
   public:
    void begin(std::span<std::string const>) override {}
    bool row(std::span<model::Cell const> cells) override {
      auto& row = rows.emplace_back();
      for (model::Cell const& cell : cells) row.push_back(shown(cell));
      return true;
    }
    Rows rows;
  };

  for (std::string const sql :
       {"select rank, name, count(*), sum(dur_ns) from kernels group by rank, name order by 1, 2",
        "select direction, sum(dur_ns), max(end_ns) from copies where rank = 1 group by direction "
        "order by 1",
        "select k.id, l.id from kernels k join events l on l.id = k.linked_id and l.rank = k.rank "
        "order by 1, 2",
        "select kind, class, count(*) from events where start_ns between 0 and 900 group by kind, "
        "class order by 1"}) {
    Keep keep;
    ASSERT_TRUE(database->run(sql, keep)) << sql;
    EXPECT_EQ(read_file(path("run.sqlite"), sql), keep.rows) << sql;
  }
}

}  // namespace
}  // namespace stepscope::exporting
