// Numbers of layers in the names of host ranges: "blocks.9" in "FSDP::pre_forward
// (blocks.9._checkpoint_wrapped_module)", "nn.Module: Block_3", "transformer.h.3", "Layer 12".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::analyzer {

/// A layer that a name names.
struct LayerName {
  std::string stem;  ///< "blocks.N": letters, digits, "." and "_" alone, of a bounded length
  std::vector<int64_t> numbers;  ///< of the layer, behind those of what it is a part of: {1, 3} in
                                 ///< "stages.1.blocks.3"
};

/// The outermost first; none when the name has no numbered layer.
std::vector<LayerName> layer_names(std::string_view name);

}  // namespace stepscope::analyzer
