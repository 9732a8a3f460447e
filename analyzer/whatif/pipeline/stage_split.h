// Layers of a model cut into contiguous stages, so that the slowest stage is as fast as possible.
// Pure: numbers in, numbers out.
#pragma once

#include <vector>

namespace stepscope::analyzer {

/// `layers`: time of each, in the order of the model. `fixed`: what each stage takes besides its
/// layers; as many as stages. Returns the time of each stage. Where several splits are as good,
/// each stage in turn takes as few layers as it may. O(stages · layers²).
std::vector<double> split_layers(std::vector<double> const& layers,
                                 std::vector<double> const& fixed);

}  // namespace stepscope::analyzer
