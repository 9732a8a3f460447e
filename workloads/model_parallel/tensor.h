// Tensor parallelism: each device has a part of the fully connected layers' weights and all of the
// other layers (Shoeybi et al., "Megatron-LM", arXiv 1909.08053). In a pair of fully connected
// layers the first is cut by outputs and the second by inputs, so that what is between them stays
// on its device. A pair needs one all-reduce in the forward pass, of the second layer's output. It
// needs one in the backward pass, of the gradient of the first layer's input.
#pragma once

#include <cstdint>

#include "workloads/backend/backend.h"
#include "workloads/model_parallel/layers.h"

namespace stepscope::workloads {

/// What device `rank` of `members` has of the network. Pairs are taken from the front; a fully
/// connected layer that is left over stays whole on every device, as all other layers do. The
/// communicator must outlive the layers that are made. Error: the width between two layers cannot
/// be divided by the members.
base::Expected<LayeredNetwork> tensor_part(LayeredNetwork const& network,
                                           Communicator& communicator, int64_t members,
                                           int64_t rank);

}  // namespace stepscope::workloads
