// Logs where operations run, and puts layers on the host instead of a device; see placement.h.
#include "workloads/backend/placement.h"

#include <array>
#include <mutex>
#include <set>

#include "trace/base/check.h"

namespace stepscope::workloads {
namespace {

/// Host memory for what a layer takes and gives, and its way from and to the device.
class HostArrays {
 public:
  /// `floats`: of each array.
  static Expected<HostArrays> create(Device& device, Device& host, std::string_view layer,
                                     std::initializer_list<int64_t> floats) {
    HostArrays arrays(device, host, layer);

    for (int64_t const count : floats) {
      auto made = host.allocate(static_cast<size_t>(count) * sizeof(float),
                                MemoryPurpose::kWorkspace, layer);
      if (!made) return base::fail_with(made);
      arrays.pins_.push_back(device.pin(made->data(), made->bytes()));
      arrays.buffers_.push_back(std::move(*made));
    }

    return arrays;
  }

  /// Brings an array to the host; valid after arrived(). Null for null.
  float const* take(size_t array, float const* from) {
    if (from == nullptr) return nullptr;
    Buffer const& buffer = buffers_[array];
    device_->copy(StreamKind::kCompute, from_device_->c_str(), buffer.data(), from, buffer.bytes(),
                  CopyDirection::kDeviceToHost);
    return buffer.floats();
  }
  /// What was taken is there, and what was given before has left.
  void arrived() { device_->synchronize(device_->record(StreamKind::kCompute)); }
  [[nodiscard]] float* operator[](size_t array) { return buffers_[array].floats(); }
  /// The host has computed: its array goes back to the device.
  void give(size_t array, float* to) {
    host_->synchronize();
    if (to == nullptr) return;
    Buffer const& buffer = buffers_[array];
    device_->copy(StreamKind::kCompute, to_device_->c_str(), to, buffer.data(), buffer.bytes(),
                  CopyDirection::kHostToDevice);
  }

 private:
  HostArrays(Device& device, Device& host, std::string_view layer)
      : device_(&device),
        host_(&host),
        from_device_(std::make_unique<std::string>(fmt::format("d2h.{}", layer))),
        to_device_(std::make_unique<std::string>(fmt::format("h2d.{}", layer))) {}

  Device* device_;
  Device* host_;
  std::unique_ptr<std::string> from_device_,
      to_device_;  ///< names of copies, which must stay where they are
  std::vector<Buffer> buffers_;
  std::vector<std::shared_ptr<void>> pins_;
};

/// Conv2d and Dense: the same four arrays.
template <class Layer>
class WeightedOnHost final : public Layer {
 public:
  enum Array : size_t { kInput, kWeights, kBias, kOutput };
  WeightedOnHost(std::unique_ptr<Layer> layer, HostArrays arrays)
      : layer_(std::move(layer)), arrays_(std::move(arrays)) {}

  void forward(float const* x, float const* weights, float const* bias, float* y) override {
    float const* const host_x = arrays_.take(kInput, x);
    float const* const host_weights = arrays_.take(kWeights, weights);
    float const* const host_bias = arrays_.take(kBias, bias);
    arrays_.arrived();
    layer_->forward(host_x, host_weights, host_bias, arrays_[kOutput]);
    arrays_.give(kOutput, y);
  }
  void backward_data(float const* dy, float const* weights, float* dx) override {
    float const* const host_dy = arrays_.take(kOutput, dy);
    float const* const host_weights = arrays_.take(kWeights, weights);
    arrays_.arrived();
    layer_->backward_data(host_dy, host_weights, arrays_[kInput]);
    arrays_.give(kInput, dx);
  }
  void backward_weights(float const* x, float const* dy, float* d_weights, float* d_bias) override {
    float const* const host_x = arrays_.take(kInput, x);
    float const* const host_dy = arrays_.take(kOutput, dy);
    arrays_.arrived();
    layer_->backward_weights(host_x, host_dy, arrays_[kWeights], arrays_[kBias]);
    arrays_.give(kWeights, d_weights);
    arrays_.give(kBias, d_bias);
  }

 private:
  std::unique_ptr<Layer> layer_;
  HostArrays arrays_;
};

class MaxPoolOnHost final : public MaxPool {
 public:
  enum Array : size_t { kInput, kOutput };
  MaxPoolOnHost(std::unique_ptr<MaxPool> layer, HostArrays arrays)
      : layer_(std::move(layer)), arrays_(std::move(arrays)) {}

