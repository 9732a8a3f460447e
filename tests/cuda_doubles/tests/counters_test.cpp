// Counters of GPUs by NVML's double: those of the device that the program uses, whatever number
// NVML gives it. The trace tells what NVML refuses or loses, and the training stays the same.
#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "tests/cuda_doubles/tests/over_doubles.h"

namespace stepscope::cuda_doubles {
namespace {

using ::testing::HasSubstr;

/// Samples by device and counter.
using Counters = std::map<std::pair<int32_t, std::string>, std::vector<double>>;

struct CounterRun {
  Counters counters;
  std::string outcome;  ///< the fact "GPU counters"

  [[nodiscard]] std::vector<double> const& of(int32_t device, std::string const& counter) const {
    static std::vector<double> const none;
    auto const found = counters.find({device, counter});
    return found == counters.end() ? none : found->second;
  }
  [[nodiscard]] double largest(int32_t device, std::string const& counter) const {
    std::vector<double> const& values = of(device, counter);
    return values.empty() ? -1 : *std::max_element(values.begin(), values.end());
  }
};

class CudaCountersOverDoubles : public OverDoubles {
 protected:
  /// Long enough that utilization, of sixths of a second, is one of work, on fast machines, too.
  static constexpr int kBusySteps = 60;

  /// Records a training into the folder "run"; its weights go to the file "recorded".
  [[nodiscard]] e2e::Outcome record(std::string const& device, std::string const& knobs,
                                    int steps = 2) const {
    return over_doubles("record --force -o run --sample-ms 10 -- " + program_over_doubles() +
                            training(device, "recorded", steps),
                        knobs + " DOUBLE_CUDA_ACTIVITY='" + path("activity") + "'");
  }
  [[nodiscard]] static std::string training(std::string const& device,
                                            std::string const& checkpoint, int steps = 2) {
    return " run mnist --batch 2 --steps " + std::to_string(steps) +
           " --no-evaluate --log-every 0 --device " + device + " --checkpoint " + checkpoint;
  }
  [[nodiscard]] CounterRun counters() const {
    CounterRun result;
    auto const run = import::open_run(path("run"));
    if (!run || run->ranks.size() != 1) {
      ADD_FAILURE() << (run ? "not one rank" : run.error().message);
      return result;
    }

    model::Trace const& trace = run->ranks.front().trace;
    for (uint32_t row = 0; row < trace.event_count(); ++row) {
      if (trace.kind(row) != model::EventKind::kSample) continue;
      model::Track const& track = trace.track(row);
      result.counters[{track.device, std::string(track.name)}].push_back(
          trace.detail<model::SampleDetail>(row).value);
    }
    for (auto const& [name, text] : trace.info().facts)
      if (name == "GPU counters") result.outcome = text;
    return result;
  }
  [[nodiscard]] std::string bytes_of(std::string const& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  /// Records under `knobs`: the program ends well, with the weights of a run without Stepscope.
  void expect_same_training(std::string const& knobs) const {
    auto const outcome = record("cuda", knobs);
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_FALSE(bytes_of("plain").empty());
    EXPECT_EQ(bytes_of("recorded"), bytes_of("plain")) << knobs;
  }
};

/// NVML numbers by the PCI bus, CUDA by speed: the load must be that of CUDA's device 1.
TEST_F(CudaCountersOverDoubles, AreThoseOfTheDeviceThatCudaNames) {
  auto const outcome =
      record("cuda:1", "DOUBLE_CUDA_DEVICES=2 DOUBLE_NVML_ORDER=reversed", kBusySteps);
  SKIP_WITHOUT_NAMESPACE(outcome);
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  CounterRun const run = counters();
  EXPECT_THAT(run.outcome, HasSubstr("1 of the machine's 2 GPUs, every 10 ms"));

  for (auto const& [which, values] : run.counters) EXPECT_EQ(which.first, 1) << which.second;
  EXPECT_GT(run.largest(1, "memory used (MiB)"), 1);
  EXPECT_LT(run.largest(1, "memory used (MiB)"), 4096);
  EXPECT_GT(run.largest(1, "GPU utilization (%)"), 0);
  EXPECT_LE(run.largest(1, "GPU utilization (%)"), 100);
  EXPECT_GT(run.largest(1, "power (W)"), 70) << "of an idle GPU";
  EXPECT_LE(run.largest(1, "power (W)"), 670);
  EXPECT_EQ(run.largest(1, "SM clock (MHz)"), 1980);
  EXPECT_EQ(run.largest(1, "NVLink sent (MB/s)"), 0);
  EXPECT_GT(run.largest(1, "PCIe received (MB/s)"), 0);
  EXPECT_GT(run.largest(1, "SM activity (%)"), 0);
}

TEST_F(CudaCountersOverDoubles, OfAMigInstanceAreItsMemory) {
  auto const outcome = record("cuda:1", "DOUBLE_CUDA_DEVICES=2 DOUBLE_CUDA_MIG=1");
  SKIP_WITHOUT_NAMESPACE(outcome);
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  CounterRun const run = counters();
  EXPECT_EQ(run.counters.size(), 1U);
  EXPECT_GT(run.largest(1, "memory used (MiB)"), 1);
}

/// The process calls the third of four GPUs its first. The counters are those of that GPU, which
/// its UUID finds.
TEST_F(CudaCountersOverDoubles, AreThoseOfTheDevicesThatAreVisible) {
  for (char const* const visible : {"2,1", "2,9,1", "GPU-03,GPU-02"}) {
    auto const outcome =
        record("cuda",
               "DOUBLE_CUDA_DEVICES=4 DOUBLE_NVML_ORDER=reversed CUDA_VISIBLE_DEVICES=" +
                   std::string(visible),
               kBusySteps);
    SKIP_WITHOUT_NAMESPACE(outcome);
    ASSERT_EQ(outcome.code, 0) << outcome.output;

    CounterRun const run = counters();
    EXPECT_THAT(run.outcome, HasSubstr("1 of the machine's 4 GPUs")) << visible;
    for (auto const& [which, values] : run.counters) EXPECT_EQ(which.first, 0) << which.second;
    EXPECT_GT(run.largest(0, "memory used (MiB)"), 1) << visible;
    EXPECT_GT(run.largest(0, "GPU utilization (%)"), 0) << visible;
  }
}

TEST_F(CudaCountersOverDoubles, OfAVisibleMigInstanceAreItsMemory) {
  auto const outcome =
      record("cuda", "DOUBLE_CUDA_DEVICES=2 DOUBLE_CUDA_MIG=1 CUDA_VISIBLE_DEVICES=" +
                         std::string("MIG-02010000-0000-0000-0000-000000000000"));
  SKIP_WITHOUT_NAMESPACE(outcome);
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_EQ(counters().counters.size(), 1U);
  EXPECT_GT(counters().largest(0, "memory used (MiB)"), 1);
}

TEST_F(CudaCountersOverDoubles, TellWhatLimitsTheClocks) {
  auto const outcome = record("cuda", "DOUBLE_NVML_CLOCK_LIMITS=4", kBusySteps);
  SKIP_WITHOUT_NAMESPACE(outcome);
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_EQ(counters().largest(0, "clock limits (bits)"), 4);
}

TEST_F(CudaCountersOverDoubles, FaultsAreReportedAndTheTrainingIsTheSame) {
  auto const plain = over_doubles(training("cuda", "plain"));
  SKIP_WITHOUT_NAMESPACE(plain);
  ASSERT_EQ(plain.code, 0) << plain.output;

  expect_same_training("DOUBLE_NVML_REFUSED=nvmlInit_v2");
  EXPECT_THAT(counters().outcome, HasSubstr("the driver gives this user no access"));
  EXPECT_TRUE(counters().counters.empty());

  expect_same_training("DOUBLE_NVML_REFUSED=nvmlDeviceGetFieldValues");
  EXPECT_THAT(counters().outcome, HasSubstr("no access to power (W) of cuda:0"));
  EXPECT_GE(counters().largest(0, "power, average of a second (W)"), 70);

  expect_same_training("DOUBLE_NVML_LOST=0:60");
  EXPECT_THAT(counters().outcome, HasSubstr("cuda:0 was lost: its counters end early"));
  EXPECT_GT(counters().of(0, "memory used (MiB)").size(), 0U);
  EXPECT_LE(counters().of(0, "memory used (MiB)").size(), 60U);

  expect_same_training("DOUBLE_NVML_MISSING=nvmlDeviceGetClockInfo");
  EXPECT_TRUE(counters().of(0, "SM clock (MHz)").empty());
  EXPECT_GE(counters().largest(0, "power (W)"), 70);

  // A minute, which neither the program nor its trace waits for.
  expect_same_training("DOUBLE_NVML_DELAYS=nvmlDeviceGetMemoryInfo:60000");
  EXPECT_THAT(counters().outcome, HasSubstr("the GPU driver no longer answers"));
}

TEST_F(CudaCountersOverDoubles, DoctorSaysWhetherNvmlAnswers) {
  auto const fine = over_doubles("doctor", "DOUBLE_CUDA_DEVICES=2");
  SKIP_WITHOUT_NAMESPACE(fine);
  EXPECT_THAT(fine.output, HasSubstr("13.580.95.05 of driver 580.95.05"));
  EXPECT_THAT(over_doubles("doctor", "DOUBLE_NVML_REFUSED=nvmlInit_v2").output,
              HasSubstr("nvmlInit failed with 4"));
}

/// An older library has no such symbol. The copy that is loaded first has lost its name.
TEST_F(CudaCountersOverDoubles, OfAnOlderLibraryAreThoseThatItHas) {
  std::ifstream file(support::build_path("cuda_doubles/vendor/libnvidia-ml.so.1"),
                     std::ios::binary);
  std::string library{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  for (std::string const name : {"nvmlDeviceGetUtilizationRates", "nvmlGpmSampleAlloc"}) {
    ASSERT_NE(library.find(name), std::string::npos);
    for (size_t at = 0; (at = library.find(name, at)) != std::string::npos;) library[at] = 'x';
  }
  std::ofstream(path("older.so"), std::ios::binary) << library;

  auto const outcome = record("cuda", "LD_PRELOAD='" + path("older.so") + "'");
  SKIP_WITHOUT_NAMESPACE(outcome);
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  CounterRun const run = counters();
  EXPECT_TRUE(run.of(0, "GPU utilization (%)").empty());
  EXPECT_TRUE(run.of(0, "SM activity (%)").empty());
  EXPECT_GE(run.largest(0, "power (W)"), 70);
}

}  // namespace
}  // namespace stepscope::cuda_doubles
