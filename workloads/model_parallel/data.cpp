// Crops of images in the form that a stage takes; see data.h.
#include "workloads/model_parallel/data.h"

#include <algorithm>
#include <span>

#include "trace/base/check.h"
#include "workloads/data/cifar10_samples.h"

namespace stepscope::workloads {
namespace {

void prepare_image(CifarSamples const& samples, size_t i, std::span<float> image,
                   std::byte* label) {
  std::vector<float> crop(kCropFloats);
  samples.prepare(i, Random(0), reinterpret_cast<std::byte*>(crop.data()), label);

  if (image.size() == crop.size()) {
    std::copy(crop.begin(), crop.end(), image.begin());
    return;
  }

  constexpr size_t kChannels = 3;
  for (size_t at = 0; at < image.size(); ++at) {
    float const* const left = &crop[at / kChannels * 2 * kChannels + at % kChannels];
    image[at] = (left[0] + left[kChannels]) / 2;
  }
}

}  // namespace

PreparedSamples prepare_samples(CifarImages const& data, int64_t count, int64_t inputs,
                                int64_t multiple) {
  STEPSCOPE_CHECK(inputs == kCropFloats || inputs == kCropFloats / 2);
  CifarSamples const samples(data, false);

  PreparedSamples result;
  result.size = (count + multiple - 1) / multiple * multiple;
  auto const floats = static_cast<size_t>(inputs);
  auto const size = static_cast<size_t>(result.size);
  result.inputs.resize(size * floats * sizeof(float));
  result.labels.resize(size * samples.label_bytes());
  std::fill(result.labels.begin(), result.labels.end(), std::byte{0xFF});  // int32 −1

  auto* const images = reinterpret_cast<float*>(result.inputs.data());
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    prepare_image(samples, i, {images + i * floats, floats},
                  result.labels.data() + i * samples.label_bytes());
  }

  return result;
}

}  // namespace stepscope::workloads
