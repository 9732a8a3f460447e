#include "trace/columns/files/parquet_encoding.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace stepscope::columns {
namespace {

void append_varint(std::string& bytes, uint64_t value) {
  for (; value >= 0x80; value >>= 7U) bytes += static_cast<char>(value | 0x80U);
  bytes += static_cast<char>(value);
}
void append_zigzag(std::string& bytes, int64_t value) {
  append_varint(bytes, (static_cast<uint64_t>(value) << 1U) ^ static_cast<uint64_t>(value >> 63));
}

/// Numbers of at most 64 bits, the lowest bit first.
class BitPacker {
 public:
  BitPacker(std::string& bytes, uint32_t bits) : bytes_(bytes), bits_(bits) {}

  /// `value` < 2^bits.
  void put(uint64_t value) {
    buffer_ |= value << filled_;
    filled_ += bits_;
    if (filled_ < 64) return;
    append(sizeof buffer_);
    filled_ -= 64;
    // The buffer may have taken the whole value.
    buffer_ = filled_ == 0 ? 0 : value >> (bits_ - filled_);
  }
  /// After a whole number of bytes.
  void finish() { append(filled_ / 8); }

 private:
  void append(size_t count) {
    char raw[sizeof buffer_];
    std::memcpy(raw, &buffer_, sizeof buffer_);
    bytes_.append(raw, count);
  }

  std::string& bytes_;
  uint32_t bits_;
  uint64_t buffer_ = 0;
  uint32_t filled_ = 0;  ///< below 64 between values
};

constexpr size_t kGroup = 8;  // values that are packed together at least

/// How many values from `first` on are the same, up to a limit.
size_t equal_from(std::span<uint32_t const> values, size_t first, size_t limit) {
  size_t end = first + 1;
  while (end < values.size() && end - first < limit && values[end] == values[first]) ++end;
  return end - first;
}

/// The last group is filled with zeros; readers know how many values there are.
void append_packed(std::string& bytes, std::span<uint32_t const> values, uint32_t bits) {
  size_t const groups = (values.size() + kGroup - 1) / kGroup;
  append_varint(bytes, groups << 1U | 1U);
  BitPacker packer(bytes, bits);
  for (uint32_t const value : values) packer.put(value);
  for (size_t i = values.size(); i < groups * kGroup; ++i) packer.put(0);
  packer.finish();
}

void append_run(std::string& bytes, uint32_t value, size_t count, uint32_t bits) {
  append_varint(bytes, count << 1U);
  for (uint32_t shift = 0; shift < bits; shift += 8) bytes += static_cast<char>(value >> shift);
}

constexpr size_t kBlock = 128, kMiniblocks = 4, kMiniblock = kBlock / kMiniblocks;

/// `deltas`: at most a block of them.
void append_delta_block(std::string& bytes, std::span<int64_t const> deltas) {
  int64_t const least = *std::min_element(deltas.begin(), deltas.end());
  append_zigzag(bytes, least);

  std::array<uint64_t, kBlock> above{};
  for (size_t i = 0; i < deltas.size(); ++i)
    above[i] = static_cast<uint64_t>(deltas[i]) - static_cast<uint64_t>(least);

  std::array<uint32_t, kMiniblocks> bits{};
  for (size_t i = 0; i < kMiniblocks; ++i) {
    auto const first = above.begin() + static_cast<ptrdiff_t>(i * kMiniblock);
    bits[i] = bits_of(*std::max_element(first, first + kMiniblock));
    bytes += static_cast<char>(bits[i]);
  }

  // Miniblocks behind the last value have 0 bits, which is how readers expect them.
  for (size_t i = 0; i < kMiniblocks; ++i) {
    BitPacker packer(bytes, bits[i]);
    if (bits[i] == 0) continue;
    for (size_t j = 0; j < kMiniblock; ++j) packer.put(above[i * kMiniblock + j]);
    packer.finish();
  }
}

}  // namespace

uint32_t bits_of(uint64_t greatest) { return static_cast<uint32_t>(std::bit_width(greatest)); }

void append_hybrid(std::string& bytes, std::span<uint32_t const> values, uint32_t bits) {
  size_t at = 0;
  while (at < values.size()) {
    size_t const run = equal_from(values, at, SIZE_MAX);
    if (run >= kGroup) {
      append_run(bytes, values[at], run, bits);
      at += run;
      continue;
    }

    size_t const first = at;
    do {
      at = std::min(at + kGroup, values.size());
    } while (at < values.size() && equal_from(values, at, kGroup) < kGroup);
    append_packed(bytes, values.subspan(first, at - first), bits);
  }
}

void append_deltas(std::string& bytes, std::span<int64_t const> values) {
  append_varint(bytes, kBlock);
  append_varint(bytes, kMiniblocks);
  append_varint(bytes, values.size());
  append_zigzag(bytes, values.empty() ? 0 : values[0]);

  std::array<int64_t, kBlock> deltas{};
  for (size_t first = 1; first < values.size(); first += kBlock) {
    size_t const count = std::min(kBlock, values.size() - first);
    // Differences may pass 64 bits: they wrap, and wrap back in the reader.
    for (size_t i = 0; i < count; ++i)
      deltas[i] = static_cast<int64_t>(static_cast<uint64_t>(values[first + i]) -
                                       static_cast<uint64_t>(values[first + i - 1]));
    append_delta_block(bytes, std::span(deltas).first(count));
  }
}

}  // namespace stepscope::columns
