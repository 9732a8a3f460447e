#include "tests/cuda_doubles/cudnn/convolution.h"

namespace stepscope::cuda_doubles {
namespace {

/// Calls use(pixel of the images, pixel of the results, place in the kernel) for each pair that a
/// convolution multiplies.
template <class Use>
void for_each_pair(ConvolutionShape const& s, Use const& use) {
  size_t result = 0;

  for (size_t image = 0; image < s.batch; ++image) {
    for (size_t row = 0; row < s.out_height; ++row) {
      for (size_t column = 0; column < s.out_width; ++column, ++result) {
        for (size_t tap = 0; tap < s.kernel_height * s.kernel_width; ++tap) {
          // Outside of the image the difference wraps around, and is too large.
          size_t const y = row * s.stride_rows + tap / s.kernel_width - s.pad_rows;
          size_t const x = column * s.stride_columns + tap % s.kernel_width - s.pad_columns;
          if (y < s.height && x < s.width) use((image * s.height + y) * s.width + x, result, tap);
        }
      }
    }
  }
}

/// [output][tap][channel] as [tap][channel][output], or back.
void transpose(ConvolutionShape const& s, std::vector<float>& by_output, std::vector<float>& by_tap,
               bool is_forward) {
  size_t const inner = s.kernel_height * s.kernel_width * s.channels;

  for (size_t k = 0; k < s.outputs; ++k) {
    for (size_t i = 0; i < inner; ++i) {
      if (is_forward)
        by_tap[i * s.outputs + k] = by_output[k * inner + i];
      else
        by_output[k * inner + i] = by_tap[i * s.outputs + k];
    }
  }
}

}  // namespace

void convolve(ConvolutionShape const& s, void const* images, void const* weights, void* results) {
  auto const x = load_all(images, s.images(), s.type);
  auto w = load_all(weights, s.weights(), s.type);
  std::vector<float> by_tap(w.size()), y(s.results());
  transpose(s, w, by_tap, true);

  size_t const tap_floats = s.channels * s.outputs;
  for_each_pair(s, [&](size_t pixel, size_t result, size_t tap) {
    add_weighted_rows(&x[pixel * s.channels], {&by_tap[tap * tap_floats], s.channels, s.outputs},
                      s.outputs, &y[result * s.outputs]);
  });
  store_all(results, y, s.type);
}

void convolve_backward_data(ConvolutionShape const& s, void const* weights,
                            void const* result_gradients, void* image_gradients) {
  auto const w = load_all(weights, s.weights(), s.type);
  auto const dy = load_all(result_gradients, s.results(), s.type);
  std::vector<float> dx(s.images());

  size_t const output_floats = s.kernel_height * s.kernel_width * s.channels;
  for_each_pair(s, [&](size_t pixel, size_t result, size_t tap) {
    add_weighted_rows(&dy[result * s.outputs], {&w[tap * s.channels], s.outputs, output_floats},
                      s.channels, &dx[pixel * s.channels]);
  });
  store_all(image_gradients, dx, s.type);
}

void convolve_backward_weights(ConvolutionShape const& s, void const* images,
                               void const* result_gradients, void* weight_gradients) {
  auto const x = load_all(images, s.images(), s.type);
  auto const dy = load_all(result_gradients, s.results(), s.type);
  std::vector<float> by_tap(s.weights()), dw(s.weights());

  for_each_pair(s, [&](size_t pixel, size_t result, size_t tap) {
    add_outer_product(&x[pixel * s.channels], s.channels, &dy[result * s.outputs], s.outputs,
                      &by_tap[tap * s.channels * s.outputs]);
  });
  transpose(s, dw, by_tap, false);
  store_all(weight_gradients, dw, s.type);
}

}  // namespace stepscope::cuda_doubles
