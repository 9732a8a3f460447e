// A learnable stand-in for CIFAR-10 where the real files are not at hand: ten tints, neighbours
// of which differ in the scale of their texture, with noise, random direction and phase.
// Deterministic, written in the real format, cached.
#pragma once

#include <cstddef>
#include <string>

#include "trace/base/expected.h"
#include "workloads/data/cifar10_file.h"

namespace stepscope::workloads {

/// 10,000 + 2,000 images are learned within a few seconds and written within one.
struct GeneratorSize {
  size_t train = 10'000;  ///< a multiple of 5, one file each
  size_t test = 2'000;
};

/// `count` images; `split` (train 0, test 1) and the position choose an image, nothing else does.
CifarImages generate_cifar(size_t count, uint64_t split);

/// Writes the six files into `folder` (made when missing). Errors: cannot be written.
base::Expected<void> write_generated_cifar(std::string const& folder, GeneratorSize size);

/// The cached generated set: $STEPSCOPE_CACHE, else $XDG_CACHE_HOME/stepscope, else
/// ~/.cache/stepscope; made when missing.
base::Expected<std::string> generated_cifar_folder(GeneratorSize size);

}  // namespace stepscope::workloads
