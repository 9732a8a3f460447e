#include "analyzer/metrics/work/gpu_generation.h"

#include <algorithm>
#include <array>

namespace stepscope::analyzer {

bool lacks_tf32_and_bfloat16(std::string_view device_name) {
  // "GeForce RTX 20" would also find the RTX 2050, which has the cores of Ampere.
  constexpr std::array<std::string_view, 10> kNames = {
      "V100",      "GV100",           "TITAN V",         "Tesla T4",        "NVIDIA T4",
      "TITAN RTX", "GeForce RTX 206", "GeForce RTX 207", "GeForce RTX 208", "Quadro RTX"};
  return std::any_of(kNames.begin(), kNames.end(), [&](std::string_view name) {
    return device_name.find(name) != std::string_view::npos;
  });
}

}  // namespace stepscope::analyzer
