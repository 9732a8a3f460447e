// The checks' answers on machines of every kind: without a GPU, ready, and with each fault.
#include "doctor/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/doctor/made_machine.h"

namespace stepscope::doctor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

auto is(Verdict verdict, std::string const& found) {
  return AllOf(Field("verdict", &Check::verdict, verdict),
               Field("found", &Check::found, HasSubstr(found)));
}

TEST_F(MadeMachine, WithoutAGpuOneLineSaysSoAndTheOthersAreSilent) {
  EXPECT_THAT(check_driver(places_), ElementsAre(is(Verdict::kWarning, "no NVIDIA device")));
  for (auto const check : {check_gpus, check_tested, check_peer_access, check_permission, check_mps,
                           check_nvml, check_cuda_runtime, check_cublaslt, check_cudnn, check_nccl,
                           check_cupti, check_python_cupti})
    for (Check const& line : answer({"any", check}, places_, std::chrono::seconds(60)))
      EXPECT_EQ(line.verdict, Verdict::kGood) << line.name << " " << line.found;
}

TEST_F(MadeMachine, AGpuOnTheBusWithoutADriverIsAFailure) {
  write("/sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n");
  write("/sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n");
  EXPECT_THAT(check_driver(places_),
              ElementsAre(is(Verdict::kFailure, "libcuda.so.1 cannot be loaded")));
}

TEST_F(MadeMachine, ANetworkCardOfNvidiasIsNoGpu) {
  write("/sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n");
  write("/sys/bus/pci/devices/0000:01:00.0/class", "0x020000\n");
  EXPECT_FALSE(has_gpu(places_));
}

TEST_F(MadeMachine, AContainerMayHaveAnyOfTheGpus) {
  write("/dev/nvidia-uvm", "");
  write("/dev/nvidiactl", "");
  EXPECT_FALSE(has_gpu(places_));
  write("/dev/nvidia3", "");
  EXPECT_TRUE(has_gpu(places_));
  EXPECT_THAT(gpu_device_files(places_), ElementsAre("/dev/nvidia3"));
}

TEST_F(MadeMachine, AContainerWithoutTheDriversLibrariesIsToldToBeGivenThem) {
  write("/proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.1  Release\n");
  write("/dev/nvidia0", "");
  std::vector<Check> const checks = check_driver(places_);
  ASSERT_THAT(checks, ElementsAre(is(Verdict::kFailure, "libcuda")));
  EXPECT_THAT(checks.front().fix, HasSubstr("--gpus all"));
}

TEST_F(MadeMachine, AReadyMachineIsDescribed) {
  add_gpus();
  EXPECT_THAT(check_driver(places_), ElementsAre(is(Verdict::kGood, "580.65.06, CUDA 13.0")));
  EXPECT_THAT(check_gpus(places_),
              ElementsAre(is(Verdict::kGood, "Fake H100, 80.0 GiB, compute capability 9.0"),
                          is(Verdict::kGood, "Fake H100")));
  EXPECT_THAT(check_peer_access(places_), ElementsAre(is(Verdict::kGood, "between all 2 GPUs")));
  EXPECT_THAT(check_nvml(places_),
              ElementsAre(is(Verdict::kGood, "13.580.65.06 of driver 580.65.06")));
  EXPECT_THAT(check_tested(places_), ElementsAre(is(Verdict::kGood, "ran on one H100")));
}

