// Reads the counters of GPUs for the programs that `stepscope record` starts, in its own process.
//
// Why not in the program: NVML enters libcuda where a program has loaded it. Beside a program that
// was starting CUDA under CUPTI, NVML's first calls left a lock of libcuda taken (H100, driver
// 580.159, CUPTI 13.0 Update 1). The program hung in its next call of CUDA: on a busy GPU, six
// times within a minute.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "trace/base/expected.h"
#include "tracer/nvml/api.h"

namespace stepscope::tracer::nvml {

/// STEPSCOPE_SAMPLER tells programs its address.
class SamplingService {
 public:
  /// Finds NVML, on a thread of the service.
  using Loader = std::function<base::Expected<Api>()>;

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
