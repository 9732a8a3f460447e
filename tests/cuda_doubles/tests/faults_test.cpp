// Faults of CUPTI and of the GPU, over the doubles: a record becomes a row or a counted loss, and
// the program's own end and words stay as they are.
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/cuda_doubles/tests/over_doubles.h"
#include "trace/base/files/run_folder.h"

namespace stepscope::cuda_doubles {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char const* kRun =
    "run cifar10 --device cuda --batch 2 --steps 2 --no-evaluate --log-every 0 --json";

class CudaFaultsOverDoubles : public OverDoubles {
 protected:
  /// Records the training above into the folder "run".
  [[nodiscard]] e2e::Outcome record(std::string const& knobs) const {
    std::string const program =
        std::filesystem::absolute(support::build_path("cuda_doubles/bin/stepscope")).string();
    return over_doubles("record -o run -- '" + program + "' " + kRun, knobs);
  }
};

/// An enabling that takes its time once had the tracer take CUPTI's clock for another one.
TEST_F(CudaFaultsOverDoubles, ASlowCuptiWithAnotherClockLosesNothing) {
  auto const outcome =
      record("DOUBLE_CUPTI_VERSION=24 DOUBLE_CUPTI_ENABLE_MS=20 DOUBLE_CUPTI_AHEAD_NS=5000000000");
  SKIP_WITHOUT_NAMESPACE(outcome);
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  expect_all_rows(rows_of("run"), handed());
}

TEST_F(CudaFaultsOverDoubles, ZeroTimesAreAvoidedWhereCuptiMakesThem) {
  auto const outcome = record("DOUBLE_CUPTI_VERSION=130001 DOUBLE_CUPTI_FAULTS=zero");
  SKIP_WITHOUT_NAMESPACE(outcome);
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_EQ(handed()["kernels without times"], 0U);
  expect_all_rows(rows_of("run"), handed());
}

TEST_F(CudaFaultsOverDoubles, WhatLiesBeforeAHoleIsRows) {
  auto const outcome = record("DOUBLE_CUPTI_FAULTS=hole");
  SKIP_WITHOUT_NAMESPACE(outcome);
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  uint64_t const unreadable = handed()["unreadable"];
  EXPECT_GT(unreadable, 0U);
  Rows const rows = rows_of("run");
  EXPECT_EQ(rows.kernels(), handed()["kernels"]);

  // What lies behind is lost; how much is an estimate by the size of the records before.
  EXPECT_GT(rows.lost, unreadable / 2);
  EXPECT_LT(rows.lost, unreadable * 2);
  EXPECT_THAT(outcome.output, HasSubstr("left a part of its buffers unreadable"));
}

TEST_F(CudaFaultsOverDoubles, AnErrorThatSticksIsNamedAndWhatNeverRanIsCounted) {
  auto const outcome = record("DOUBLE_CUDA_FAIL_AT_KERNEL=40");
  SKIP_WITHOUT_NAMESPACE(outcome);
  EXPECT_NE(outcome.code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("an illegal memory access was encountered"));

  Rows const rows = rows_of("run");
  constexpr uint64_t kBeforeIt = 39;
  EXPECT_EQ(rows.kernels(), kBeforeIt);
  EXPECT_EQ(rows.kernels(), handed()["kernels"]);
  EXPECT_EQ(rows.lost, handed()["kernels without times"] + handed()["copies without times"]);
}

TEST_F(CudaFaultsOverDoubles, EachErrorOfADeviceIsSaidWithWhatToDo) {
  // cudaError_t, by number: uncorrectable ECC error, launch timeout, devices unavailable, no kernel
  // image, launch failure.
  std::pair<int, char const*> const advice[] = {
      {214, "look at what dmesg and nvidia-smi say"},
      {702, "look at what dmesg and nvidia-smi say"},
      {46, "end it or name another GPU"},
      {209, "use --device host"},
      {719, "run again under compute-sanitizer"},
  };

  for (auto const& [error, words] : advice) {
    auto const outcome = over_doubles(
        std::string("run mnist --device cuda --batch 2 --steps 1 --no-evaluate --log-every 0"),
        "DOUBLE_CUDA_FAIL_AT_KERNEL=20 DOUBLE_CUDA_FAIL_WITH=" + std::to_string(error));
    SKIP_WITHOUT_NAMESPACE(outcome);
    EXPECT_EQ(outcome.code, 1) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(words));
  }
}

