// Values that become bytes come back as they were; bytes that are not whole are noticed.
#include "trace/base/pack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/base/column.h"

namespace stepscope::base {

namespace {

struct PlainRow {
  int32_t number = 0;
  double rate = 0;
  friend bool operator==(PlainRow const&, PlainRow const&) = default;
};

struct PackedRow {
  std::string name;
  std::vector<PlainRow> plains;
  std::optional<std::string> note;
  std::vector<std::optional<int64_t>> counts;
  std::pair<std::string, uint8_t> both;
  std::vector<bool> flags;
  friend bool operator==(PackedRow const&, PackedRow const&) = default;
};

template <class Archive>
void pack_fields(Archive& at, PackedRow& row) {
  auto& [name, plains, note, counts, both, flags] = row;
  at(name, plains, note, counts, both, flags);
}

class Private {
 public:
  explicit Private(std::string text = "") : text_(std::move(text)) {}
  [[nodiscard]] std::string const& text() const { return text_; }
  template <class Archive>
  void pack_fields(Archive& at) {
    at(text_);
  }

 private:
  std::string text_;
};

std::string packed_row_bytes(PackedRow const& row) {
  Packer at;
  at(row, uint16_t{7});
  return std::move(at).take();
}

PackedRow const kPackedRow{
    "a name\0with a zero", {{1, 0.5}, {-2, 1e300}}, "note", {3, std::nullopt, -4}, {"b", 9},
    {true, false, true}};

TEST(Pack, ValuesComeBackAsTheyWere) {
  std::string const bytes = packed_row_bytes(kPackedRow);
  Unpacker at(bytes);
  PackedRow row;
  uint16_t number = 0;
  at(row, number);
  EXPECT_TRUE(at.is_whole());
  EXPECT_EQ(row, kPackedRow);
  EXPECT_EQ(number, 7);
}

TEST(Pack, ClassesAndColumnsToo) {
  Column<uint64_t> column = {1, 2, 3};
  Packer packer;
  packer(std::vector<Private>{Private("x"), Private("yz")}, column);
  std::string const bytes = std::move(packer).take();

  std::vector<Private> list;
  Column<uint64_t> again;
  Unpacker at(bytes);
  at(list, again);
  ASSERT_TRUE(at.is_whole());
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[1].text(), "yz");
  EXPECT_EQ(again, column);
}

TEST(Pack, BytesThatAreCutOrLongerAreNotWhole) {
  std::string const bytes = packed_row_bytes(kPackedRow);
  for (size_t size = 0; size <= bytes.size() + 1; ++size) {
    std::string some = bytes.substr(0, size);
    some.resize(size);

    Unpacker at(some);
    PackedRow row;
    uint16_t number = 0;
    at(row, number);
    EXPECT_EQ(at.is_whole(), size == bytes.size()) << size;
  }
}

TEST(Pack, LengthsThatCannotBeTakeNoMemory) {
  std::string bytes(sizeof(uint64_t), '\xFF');
  bytes += "abc";
  std::vector<PlainRow> plains;
  std::vector<std::string> texts;
  std::string text;
  Unpacker{bytes}(plains);
  Unpacker{bytes}(texts);
  Unpacker{bytes}(text);
  EXPECT_TRUE(plains.empty() && texts.empty() && text.empty());
}

}  // namespace
}  // namespace stepscope::base
