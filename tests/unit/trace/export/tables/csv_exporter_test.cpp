#include "trace/export/tables/csv.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "tests/support/random_ranks.h"
#include "tests/unit/trace/export/tables/exported.h"
#include "trace/model/tables.h"

namespace stepscope::exporting {
namespace {

using Row = std::vector<std::string>;

/// RFC 4180, read letter by letter. Every line must end with \r\n.
std::vector<Row> read_csv(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  std::string const text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};

  std::vector<Row> rows;
  Row row;
  std::string field;
  bool quoted = false;

  for (size_t i = 0; i < text.size(); ++i) {
    char const c = text[i];
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      field += text[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == ',') {
      row.push_back(std::exchange(field, {}));
    } else if (!quoted && c == '\r') {
      EXPECT_EQ(text[++i], '\n');
      row.push_back(std::exchange(field, {}));
      rows.push_back(std::exchange(row, {}));
    } else {
      field += c;
    }
  }

  EXPECT_FALSE(quoted);
  EXPECT_TRUE(field.empty() && row.empty());
  return rows;
}

/// As a person reads it: the apostrophe that keeps a spreadsheet from running it is taken off.
std::string unguarded(std::string const& field) {
  return field.starts_with('\'') ? field.substr(1) : field;
}

class CsvExport : public Exported {};

TEST_F(CsvExport, EveryTableIsAFileWithEveryCell) {
  model::Run const run = support::random_ranks({.seed = 2, .ranks = 3});
  ASSERT_TRUE(write(run, open_csv(path("tables"))));

  std::vector<model::TableSource> sources;
  for (model::RankTrace const& rank : run.ranks) sources.emplace_back(rank.trace, rank.offset_ns);

  for (model::TraceTable const& table : model::trace_tables()) {
    auto const rows = read_csv(path("tables/" + std::string(table.name) + ".csv"));
    ASSERT_FALSE(rows.empty());
    size_t next = 1;
    for (size_t i = 0; i < table.columns.size(); ++i)
      EXPECT_EQ(rows[0].at(i), table.columns[i].name);

    for (model::TableSource const& source : sources)
      for (uint32_t row = 0; row < table.row_count(source.trace()); ++row) {
        if (!table.has(source.trace(), row)) continue;
        ASSERT_LT(next, rows.size()) << table.name;
        ASSERT_EQ(rows[next].size(), table.columns.size()) << table.name;
        for (size_t i = 0; i < table.columns.size(); ++i)
          EXPECT_EQ(unguarded(rows[next][i]).substr(0, 300),
                    to_text(table.columns[i].read(source, row)).substr(0, 300))
              << table.name << "." << table.columns[i].name;
        ++next;
      }

    EXPECT_EQ(next, rows.size()) << table.name;
  }
}

TEST_F(CsvExport, AFileHoldsTheEvents) {
  model::Run const run = support::random_ranks({.seed = 3, .ranks = 2});
  ASSERT_TRUE(write(run, open_csv(path("events.csv"))));

  size_t events = 0;
  int64_t sum = 0, expected = 0;
  for (model::RankTrace const& rank : run.ranks)
    for (uint32_t row = 0; row < rank.trace.event_count(); ++row, ++events)
      expected += rank.trace.end(row) + rank.offset_ns;

  auto const rows = read_csv(path("events.csv"));
  EXPECT_EQ(rows.size(), events + 1);

  auto const end =
      static_cast<size_t>(std::find(rows[0].begin(), rows[0].end(), "end_ns") - rows[0].begin());
  for (size_t i = 1; i < rows.size(); ++i) sum += std::stoll(rows[i].at(end));

  EXPECT_EQ(sum, expected);
  EXPECT_EQ(there(), std::vector<std::string>{"events.csv"});
}

TEST_F(CsvExport, NoNameIsAFormula) {
  model::Run const run = support::random_ranks({.seed = 4, .ranks = 1, .events_per_track = 100});
  ASSERT_TRUE(write(run, open_csv(path("events.csv"))));

  auto const rows = read_csv(path("events.csv"));
  auto const name =
      static_cast<size_t>(std::find(rows[0].begin(), rows[0].end(), "name") - rows[0].begin());

  int guarded = 0;
  for (auto const& row : rows) {
    EXPECT_TRUE(row[name].empty() ||
                std::string("=+-@\t\r").find(row[name][0]) == std::string::npos)
        << row[name];
    guarded += row[name].starts_with("'=") ? 1 : 0;
  }

  EXPECT_GT(guarded, 0);
}

TEST_F(CsvExport, WhatIsNotFinishedLeavesNothing) {
  model::Run const run = support::random_ranks({.seed = 2, .ranks = 1});
  for (std::string const name : {"tables", "events.csv"}) {
    auto exporter = open_csv(path(name));
    ASSERT_TRUE(exporter);
    ASSERT_TRUE((*exporter)->add(run.ranks[0].trace, 0));
    exporter->reset();
    EXPECT_TRUE(there().empty());
  }
}

TEST_F(CsvExport, NothingThatIsThereIsLost) {
  std::filesystem::create_directories(path("full"));
  std::ofstream(path("full/precious")) << "x";
  std::ofstream(path("full/kernels.csv")) << "old";
  std::ofstream(path("file")) << "x";

  EXPECT_FALSE(open_csv(path("file")));
  EXPECT_TRUE(open_csv(path("no/such/folder/tables")))
      << "folders are made, and taken back when nothing is finished";
  EXPECT_FALSE(open_csv(path("no/such/folder/events.csv")));

  model::Run const run = support::random_ranks({.ranks = 1});
  ASSERT_TRUE(write(run, open_csv(path("full"))));

  EXPECT_TRUE(std::filesystem::exists(path("full/precious")));
  EXPECT_GT(read_csv(path("full/kernels.csv")).size(), 1U);
  EXPECT_EQ(there(), (std::vector<std::string>{"file", "full"}));
}

TEST_F(CsvExport, ANameWithAnExtensionIsAFileWhateverItIs) {
  model::Run const run = support::random_ranks({.ranks = 1});
  ASSERT_TRUE(write(run, open_csv(path("events.txt"))));
  EXPECT_TRUE(std::filesystem::is_regular_file(path("events.txt")));
  EXPECT_EQ(read_csv(path("events.txt")).size(), run.ranks[0].trace.event_count() + 1);
  std::filesystem::create_directories(path("there.csv"));
  ASSERT_TRUE(write(run, open_csv(path("there.csv"))));
  EXPECT_TRUE(std::filesystem::exists(path("there.csv/kernels.csv")));
}

TEST_F(CsvExport, ANameWithASlashIsAFolder) {
  model::Run const run = support::random_ranks({.ranks = 1});
  for (std::string const name : {"folder/", "folder.csv/"}) {
    ASSERT_TRUE(write(run, open_csv(path(name))));
    EXPECT_TRUE(std::filesystem::exists(path(name + "kernels.csv")));
  }
}

}  // namespace
}  // namespace stepscope::exporting
