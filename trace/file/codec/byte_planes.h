// 64-bit integers as byte planes: all lowest bytes, then all second bytes, … Bytes of equal weight
// lie together, where zstd finds their repetition, and the noise of the low bytes of times is kept
// apart from what compresses.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/base/bytes.h"
#include "trace/file/codec/compression.h"

namespace stepscope::file {

/// Numbers are stored in files.
enum class PlaneCoding : uint8_t { kConstant = 0, kRaw = 1, kZstd = 2 };

/// How one plane is stored: its coding, and its bytes in the file or, for kConstant, the byte that
/// all of it is.
struct PlaneHead {
  PlaneCoding coding = PlaneCoding::kConstant;
  uint32_t value = 0;
  [[nodiscard]] size_t stored_bytes() const { return coding == PlaneCoding::kConstant ? 0 : value; }
};

/// Bytes needed for a value of which `bits` holds at least all set bits: 0..8.
uint8_t width_of(uint64_t bits);

/// planes: width × values.size() bytes.
void split_planes(std::span<uint64_t const> values, uint8_t width, std::byte* planes);
/// The reverse; `values` is overwritten whole.
void join_planes(std::byte const* planes, uint8_t width, std::span<uint64_t> values);

/// Appends one plane to `out` in its shortest form.
PlaneHead store_plane(base::ByteSpan plane, Compressor& compressor, base::ByteWriter& out);
/// Fills `plane` from what is stored; false when that is damaged.
bool load_plane(PlaneHead head, base::ByteSpan stored, Decompressor& decompressor,
                std::span<std::byte> plane);

}  // namespace stepscope::file