/// CUPTI is disabled between the windows and stays in the process; each of its versions.
TEST_F(CudaFaultsOverDoubles, EachWindowOfStepsHasTheRowsOfItsSteps) {
  for (char const* const version : {"24", "130000", "130400"}) {
    std::filesystem::remove_all(path("run"));
    auto const outcome =
        over_doubles("record -o run --every 3 --for 1 -- " + program_over_doubles() +
                         " run mnist --device cuda --batch 2 --steps 8 --no-evaluate --log-every 0 "
                         "--input-delay-ms 100",
                     std::string("DOUBLE_CUPTI_VERSION=") + version);
    SKIP_WITHOUT_NAMESPACE(outcome);
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("recorded 2 trace files of 2 windows"));

    Rows const first = rows_of("run/steps-3-3"), second = rows_of("run/steps-6-6");
    EXPECT_GT(first.kernels(), 0U) << version;
    EXPECT_EQ(first.kernels(), second.kernels()) << version;
    EXPECT_EQ(first.lost + second.lost, 0U) << version;
  }
}

/// A ring begins with whole steps: two more of them are twice the rows of a step.
TEST_F(CudaFaultsOverDoubles, ARingHasTheRowsOfItsSteps) {
  auto const rows_with = [&](std::string const& option, std::string const& part) {
    std::filesystem::remove_all(path("run"));
    auto const outcome = over_doubles(
        "record " + option + " -o run -- " + program_over_doubles() +
            " run mnist --device cuda --batch 2 --steps 30 --no-evaluate --log-every 0 "
            "--input-delay-ms 100",
        "");
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    return rows_of("run" + part);
  };
  auto const trial = over_doubles("--version");
  SKIP_WITHOUT_NAMESPACE(trial);

  Rows const step = rows_with("--steps 20:20", "");
  Rows const two = rows_with("--ring 2steps", "/ring-last");
  Rows const four = rows_with("--ring 4steps", "/ring-last");
  EXPECT_GT(step.kernels(), 0U);
  EXPECT_GE(two.kernels(), 2 * step.kernels());
  EXPECT_LE(two.kernels(), 5 * step.kernels()) << "three whole steps, and the end of the program";
  EXPECT_EQ(four.kernels() - two.kernels(), 2 * step.kernels());
  EXPECT_EQ(two.lost + four.lost, 0U);
}

/// The training lasts for eight seconds at least, in which two windows are asked for.
TEST_F(CudaFaultsOverDoubles, EachWindowThatIsAskedForHasTheRowsOfItsSteps) {
  auto const trial = over_doubles("--version");
  SKIP_WITHOUT_NAMESPACE(trial);
  std::string const training = command_over_doubles(
      program_over_doubles() + " record --on-request -o run -- " + program_over_doubles() +
          " run mnist --device cuda --batch 2 --steps 400 --no-evaluate "
          "--log-every 0 --input-delay-ms 20",
      "");
  auto const outcome =
      shell(training + " > training.txt 2>&1 & job=$!\n" + "for i in $(seq 300); do " + program() +
            " trigger run --steps 2 > asked.txt 2>&1 && break; sleep 0.2; done\n" +
            "cat asked.txt; " + program() + " trigger run --steps 2\n" +
            "wait $job; echo training ended with $?; cat training.txt");
  EXPECT_THAT(outcome.output, HasSubstr("training ended with 0"));
  EXPECT_THAT(outcome.output, HasSubstr("recorded 2 trace files of 2 windows"));

  auto const windows = base::windows_in(path("run"));
  ASSERT_EQ(windows.size(), 2U) << outcome.output;
  auto const rows_of_window = [&](size_t i) {
    return rows_of("run/" + std::filesystem::path(windows[i]).filename().string());
  };
  Rows const first = rows_of_window(0), second = rows_of_window(1);
  EXPECT_GT(first.kernels(), 0U);
  EXPECT_EQ(first.kernels(), second.kernels());
  EXPECT_EQ(first.lost + second.lost, 0U);
}

