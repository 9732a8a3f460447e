// Augmentation and the input pipeline: what a batch holds depends on the seed and the position
// alone.
#include "workloads/data/input_pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "workloads/data/cifar10_generator.h"
#include "workloads/data/cifar10_samples.h"

namespace stepscope::workloads {
namespace {

using Crop = std::array<float, kCropFloats>;

Crop augmented(CifarImages const& images, size_t i, Random random) {
  Crop crop = {};
  augment_image(images.pixels(i), random, crop);
  return crop;
}

TEST(Augmentation, IsTheSameForTheSameSeedEpochAndImage) {
  CifarImages const images = generate_cifar(2, 0);
  EXPECT_EQ(augmented(images, 0, Random::of(1, 2, 3)), augmented(images, 0, Random::of(1, 2, 3)));
}

TEST(Augmentation, DiffersBetweenEpochsImagesAndSeeds) {
  CifarImages const images = generate_cifar(2, 0);
  Crop const crop = augmented(images, 0, Random::of(1, 2, 3));
  EXPECT_NE(augmented(images, 0, Random::of(1, 3, 3)), crop);
  EXPECT_NE(augmented(images, 0, Random::of(1, 2, 4)), crop);
  EXPECT_NE(augmented(images, 0, Random::of(2, 2, 3)), crop);
}

TEST(Augmentation, StandardisesEachImage) {
  CifarImages const images = generate_cifar(1, 0);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Crop const crop = augmented(images, 0, Random(seed));
    double const mean = std::accumulate(crop.begin(), crop.end(), 0.0) / kCropFloats;
    double const squares =
        std::inner_product(crop.begin(), crop.end(), crop.begin(), 0.0) / kCropFloats;
    EXPECT_NEAR(mean, 0.0, 1e-4);
    EXPECT_NEAR(squares, 1.0, 1e-3);
  }
}

TEST(Augmentation, KeepsAFlatImageFinite) {
  CifarImages images;
  images.records.assign(kCifarRecord, 128);
  for (float const value : augmented(images, 0, Random(1))) ASSERT_TRUE(std::isfinite(value));
}

TEST(CentralCrop, TakesTheMiddleAndPutsChannelsLast) {
  CifarImages images;
  images.records.assign(kCifarRecord, 0);
  images.records[1 + 2 * kCifarPlane + 4 * kCifarSide + 4] = 255;  // blue of the crop's first pixel
  Crop crop = {};
  central_image(images.pixels(0), crop);
  EXPECT_EQ(std::max_element(crop.begin(), crop.end()) - crop.begin(), 2);
}

struct Batches {
  std::vector<std::vector<std::byte>> images, labels;
  bool operator==(Batches const&) const = default;
};

/// What step by step comes out, the devices' slices one after the other.
Batches run(CifarImages const& images, InputSettings const& settings) {
  CifarSamples const samples(images, true);
  InputPipeline pipeline(samples, settings);
  Batches result;

  for (int64_t step = settings.first_step; step < settings.end_step; ++step) {
    std::vector<std::byte> all, labels;
    for (int64_t device = 0; device < settings.devices; ++device) {
      HostBatch const batch = pipeline.next(device);
      all.insert(all.end(), batch.inputs,
                 batch.inputs + settings.batch * static_cast<int64_t>(samples.input_bytes()));
      labels.insert(labels.end(), batch.labels,
                    batch.labels + settings.batch * static_cast<int64_t>(samples.label_bytes()));
      pipeline.release(device);
    }

    result.images.push_back(all);
    result.labels.push_back(labels);
  }
  return result;
}

TEST(InputPipeline, GivesTheSameBatchesWithAnyNumberOfThreads) {
  CifarImages const images = generate_cifar(100, 0);
  Batches const one = run(images, {.batch = 16, .end_step = 20, .threads = 1, .seed = 5});
  EXPECT_EQ(run(images, {.batch = 16, .end_step = 20, .depth = 5, .threads = 4, .seed = 5}), one);
}

TEST(InputPipeline, SplitsTheSameGlobalBatchOverDevices) {
  CifarImages const images = generate_cifar(100, 0);
  EXPECT_EQ(run(images, {.devices = 4, .batch = 4, .end_step = 15, .seed = 5}),
            run(images, {.batch = 16, .end_step = 15, .seed = 5}));
}

TEST(InputPipeline, GoesOnWhereAnEarlierOneStopped) {
  CifarImages const images = generate_cifar(60, 0);
  Batches const whole = run(images, {.batch = 16, .end_step = 8, .seed = 5});
  Batches const rest = run(images, {.batch = 16, .first_step = 5, .end_step = 8, .seed = 5});
  EXPECT_TRUE(std::equal(rest.images.begin(), rest.images.end(), whole.images.begin() + 5));
}

TEST(InputPipeline, ShowsEveryImageOnceInAnEpoch) {
  CifarImages images;
  for (size_t i = 0; i < 40; ++i) {
    images.records.push_back(static_cast<uint8_t>(i % 10));
    images.records.insert(images.records.end(), kCifarPixels, static_cast<uint8_t>(i));
  }

  Batches const batches = run(images, {.batch = 8, .end_step = 5});
  std::array<int, 10> counts = {};
  for (auto const& labels : batches.labels) {
    for (size_t i = 0; i < labels.size(); i += sizeof(int32_t)) {
      int32_t label = 0;
      std::memcpy(&label, labels.data() + i, sizeof label);
      ++counts[static_cast<size_t>(label)];
    }
  }

  for (int const count : counts) EXPECT_EQ(count, 4);
}

TEST(InputPipeline, WithASlowStoreGivesTheSameBatches) {
  CifarImages const images = generate_cifar(50, 0);
  EXPECT_EQ(run(images, {.devices = 2, .batch = 4, .end_step = 3, .delay_ms = 1}),
            run(images, {.devices = 2, .batch = 4, .end_step = 3}));
}

TEST(InputPipeline, CanBeLeftBeforeItsEnd) {
  CifarImages const images = generate_cifar(50, 0);
  CifarSamples const samples(images, true);
  InputPipeline pipeline(samples, {.batch = 4, .end_step = 1000, .threads = 3});
  static_cast<void>(pipeline.next(0));
}

}  // namespace
}  // namespace stepscope::workloads