TEST_F(MadeMachine, ADriverThatDoesNotStartIsAFailureWithItsError) {
  add_gpus();
  set("FAKE_CUINIT", "803");
  std::vector<Check> const checks = check_driver(places_);
  ASSERT_THAT(checks,
              ElementsAre(is(Verdict::kFailure, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)")));
  EXPECT_THAT(checks.front().fix, HasSubstr("reboot"));
  EXPECT_THAT(check_gpus(places_), IsEmpty()) << "told once";
}

TEST_F(MadeMachine, ADriverThatCrashesOrHangsIsAFailureAndEndsNothingElse) {
  add_gpus();
  set("FAKE_DRIVER_CRASHES", "1");
  EXPECT_THAT(answer({"driver", check_driver}, places_, std::chrono::seconds(60)),
              ElementsAre(is(Verdict::kFailure, "asking for it ended with")));
  ::unsetenv("FAKE_DRIVER_CRASHES");
  set("FAKE_DRIVER_HANGS", "1");
  EXPECT_THAT(answer({"driver", check_driver}, places_, std::chrono::seconds(1)),
              ElementsAre(is(Verdict::kFailure, "no answer within the time limit")));
}

TEST_F(MadeMachine, AnAnswerThroughTheChildIsTheAnswer) {
  add_gpus();
  set("FAKE_PEER_ACCESS", "0");
  std::vector<Check> const checks =
      answer({"peer access", check_peer_access}, places_, std::chrono::seconds(60));
  ASSERT_THAT(checks,
              ElementsAre(is(Verdict::kWarning, "missing between 2 of 2 pairs of GPUs (·0 / 0·")));
  EXPECT_THAT(checks.front().fix, HasSubstr("topo"));
}

TEST_F(MadeMachine, AProhibitedGpuIsAFailureThatNamesTheCommand) {
  add_gpus();
  set("FAKE_COMPUTE_MODE", "2");
  std::vector<Check> const checks = check_gpus(places_);
  ASSERT_THAT(checks, SizeIs(2));
  EXPECT_THAT(checks[1], is(Verdict::kFailure, "prohibited"));
  EXPECT_EQ(checks[1].fix, "nvidia-smi -i 1 -c DEFAULT");
}

TEST_F(MadeMachine, RestrictedCountersDoNotPreventTracing) {
  add_gpus();
  EXPECT_THAT(
      check_permission(places_),
      ElementsAre(is(Verdict::kGood, "tracing of kernels, copies and calls does not need")));
  places_.is_root = true;
  EXPECT_THAT(check_permission(places_), ElementsAre(is(Verdict::kGood, "which is this user")));
}

TEST_F(MadeMachine, PersistenceModeThatIsOffIsTold) {
  add_gpus();
  set("FAKE_PERSISTENCE", "0");
  EXPECT_THAT(check_nvml(places_),
              ElementsAre(is(Verdict::kGood, "persistence mode off on GPU 1")));
}

TEST_F(MadeMachine, NvmlThatFailsIsAWarning) {
  add_gpus();
  set("FAKE_NVML_INIT", "15");
  EXPECT_THAT(check_nvml(places_), ElementsAre(is(Verdict::kWarning, "nvmlInit failed with 15")));
}

TEST_F(MadeMachine, MpsIsAWarning) {
  add_gpus();
  EXPECT_THAT(check_mps(places_), IsEmpty());
  write("/run/mps/control", "");
  places_.environment["CUDA_MPS_PIPE_DIRECTORY"] = "/run/mps";
  EXPECT_THAT(check_mps(places_), ElementsAre(is(Verdict::kWarning, "/run/mps")));
}

TEST_F(MadeMachine, ARuntimeNewerThanTheDriverIsAWarning) {
  add_gpus();
  install("libcudart.so.13");
  set("FAKE_DRIVER_CUDA", "12080");
  EXPECT_THAT(check_cuda_runtime(places_),
              ElementsAre(is(Verdict::kWarning, "the driver knows CUDA 12.8 at most")));
}

TEST_F(MadeMachine, CuptiIsTheOneThatTheTracerWouldLoadAndItsFaultsAreNamed) {
  add_gpus();
  install("libcupti.so.13");
  set("STEPSCOPE_CUPTI", places_.libraries + "/libcupti.so.13");
  std::vector<Check> checks = answer({"CUPTI", check_cupti}, places_, std::chrono::seconds(60));
  ASSERT_THAT(checks, SizeIs(1));
  if (checks.front().found.find("this build of Stepscope") != std::string::npos)
    GTEST_SKIP() << checks.front().found;

  EXPECT_THAT(checks.front(), AllOf(is(Verdict::kGood, "13.5 for CUDA programs"),
                                    is(Verdict::kGood, "libraries/libcupti.so.13")));

  set("FAKE_CUPTI", "130000");
  checks = answer({"CUPTI", check_cupti}, places_, std::chrono::seconds(60));
  ASSERT_THAT(checks,
              ElementsAre(is(Verdict::kWarning, "programs that use NVTX before CUDA may crash")));
  EXPECT_THAT(checks.front().fix, HasSubstr("mended in 13.4 Update 1"));
}

TEST_F(MadeMachine, WhetherSeveralToolsMayRecordDependsOnCuptiAndDriver) {
  add_gpus();
  install("libcupti.so.13");
  set("STEPSCOPE_CUPTI", places_.libraries + "/libcupti.so.13");
  auto const found = [&](char const* cupti, char const* driver) {
    set("FAKE_CUPTI", cupti);
    set("FAKE_DRIVER_CUDA", driver);
    auto const checks = answer({"CUPTI", check_cupti}, places_, std::chrono::seconds(60));
    return checks.empty() ? std::string() : checks.front().found;
  };

  std::string const both = found("130401", "13040");
  if (both.find("this build of Stepscope") != std::string::npos) GTEST_SKIP() << both;
  EXPECT_THAT(both, HasSubstr("may record at the same time"));
  EXPECT_THAT(both, HasSubstr("Tested without a GPU only"));
  EXPECT_THAT(found("130401", "13020"), HasSubstr("a driver of CUDA 13.3 (610) or newer"));
  EXPECT_THAT(found("130201", "13040"), HasSubstr("several from CUDA 13.3"));
}

TEST_F(MadeMachine, CuptiOfAPythonPackageIsFoundBesideItsRuntime) {
  places_.environment["VIRTUAL_ENV"] = "/env";
  std::string const packages = places_.root + "/env/lib/python3.12/site-packages/nvidia";
  install_at(packages + "/cuda_runtime/lib/libcudart.so.12");
  install_at(packages + "/cuda_cupti/lib/libcupti.so.12");
  std::vector<Check> const checks =
      answer({"CUPTI", check_python_cupti}, places_, std::chrono::seconds(60));
  if (checks.empty()) GTEST_SKIP() << "this build of Stepscope cannot use CUPTI";
  EXPECT_THAT(checks, ElementsAre(is(Verdict::kGood, "cuda_cupti/lib/libcupti.so.12")));
}

TEST_F(MadeMachine, WithAGpuAndNoCuptiTheOneOfAPythonPackageIsNamedAndTaken) {
  add_gpus();
  places_.environment["VIRTUAL_ENV"] = "/env";
  set("STEPSCOPE_CUPTI", "/nonexistent/libcupti.so");
  EXPECT_THAT(check_cupti(places_), ElementsAre(is(Verdict::kWarning, "")));
  EXPECT_EQ(use_python_cupti(places_), "");

  std::string const path =
      places_.root + "/env/lib/python3.12/site-packages/nvidia/cu13/lib/libcupti.so.13";
  install_at(path);

  std::vector<Check> const checks = check_cupti(places_);
  ASSERT_THAT(checks, SizeIs(1));
  if (checks.front().found.find("this build of Stepscope") != std::string::npos)
    GTEST_SKIP() << checks.front().found;
  EXPECT_THAT(checks.front().fix, HasSubstr("STEPSCOPE_CUPTI="));
  EXPECT_THAT(use_python_cupti(places_), EndsWith("nvidia/cu13/lib/libcupti.so.13"));
  EXPECT_THAT(std::getenv("STEPSCOPE_CUPTI"), EndsWith("nvidia/cu13/lib/libcupti.so.13"));
  EXPECT_EQ(use_python_cupti(places_), "") << "there is one now";
}

TEST_F(MadeMachine, TheTracerIsLookedAt) {
  EXPECT_THAT(check_tracer(places_), ElementsAre(is(Verdict::kGood, "libstepscope-tracer.so")));
  places_.tracer_folder = places_.root;
  EXPECT_THAT(check_tracer(places_), ElementsAre(is(Verdict::kFailure, "libstepscope-tracer.so")));
}

TEST_F(MadeMachine, OtherToolsInTheEnvironmentAreNamed) {
  EXPECT_THAT(check_other_tools(places_), IsEmpty());
  places_.environment["CUDA_INJECTION64_PATH"] = "/opt/nsys/libToolsInjection64.so";
  places_.environment["NVTX_INJECTION64_PATH"] = "/usr/lib/libstepscope-tracer.so";
  places_.environment["CUDA_LAUNCH_BLOCKING"] = "1";
  places_.environment["KINETO_USE_DAEMON"] = "0";
  EXPECT_THAT(check_other_tools(places_),
              ElementsAre(is(Verdict::kWarning, "libToolsInjection64"),
                          is(Verdict::kWarning, "CUDA_LAUNCH_BLOCKING=1")));
}

TEST_F(MadeMachine, APluginOfNcclIsNoFaultAndNoneIs) {
  places_.environment["NCCL_PROFILER_PLUGIN"] = "inspector";
  EXPECT_THAT(check_other_tools(places_),
              ElementsAre(is(Verdict::kGood, "passes NCCL's calls on to that plugin")));
  places_.environment["NCCL_PROFILER_PLUGIN"] = "none";
  EXPECT_THAT(check_other_tools(places_),
              ElementsAre(is(Verdict::kWarning, "nothing is recorded of NCCL")));
  places_.environment["NCCL_PROFILER_PLUGIN"] = "/usr/lib/libstepscope-tracer.so";
  EXPECT_THAT(check_other_tools(places_), IsEmpty());
}

TEST_F(MadeMachine, ASlowClockIsAWarning) {
  write("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
  EXPECT_THAT(check_clock(places_), ElementsAre(is(Verdict::kGood, "kernel: tsc")));
  write("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
  EXPECT_THAT(check_clock(places_), ElementsAre(is(Verdict::kWarning, "kernel: hpet")));
}

TEST_F(MadeMachine, AFolderThatIsNotThereIsAFailure) {
  EXPECT_THAT(check_disk(places_), ElementsAre(Field(&Check::found, HasSubstr("free in"))));
  places_.run_folder = "/nonexistent";
  EXPECT_THAT(check_disk(places_), ElementsAre(is(Verdict::kFailure, "/nonexistent")));
}

TEST_F(MadeMachine, EveryQuestionIsAnsweredAndWhatFailsSaysWhatToDo) {
  add_gpus();
  for (Question const& question : questions()) {
    for (Check const& check : answer(question, places_, std::chrono::seconds(60))) {
      EXPECT_THAT(check.name, Not(IsEmpty()));
      EXPECT_EQ(check.fix.empty(), check.verdict == Verdict::kGood)
          << check.name << ": " << check.found;
    }
  }
}

}  // namespace
}  // namespace stepscope::doctor
