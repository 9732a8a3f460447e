// One column of 64-bit values as bytes: constant, or as many byte planes as its largest value needs, plain, zigzag or as zigzag
// differences, whichever is narrowest. Planes put the bytes of equal weight together, where zstd finds their repetition.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/base/bytes.h"

namespace stepscope::file {

/// Numbers are stored in files.
enum class ColumnCoding : uint8_t { kConstant = 0, kPlain = 1, kZigzag = 2, kZigzagDelta = 3 };

/// Appends: u8 coding, u8 width in bytes (0..8), u32 count, then width × count bytes. kConstant: width bytes once instead.
/// kZigzagDelta: the first value as u64 before them; the first difference is 0.
void encode_column(std::span<uint64_t const> values, base::ByteWriter& out);

/// Reads what encode_column wrote. False when the bytes are damaged or the count differs; `values` is then unspecified.
bool decode_column(base::ByteReader& in, size_t expected_count, std::vector<uint64_t>& values);
/// Passes over a column without decoding it. False when damaged.
bool skip_column(base::ByteReader& in);

}  // namespace stepscope::file
