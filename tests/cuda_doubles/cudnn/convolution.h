// Convolutions of images that lie [batch][height][width][channels], computed as their definition
// says.
#pragma once

#include "tests/cuda_doubles/math/numbers.h"

namespace stepscope::cuda_doubles {

struct ConvolutionShape {
  size_t batch = 0, height = 0, width = 0, channels = 0;
  size_t outputs = 0, kernel_height = 0, kernel_width = 0;  ///< of the weights
  size_t out_height = 0, out_width = 0;
  size_t pad_rows = 0, pad_columns = 0, stride_rows = 1, stride_columns = 1;
  NumberType type = NumberType::kFloat32;

  [[nodiscard]] size_t images() const { return batch * height * width * channels; }
  [[nodiscard]] size_t weights() const { return outputs * kernel_height * kernel_width * channels; }
  [[nodiscard]] size_t results() const { return batch * out_height * out_width * outputs; }
};

void convolve(ConvolutionShape const& shape, void const* images, void const* weights,
              void* results);
void convolve_backward_data(ConvolutionShape const& shape, void const* weights,
                            void const* result_gradients, void* image_gradients);
void convolve_backward_weights(ConvolutionShape const& shape, void const* images,
                               void const* result_gradients, void* weight_gradients);

}  // namespace stepscope::cuda_doubles