/// What the lines of the steps call their loss.
std::vector<std::string> losses_in(std::string const& output) {
  std::vector<std::string> losses;
  std::istringstream words(output);
  for (std::string word; words >> word;)
    if (word == "loss" && words >> word) losses.push_back(word);
  return losses;
}

/// The algorithms that the double suggests first: 7 forwards, 4 backwards. It has only one that is
/// deterministic for the gradient of the weights: 1.
TEST_F(CudaFaultsOverDoubles, AnAlgorithmThatCudnnRefusesIsReplacedWhereThereIsAnother) {
  std::string const training =
      "run cifar10 --device cuda --batch 2 --steps 2 --no-evaluate --log-every 1";
  auto const whole = over_doubles(training);
  SKIP_WITHOUT_NAMESPACE(whole);
  ASSERT_EQ(losses_in(whole.output).size(), 2U) << whole.output;
  for (char const* const algorithm : {"4", "7"}) {
    auto const replaced = over_doubles(training, std::string("DOUBLE_CUDNN_REFUSED=") + algorithm);
    EXPECT_EQ(losses_in(replaced.output), losses_in(whole.output)) << replaced.output;
  }

  // Copies of the loader's memory are still queued when it goes.
  auto const refused = over_doubles(
      training, "DOUBLE_CUDNN_REFUSED=1 DOUBLE_CUDA_CHECK_PIN=1 DOUBLE_CUDA_DELAYS=14:20000");
  EXPECT_EQ(refused.code, 1) << refused.output;
  EXPECT_THAT(refused.output, HasSubstr("CUDNN_STATUS_NOT_SUPPORTED"));
  EXPECT_THAT(losses_in(refused.output), testing::IsEmpty()) << "the step's device has failed";
}

TEST_F(CudaFaultsOverDoubles, AGpuWithoutMemoryIsSaidWithWhatToDo) {
  auto const outcome = record("DOUBLE_CUDA_MEMORY_MB=20");
  SKIP_WITHOUT_NAMESPACE(outcome);
  EXPECT_NE(outcome.code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("cuda:0: out of memory"));
  EXPECT_THAT(outcome.output, HasSubstr("lower --batch"));
}

TEST_F(CudaFaultsOverDoubles, MemoryIsNotFreedBetweenCollectivesOfNccl) {
  std::string const training =
      "run mnist --batch 2 --steps 2 --no-evaluate --log-every 0 --pathology alloc-every-step ";
  auto const refused = over_doubles(training + "--device cuda:all", "DOUBLE_CUDA_DEVICES=2");
  SKIP_WITHOUT_NAMESPACE(refused);
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.output, HasSubstr("use one GPU"));

  EXPECT_EQ(over_doubles(training + "--device cuda:0,cuda:0").code, 0);
}

TEST_F(CudaFaultsOverDoubles, AMachineWithoutAGpuIsSaidWithWhatToDo) {
  auto const outcome = record("DOUBLE_CUDA_DEVICES=0");
  SKIP_WITHOUT_NAMESPACE(outcome);
  EXPECT_NE(outcome.code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("no GPU can be used"));
  EXPECT_THAT(outcome.output, HasSubstr("--device host"));
}

