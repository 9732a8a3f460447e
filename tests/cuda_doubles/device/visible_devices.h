// Which of the machine's GPUs a process sees: CUDA_VISIBLE_DEVICES, as the CUDA C++ Programming
// Guide ("CUDA Environment Variables") explains it.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tests/cuda_doubles/device/knobs.h"

namespace stepscope::cuda_doubles {

/// First byte of the UUID of the machine's GPU of that number, as all doubles report it. The second
/// one is 1 for its MIG instance, and all others are 0.
inline char first_uuid_byte(int number_on_machine) {
  return static_cast<char>(number_on_machine + 1);
}

/// As NVML and CUDA_VISIBLE_DEVICES spell it.
inline std::string uuid_text(int number_on_machine, bool is_instance) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%s-%02x%02x0000-0000-0000-0000-000000000000",
                is_instance ? "MIG" : "GPU", first_uuid_byte(number_on_machine) & 0xFF,
                is_instance ? 1 : 0);
  return text.data();
}

/// How the machine numbers the GPU that `name` means, a number or the begin of a UUID; −1 where no
/// GPU is meant.
inline int number_on_machine(std::string_view name, int count) {
  int number = -1;
  auto const [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error == std::errc() && end == name.data() + name.size()) return number < count ? number : -1;

  bool const is_instance = number_of_knob("DOUBLE_CUDA_MIG", 0) != 0;
  for (int gpu = 0; gpu < count && name.size() > std::string_view("GPU-").size(); ++gpu)
    if (uuid_text(gpu, is_instance).starts_with(name)) return gpu;
  return -1;
}

/// Numbers of the machine's GPUs in the order in which the process numbers them. They end before
/// the first name that is no GPU, or that comes again.
inline std::vector<int> visible_devices(int count) {
  std::vector<int> seen;
  char const* const list = std::getenv("CUDA_VISIBLE_DEVICES");
  if (list == nullptr) {
    for (int gpu = 0; gpu < count; ++gpu) seen.push_back(gpu);
    return seen;
  }

  std::string_view rest = list;
  while (!rest.empty()) {
    size_t const comma = std::min(rest.find(','), rest.size());
    int const gpu = number_on_machine(rest.substr(0, comma), count);
    if (gpu < 0 || std::find(seen.begin(), seen.end(), gpu) != seen.end()) break;
    seen.push_back(gpu);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return seen;
}

}  // namespace stepscope::cuda_doubles
