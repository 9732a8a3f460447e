#include "doctor/machine.h"

#include <algorithm>
#include <array>
#include <iterator>

#include <unistd.h>
#include <nlohmann/json.hpp>

#include "doctor/child.h"

namespace stepscope::doctor {
namespace {

using nlohmann::json;

/// Starting the driver of eight GPUs takes seconds when nothing keeps it loaded.
constexpr std::chrono::seconds kLimit{30};

constexpr std::array kQuestions = {
    Question{"driver", check_driver},
    Question{"gpu", check_gpus},
    Question{"peer access", check_peer_access},
    Question{"profiling permission", check_permission},
    Question{"MPS", check_mps},
    Question{"NVML", check_nvml},
    Question{"CUDA runtime", check_cuda_runtime},
    Question{"CUPTI", check_cupti},
    Question{"CUPTI of Python", check_python_cupti},
    Question{"cuBLASLt", check_cublaslt},
    Question{"cuDNN", check_cudnn},
    Question{"NCCL", check_nccl},
    Question{"tracer", check_tracer},
    Question{"tested", check_tested},
    Question{"other tools", check_other_tools},
    Question{"clock", check_clock},
    Question{"disk", check_disk},
    Question{"shared memory", check_shared_memory},
};

void send(std::vector<Check> const& checks, int to) {
  json all = json::array();
  for (Check const& check : checks)
    all.push_back(
        {check.name, static_cast<int>(check.verdict), check.found, check.fix, check.numbers});
  std::string const text = all.dump(-1, ' ', false, json::error_handler_t::replace);

  for (size_t sent = 0; sent < text.size();) {
    ssize_t const written = ::write(to, text.data() + sent, text.size() - sent);
    if (written <= 0) return;
    sent += static_cast<size_t>(written);
  }
}

std::vector<Check> receive(json const& all) {
  std::vector<Check> checks;
  for (json const& one : all)
    checks.push_back({one.at(0).get<std::string>(), static_cast<Verdict>(one.at(1).get<int>()),
                      one.at(2).get<std::string>(), one.at(3).get<std::string>(),
                      one.at(4).get<std::map<std::string, double>>()});
  return checks;
}

}  // namespace

std::span<Question const> questions() { return kQuestions; }

std::vector<Check> answer(Question const& question, Places const& places,
                          std::chrono::seconds limit) {
  auto const result =
      run_in_child([&](int output) { send(question.answer(places), output); }, limit);
  if (!result) return {{question.name, Verdict::kFailure, result.error().message, ""}};
  json const all = json::parse(result->output, nullptr, false);
  if (result->succeeded() && all.is_array()) return receive(all);
  return {{question.name, Verdict::kFailure, "asking for it ended with " + how_it_ended(*result),
           "run nvidia-smi and look into dmesg: a driver or library that crashes or hangs here "
           "does so in training, too"}};
}

std::vector<Check> examine(Places const& places) {
  std::vector<Check> all;
  for (Question const& question : kQuestions) {
    std::vector<Check> checks = answer(question, places, kLimit);
    std::move(checks.begin(), checks.end(), std::back_inserter(all));
  }
  return all;
}

std::vector<std::string> gpu_device_files(Places const& places) {
  constexpr std::string_view kPrefix = "/dev/nvidia";
  std::vector<std::string> files = list_folder(places, "/dev");
  std::erase_if(files, [&](std::string const& file) {
    return !file.starts_with(kPrefix) || file.size() == kPrefix.size() ||
           file.find_first_not_of("0123456789", kPrefix.size()) != std::string::npos;
  });
  return files;
}

bool has_gpu(Places const& places) {
  if (!gpu_device_files(places).empty() || exists(places, "/dev/dxg")) return true;
  if (!list_folder(places, "/proc/driver/nvidia/gpus").empty()) return true;
  std::vector<std::string> const devices = list_folder(places, "/sys/bus/pci/devices");
  return std::any_of(devices.begin(), devices.end(), [&](std::string const& device) {
    // NVIDIA's display controllers have class 03; its network cards and bridges have other classes.
    return read_file(places, device + "/vendor").value_or("").starts_with("0x10de") &&
           read_file(places, device + "/class").value_or("").starts_with("0x03");
  });
}

}  // namespace stepscope::doctor
