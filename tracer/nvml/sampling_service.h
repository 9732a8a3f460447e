// Reads the counters of GPUs for the programs that `stepscope record` starts, in its own process.
//
// Why not in the program: NVML and CUDA share locks of the driver. A first call of NVML beside a
// program that starts CUDA under CUPTI left one of them locked (H100, driver 580.159, CUPTI 13.0
// Update 1), and the program hung in its next call of CUDA, every tenth time on a busy GPU.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "trace/base/expected.h"
#include "tracer/nvml/api.h"

namespace stepscope::tracer::nvml {

/// What the process of a program is told about the service (STEPSCOPE_SAMPLER).
class SamplingService {
 public:
  /// Finds NVML, on a thread of the service.
  using Loader = std::function<std::optional<Api>()>;

  /// Programs may connect from now on, and are answered from run() on. Errors: no socket.
  static base::Expected<std::unique_ptr<SamplingService>> open(Loader load = load_api);
  /// Begins to answer. Behind fork(): the service has threads, which handle no signals.
  void run();
  /// Ends it. A thread that hangs in the driver is left alone.
  ~SamplingService();
  SamplingService(SamplingService const&) = delete;
  SamplingService& operator=(SamplingService const&) = delete;

  [[nodiscard]] std::string const& address() const;

 private:
  struct Shared;
  SamplingService() = default;
  static void answer(std::shared_ptr<Shared> const& shared);

  std::shared_ptr<Shared> shared_;
};

}  // namespace stepscope::tracer::nvml
