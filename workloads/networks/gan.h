// The GAN workload: two networks, one that draws digits and one that tells drawn from real ones,
// trained against each other, synchronously data-parallel. See gan.cpp.
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "workloads/data/mnist_file.h"
#include "workloads/options.h"
#include "workloads/training/training.h"

namespace stepscope::workloads {

constexpr char const* kGanDescription =
    "GAN: draws digits as MNIST's, data-parallel (generator fc 256, 512, 1024, 784; discriminator "
    "fc 512, 256, 1)";

/// Widths of the fully connected networks; tests use smaller ones.
struct GanWidths {
  int64_t noise = 100;
  int64_t generator1 = 256, generator2 = 512, generator3 = 1024;
  int64_t discriminator1 = 512, discriminator2 = 256;
};

/// Channels of the convolutional networks, of images of 14 × 14 (narrow) and of 7 × 7 (wide).
struct ConvGanWidths {
  int64_t noise = 100;
  int64_t narrow = 64, wide = 128;
};

/// The two networks, see gan_networks.h.
struct GanModel;
GanModel dense_gan(GanWidths const& widths);
GanModel convolutional_gan(ConvGanWidths const& widths);

struct GanResult {
  TrainingResult training;     ///< losses: "discriminator", "generator"
  std::vector<float> samples;  ///< [asked][28][28] in [−1, 1], drawn after the last step
};

/// What --help shows, and what train_gan() is meant for.
TrainOptions gan_defaults();

/// `samples`: images to draw after the last step. Errors: wrong options, unreadable checkpoint, out
/// of memory.
base::Expected<GanResult> train_gan(TrainOptions const& options, GanModel const& model,
                                    MnistImages const& images, size_t samples, std::FILE* log);

base::Expected<int> run_gan(std::span<std::string const> arguments);

}  // namespace stepscope::workloads
