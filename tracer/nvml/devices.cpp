#include "tracer/nvml/devices.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace stepscope::tracer::nvml {
namespace {

struct Gpu {
  Device handle = nullptr;
  std::string name, uuid;
};

using ReadText = Result (*)(Device, char*, unsigned);
std::string text_of(ReadText read, Device device) {
  std::array<char, kMaxText + 1> text{};  // ends with a null character whatever is written
  return read != nullptr && read(device, text.data(), kMaxText) == kSuccess
             ? std::string(text.data())
             : std::string();
}

/// All of the machine, by NVML's numbers.
std::vector<Gpu> all_gpus(Api const& api) {
  std::vector<Gpu> result;
  unsigned count = 0;
  if (api.device_count(&count) != kSuccess) return result;
  for (unsigned index = 0; index < count; ++index) {
    Gpu gpu;
    if (api.device_by_index(index, &gpu.handle) == kSuccess) {
      gpu.name = text_of(api.device_name, gpu.handle);
      gpu.uuid = text_of(api.device_uuid, gpu.handle);
    }
    result.push_back(std::move(gpu));
  }
  return result;
}

/// Null when there is none.
Device open_by_uuid(Api const& api, std::string const& uuid) {
  Device device = nullptr;
  return api.device_by_uuid != nullptr && api.device_by_uuid(uuid.c_str(), &device) == kSuccess
             ? device
             : nullptr;
}

/// One entry of CUDA_VISIBLE_DEVICES that is an UUID or the begin of one.
Device find_by_uuid(Api const& api, std::span<Gpu const> gpus, std::string_view name) {
  if (Device const device = open_by_uuid(api, std::string(name)); device != nullptr) return device;
  Device found = nullptr;
  for (Gpu const& gpu : gpus) {
    if (!gpu.uuid.starts_with(name)) continue;
    if (found != nullptr) return nullptr;  // of two GPUs: CUDA takes none
    found = gpu.handle;
  }
  return found;
}

bool are_numbers_equal(std::span<Gpu const> gpus, char const* order) {
  if (gpus.size() < 2 || (order != nullptr && std::string_view(order) == "PCI_BUS_ID")) return true;
  return std::all_of(gpus.begin(), gpus.end(),
                     [&](Gpu const& gpu) { return !gpu.name.empty() && gpu.name == gpus[0].name; });
}

std::optional<unsigned> parse_number(std::string_view text) {
  unsigned number = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number)
                                                                  : std::nullopt;
}

unsigned links_up(Api const& api, Device device) {
  unsigned count = 0;
  for (unsigned link = 0; link < kMaxLinks && api.link_state != nullptr; ++link) {
    int is_up = 0;
    if (api.link_state(device, link, &is_up) != kSuccess) break;
    count += is_up != 0 ? 1 : 0;
  }
  return count;
}

bool is_peer(Api const& api, Device from, Device to) {
  int answer = -1;
  return api.peer_status != nullptr &&
         api.peer_status(from, to, kPeerOverNvlink, &answer) == kSuccess && answer == 0;
}

std::optional<unsigned> number_of(Result (*function)(Device, unsigned*), Device device) {
  unsigned value = 0;
  if (function == nullptr || function(device, &value) != kSuccess) return {};
  return value;
}

/// " of 16" where that is known.
std::string of_most(Result (*function)(Device, unsigned*), Device device) {
  auto const most = number_of(function, device);
  return most ? fmt::format(" of {}", *most) : std::string();
}

}  // namespace

std::vector<OpenDevice> open_devices(Api const& api, std::span<DeviceRegistry::Device const> used) {
  std::vector<OpenDevice> result;
  for (DeviceRegistry::Device const& device : used)
    if (Device const handle = open_by_uuid(api, device.uuid); handle != nullptr)
      result.push_back({device.number, handle});
  return result;
}

VisibleDevices visible_devices(Api const& api, DeviceVariables const& variables) {
  std::vector<Gpu> const gpus = all_gpus(api);
  VisibleDevices result;
  auto const add = [&](Device handle) {
    result.devices.push_back({static_cast<int32_t>(result.devices.size()), handle});
  };
  constexpr std::string_view kUnclear =
      "the GPUs differ and CUDA orders them by speed: set CUDA_DEVICE_ORDER=PCI_BUS_ID to have "
      "them told apart";
  bool const numbers_equal = are_numbers_equal(gpus, variables.order);
  if (variables.visible_devices == nullptr) {
    if (!numbers_equal) return {{}, std::string(kUnclear)};
    for (Gpu const& gpu : gpus) add(gpu.handle);
    return result;
  }
  std::string_view rest = variables.visible_devices;
  while (!rest.empty()) {
    size_t const comma = rest.find(',');
    std::string_view const name = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    auto const number = parse_number(name);
    if (number && !numbers_equal) return {{}, std::string(kUnclear)};
    Device handle = nullptr;
    if (number && *number < gpus.size()) handle = gpus[*number].handle;
    if (name.starts_with("GPU-") || name.starts_with("MIG-"))
      handle = find_by_uuid(api, gpus, name);
    if (handle == nullptr) break;
    add(handle);
  }
  return result;
}

std::string describe_surroundings(Api const& api, std::span<OpenDevice const> devices) {
  std::string text;
  for (auto const& [number, handle] : devices) {
    std::string parts;
    auto const add = [&](std::string const& part) { parts += (parts.empty() ? "" : ", ") + part; };
    if (auto const generation = number_of(api.pcie_generation, handle))
      add(fmt::format("PCIe generation {}{}", *generation,
                      of_most(api.max_pcie_generation, handle)));
    if (auto const lanes = number_of(api.pcie_lanes, handle))
      add(fmt::format("{}{} lanes", *lanes, of_most(api.max_pcie_lanes, handle)));
    constexpr unsigned kMwPerWatt = 1000;
    if (auto const limit_mw = number_of(api.power_limit_mw, handle))
      add(fmt::format("at most {} W", *limit_mw / kMwPerWatt));
    if (parts.empty()) continue;
    text += fmt::format("{}cuda:{}: {}", text.empty() ? "" : "; ", number, parts);
  }
  return text;
}

std::string describe_nvlink(Api const& api, std::span<OpenDevice const> devices) {
  std::string text;
  for (OpenDevice const& device : devices)
    if (unsigned const links = links_up(api, device.handle); links > 0)
      text += fmt::format("{}cuda:{} has {} links", text.empty() ? "" : ", ", device.number, links);
  for (size_t a = 0; a < devices.size(); ++a)
    for (size_t b = a + 1; b < devices.size(); ++b)
      if (is_peer(api, devices[a].handle, devices[b].handle))
        text += fmt::format("{}cuda:{} reaches cuda:{}", text.empty() ? "" : ", ",
                            devices[a].number, devices[b].number);
  return text;
}

}  // namespace stepscope::tracer::nvml
