// The samples of `split`, prepared before the training: a loader would take cores from the stages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "workloads/data/cifar10_file.h"

namespace stepscope::workloads {

struct PreparedSamples {
  std::vector<std::byte> inputs;  ///< float[size][inputs of the network]
  std::vector<std::byte> labels;  ///< int32[size]; −1: counts for nothing
  int64_t size = 0;
};

/// The central crops of the first `count` images, at half their width where the network takes no
/// more `inputs` than that: neighbours in a row are averaged. `multiple`: filled up to a multiple
/// of it with samples that count for nothing.
PreparedSamples prepare_samples(CifarImages const& data, int64_t count, int64_t inputs,
                                int64_t multiple);

}  // namespace stepscope::workloads
