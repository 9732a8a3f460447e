// THE list of backends: a device specification is "<backend>[:<arguments>]".
#include <array>

#include "workloads/backend/backend.h"
#include "workloads/backend/cuda_module.h"
#include "workloads/backend/host/host_device.h"
#include "workloads/backend/placement.h"
#include "workloads/processes/agreement.h"

namespace stepscope::workloads {
namespace {

struct BackendEntry {
  std::string_view name;
  Expected<DeviceGroup> (*open)(std::string_view arguments, DeviceOptions const& options);
};

constexpr std::array kBackends = {
    BackendEntry{"host", host::open_host_devices},
    BackendEntry{"cuda", open_cuda_devices},
};

}  // namespace

std::string_view precision_name(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
      return "fp32";
    case Precision::kTf32:
      return "tf32";
    case Precision::kBf16:
      return "bf16";
  }
  return "?";
}

Expected<DeviceGroup> open_devices(std::string_view specification, DeviceOptions const& options) {
  size_t const colon = specification.find(':');
  std::string_view const name = specification.substr(0, colon);
  std::string_view const arguments =
      colon == std::string_view::npos ? "" : specification.substr(colon + 1);
  // Backends let the processes talk to each other, each in its own way.
  if (options.processes) {
    auto const same =
        agree_on_settings(*options.processes, {{"a kind of --device of", std::string(name)}});
    if (!same) return base::fail_with(same);
  }
  if (colon != std::string_view::npos && arguments.empty()) {
    return base::fail("{}: a number must follow the colon, for example host:2 or cuda:0",
                      specification);
  }
  for (BackendEntry const& backend : kBackends) {
    if (backend.name != name) continue;
    auto group = backend.open(arguments, options);
    if (group && (options.log_placement || options.soft_placement)) {
      place_operations(*group, {options.log_placement ? stderr : nullptr, options.soft_placement});
    }
    return group;
  }
  return base::fail(
      "{}: unknown device, use host, host:N (N host devices), cuda or cuda:I (GPU I; several: "
      "cuda:0,cuda:1)",
      specification);
}

Expected<void> check_devices(DeviceGroup const& group) {
  for (auto const& device : group.devices) {
    if (auto good = device->failure(); !good) return good;
  }
  return {};
}

}  // namespace stepscope::workloads
