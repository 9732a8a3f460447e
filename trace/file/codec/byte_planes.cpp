#include "trace/file/codec/byte_planes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace stepscope::file {
namespace {

constexpr size_t kGroup = 8;  // values turned at once: an 8 × 8 matrix of bytes

#if defined(__SSE2__)
/// An 8 × 8 byte matrix, two rows a register.
struct Matrix {
  __m128i rows[4];
};

/// Rows become columns. Its own inverse.
Matrix transposed(Matrix matrix) {
  // Interleaving the first half with the second is one step of a perfect shuffle; three turn the
  // matrix.
  for (int step = 0; step < 3; ++step) {
    __m128i const* const in = matrix.rows;
    matrix = {{_mm_unpacklo_epi8(in[0], in[2]), _mm_unpackhi_epi8(in[0], in[2]),
               _mm_unpacklo_epi8(in[1], in[3]), _mm_unpackhi_epi8(in[1], in[3])}};
  }
  return matrix;
}
#endif

// The width is a template argument so that a group stays in registers: through memory, the narrow
// stores and the wide loads of the same bytes would wait for each other.
template <size_t kWidth>
void split_group(uint64_t const* values, std::byte* planes, size_t stride) {
#if defined(__SSE2__)
  Matrix matrix;
  std::memcpy(&matrix, values, sizeof matrix);
  matrix = transposed(matrix);
  for (size_t p = 0; p < kWidth; ++p) {
    __m128i const pair = matrix.rows[p / 2];
    _mm_storel_epi64(reinterpret_cast<__m128i*>(planes + p * stride),
                     p % 2 == 0 ? pair : _mm_unpackhi_epi64(pair, pair));
  }
#else
  for (size_t p = 0; p < kWidth; ++p)
    for (size_t i = 0; i < kGroup; ++i)
      planes[p * stride + i] = static_cast<std::byte>(values[i] >> (8 * p));
#endif
}

template <size_t kWidth>
void join_group(std::byte const* planes, size_t stride, uint64_t* values) {
#if defined(__SSE2__)
  auto const plane = [&](size_t p) {
    return p < kWidth ? _mm_loadl_epi64(reinterpret_cast<__m128i const*>(planes + p * stride))
                      : _mm_setzero_si128();
  };
  Matrix matrix;
  for (size_t i = 0; i < kGroup / 2; ++i)
    matrix.rows[i] = _mm_unpacklo_epi64(plane(2 * i), plane(2 * i + 1));
  matrix = transposed(matrix);
  std::memcpy(values, &matrix, sizeof matrix);
#else
  for (size_t i = 0; i < kGroup; ++i) {
    values[i] = 0;
    for (size_t p = 0; p < kWidth; ++p)
      values[i] |= static_cast<uint64_t>(planes[p * stride + i]) << (8 * p);
  }
#endif
}

template <size_t kWidth>
void split(std::span<uint64_t const> values, std::byte* planes) {
  size_t const whole = values.size() / kGroup * kGroup;
  for (size_t i = 0; i < whole; i += kGroup)
    split_group<kWidth>(values.data() + i, planes + i, values.size());
  for (size_t i = whole; i < values.size(); ++i)
    for (size_t p = 0; p < kWidth; ++p)
      planes[p * values.size() + i] = static_cast<std::byte>(values[i] >> (8 * p));
}

template <size_t kWidth>
void join(std::byte const* planes, std::span<uint64_t> values) {
  size_t const whole = values.size() / kGroup * kGroup;
  for (size_t i = 0; i < whole; i += kGroup)
    join_group<kWidth>(planes + i, values.size(), values.data() + i);
  for (size_t i = whole; i < values.size(); ++i) {
    values[i] = 0;
    for (size_t p = 0; p < kWidth; ++p)
      values[i] |= static_cast<uint64_t>(planes[p * values.size() + i]) << (8 * p);
  }
}

// Shorter planes are not worth a zstd frame.
constexpr size_t kMinCompressed = 48;
// Bytes looked at to see whether a plane is noise.
constexpr size_t kSample = 4096;
// Bits a byte from which on zstd finds next to nothing; the sample's own estimate is up to 0.05 too
// low.
constexpr double kNoise = 7.85;

/// Whether the plane's bytes are spread so evenly that compressing them is lost time. (Repetition
/// of whole passages would escape this look; in the planes that are noise, the low bytes of times,
/// there is none.)
bool is_noise(base::ByteSpan plane) {
  if (plane.size() < kSample) return false;
  std::array<uint32_t, 256> counts{};
  base::ByteSpan const middle = plane.subspan((plane.size() - kSample) / 2, kSample);
  for (std::byte const byte : middle) ++counts[static_cast<uint8_t>(byte)];
  double bits = 0;
  for (uint32_t const count : counts)
    if (count > 0) bits -= count * std::log2(static_cast<double>(count) / kSample);
  return bits >= kNoise * kSample;
}

}  // namespace

uint8_t width_of(uint64_t bits) { return static_cast<uint8_t>((std::bit_width(bits) + 7) / 8); }

void split_planes(std::span<uint64_t const> values, uint8_t width, std::byte* planes) {
  static constexpr std::array kSplit = {split<0>, split<1>, split<2>, split<3>, split<4>,
                                        split<5>, split<6>, split<7>, split<8>};
  if (width > 0) kSplit[width](values, planes);
}

void join_planes(std::byte const* planes, uint8_t width, std::span<uint64_t> values) {
  static constexpr std::array kJoin = {join<0>, join<1>, join<2>, join<3>, join<4>,
                                       join<5>, join<6>, join<7>, join<8>};
  if (width > 0)
    kJoin[width](planes, values);
  else  // there may be no pointer to planes that are not there
    std::fill(values.begin(), values.end(), 0);
}

PlaneHead store_plane(base::ByteSpan plane, Compressor& compressor, base::ByteWriter& out) {
  if (plane.empty() || std::memcmp(plane.data(), plane.data() + 1, plane.size() - 1) == 0)
    return {PlaneCoding::kConstant, plane.empty() ? 0 : static_cast<uint32_t>(plane[0])};
  if (plane.size() >= kMinCompressed && !is_noise(plane)) {
    size_t const stored = compressor.compress(plane, out);
    if (stored > 0) return {PlaneCoding::kZstd, static_cast<uint32_t>(stored)};
  }
  out.put_bytes(plane);
  return {PlaneCoding::kRaw, static_cast<uint32_t>(plane.size())};
}

bool load_plane(PlaneHead head, base::ByteSpan stored, Decompressor& decompressor,
                std::span<std::byte> plane) {
  switch (head.coding) {
    case PlaneCoding::kConstant:
      std::fill(plane.begin(), plane.end(), static_cast<std::byte>(head.value));
      return head.value <= UINT8_MAX;
    case PlaneCoding::kRaw:
      if (stored.size() != plane.size()) return false;
      std::copy(stored.begin(), stored.end(), plane.begin());
      return true;
    case PlaneCoding::kZstd:
      return decompressor.decompress(stored, plane);
  }
  return false;
}

}  // namespace stepscope::file