/// A library that cannot be used, and what becomes of a training on devices that want it.
struct Unusable {
  char const* soname;
  char const* devices;
  std::optional<bool> does_train;
  std::vector<char const*> words;  ///< in what Stepscope writes
};

void PrintTo(Unusable const& library, std::ostream* out) { *out << library.soname; }

/// Example: "libcuda".
std::string test_name(testing::TestParamInfo<Unusable> const& test) {
  std::string name(test.param.soname);
  name.resize(name.find('.'));
  std::erase(name, '-');
  return name;
}

class UnusableLibrary : public OverDoubles, public testing::WithParamInterface<Unusable> {
 protected:
  void expect_words_after_training() const {
    auto const outcome = over_doubles(
        "profile cifar10 -o run --batch 2 --steps 2 --no-evaluate "
        "--log-every 0 --device " +
            std::string(GetParam().devices),
        "DOUBLE_CUDA_DEVICES=2");
    SKIP_WITHOUT_NAMESPACE(outcome);
    bool const does_train = outcome.code == 0;
    EXPECT_EQ(does_train, GetParam().does_train.value_or(does_train)) << outcome.output;
    EXPECT_THAT(outcome.output, Not(HasSubstr("was ended by signal")));

    auto const info = over_doubles("info run");
    for (char const* const words : GetParam().words)
      EXPECT_THAT(outcome.output + info.output, HasSubstr(words));
  }
};

/// A library of another version, or a half installed one.
class CudaLibraryWithoutFunctions : public UnusableLibrary {};

TEST_P(CudaLibraryWithoutFunctions, IsNamedWithWhatToDo) {
  take_functions_of(GetParam().soname);
  expect_words_after_training();
}

INSTANTIATE_TEST_SUITE_P(
    All, CudaLibraryWithoutFunctions,
    testing::Values(
        Unusable{"libcuda.so.1", "cuda", false, {"no GPU can be used", "--device host"}},
        Unusable{"libcudnn.so.9", "cuda", false, {"libcudnn.so.9 has no cudnn", "install cuDNN 9"}},
        Unusable{"libcublasLt.so.13",
                 "cuda",
                 false,
                 {"libcublasLt.so.13 has no cublasLt", "install the CUDA toolkit"}},
        Unusable{"libnccl.so.2",
                 "cuda:0,cuda:1",
                 true,
                 {"libnccl.so.2 has no nccl", "install NCCL", "slower, and right"}},
        Unusable{"libcupti.so.13", "cuda", true, {"CUDA calls and kernels were not recorded"}},
        Unusable{"libnvidia-ml.so.1",
                 "cuda",
                 true,
                 {"not sampled: libnvidia-ml.so.1 names no devices, install the driver again"}}),
    test_name);

/// The loader would map what is not there, and the first touch of it ends a program.
class CudaLibraryThatIsCut : public UnusableLibrary {};

TEST_P(CudaLibraryThatIsCut, EndsNoProgramAndIsNamed) {
  cut(GetParam().soname);
  expect_words_after_training();
}

/// In place of the others a whole one may be found, in a toolkit of this machine.
INSTANTIATE_TEST_SUITE_P(
    All, CudaLibraryThatIsCut,
    testing::Values(
        Unusable{"libcuda.so.1", "cuda", false, {"libcuda.so.1: is incomplete", "--device host"}},
        Unusable{"libcudnn.so.9", "cuda", std::nullopt, {}},
        Unusable{"libcublasLt.so.13", "cuda", std::nullopt, {}},
        Unusable{"libnccl.so.2", "cuda:0,cuda:1", std::nullopt, {}},
        Unusable{"libcupti.so.13", "cuda", true, {"CUDA calls and kernels were not recorded"}},
        Unusable{"libnvidia-ml.so.1",
                 "cuda",
                 true,
                 {"not sampled:", "libnvidia-ml.so.1: is incomplete"}}),
    test_name);

}  // namespace
}  // namespace stepscope::cuda_doubles
