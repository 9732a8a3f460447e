// What doctor reports of cuBLASLt, cuDNN and NCCL: each fault of a file, what to do, and what of
// Stepscope does not work until then.
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/machine.h"
#include "tests/unit/doctor/made_machine.h"

namespace stepscope::doctor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class MadeLibraries : public MadeMachine {};

auto line(Verdict verdict, std::string const& found, std::string const& fix = "") {
  return AllOf(Field("verdict", &Check::verdict, verdict),
               Field("found", &Check::found, HasSubstr(found)),
               Field("fix", &Check::fix, HasSubstr(fix)));
}

TEST_F(MadeLibraries, OldNcclKnowsNoPlugins) {
  install("libnccl.so.2");
  set("FAKE_NCCL", "22203");
  EXPECT_THAT(check_nccl(places_), ElementsAre(line(Verdict::kWarning, "2.22.3")));
  set("FAKE_NCCL", "22703");
  EXPECT_THAT(check_nccl(places_), ElementsAre(line(Verdict::kGood, "2.27.3")));
}

TEST_F(MadeLibraries, FaultsOfNcclAndCudnnAreNamedByVersion) {
  install("libnccl.so.2");
  set("FAKE_NCCL", "23003");
  EXPECT_THAT(check_nccl(places_), ElementsAre(line(Verdict::kWarning, "nccl#2112")));
  set("FAKE_NCCL", "22809");
  EXPECT_THAT(check_nccl(places_), ElementsAre(line(Verdict::kWarning, "nccl#1992")));
  set("FAKE_NCCL", "22907");
  EXPECT_THAT(check_nccl(places_), ElementsAre(line(Verdict::kGood, "2.29.7")));

  install("libcudnn.so.9");
  set("FAKE_CUDNN", "91801");
  EXPECT_THAT(check_cudnn(places_), ElementsAre(line(Verdict::kWarning, "keep their memory")));
  set("FAKE_CUDNN", "91900");
  EXPECT_THAT(check_cudnn(places_), ElementsAre(line(Verdict::kGood, "9.19.0")));
}

TEST_F(MadeLibraries, LibrariesOfPythonAreListedBesideTheLoaders) {
  install("libcudnn.so.9");
  places_.environment["VIRTUAL_ENV"] = "/env";
  install_at(places_.root + "/env/lib/python3.11/site-packages/nvidia/cudnn/lib/libcudnn.so.9");
  EXPECT_THAT(check_cudnn(places_),
              ElementsAre(line(Verdict::kGood, "libraries/libcudnn.so.9"),
                          line(Verdict::kGood, "nvidia/cudnn/lib/libcudnn.so.9")));
}

/// What is true of each of the three.
struct Wanted {
  std::vector<Check> (*check)(Places const& places);
  char const* soname;
  char const* other_major;
  char const* function;
  char const* advice;
  char const* affected;
};

void PrintTo(Wanted const& library, std::ostream* out) { *out << library.soname; }

class TrainingLibraries : public MadeMachine, public ::testing::WithParamInterface<Wanted> {
 protected:
  TrainingLibraries() { add_gpus(); }
  [[nodiscard]] std::vector<Check> answers() const {
    return answer({"library", GetParam().check}, places_, std::chrono::seconds(60));
  }
  /// One line, a warning that says this, what to do and what does not work.
  void expect_warning(std::string const& found) const {
    std::vector<Check> const checks = answers();
    ASSERT_THAT(checks, ElementsAre(line(Verdict::kWarning, found, GetParam().advice)));
    EXPECT_THAT(checks.front().fix, HasSubstr(GetParam().affected));
  }
  [[nodiscard]] std::string installed() const {
    return places_.libraries + "/" + GetParam().soname;
  }
};

TEST_P(TrainingLibraries, AWholeOneIsGoodAndItsFileIsNamed) {
  install(GetParam().soname);
  EXPECT_THAT(answers(), ElementsAre(line(Verdict::kGood, installed())));
}

TEST_P(TrainingLibraries, AMissingOneIsAWarning) {
  expect_warning(std::string("no ") + GetParam().soname);
}

TEST_P(TrainingLibraries, OneOfAnotherMajorVersionAloneIsNamed) {
  install(GetParam().other_major);
  expect_warning("only another version: " + places_.libraries + "/" + GetParam().other_major);
}

TEST_P(TrainingLibraries, ACutOneIsNamedAndEndsNothing) {
  install(GetParam().soname);
  cut(installed());
  expect_warning(installed() + ": is incomplete");
}

TEST_P(TrainingLibraries, AFileThatIsNoLibraryIsAWarning) {
  write(std::string("/libraries/") + GetParam().soname, "<html>not found</html>");
  expect_warning(installed());
}

