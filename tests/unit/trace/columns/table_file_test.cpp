// What a file does when it is misused or the disk fails. Its content: tests/e2e/columnar.
#include "trace/columns/files/table_file.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "trace/columns/files/arrow_messages.h"

namespace stepscope::columns {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;

FileSchema two_columns() {
  return {.columns = {{"number", ValueType::kInteger, "a number"}, {"text", ValueType::kText, {}}},
          .notes = {}};
}

std::vector<Column> some_rows() {
  ColumnBuilder numbers("number"), texts("text", ValueType::kText);
  for (int64_t i = 0; i < 10; ++i) {
    numbers.add(i == 3 ? model::Cell{} : model::Cell::of(i));
    texts.add(model::Cell::of(std::string_view(i % 2 == 0 ? "even" : "odd")));
  }
  return {numbers.take(), texts.take()};
}

using Open = std::unique_ptr<TableFile> (*)(FileSchema, WriteBytes);

std::string written(Open open, bool has_rows) {
  std::string bytes;
  auto const file = open(two_columns(), [&](std::string_view more) {
    bytes += more;
    return base::Expected<void>();
  });

  if (has_rows) {
    EXPECT_TRUE(file->add(some_rows()));
  }
  EXPECT_TRUE(file->finish());
  return bytes;
}

TEST(TableFile, HasTheMagicOfItsFormatAtBothEnds) {
  for (bool const has_rows : {false, true}) {
    EXPECT_THAT(written(parquet_file, has_rows), StartsWith("PAR1"));
    EXPECT_THAT(written(parquet_file, has_rows), EndsWith("PAR1"));
    EXPECT_THAT(written(arrow_file, has_rows), StartsWith("ARROW1"));
    EXPECT_THAT(written(arrow_file, has_rows), EndsWith("ARROW1"));
  }
}

TEST(TableFile, TheSameRowsAreTheSameBytes) {
  EXPECT_EQ(written(parquet_file, true), written(parquet_file, true));
  EXPECT_EQ(written(arrow_file, true), written(arrow_file, true));
}

TEST(TableFile, AnErrorOfTheDiskReachesTheCaller) {
  for (Open const open : {Open{parquet_file}, Open{arrow_file}}) {
    size_t const whole = written(open, true).size();
    // Wherever the disk is full, an error comes, at the latest from finish().
    for (size_t room = 0; room < whole; room += 50) {
      size_t bytes = 0;
      auto const file = open(two_columns(), [&](std::string_view more) -> base::Expected<void> {
        bytes += more.size();
        if (bytes > room) return base::fail("full");
        return {};
      });

      bool const is_written = file->add(some_rows()).has_value() && file->finish().has_value();
      EXPECT_FALSE(is_written) << room;
    }
  }
}

TEST(Slice, HasTheRowsAndTheirNulls) {
  std::vector<Column> const rows = some_rows();
  Column const middle = slice(rows[0], 2, 3);
  EXPECT_EQ(middle.integers, (std::vector<int64_t>{2, 0, 4}));
  EXPECT_EQ(middle.nulls, 1U);
  EXPECT_EQ(slice(rows[0], 8, 100).rows(), 2U);
  EXPECT_EQ(slice(rows[1], 9, 1).codes.size(), 1U);
  EXPECT_EQ(slice(rows[0], 10, 5).rows(), 0U);
}

TEST(Base64, IsThatOfTheStandard) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64(std::string("\xff\xfe\x00", 3)), "//4A");
}

}  // namespace
}  // namespace stepscope::columns
