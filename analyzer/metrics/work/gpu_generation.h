// What a GPU's name says of what it can do.
#pragma once

#include <string_view>

namespace stepscope::analyzer {

/// Whether it is a GPU of Volta or Turing: their tensor cores have neither TF32 nor bfloat16
/// (NVIDIA's CUDA C++ Programming Guide, "Compute Capabilities": both came with 8.0).
bool lacks_tf32_and_bfloat16(std::string_view device_name);

}  // namespace stepscope::analyzer
