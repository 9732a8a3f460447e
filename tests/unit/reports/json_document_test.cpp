// A document that is written member by member is, byte for byte, what nlohmann's dump of the whole
// is.
#include "reports/json/json_document.h"

#include <gtest/gtest.h>

namespace stepscope::reports {
namespace {

using DocumentJson = JsonDocument::Json;

/// Nested, of every type, with text that has to be escaped or replaced.
DocumentJson made_row(size_t i) {
  DocumentJson row = {{"number", i},
                      {"text", "line\nbreak \"quoted\" \x01 \xff"},
                      {"none", nullptr},
                      {"share", 0.1 * static_cast<double>(i)}};

  if (i % 3 == 0) row["empty"] = DocumentJson::array();
  if (i % 4 == 0) row["nothing"] = DocumentJson::object();
  if (i % 5 == 0) row["inner"] = {{"values", {1, 2, {3, 4}}}, {"yes", true}};

  if (i % 7 == 0) return DocumentJson::array({i, "of no name", row});
  if (i % 11 == 0) return DocumentJson("alone [");
  return row;
}

/// The same row, its objects and arrays of numbers written one by one.
void write_inner_object(JsonLines& to) {
  to.begin_object();
  to.key("values");
  to.begin_array();
  to.value(1);
  to.value(int64_t{2});

  to.begin_array();
  to.value(3U);
  to.value(uint64_t{4});
  to.end_array();

  to.end_array();
  to.put("yes", true);
  to.end_object();
}

/// Writes made_row(i) piece by piece.
void write_row(size_t i, JsonLines& to) {
  DocumentJson const row = made_row(i);
  if (!row.is_object()) return to.value(row);

  to.begin_object();
  for (auto const& [key, value] : row.items()) {
    if (key != "inner" && key != "empty" && key != "nothing" && key != "number") {
      to.put(key, value);
    } else if (key == "number") {
      to.put(key, i);
    } else if (key == "empty") {
      to.key(key);
      to.begin_array();
      to.end_array();
    } else if (key == "nothing") {
      to.key(key);
      to.begin_object();
      to.end_object();
    } else {
      to.key(key);
      write_inner_object(to);
    }
  }

  to.end_object();
}

void expect_same(size_t rows) {
  DocumentJson whole = DocumentJson::object();
  JsonDocument document;

  whole["schema"] = 1;
  document.put("schema", 1);

  DocumentJson array = DocumentJson::array();
  for (size_t i = 0; i < rows; ++i) array.push_back(made_row(i));
  whole["rows"] = array;
  document.put_rows("rows", rows, write_row);

  whole["one"] = made_row(5);
  document.put("one", made_row(5));
  whole["empty"] = DocumentJson::object();
  document.put("empty", DocumentJson::object());
  whole["behind"] = array;
  document.put_rows("behind", rows, write_row);

  EXPECT_EQ(std::move(document).finish(),
            whole.dump(1, ' ', false, DocumentJson::error_handler_t::replace) + "\n");
}

TEST(JsonDocument, IsTheDumpOfTheWhole) {
  for (size_t const rows : std::initializer_list<size_t>{0, 1, 2, 63, 64, 65, 4095, 4096, 4097})
    expect_same(rows);
}

TEST(JsonLines, NumbersAreWrittenWhole) {
  std::string text;
  JsonLines lines(text, 1);

  lines.value(INT64_MIN);
  lines.value(UINT64_MAX);
  lines.value(int32_t{-1});
  lines.value(false);
  lines.value(std::optional<int64_t>());
  lines.value(std::optional<int64_t>(7));

  DocumentJson const same = {INT64_MIN, UINT64_MAX, -1, false, nullptr, 7};
  EXPECT_EQ("[" + text + "\n]", same.dump(1));
}

TEST(JsonDocument, WithoutMembersIsEmpty) { EXPECT_EQ(JsonDocument().finish(), "{}\n"); }

}  // namespace
}  // namespace stepscope::reports
