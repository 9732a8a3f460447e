// A host device: the cores of this machine, or a share of them, behind the Device interface. It
// really executes: three streams on threads, an arena with a capacity, oneDNN for the layers, and
// it reports what it does as tracer/api/device_events.h says.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <dnnl.hpp>

#include "workloads/backend/arena.h"
#include "workloads/backend/backend.h"
#include "workloads/backend/host/collectives/ring.h"
#include "workloads/backend/host/stream.h"

namespace stepscope::workloads::host {

/// The machine's memory, for the arena of a host device.
std::unique_ptr<SystemMemory> mapped_memory();

class HostDevice final : public Device {
 public:
  /// What its streams' threads compute with.
  struct Share {
    int threads = 1;         ///< at a time
    std::vector<int> cores;  ///< where they stay; empty = anywhere
  };
  /// `index`: in this process; `member`: in the communicator of its group.
  HostDevice(uint32_t index, uint32_t member, Share const& share, uint64_t capacity_bytes,
             DeviceFaults const& faults);
  ~HostDevice() override;

  [[nodiscard]] std::string const& name() const override { return name_; }
  [[nodiscard]] uint32_t index() const override { return index_; }

  Expected<Buffer> allocate(size_t bytes, MemoryPurpose purpose, std::string_view owner) override;
  void release(void* data) override;
  [[nodiscard]] MemoryUse memory() const override { return arena_.use(); }

  Event record(StreamKind stream) override;
  void wait(StreamKind stream, Event const& event) override;
  void synchronize(Event const& event) override;
  void synchronize() override;
  void copy(StreamKind stream, char const* name, void* to, void const* from, size_t bytes,
            CopyDirection direction) override;

  Expected<std::unique_ptr<Conv2d>> conv2d(std::string_view name,
                                           Conv2dShape const& shape) override;
  Expected<std::unique_ptr<MaxPool>> max_pool(std::string_view name,
                                              MaxPoolShape const& shape) override;
  Expected<std::unique_ptr<Lrn>> lrn(std::string_view name, LrnShape const& shape) override;
  Expected<std::unique_ptr<Dense>> dense(std::string_view name, DenseShape const& shape) override;

  Expected<std::unique_ptr<MatMul>> matmul(std::string_view name,
                                           MatMulShape const& shape) override;

  void run(char const* name, elementwise::Op const& op, size_t count) override;
  void run_rows(char const* name, rowwise::Op const& op, int64_t rows) override;
  void collective(char const* name, Communicator& communicator, Collective const& what) override;
  [[nodiscard]] OpCounts counts() const override;

  /// Takes all of its memory from the system at once.
  Expected<void> reserve_memory() { return arena_.reserve_all(); }

  // For the layers of this backend.

  /// Enqueues `work` on the compute stream, reported under `name` (which must outlive it).
  void launch_kernel(char const* name, double flops, uint64_t bytes, std::function<void()> work);
  /// Makes sure that workspace() has `bytes`. Layers share it: the compute stream runs one
  /// operation at a time.
  Expected<void> reserve_workspace(size_t bytes, std::string_view owner);
  [[nodiscard]] void* workspace() const { return workspace_.data(); }
  [[nodiscard]] int threads() const { return threads_; }
  [[nodiscard]] dnnl::engine const& engine() const { return engine_; }
  /// Only for the compute stream's thread.
  [[nodiscard]] dnnl::stream& math() { return math_; }

 private:
  HostStream& stream(StreamKind kind) { return *streams_[static_cast<size_t>(kind)]; }
  // What DeviceFaults does around every launch.
  void before_launch() const;
  void after_launch(StreamKind stream, bool is_copy);
  /// How this member's part is reported; counts it in its communicator.
  api::CollectivePayload describe(Ring& ring, Collective const& what);
  void report_memory(Arena::Block const& block, api::MemoryOp op,
                     api::MemoryPayload& payload) const;

  uint32_t index_, member_;
  std::string name_;
  int threads_;
  DeviceFaults faults_;
  Arena arena_;
  dnnl::engine engine_;
  dnnl::stream math_;
  Buffer workspace_;
  std::vector<uint64_t> sent_, received_;  ///< messages, by peer
  std::atomic<uint64_t> launches_ = 0, kernels_ = 0, copies_ = 0, collectives_ = 0;
  std::atomic<uint64_t> host_to_device_bytes_ = 0, device_to_host_bytes_ = 0, collective_bytes_ = 0;
  std::array<std::unique_ptr<HostStream>, 3>
      streams_;  // last: their threads end before what they use
};

/// `arguments`: "" or the number of devices. Each gets cores / devices threads, at least one.
Expected<DeviceGroup> open_host_devices(std::string_view arguments, DeviceOptions const& options);

}  // namespace stepscope::workloads::host
