// The thread that has counters of GPUs sampled by the command that records (sampling_service.h) and
// takes what it sends. Its socket is in a table of descriptors of its own, where the program cannot
// close it (private_descriptors.h).
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trace/base/expected.h"
#include "tracer/core/device_registry.h"
#include "tracer/core/threads/own_thread.h"
#include "tracer/nvml/sampler.h"

namespace stepscope::tracer::nvml {

class SamplingThread {
 public:
  using Facts = std::vector<std::pair<std::string, std::string>>;
  using UsedDevices = std::vector<DeviceRegistry::Device>;

  struct Settings {
    std::chrono::milliseconds period{};
    std::string address;  ///< of the service; empty = there is none
    std::optional<std::string> visible_devices,
        device_order;  ///< CUDA_VISIBLE_DEVICES, CUDA_DEVICE_ORDER
  };

  /// Starts it. Errors: there can be no thread.
  static base::Expected<std::unique_ptr<SamplingThread>> start(Settings settings);
  /// Leaves it alone where it has not ended.
  ~SamplingThread();
  SamplingThread(SamplingThread const&) = delete;
  SamplingThread& operator=(SamplingThread const&) = delete;

  /// Which devices are sampled, from now on: none = those that CUDA's variables name.
  void set_devices(std::optional<UsedDevices> devices);
  /// Whether anything is sampled, from now on.
  void set_recording(bool is_recording);
  /// What came since the call before.
  void take(std::vector<Sample>& samples, Facts& facts);

  void request_stop();
  /// False when it has not ended within `limit`. Any thread.
  bool wait_until_done(std::chrono::milliseconds limit);
  /// The same for the thread that destroys this: no thread is left then.
  bool stop(std::chrono::milliseconds limit);
  /// After it ended: what became of it, for people.
  [[nodiscard]] std::string outcome() const;

  void lock_for_fork();
  void unlock_after_fork();

 private:
  struct State;
  explicit SamplingThread(Settings settings);
  static void run(std::shared_ptr<State> const& state);
  static std::string sample_until_stopped(State& state);

  std::shared_ptr<State> state_;
  std::optional<OwnThread> thread_;
};

}  // namespace stepscope::tracer::nvml