  void forward(float const* x, float* y) override {
    float const* const host_x = arrays_.take(kInput, x);
    arrays_.arrived();
    layer_->forward(host_x, arrays_[kOutput]);
    arrays_.give(kOutput, y);
  }
  void backward(float const* dy, float* dx) override {
    float const* const host_dy = arrays_.take(kOutput, dy);
    arrays_.arrived();
    layer_->backward(host_dy, arrays_[kInput]);
    arrays_.give(kInput, dx);
  }

 private:
  std::unique_ptr<MaxPool> layer_;
  HostArrays arrays_;
};

class LrnOnHost final : public Lrn {
 public:
  enum Array : size_t { kInput, kOutput, kInputGradient };
  LrnOnHost(std::unique_ptr<Lrn> layer, HostArrays arrays)
      : layer_(std::move(layer)), arrays_(std::move(arrays)) {}

  void forward(float const* x, float* y) override {
    float const* const host_x = arrays_.take(kInput, x);
    arrays_.arrived();
    layer_->forward(host_x, arrays_[kOutput]);
    arrays_.give(kOutput, y);
  }
  void backward(float const* x, float const* dy, float* dx) override {
    float const* const host_x = arrays_.take(kInput, x);
    float const* const host_dy = arrays_.take(kOutput, dy);
    arrays_.arrived();
    layer_->backward(host_x, host_dy, arrays_[kInputGradient]);
    arrays_.give(kInputGradient, dx);
  }

 private:
  std::unique_ptr<Lrn> layer_;
  HostArrays arrays_;
};

class MatMulOnHost final : public MatMul {
 public:
  enum Array : size_t { kA, kB, kC };
  MatMulOnHost(std::unique_ptr<MatMul> layer, HostArrays arrays, bool adds)
      : layer_(std::move(layer)), arrays_(std::move(arrays)), adds_(adds) {}

  void run(float const* a, float const* b, float* c) override {
    float const* const host_a = arrays_.take(kA, a);
    float const* const host_b = arrays_.take(kB, b);
    if (adds_) arrays_.take(kC, c);
    arrays_.arrived();
    layer_->run(host_a, host_b, arrays_[kC]);
    arrays_.give(kC, c);
  }

 private:
  std::unique_ptr<MatMul> layer_;
  HostArrays arrays_;
  bool adds_;  ///< beta is not 0
};

/// Traces know devices by their numbers: those of spare ones are no GPU's.
constexpr uint32_t kFirstSpare = 100;

/// Host devices, one for each of a group's, opened when the first is needed.
class SpareHosts {
 public:
  explicit SpareHosts(size_t devices) : devices_(devices) {}
  Expected<Device*> for_device(uint32_t index) {
    std::lock_guard const lock(mutex_);
    if (group_.devices.empty()) {
      auto opened = open_devices(fmt::format("host:{}", devices_), {.first_index = kFirstSpare});
      if (!opened) return base::fail_with(opened);
      group_ = std::move(*opened);
    }
    return group_.devices[index].get();
  }

 private:
  size_t devices_;
  std::mutex mutex_;
  DeviceGroup group_;
};

class PlacedDevice final : public ForwardingDevice {
 public:
  PlacedDevice(std::unique_ptr<Device> device, PlacementOptions const& options,
               std::shared_ptr<SpareHosts> hosts)
      : ForwardingDevice(std::move(device)), options_(options), hosts_(std::move(hosts)) {}

  void copy(StreamKind stream, char const* name, void* to, void const* from, size_t bytes,
            CopyDirection direction) override {
    tell(name);
    ForwardingDevice::copy(stream, name, to, from, bytes, direction);
  }
  void run(char const* name, elementwise::Op const& op, size_t count) override {
    tell(name);
    ForwardingDevice::run(name, op, count);
  }
  void run_rows(char const* name, rowwise::Op const& op, int64_t rows) override {
    tell(name);
    ForwardingDevice::run_rows(name, op, rows);
  }
  void collective(char const* name, Communicator& communicator, Collective const& what) override {
    tell(name);
    ForwardingDevice::collective(name, communicator, what);
  }

