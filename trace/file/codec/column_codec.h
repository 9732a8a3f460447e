// One column of 64-bit values as bytes. The coding depends on the column: rising starts become
// differences or gaps to the end before, correlations differences of the present ones, names
// indices. Byte planes follow, each stored as short as it gets. All arithmetic is modulo 2^64:
// every value round-trips, the expected ones are short.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "trace/base/bytes.h"
#include "trace/base/scratch.h"
#include "trace/file/codec/byte_planes.h"
#include "trace/file/codec/compression.h"

namespace stepscope::file {

/// How a value follows from its row's stored number `v`. A column stores `base` and `unit` once.
/// Zigzag codes 0, −1, 1, −2 as 0, 1, 2, 3 and so on. Files store the enumerators' numbers.
enum class ColumnCoding : uint8_t {
  kConstant = 0,     ///< base; no planes
  kPlain = 1,        ///< base + unit · v
  kDelta = 2,        ///< value before + unit · v; before the first: base
  kZigzagDelta = 3,  ///< value before + unit · zigzag⁻¹(v); before the first: base
  kGap = 4,  ///< of starts: end of the row before + unit · zigzag⁻¹(v); before the first: base
  kSparseDelta = 5,  ///< 0 where v = 0, else the last value that is not 0 + zigzag⁻¹(v − 1); before
                     ///< the first: base
  kDictionary =
      6,  ///< entry v of the dictionary, which has `base` entries and stands before the planes
};

/// What stands in a payload's directory for each column.
struct ColumnHead {
  uint8_t scope = 0, number = 0;  ///< which column (event_codec.h)
  ColumnCoding coding = ColumnCoding::kConstant;
  uint8_t width = 0;  ///< byte planes, 0..8
  uint64_t base = 0, unit = 1;
  std::array<PlaneHead, 8> planes{};
  uint32_t dictionary_bytes = 0;
  /// Bytes of the column's data, dictionary included.
  [[nodiscard]] size_t data_bytes() const;
};

/// u8 scope, u8 number, u8 coding, u8 width, then varints: base, unit, bytes of the dictionary
/// (kDictionary only), and for each plane 4 · (byte or stored bytes) + plane coding.
void put_column_head(ColumnHead const& head, base::ByteWriter& out);
/// False when it is cut or says something impossible.
bool get_column_head(base::ByteReader& in, ColumnHead& head);

/// Encodes columns one after the other: heads into the directory, data behind one another. Keeps
/// its buffers: use one for a file.
class ColumnEncoder {
 public:
  /// `memory`: for what it writes and reads between two columns; must outlive it.
  explicit ColumnEncoder(base::BlockMemory const& memory = base::kHeapBlocks)
      : coded_(memory), planes_(memory) {}
  /// Begins a new payload.
  void clear();
  /// Number of columns so far, heads and data: what finish() of event_codec puts together.
  [[nodiscard]] uint32_t count() const { return count_; }
  [[nodiscard]] base::ByteSpan heads() const { return heads_.span(); }
  [[nodiscard]] base::ByteSpan data() const { return data_.span(); }

  /// Starts (ascending is short) with the durations of the same rows, both in their common unit:
  /// traces in µs lose three digits.
  void put_times(uint8_t scope, uint8_t start_number, uint8_t dur_number,
                 std::span<int64_t const> start, std::span<int64_t const> dur);
  /// Few different values, such as string ids. Memory grows with the largest.
  void put_dictionary(uint8_t scope, uint8_t number, std::span<uint32_t const> values);
  /// Mostly rising, with zeros where there is none.
  void put_sparse(uint8_t scope, uint8_t number, std::span<uint64_t const> values);
  /// Anything else: plain or differences.
  void put(uint8_t scope, uint8_t number, std::span<uint64_t const> values);

 private:
  void put_planes(ColumnHead head, std::span<uint64_t const> values);
  void put_head(ColumnHead const& head);

  Compressor compressor_{kNotWorthAContext};
  base::ByteWriter heads_, data_;
  uint32_t count_ = 0;
  base::Scratch<uint64_t> coded_;
  base::Scratch<std::byte> planes_;
  std::vector<uint32_t> dictionary_, index_of_, slot_epoch_;
  uint32_t epoch_ = 0;
};

/// Decodes columns. Keeps its buffers; not thread-safe: one a thread.
class ColumnDecoder {
 public:
  /// Fills `values` (their number is the column's). kGap needs the durations. False when the bytes
  /// are damaged.
  bool decode(ColumnHead const& head, base::ByteSpan data, std::span<int64_t const> dur,
              std::span<uint64_t> values);
  /// The same of numbers that are known to be small: of each value the lowest 32 bits, or the
  /// value, which must fit a byte (false where one does not). Faster where they are stored as they
  /// mostly are, by a dictionary or one byte each. Not for kGap.
  bool decode_ids(ColumnHead const& head, base::ByteSpan data, std::span<uint32_t> values);
  bool decode_bytes(ColumnHead const& head, base::ByteSpan data, std::span<uint8_t> values);

  /// Sets the mark of a row to 1 where its value is wanted, else to 0, and counts the ones in
  /// `count`. There are as many marks as rows. `wanted` is indexed by the lowest 32 bits of a
  /// value; its last entry is for all larger ones. Without a wanted entry in a dictionary nothing
  /// more is decoded, and `marks` is meaningless. Not for kGap. False when the bytes are damaged.
  bool mark(ColumnHead const& head, base::ByteSpan data, std::span<char const> wanted,
            std::span<uint8_t> marks, size_t& count);

 private:
  bool load_planes(ColumnHead const& head, base::ByteSpan data, size_t rows);
  bool mark_by_dictionary(ColumnHead const& head, base::ByteSpan data, std::span<char const> wanted,
                          std::span<uint8_t> marks, size_t& count);
  bool load_dictionary(ColumnHead const& head, base::ByteSpan data);

  Decompressor decompressor_;
  std::vector<std::byte> planes_;
  std::vector<uint64_t> dictionary_;
  std::vector<uint64_t> values_;  ///< of all but decode()
};

}  // namespace stepscope::file
