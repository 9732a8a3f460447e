// Results as tables, CSV and JSON.
#include "query/output.h"

#include <array>
#include <cstdio>
#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace stepscope::query {
namespace {

using model::Cell;

using Make = std::unique_ptr<ResultWriter> (*)(std::FILE*);

std::string written(std::unique_ptr<ResultWriter> (*make)(std::FILE*),
                    std::vector<std::string> const& names,
                    std::vector<std::vector<Cell>> const& rows) {
  std::FILE* const file = std::tmpfile();
  auto const writer = make(file);

  writer->begin(names);
  for (auto const& row : rows) EXPECT_TRUE(writer->row(row));
  EXPECT_TRUE(writer->finish());

  std::rewind(file);
  std::string text;
  std::array<char, 4096> buffer{};
  while (size_t const size = std::fread(buffer.data(), 1, buffer.size(), file))
    text.append(buffer.data(), size);
  std::fclose(file);
  return text;
}
Cell text(std::string_view value) { return Cell::of(value); }
Cell number(int64_t value) { return Cell::of(value); }

constexpr Make kWideTable = [](std::FILE* file) { return table_writer(to_stream(file), 0); };
constexpr Make kCsv = [](std::FILE* file) { return csv_writer(to_stream(file)); };
constexpr Make kJson = [](std::FILE* file) { return json_writer(to_stream(file)); };
constexpr Make kNarrowTable = [](std::FILE* file) { return table_writer(to_stream(file), 24); };

TEST(TableOutput, NumbersAreRightTextsLeftAndRowsCounted) {
  EXPECT_EQ(written(kWideTable, {"name", "n", "share"},
                    {{text("gemm"), number(12'345), Cell::of(0.5)},
                     {text("a µ"), Cell{}, Cell::of(2.0)}}),
            "name      n  share\n"
            "────  ─────  ─────\n"
            "gemm  12345    0.5\n"
            "a µ       -      2\n"
            "2 rows\n");
  EXPECT_EQ(written(kWideTable, {"n"}, {}), "n\n─\n0 rows\n");
}

TEST(TableOutput, TextsGiveWayToTheTerminalAndNumbersDoNot) {
  std::string const table = written(kNarrowTable, {"name", "total_ns"},
                                    {{text("a very long name of a kernel"), number(123'456'789)}});
  EXPECT_EQ(table,
            "name            total_ns\n"
            "─────────────  ─────────\n"
            "a very long …  123456789\n"
            "1 row\n");
}

TEST(TableOutput, ControlCharactersDoNotReachTheTerminal) {
  std::string const table = written(kWideTable, {"a\x1b[31m"}, {{text("x\x1b[0m\ny")}});
  EXPECT_EQ(table.find('\x1b'), std::string::npos);
}

TEST(TableOutput, ManyRowsAreWrittenAsTheyCome) {
  std::vector<std::vector<Cell>> const rows(2500, {text("x"), number(1)});
  std::string const table = written(kWideTable, {"a", "b"}, rows);
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 2503);
  EXPECT_TRUE(table.ends_with("2,500 rows\n"));
}

TEST(CsvOutput, IsQuotedAndGuarded) {
  EXPECT_EQ(written(kCsv, {"name", "sum(x,y)"},
                    {{text("=1+1"), number(-5)},
                     {text("a,\"b\""), Cell{}},
                     {text(""), Cell::of(0.1)},
                     {text("x"), Cell::address(255)}}),
            "name,\"sum(x,y)\"\n"
            "'=1+1,-5\n"
            "\"a,\"\"b\"\"\",\n"
            ",0.1\n"
            "x,0x00000000000000ff\n");
}

TEST(JsonOutput, IsReadBackAsItWas) {
  std::string const document = written(kJson, {"a", "b", "a"},
                                       {{text("\"quoted\"\n\xFF"), number(INT64_MAX), Cell{}},
                                        {Cell::of(0.1), Cell::of(uint64_t{UINT64_MAX}),
                                         Cell::of(std::numeric_limits<double>::infinity())}});

  auto const json = nlohmann::json::parse(document);
  ASSERT_EQ(json.size(), 2U);
  EXPECT_EQ(json[0]["a"], "\"quoted\"\n\xEF\xBF\xBD");
  EXPECT_EQ(json[0]["b"], INT64_MAX);
  EXPECT_TRUE(json[0]["a_2"].is_null());
  EXPECT_EQ(json[1]["a"], 0.1);
  EXPECT_EQ(json[1]["b"], UINT64_MAX);
  EXPECT_TRUE(json[1]["a_2"].is_null());

  EXPECT_TRUE(nlohmann::json::parse(written(kJson, {"a"}, {})).empty());
}

TEST(Output, AFullDiskIsSaid) {
  std::FILE* const full = std::fopen("/dev/full", "w");
  if (full == nullptr) GTEST_SKIP() << "no /dev/full here";
  auto const writer = csv_writer(to_stream(full));
  std::vector<std::string> const names = {"a"};
  writer->begin(names);
  auto const finished = writer->finish();
  ASSERT_FALSE(finished);
  EXPECT_NE(finished.error().message.find("No space left"), std::string::npos);
  std::fclose(full);
}

}  // namespace
}  // namespace stepscope::query
