#include "analyzer/metrics/work/gpu_generation.h"

#include <algorithm>
#include <array>

namespace stepscope::analyzer {

bool has_float16_tensor_cores_alone(std::string_view device_name) {
  constexpr std::array<std::string_view, 7> kNames = {
      "V100", "GV100", "TITAN V", "Tesla T4", "RTX 20", "TITAN RTX", "Quadro RTX"};
  return std::any_of(kNames.begin(), kNames.end(), [&](std::string_view name) {
    return device_name.find(name) != std::string_view::npos;
  });
}

}  // namespace stepscope::analyzer
