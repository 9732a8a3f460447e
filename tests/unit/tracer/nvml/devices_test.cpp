// Which GPU of NVML is which device of CUDA, by UUID or by what CUDA's variables say.
#include "tracer/nvml/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tracer/nvml/fake_nvml.h"

namespace stepscope::tracer::nvml {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr DeviceRegistry::Uuid kUuid = {0x8f, 0x2a, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06,
                                        0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0xff};

class NvmlDevices : public ::testing::Test {
 protected:
  NvmlDevices() { machine() = {}; }
  /// NVML's numbers of the devices that CUDA sees, in CUDA's order.
  std::vector<unsigned> visible(char const* variable, char const* order = nullptr) {
    VisibleDevices const result = visible_devices(api, {variable, order});
    problem = result.problem;
    std::vector<unsigned> numbers;
    for (size_t i = 0; i < result.devices.size(); ++i) {
      EXPECT_EQ(result.devices[i].number, static_cast<int32_t>(i));
      numbers.push_back(
          static_cast<unsigned>(reinterpret_cast<uintptr_t>(result.devices[i].handle)) - 1);
    }
    return numbers;
  }
  Api api = fake_api();
  std::string problem;
};

TEST_F(NvmlDevices, are_found_by_the_uuid_that_cuda_tells) {
  DeviceRegistry registry;
  registry.add_device(1, kUuid);
  EXPECT_THAT(registry.used(), SizeIs(0)) << "the program has no context there";
  registry.add_context(1);
  registry.add_context(7);
  ASSERT_THAT(registry.used(), SizeIs(1)) << "the UUID of the other is not known yet";
  EXPECT_EQ(registry.used()[0].uuid, "GPU-8f2a0102-0304-0506-0708-090a0b0c0dff");
  registry.add_device(7, kUuid, DeviceRegistry::UuidOf::kMigInstance);
  ASSERT_THAT(registry.used(), SizeIs(2));
  EXPECT_EQ(registry.used()[1].uuid, "MIG-8f2a0102-0304-0506-0708-090a0b0c0dff");

  machine().uuids[1] = "GPU-8f2a0102-0304-0506-0708-090a0b0c0dff";
  auto const open = open_devices(api, registry.used());
  ASSERT_THAT(open, SizeIs(1));
  EXPECT_EQ(open[0].number, 1);
  EXPECT_EQ(open[0].handle, handle_of(1));
  machine().uuids[1] = "GPU-other";
  EXPECT_THAT(open_devices(api, registry.used()), SizeIs(0));
}

TEST_F(NvmlDevices, the_registry_tells_when_something_changed) {
  DeviceRegistry registry;
  EXPECT_FALSE(registry.is_expected());
  uint64_t version = registry.version();
  auto const has_changed = [&] { return std::exchange(version, registry.version()) != version; };

  EXPECT_FALSE(has_changed());
  registry.expect();
  EXPECT_TRUE(has_changed());
  registry.add_device(0, kUuid);
  EXPECT_TRUE(has_changed());
  registry.add_context(0);
  EXPECT_TRUE(has_changed());
  EXPECT_TRUE(registry.is_expected());
}

TEST_F(NvmlDevices, follow_cuda_visible_devices) {
  EXPECT_THAT(visible(nullptr), ElementsAre(0, 1));
  EXPECT_THAT(visible(""), SizeIs(0));
  EXPECT_THAT(visible("1,0"), ElementsAre(1, 0));
  EXPECT_THAT(visible("1,9,0"), ElementsAre(1)) << "CUDA ends at the first that is not there";
  EXPECT_THAT(visible("-1"), SizeIs(0));
  EXPECT_THAT(visible("nonsense"), SizeIs(0));
  EXPECT_THAT(visible("GPU-0304-second,0"), ElementsAre(1, 0));
  machine().uuids[1] = "MIG-1234";
  EXPECT_THAT(visible("MIG-1234"), ElementsAre(1));
}

TEST_F(NvmlDevices, uuids_may_be_abbreviated_as_far_as_they_name_one_gpu) {
  EXPECT_THAT(visible("GPU-03"), ElementsAre(1));
  EXPECT_THAT(visible("GPU-0"), SizeIs(0)) << "two begin so";
  EXPECT_THAT(visible("GPU-05,0"), SizeIs(0));
  api.device_by_uuid = nullptr;
  EXPECT_THAT(visible("GPU-0102-first"), ElementsAre(0));
}

TEST_F(NvmlDevices, numbers_of_different_gpus_mean_nothing_unless_cuda_orders_them_as_nvml) {
  machine().gpus[1].name = "NVIDIA T1000";
  EXPECT_THAT(visible(nullptr), SizeIs(0));
  EXPECT_THAT(problem, HasSubstr("CUDA_DEVICE_ORDER=PCI_BUS_ID"));
  EXPECT_THAT(visible("0"), SizeIs(0));
  EXPECT_THAT(visible("0", "FASTEST_FIRST"), SizeIs(0));

  EXPECT_THAT(visible("GPU-03"), ElementsAre(1)) << "an UUID is always clear";
  EXPECT_EQ(problem, "");
  EXPECT_THAT(visible("1,0", "PCI_BUS_ID"), ElementsAre(1, 0));

  api.device_name = nullptr;
  EXPECT_THAT(visible("1"), SizeIs(0)) << "not known to be the same";
}

TEST_F(NvmlDevices, what_their_slots_and_settings_give_them_is_described) {
  std::vector<OpenDevice> const both = {{0, handle_of(0)}, {3, handle_of(1)}};
  machine().gpus[1].power_result = kNotSupported;
  EXPECT_EQ(describe_surroundings(api, both),
            "cuda:0: PCIe generation 4 of 5, 8 of 16 lanes, at most 700 W; cuda:3: PCIe generation "
            "4 of 5, 8 of 16 lanes");
  api.max_pcie_lanes = api.pcie_generation = nullptr;
  EXPECT_EQ(describe_surroundings(api, std::span(both).first(1)), "cuda:0: 8 lanes, at most 700 W");
  EXPECT_EQ(describe_surroundings({}, both), "");
}

TEST_F(NvmlDevices, links_are_described) {
  std::vector<OpenDevice> const both = {{0, handle_of(0)}, {1, handle_of(1)}};
  EXPECT_EQ(describe_nvlink(api, both),
            "cuda:0 has 2 links, cuda:1 has 2 links, cuda:0 reaches cuda:1");
  machine().are_peers = false;
  EXPECT_EQ(describe_nvlink(api, both), "cuda:0 has 2 links, cuda:1 has 2 links");
  machine().gpus[0].links = machine().gpus[1].links = 0;
  EXPECT_EQ(describe_nvlink(api, both), "");
  EXPECT_EQ(describe_nvlink({}, both), "");
}

}  // namespace
}  // namespace stepscope::tracer::nvml
