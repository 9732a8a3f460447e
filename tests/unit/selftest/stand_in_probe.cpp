// Stands for stepscope-cuda-probe where there is no GPU: says the same and reports a host device's
// work through NVTX, in the probe's modes. With STAND_IN_LOSES it keeps a kernel to itself; with
// STAND_IN_HAS_NO_DEVICE it ends as the probe does without a GPU.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tracer/api/capture.h"
#include "tracer/api/device_events.h"

namespace {

using namespace stepscope::api;

constexpr uint64_t kKernels = 20;

/// Makes the events of `recorded` kernels.
void work(uint64_t recorded, char const* name) {
  for (uint64_t id = 1; id <= recorded; ++id) {
    { DeviceRange const launch(DeviceSchema::kLaunch, name, LaunchPayload{id, 0, 0}); }
    // On a thread of its own, as host devices do it.
    std::thread([id, name] {
      DeviceRange const kernel(DeviceSchema::kKernel, name, KernelPayload{id, 0, 0, 0, 0});
    }).join();
  }
}

void say(char const* mode, size_t name_bytes) {
  std::printf(
      R"({"mode":"%s","kernels":%d,"launches":%d,"streams":1,"name_bytes":%zu,"ns_per_launch":5.0})",
      mode, static_cast<int>(kKernels), static_cast<int>(kKernels), name_bytes);
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kNoDevice = 77;
  std::string_view const mode = argc > 1 ? argv[1] : "work";

  if (std::getenv("STAND_IN_HAS_NO_DEVICE") != nullptr) {
    std::fprintf(stderr, "stand-in: no device\n");
    return kNoDevice;
  }

  std::string const name(mode == "long-name" ? 4000 : 8, 'k');
  pid_t const child = mode == "fork" ? ::fork() : -1;
  if (mode == "window") {
    work(kKernels, name.c_str());
    if (!start_capture()) return 1;
  }

  work(std::getenv("STAND_IN_LOSES") != nullptr ? kKernels - 1 : kKernels, name.c_str());
  say(argc > 1 ? argv[1] : "work", name.size());
  if (mode == "window") {
    if (!stop_capture()) return 1;
    work(kKernels, name.c_str());
  }

  if (mode == "exit") ::_exit(0);
  if (mode == "crash") {
    std::this_thread::sleep_for(
        std::chrono::seconds(2));  // what the recorder promises to have saved is a second old
    rlimit const no_core = {0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    std::signal(SIGSEGV, SIG_DFL);
    std::raise(SIGSEGV);
  }
  if (child > 0) ::waitpid(child, nullptr, 0);
  return 0;
}
