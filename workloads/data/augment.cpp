// Crop, distort and standardise one image; see augment.h.
#include "workloads/data/augment.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace stepscope::workloads {
namespace {

constexpr float kMaxBrightness = 63.0F;
constexpr float kLowContrast = 0.2F, kHighContrast = 1.8F;

void crop(std::span<uint8_t const, kCifarPixels> pixels, size_t top, size_t left, bool flip,
          CropSpan out) {
  for (size_t y = 0; y < kCropSide; ++y) {
    size_t const row = (top + y) * kCifarSide + left;
    for (size_t x = 0; x < kCropSide; ++x) {
      size_t const from = row + (flip ? kCropSide - 1 - x : x);
      float* const to = &out[(y * kCropSide + x) * 3];
      for (size_t c = 0; c < 3; ++c) to[c] = static_cast<float>(pixels[c * kCifarPlane + from]);
    }
  }
}

void standardise(CropSpan out) {
  double sum = 0;
  double squares = 0;
  for (float const value : out) {
    sum += static_cast<double>(value);
    squares += static_cast<double>(value) * static_cast<double>(value);
  }

  double const mean = sum / kCropFloats;
  double const deviation = std::sqrt(std::max(0.0, squares / kCropFloats - mean * mean));
  // The floor keeps a flat image finite; it is TensorFlow's per_image_standardization.
  auto const scale = static_cast<float>(
      1.0 / std::max(deviation, 1.0 / std::sqrt(static_cast<double>(kCropFloats))));

  for (float& value : out) value = (value - static_cast<float>(mean)) * scale;
}

}  // namespace

void augment_image(std::span<uint8_t const, kCifarPixels> pixels, Random random, CropSpan out) {
  constexpr uint32_t kPlaces = kCifarSide - kCropSide + 1;
  size_t const top = random.below(kPlaces);
  size_t const left = random.below(kPlaces);
  bool const flip = random.below(2) == 1;
  float const brightness = random.uniform(-kMaxBrightness, kMaxBrightness);
  float const contrast = random.uniform(kLowContrast, kHighContrast);

  crop(pixels, top, left, flip, out);

  std::array<float, 3> mean = {};
  for (size_t i = 0; i < kCropFloats; ++i) mean[i % 3] += out[i];
  for (float& value : mean) value = value / (kCropSide * kCropSide) + brightness;
  for (size_t i = 0; i < kCropFloats; ++i)
    out[i] = (out[i] + brightness - mean[i % 3]) * contrast + mean[i % 3];

  standardise(out);
}

void central_image(std::span<uint8_t const, kCifarPixels> pixels, CropSpan out) {
  constexpr size_t kMargin = (kCifarSide - kCropSide) / 2;
  crop(pixels, kMargin, kMargin, false, out);
  standardise(out);
}

}  // namespace stepscope::workloads
