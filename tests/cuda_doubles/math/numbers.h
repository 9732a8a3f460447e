// Numbers of the libraries' doubles: arrays of float32 or bfloat16 as floats, and the two loops
// that take their time, compiled for the processor that runs them.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace stepscope::cuda_doubles {

enum class NumberType : uint8_t { kFloat32, kBfloat16 };

constexpr size_t size_of(NumberType type) { return type == NumberType::kFloat32 ? 4 : 2; }

inline float float_of_bf16(uint16_t bits) {
  uint32_t const wide = uint32_t{bits} << 16U;
  float value = 0;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

/// Rounds to the nearest, ties to even; what is not a number stays one.
inline uint16_t bf16_of(float value) {
  if (std::isnan(value)) return 0x7FFF;
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<uint16_t>((bits + 0x7FFFU + (bits >> 16U & 1U)) >> 16U);
}

inline float load(void const* data, size_t index, NumberType type) {
  return type == NumberType::kFloat32 ? static_cast<float const*>(data)[index]
                                      : float_of_bf16(static_cast<uint16_t const*>(data)[index]);
}

inline std::vector<float> load_all(void const* data, size_t count, NumberType type) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = load(data, i, type);
  return values;
}

inline void store_all(void* data, std::vector<float> const& values, NumberType type) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (type == NumberType::kFloat32)
      static_cast<float*>(data)[i] = values[i];
    else
      static_cast<uint16_t*>(data)[i] = bf16_of(values[i]);
  }
}

/// Rows of a matrix, `stride` floats apart.
struct Rows {
  float const* first;
  size_t count, stride;
};

/// sums[0..width) += Σ factors[i] · rows[i][0..width), in the order of the rows.
void add_weighted_rows(float const* factors, Rows rows, size_t width, float* sums);
/// rows[i][0..width) += factors[i] · values[0..width); the rows lie behind each other.
void add_outer_product(float const* factors, size_t count, float const* values, size_t width,
                       float* rows);

}  // namespace stepscope::cuda_doubles
