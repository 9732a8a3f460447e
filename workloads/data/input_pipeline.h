// Batches of a data set for N devices, prepared ahead by loader threads. Sample order: the epochs'
// shuffles one after the other; step s takes the next N × batch samples, device d the d-th slice of
// them. So the order depends on the seed alone, and N devices with batch B see what one device with
// batch N × B sees.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "workloads/data/samples.h"

namespace stepscope::workloads {

struct InputSettings {
  int64_t devices = 1, batch = 1;
  int64_t first_device = 0,
          all_devices =
              0;  ///< of several processes: this one has [first, first + devices); 0 = there is one
  int64_t first_step = 0, end_step = 1;  ///< steps [first, end) are prepared
  int64_t depth = 2;                     ///< batches held per device, taken ones included
  int64_t threads = 1;
  uint64_t seed = 0;
  /// A slow store: nothing is read ahead, and each batch is handed over this much after it was
  /// asked for.
  int64_t delay_ms = 0;
};

struct HostBatch {
  std::byte const* inputs;  ///< [batch][Samples::input_bytes()]
  std::byte const* labels;  ///< [batch][Samples::label_bytes()]
};

class InputPipeline {
 public:
  /// `samples` must outlive the pipeline.
  InputPipeline(Samples const& samples, InputSettings const& settings);
  ~InputPipeline();
  InputPipeline(InputPipeline const&) = delete;
  InputPipeline& operator=(InputPipeline const&) = delete;

  /// The device's next batch; blocks until it is ready. At most `depth` may be taken and not
  /// released.
  HostBatch next(int64_t device);
  /// The memory of all batches of a device; it stays where it is as long as the pipeline lives.
  [[nodiscard]] std::vector<std::span<std::byte const>> buffers(int64_t device) const;
  /// The device's oldest taken batch may be overwritten.
  void release(int64_t device);

 private:
  struct Slot {
    std::vector<std::byte> inputs, labels;
    int64_t ready_step = -1;
  };
  struct Lane {  // of one device
    std::vector<Slot> slots;
    int64_t asked, taken, released;  ///< steps before this one
  };
  using Order = std::shared_ptr<std::vector<uint32_t> const>;

  [[nodiscard]] bool may_prepare(int64_t job) const;
  void run(int64_t thread);
  void prepare(int64_t step, int64_t device, Slot& slot);
  Order order_of(int64_t epoch);

  Samples const& samples_;
  InputSettings settings_;
  std::mutex mutex_;
  std::condition_variable loaders_, consumers_;
  std::vector<Lane> lanes_;
  int64_t next_job_ = 0;  ///< step-major: (step − first) × devices + device
  bool stopping_ = false;
  std::mutex order_mutex_;
  std::map<int64_t, Order> orders_;  ///< the latest two epochs
  std::vector<std::thread> threads_;
};

}  // namespace stepscope::workloads
