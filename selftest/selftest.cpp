#include "selftest/selftest.h"

#include "doctor/machine.h"
#include "workloads/backend/backend.h"

namespace stepscope::selftest {
namespace {

constexpr char const* kHost = "host:2";

bool is_cuda(std::string_view device) { return device == "cuda" || device.starts_with("cuda:"); }

void check_workloads(Setup const& setup, std::string const& device, Report const& report) {
  check_gradients(device, report);
  check_training(setup, device, report);
  check_overhead(setup, device, report);
}

/// Why nothing can run on a GPU here; empty when it can.
std::string why_no_cuda() {
  doctor::Places const places = doctor::this_machine("");
  if (!doctor::has_gpu(places)) return "no NVIDIA device on this machine";
  constexpr std::chrono::seconds kLimit{60};
  for (Check const& check : doctor::answer({"driver", doctor::check_driver}, places, kLimit))
    if (check.verdict == Verdict::kFailure) return check.found;
  return {};
}

void check_cuda(Setup const& setup, std::string const& device, std::string const& why_not,
                Report const& report) {
  if (!why_not.empty())
    return report({device, Verdict::kSkipped, why_not, "stepscope doctor says more"});

  if (auto const devices = workloads::open_devices(device, {}))
    check_workloads(setup, device, report);
  else
    report({device + " workloads", Verdict::kSkipped, devices.error().message, ""});

  if (std::string const cupti = doctor::use_python_cupti(doctor::this_machine("")); !cupti.empty())
    report({"CUPTI", Verdict::kWarning,
            "none that plain CUDA programs find, taken for these tests: " + cupti,
            "set STEPSCOPE_CUPTI to it when you record plain CUDA programs"});

  check_probe(setup, report);
}

}  // namespace

base::Expected<void> run(Setup const& setup, Report const& report) {
  // Asked in a fork of this process: before devices start threads here.
  std::string const why_not = setup.device.empty() || is_cuda(setup.device) ? why_no_cuda() : "";

  if (is_cuda(setup.device)) {
    check_cuda(setup, setup.device, why_not, report);
    return {};
  }

  std::string const host = setup.device.empty() ? kHost : setup.device;
  if (auto const devices = workloads::open_devices(host, {}); !devices)
    return base::fail_with(devices);

  check_workloads(setup, host, report);
  if (setup.device.empty()) check_cuda(setup, "cuda", why_not, report);
  return {};
}

}  // namespace stepscope::selftest
