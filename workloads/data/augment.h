// The TensorFlow tutorial's CIFAR-10 preprocessing: 32 × 32 bytes → 24 × 24 × 3 floats, channels
// last. Training: random crop, flip, brightness (± 63), contrast (× 0.2 … 1.8 about each channel's
// mean), then per-image standardisation. Evaluation: central crop and standardisation. Depends on
// (seed, epoch, image) alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "workloads/data/cifar10_file.h"
#include "workloads/data/random.h"

namespace stepscope::workloads {

constexpr size_t kCropSide = 24;
constexpr size_t kCropFloats = kCropSide * kCropSide * 3;

using CropSpan = std::span<float, kCropFloats>;

void augment_image(std::span<uint8_t const, kCifarPixels> pixels, Random random, CropSpan out);
void central_image(std::span<uint8_t const, kCifarPixels> pixels, CropSpan out);

}  // namespace stepscope::workloads
