// Parquet's encodings of values
// (https://parquet.apache.org/docs/file-format/data-pages/encodings/).
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace stepscope::columns {

/// Bits that numbers up to `greatest` need.
uint32_t bits_of(uint64_t greatest);

/// RLE / bit-packing hybrid, without its length. `bits`: 1 to 32, of every value.
void append_hybrid(std::string& bytes, std::span<uint32_t const> values, uint32_t bits);

/// DELTA_BINARY_PACKED.
void append_deltas(std::string& bytes, std::span<int64_t const> values);

}  // namespace stepscope::columns
