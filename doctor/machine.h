// Is this machine ready to train and to record? THE list of what is looked at; each line is one
// small function.
#pragma once

#include <chrono>
#include <span>
#include <vector>

#include "doctor/check.h"
#include "doctor/places.h"

namespace stepscope::doctor {

/// A question. Its function may load libraries and call drivers: it runs in a process of its own.
/// It gives no check where there is nothing to ask, several where there are several things.
struct Question {
  char const* name;
  std::vector<Check> (*answer)(Places const& places);
};

std::span<Question const> questions();

/// Answers one question in a child process. One that crashes or takes longer than `limit` is a
/// failure that says so.
std::vector<Check> answer(Question const& question, Places const& places,
                          std::chrono::seconds limit);

/// All of them, in order.
std::vector<Check> examine(Places const& places);

/// Whether there is an NVIDIA device at all, with a driver or without: on the PCI bus, as a device
/// file, or behind WSL.
bool has_gpu(Places const& places);
/// /dev/nvidia0 … : a container may have any of them.
std::vector<std::string> gpu_device_files(Places const& places);

// gpus.cpp
std::vector<Check> check_driver(Places const& places);
std::vector<Check> check_gpus(Places const& places);
std::vector<Check> check_peer_access(Places const& places);
/// On which hardware the capture of CUDA was shown to work, where there is a GPU.
std::vector<Check> check_tested(Places const& places);
std::vector<Check> check_nvml(Places const& places);
std::vector<Check> check_permission(Places const& places);
std::vector<Check> check_mps(Places const& places);
// training_libraries.cpp
std::vector<Check> check_cuda_runtime(Places const& places);
std::vector<Check> check_cublaslt(Places const& places);
std::vector<Check> check_cudnn(Places const& places);
std::vector<Check> check_nccl(Places const& places);
// capture.cpp
std::vector<Check> check_tracer(Places const& places);
std::vector<Check> check_other_tools(Places const& places);
// cupti.cpp, or no_cupti.cpp in a build without CUPTI's headers
std::vector<Check> check_cupti(Places const& places);
std::vector<Check> check_python_cupti(Places const& places);
/// If the search finds no CUPTI for plain CUDA programs but a Python package has one, sets the
/// variable that names it. Programs that this process starts inherit it. Returns the path, or an
/// empty string.
std::string use_python_cupti(Places const& places);
// host.cpp
std::vector<Check> check_clock(Places const& places);
std::vector<Check> check_disk(Places const& places);
std::vector<Check> check_shared_memory(Places const& places);

}  // namespace stepscope::doctor
