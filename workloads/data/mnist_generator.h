// A learnable stand-in for MNIST where the real files are not at hand: the ten digits drawn as
// strokes, each with its own shift, size, slant, thickness and noise. Deterministic, written in the
// real format, cached.
#pragma once

#include <cstddef>
#include <string>

#include "trace/base/expected.h"
#include "workloads/data/mnist_file.h"

namespace stepscope::workloads {

/// 10,000 + 2,000 images are drawn and written within about a second.
struct MnistSize {
  size_t train = 10'000;
  size_t test = 2'000;
};

/// `count` images; `split` (train 0, test 1) and the position choose an image, nothing else does.
MnistImages generate_mnist(size_t count, uint64_t split);

/// Writes the four files into `folder` (made when missing). Errors: cannot be written.
base::Expected<void> write_generated_mnist(std::string const& folder, MnistSize size);

/// The generated set in the cache (cache_folder.h); made when missing.
base::Expected<std::string> generated_mnist_folder(MnistSize size);

}  // namespace stepscope::workloads
