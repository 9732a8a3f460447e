// Placement: layers that a device lacks give on the host what the device would give, in the
// device's order; the log names each operation once.
#include "workloads/backend/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "workloads/data/random.h"

namespace stepscope::workloads {
namespace {

using Arrays = std::vector<std::vector<float>>;

/// Has no layers.
class LackingDevice final : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  Expected<std::unique_ptr<Conv2d>> conv2d(std::string_view name,
                                           Conv2dShape const& /*shape*/) override {
    return lacks(name);
  }
  Expected<std::unique_ptr<MaxPool>> max_pool(std::string_view name,
                                              MaxPoolShape const& /*shape*/) override {
    return lacks(name);
  }
  Expected<std::unique_ptr<Lrn>> lrn(std::string_view name, LrnShape const& /*shape*/) override {
    return lacks(name);
  }
  Expected<std::unique_ptr<Dense>> dense(std::string_view name,
                                         DenseShape const& /*shape*/) override {
    return lacks(name);
  }
  Expected<std::unique_ptr<MatMul>> matmul(std::string_view name,
                                           MatMulShape const& /*shape*/) override {
    return lacks(name);
  }

 private:
  static tl::unexpected<base::Error> lacks(std::string_view name) {
    return base::fail_unsupported("{}: no kernel", name);
  }
};

/// Has no room.
class FullDevice final : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  Expected<std::unique_ptr<Dense>> dense(std::string_view name,
                                         DenseShape const& /*shape*/) override {
    return base::fail("{}: out of memory", name);
  }
};

class Placement : public ::testing::Test {
 protected:
  static DeviceGroup open(bool lacks, PlacementOptions const& options,
                          std::string const& devices = "host") {
    DeviceGroup group = open_devices(devices, {}).value();
    if (lacks) {
      for (auto& device : group.devices)
        device = std::make_unique<LackingDevice>(std::move(device));
    }
    place_operations(group, options);
    return group;
  }
  /// Buffers with these numbers of floats, filled at random, the same in every call.
  static std::vector<Buffer> buffers(Device& device, std::vector<int64_t> const& sizes) {
    Random random(3);
    std::vector<Buffer> result;
    for (int64_t const size : sizes) {
      std::vector<float> values(static_cast<size_t>(size));
      for (float& value : values) value = random.uniform(-1, 1);

      result.push_back(
          device.allocate(values.size() * sizeof(float), MemoryPurpose::kOther, "test").value());
      device.copy(StreamKind::kCompute, "h2d.test", result.back().data(), values.data(),
                  result.back().bytes(), CopyDirection::kHostToDevice);
      device.synchronize();
    }

    return result;
  }
  static Arrays download(Device& device, std::vector<Buffer> const& buffers) {
    Arrays result;
    for (Buffer const& buffer : buffers) {
      result.emplace_back(buffer.bytes() / sizeof(float));
      device.copy(StreamKind::kCompute, "d2h.test", result.back().data(), buffer.data(),
                  buffer.bytes(), CopyDirection::kDeviceToHost);
    }
    device.synchronize();
    return result;
  }
  using Use = std::function<void(Device&, std::vector<Buffer>&)>;
  /// What is in the buffers after `use`, on a device that has the layer and on one that lacks it,
  /// is the same.
  static void expect_same(std::vector<int64_t> const& sizes, Use const& use) {
    Arrays results[2];
    for (bool const lacks : {false, true}) {
      DeviceGroup const group = open(lacks, {.soft = true});
      Device& device = *group.devices.front();
      std::vector<Buffer> arrays = buffers(device, sizes);
      use(device, arrays);
      results[lacks] = download(device, arrays);
    }
    EXPECT_EQ(results[0], results[1]);
  }
};

TEST_F(Placement, AConvolutionOnTheHostGivesTheSame) {
  constexpr Conv2dShape kShape = {2, 6, 5, 3, 4, 3, 1, true};
  constexpr int64_t kX = 2 * 6 * 5 * 3, kW = 4 * 3 * 3 * 3, kB = 4, kY = 2 * 6 * 5 * 4;
  expect_same({kX, kW, kB, kY, kX, kW, kB}, [&](Device& device, std::vector<Buffer>& b) {
    auto const layer = device.conv2d("conv", kShape).value();
    layer->forward(b[0].floats(), b[1].floats(), b[2].floats(), b[3].floats());
    layer->backward_data(b[3].floats(), b[1].floats(), b[4].floats());
    layer->backward_weights(b[0].floats(), b[3].floats(), b[5].floats(), b[6].floats());
    device.synchronize();
  });
}