TEST_P(TrainingLibraries, AFileOfAnotherNameIsAWarning) {
  install(GetParam().soname, kOfOtherName);
  expect_warning("the file calls itself libother.so.7");
}

TEST_P(TrainingLibraries, OneWithoutFunctionsIsAWarningThatNamesTheFirst) {
  install(GetParam().soname, kWithoutFunctions);
  expect_warning(std::string("has no ") + GetParam().function + " and ");
}

TEST_P(TrainingLibraries, BesideAWholeOneACutOneMattersToProgramsThatFindItFirst) {
  install(GetParam().soname);
  cut(installed());
  install_at(places_.root + "/usr/local/cuda/lib64/" + GetParam().soname);
  EXPECT_THAT(answers(), ElementsAre(line(Verdict::kWarning, "is incomplete", "remove the file"),
                                     line(Verdict::kGood, "/usr/local/cuda/lib64")));
}

INSTANTIATE_TEST_SUITE_P(
    All, TrainingLibraries,
    ::testing::Values(Wanted{check_cublaslt, "libcublasLt.so.13", "libcublasLt.so.11",
                             "cublasLtGetStatusString", "install the CUDA toolkit",
                             "no bundled workload runs with --device cuda"},
                      Wanted{check_cudnn, "libcudnn.so.9", "libcudnn.so.8", "cudnnGetErrorString",
                             "install cuDNN 9", "no bundled workload runs with --device cuda"},
                      Wanted{check_nccl, "libnccl.so.2", "libnccl.so.1", "ncclGetErrorString",
                             "install NCCL 2.23 or newer", "slower kernels of Stepscope"}),
    [](auto const& test) {
      std::string const name = test.param.soname;
      return name.substr(3, name.find('.') - 3);
    });

TEST_F(MadeLibraries, OneGpuNeedsNoNccl) {
  add_gpus();
  set("FAKE_GPUS", "1");
  EXPECT_THAT(check_nccl(places_),
              ElementsAre(line(Verdict::kGood, "what trains on several GPUs needs it")));
}

TEST_F(MadeLibraries, VersionsThatTheWorkloadsAreNotMadeForAreWarnings) {
  install("libcudnn.so.9");
  set("FAKE_CUDNN", "8905");
  EXPECT_THAT(check_cudnn(places_),
              ElementsAre(line(Verdict::kWarning, "8.9.5 for CUDA 13.0", "install cuDNN 9")));
  set("FAKE_CUDNN", "100000");
  EXPECT_THAT(check_cudnn(places_), ElementsAre(line(Verdict::kWarning, "10.0.0")));

  install("libcublasLt.so.13");
  set("FAKE_CUBLASLT", "120804");
  EXPECT_THAT(check_cublaslt(places_), ElementsAre(line(Verdict::kGood, "12.8.4 for CUDA 13.0")));
  set("FAKE_CUBLASLT", "110502");
  EXPECT_THAT(check_cublaslt(places_),
              ElementsAre(line(Verdict::kWarning, "made for cuBLASLt 12 and 13")));
}

TEST_F(MadeLibraries, ALibraryForANewerCudaThanTheDriversIsAWarning) {
  add_gpus();
  install("libcudnn.so.9");
  install("libcublasLt.so.13");
  set("FAKE_DRIVER_CUDA", "12080");
  for (auto const check : {check_cudnn, check_cublaslt})
    EXPECT_THAT(check(places_),
                ElementsAre(line(Verdict::kWarning, "the driver knows CUDA 12.8 at most",
                                 "install a newer driver")));
}

TEST_F(MadeLibraries, PartsOfCudnnThatAreCutOrMissingAreNamed) {
  install("libcudnn.so.9");
  for (char const* const part : {"ops", "cnn", "graph", "engines_precompiled", "heuristic"})
    install(std::string("libcudnn_") + part + ".so.9");
  EXPECT_THAT(check_cudnn(places_), ElementsAre(line(Verdict::kWarning,
                                                     "libcudnn_engines_runtime_compiled.so.9 is "
                                                     "missing",
                                                     "install cuDNN 9")));

  install("libcudnn_engines_runtime_compiled.so.9");
  EXPECT_THAT(check_cudnn(places_), ElementsAre(line(Verdict::kGood, "9.12.0")));
  cut(places_.libraries + "/libcudnn_cnn.so.9");
  EXPECT_THAT(check_cudnn(places_),
              ElementsAre(line(Verdict::kWarning, "libcudnn_cnn.so.9: is incomplete",
                               "no bundled workload runs")));
}

TEST_F(MadeLibraries, ACutRuntimeIsNamed) {
  install("libcudart.so.13");
  cut(places_.libraries + "/libcudart.so.13");
  EXPECT_THAT(check_cuda_runtime(places_),
              ElementsAre(line(Verdict::kWarning, "libcudart.so.13: is incomplete")));
}

}  // namespace
}  // namespace stepscope::doctor
