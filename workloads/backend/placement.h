// Which device an operation runs on: --log-placement says it, --soft-placement lets the host do
// what a device lacks.
#pragma once

#include <cstdio>

#include "workloads/backend/backend.h"

namespace stepscope::workloads {

/// A device that hands everything on to another one.
class ForwardingDevice : public Device {
 public:
  explicit ForwardingDevice(std::unique_ptr<Device> device) : device_(std::move(device)) {}

  [[nodiscard]] std::string const& name() const override { return device_->name(); }
  [[nodiscard]] uint32_t index() const override { return device_->index(); }
  Expected<Buffer> allocate(size_t bytes, MemoryPurpose purpose, std::string_view owner) override {
    return device_->allocate(bytes, purpose, owner);
  }
  void release(void* data) override { device_->release(data); }
  [[nodiscard]] MemoryUse memory() const override { return device_->memory(); }
  Event record(StreamKind stream) override { return device_->record(stream); }
  void wait(StreamKind stream, Event const& event) override { device_->wait(stream, event); }
  void synchronize(Event const& event) override { device_->synchronize(event); }
  void synchronize() override { device_->synchronize(); }
  [[nodiscard]] Expected<void> failure() const override { return device_->failure(); }
  std::shared_ptr<void> pin(void const* data, size_t bytes) override {
    return device_->pin(data, bytes);
  }
  void copy(StreamKind stream, char const* name, void* to, void const* from, size_t bytes,
            CopyDirection direction) override {
    device_->copy(stream, name, to, from, bytes, direction);
  }
  Expected<std::unique_ptr<Conv2d>> conv2d(std::string_view name,
                                           Conv2dShape const& shape) override {
    return device_->conv2d(name, shape);
  }
  Expected<std::unique_ptr<MaxPool>> max_pool(std::string_view name,
                                              MaxPoolShape const& shape) override {
    return device_->max_pool(name, shape);
  }
  Expected<std::unique_ptr<Lrn>> lrn(std::string_view name, LrnShape const& shape) override {
    return device_->lrn(name, shape);
  }
  Expected<std::unique_ptr<Dense>> dense(std::string_view name, DenseShape const& shape) override {
    return device_->dense(name, shape);
  }
  Expected<std::unique_ptr<MatMul>> matmul(std::string_view name,
                                           MatMulShape const& shape) override {
    return device_->matmul(name, shape);
  }
  void run(char const* name, elementwise::Op const& op, size_t count) override {
    device_->run(name, op, count);
  }
  void run_rows(char const* name, rowwise::Op const& op, int64_t rows) override {
    device_->run_rows(name, op, rows);
  }
  void collective(char const* name, Communicator& communicator, Collective const& what) override {
    device_->collective(name, communicator, what);
  }
  void begin_capture() override { device_->begin_capture(); }
  Expected<std::unique_ptr<LaunchGraph>> end_capture(char const* name) override {
    return device_->end_capture(name);
  }
  void replay(LaunchGraph& graph) override { device_->replay(graph); }
  [[nodiscard]] OpCounts counts() const override { return device_->counts(); }

 private:
  std::unique_ptr<Device> device_;
};

struct PlacementOptions {
  std::FILE* log =
      nullptr;  ///< a line for each operation of each device, when it is first met; null = none
  bool soft = false;  ///< layers that a device lacks (base::Error::unsupported) are computed by a
                      ///< host device, which is said on stderr
};
/// Puts a device that does this before each of the group. A layer on the host takes its inputs from
/// the device and brings its outputs back, in the device's order; the caller waits for it.
void place_operations(DeviceGroup& group, PlacementOptions const& options);

}  // namespace stepscope::workloads