  Expected<std::unique_ptr<Conv2d>> conv2d(std::string_view name, Conv2dShape const& s) override {
    int64_t const filter = s.kernel * s.kernel * s.in_channels;
    return placed(name, ForwardingDevice::conv2d(name, s), [&](Device& host) {
      return on_host<WeightedOnHost<Conv2d>>(
          host, name, host.conv2d(name, s),
          {s.batch * s.height * s.width * s.in_channels, s.out_channels * filter, s.out_channels,
           s.batch * s.out_height() * s.out_width() * s.out_channels});
    });
  }
  Expected<std::unique_ptr<Dense>> dense(std::string_view name, DenseShape const& s) override {
    return placed(name, ForwardingDevice::dense(name, s), [&](Device& host) {
      return on_host<WeightedOnHost<Dense>>(
          host, name, host.dense(name, s),
          {s.batch * s.inputs, s.outputs * s.inputs, s.outputs, s.batch * s.outputs});
    });
  }
  Expected<std::unique_ptr<MaxPool>> max_pool(std::string_view name,
                                              MaxPoolShape const& s) override {
    return placed(name, ForwardingDevice::max_pool(name, s), [&](Device& host) {
      return on_host<MaxPoolOnHost>(host, name, host.max_pool(name, s),
                                    {s.batch * s.height * s.width * s.channels,
                                     s.batch * s.out_height() * s.out_width() * s.channels});
    });
  }
  Expected<std::unique_ptr<Lrn>> lrn(std::string_view name, LrnShape const& s) override {
    int64_t const floats = s.batch * s.height * s.width * s.channels;
    return placed(name, ForwardingDevice::lrn(name, s), [&](Device& host) {
      return on_host<LrnOnHost>(host, name, host.lrn(name, s), {floats, floats, floats});
    });
  }
  Expected<std::unique_ptr<MatMul>> matmul(std::string_view name, MatMulShape const& s) override {
    return placed(name, ForwardingDevice::matmul(name, s), [&](Device& host) {
      return on_host<MatMulOnHost>(host, name, host.matmul(name, s),
                                   {s.batch * s.m * s.k, s.batch * s.k * s.n, s.batch * s.m * s.n},
                                   s.beta != 0);
    });
  }

 private:
  /// Once for each operation: most names are literals, the others stay as long as their layers.
  void tell(char const* operation) {
    if (options_.log == nullptr || !reported_.insert(operation).second) return;
    fmt::print(options_.log, "placement: {} on {}\n", operation, name());
  }
  template <class Layer, class MakeOnHost>
  Expected<std::unique_ptr<Layer>> placed(std::string_view layer,
                                          Expected<std::unique_ptr<Layer>> made,
                                          MakeOnHost const& make_on_host) {
    if (made) {
      if (options_.log != nullptr) fmt::print(options_.log, "placement: {} on {}\n", layer, name());
      return made;
    }

    if (!options_.soft || !made.error().unsupported) return made;
    auto const host = hosts_->for_device(index());
    if (!host) return base::fail_with(host);

    // Even without a log: the layer is slower there, and in float32.
    fmt::print(options_.log == nullptr ? stderr : options_.log,
               "placement: {} on {}, which {} lacks: {}\n", layer, (*host)->name(), name(),
               made.error().message);
    return make_on_host(**host);
  }
  template <class OnHost, class Layer, class... More>
  Expected<std::unique_ptr<Layer>> on_host(Device& host, std::string_view name,
                                           Expected<std::unique_ptr<Layer>> layer,
                                           std::initializer_list<int64_t> floats, More... more) {
    if (!layer) return layer;
    auto arrays = HostArrays::create(*this, host, name, floats);
    if (!arrays) return base::fail_with(arrays);
    return std::make_unique<OnHost>(std::move(*layer), std::move(*arrays), more...);
  }

  PlacementOptions options_;
  std::shared_ptr<SpareHosts> hosts_;
  std::set<std::string, std::less<>> reported_;
};

}  // namespace

void place_operations(DeviceGroup& group, PlacementOptions const& options) {
  auto const hosts = std::make_shared<SpareHosts>(group.devices.size());
  for (auto& device : group.devices)
    device = std::make_unique<PlacedDevice>(std::move(device), options, hosts);
}

}  // namespace stepscope::workloads
