#include "tests/cuda_doubles/math/numbers.h"

namespace stepscope::cuda_doubles {

#define STEPSCOPE_FOR_EACH_PROCESSOR __attribute__((target_clones("arch=haswell", "default")))

STEPSCOPE_FOR_EACH_PROCESSOR
void add_weighted_rows(float const* factors, Rows rows, size_t width, float* __restrict sums) {
  for (size_t i = 0; i < rows.count; ++i) {
    float const factor = factors[i];
    float const* const row = rows.first + i * rows.stride;
    for (size_t k = 0; k < width; ++k) sums[k] += factor * row[k];
  }
}

STEPSCOPE_FOR_EACH_PROCESSOR
void add_outer_product(float const* factors, size_t count, float const* values, size_t width,
                       float* __restrict rows) {
  for (size_t i = 0; i < count; ++i) {
    float const factor = factors[i];
    for (size_t k = 0; k < width; ++k) rows[i * width + k] += factor * values[k];
  }
}

}  // namespace stepscope::cuda_doubles