TEST_F(Placement, FullyConnectedOnTheHostGivesTheSame) {
  expect_same({2 * 7, 5 * 7, 5, 2 * 5, 2 * 7, 5 * 7, 5},
              [&](Device& device, std::vector<Buffer>& b) {
                auto const layer = device.dense("fc", {2, 7, 5, false}).value();
                layer->forward(b[0].floats(), b[1].floats(), b[2].floats(), b[3].floats());
                layer->backward_data(b[3].floats(), b[1].floats(), b[4].floats());
                layer->backward_weights(b[0].floats(), b[3].floats(), b[5].floats(), b[6].floats());
                device.synchronize();
              });
}

TEST_F(Placement, PoolingAndNormalisationOnTheHostGiveTheSame) {
  expect_same({2 * 6 * 6 * 3, 2 * 3 * 3 * 3, 2 * 6 * 6 * 3},
              [&](Device& device, std::vector<Buffer>& b) {
                auto const layer = device.max_pool("pool", {2, 6, 6, 3, 3, 2}).value();
                layer->forward(b[0].floats(), b[1].floats());
                layer->backward(b[1].floats(), b[2].floats());
                device.synchronize();
              });

  constexpr int64_t kFloats = 2 * 4 * 4 * 9;
  expect_same({kFloats, kFloats, kFloats}, [&](Device& device, std::vector<Buffer>& b) {
    auto const layer = device.lrn("lrn", {2, 4, 4, 9, 2, 1, 0.1F, 0.75F}).value();
    layer->forward(b[0].floats(), b[1].floats());
    layer->backward(b[0].floats(), b[1].floats(), b[2].floats());
    device.synchronize();
  });
}

TEST_F(Placement, AProductThatAddsOnTheHostGivesTheSameManyTimes) {
  expect_same({2 * 3 * 4, 2 * 4 * 5, 2 * 3 * 5}, [&](Device& device, std::vector<Buffer>& b) {
    auto const product = device.matmul("product", {2, 3, 5, 4, false, false, 0.5F, 1.0F}).value();
    for (int i = 0; i < 10; ++i) product->run(b[0].floats(), b[1].floats(), b[2].floats());
    device.synchronize();
  });
}

TEST_F(Placement, WithoutSoftPlacementWhatIsLackingIsAnError) {
  DeviceGroup const group = open(true, {});
  auto const layer = group.devices.front()->dense("fc", {2, 7, 5, false});
  ASSERT_FALSE(layer.has_value());
  EXPECT_EQ(layer.error().message, "fc: no kernel");
}

TEST_F(Placement, OtherErrorsStayErrors) {
  DeviceGroup group = open_devices("host", {}).value();
  group.devices.front() = std::make_unique<FullDevice>(std::move(group.devices.front()));
  place_operations(group, {.soft = true});
  EXPECT_EQ(group.devices.front()->dense("fc", {2, 7, 5, false}).error().message,
            "fc: out of memory");
}

TEST_F(Placement, TheLogNamesEachOperationOfEachDeviceOnce) {
  char* text = nullptr;
  size_t size = 0;
  std::FILE* const log = open_memstream(&text, &size);

  {
    DeviceGroup const group = open(true, {.log = log, .soft = true}, "host:2");
    for (auto const& device : group.devices) {
      std::vector<Buffer> b = buffers(*device, {2 * 7, 5 * 7, 5, 2 * 5});
      auto const layer = device->dense("fc", {2, 7, 5, false}).value();
      for (int i = 0; i < 3; ++i)
        layer->forward(b[0].floats(), b[1].floats(), b[2].floats(), b[3].floats());
      device->synchronize();
    }
  }

  std::fclose(log);
  std::string const output(text, size);
  std::free(text);

  EXPECT_EQ(output,
            "placement: h2d.test on host:0\n"
            "placement: fc on host:100, which host:0 lacks: fc: no kernel\n"
            "placement: d2h.fc on host:0\n"
            "placement: h2d.fc on host:0\n"
            "placement: h2d.test on host:1\n"
            "placement: fc on host:101, which host:1 lacks: fc: no kernel\n"
            "placement: d2h.fc on host:1\n"
            "placement: h2d.fc on host:1\n");
}

}  // namespace
}  // namespace stepscope::workloads
