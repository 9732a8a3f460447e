// Saved training state: one file with the weights, the next step and what they belong to. A
// checksum (XXH3) protects it, and a crash while writing leaves the old one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/base/expected.h"

namespace stepscope::workloads {

struct Checkpoint {
  std::string model;  ///< workload and sizes; must be the same to resume
  int64_t step = 0;   ///< the first step that is not in the weights
  int64_t global_batch = 0;
  uint64_t seed = 0;
  std::vector<float> weights;
};

base::Expected<void> save_checkpoint(std::string const& path, Checkpoint const& checkpoint);
/// Errors: missing, truncated or damaged file, or one of another model.
base::Expected<Checkpoint> load_checkpoint(std::string const& path, std::string const& model,
                                           size_t weights);
/// The checkpoint from which a training that would begin with `fresh` goes on to step `steps`.
/// Errors also: trained with another batch or seed, so that the samples would not go on where they
/// stopped; already there. `sample`: what one is called.
base::Expected<Checkpoint> resume_checkpoint(std::string const& path, Checkpoint const& fresh,
                                             int64_t steps, std::string const& sample);

}  // namespace stepscope::workloads
