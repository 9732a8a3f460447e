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

/// The central crops of the first `count` images. Where the network takes only half as many
/// `inputs` they have half their width: neighbours in a row are averaged. Samples that count for
/// nothing fill them up to a multiple of `multiple`.
PreparedSamples prepare_samples(CifarImages const& data, int64_t count, int64_t inputs,
                                int64_t multiple);

}  // namespace stepscope::workloads
