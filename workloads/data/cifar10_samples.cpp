#include "workloads/data/cifar10_samples.h"

#include <cstring>

namespace stepscope::workloads {

void CifarSamples::prepare(size_t i, Random random, std::byte* input, std::byte* label) const {
  CropSpan const out(reinterpret_cast<float*>(input), kCropFloats);
  if (augment_) {
    augment_image(images_.pixels(i), random, out);
  } else {
    central_image(images_.pixels(i), out);
  }
  int32_t const number = images_.label(i);
  std::memcpy(label, &number, sizeof number);
}

}  // namespace stepscope::workloads
