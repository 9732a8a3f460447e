#include "tests/cuda_doubles/math/numbers.h"

namespace stepscope::cuda_doubles {

#ifdef __SANITIZE_THREAD__
#define STEPSCOPE_FOR_EACH_PROCESSOR  // the choice is made before the sanitizer can be called
#else
#define STEPSCOPE_FOR_EACH_PROCESSOR __attribute__((target_clones("arch=haswell", "default")))
#endif

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
