// What `stepscope doctor` says of the installed libraries: their versions, and copies that are cut.
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/machine.h"
#include "tests/real_libraries/real_library.h"
#include "tracer/cupti/cupti_api.h"
#include "tracer/cupti/known_faults.h"

namespace stepscope::real_libraries {
namespace {

using doctor::Check;
using doctor::Verdict;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr char const* kCudnnFile = "libcudnn.so.9";
constexpr char const* kCublasLtFile = "libcublasLt.so.13";
constexpr char const* kNcclFile = "libnccl.so.2";
constexpr char const* kCuptiFile = "libcupti.so.13";

class DoctorOfInstalled : public ::testing::Test {
 protected:
  DoctorOfInstalled() {
    std::filesystem::create_directories(folder_);
    // Nothing else is found.
    places_.root = folder_.string();
    places_.libraries = STEPSCOPE_TOOLKIT_LIBRARIES;
  }
  ~DoctorOfInstalled() override { std::filesystem::remove_all(folder_); }

  using Question = std::vector<Check> (*)(doctor::Places const& places);
  [[nodiscard]] std::vector<Check> answers(Question question) const {
    return doctor::answer({"library", question}, places_, std::chrono::seconds(60));
  }
  static std::string installed(std::string const& name) {
    return std::string(STEPSCOPE_TOOLKIT_LIBRARIES) + "/" + name;
  }
  /// From now on the copy of the library's begin is found.
  void cut(std::string const& name) {
    constexpr size_t kBegin = 4096;
    std::string begin(kBegin, '\0');
    std::ifstream(installed(name), std::ios::binary).read(begin.data(), kBegin);
    places_.libraries = folder_.string();
    std::filesystem::remove(folder_ / name);
    std::ofstream(folder_ / name, std::ios::binary) << begin;
  }
  /// One line, which names the file and says what is expected.
  void expect(Question question, std::string const& name, Verdict verdict,
              std::string const& begin) const {
    std::vector<Check> const checks = answers(question);
    ASSERT_THAT(checks, SizeIs(1));
    EXPECT_EQ(checks.front().verdict, verdict) << checks.front().found;
    EXPECT_THAT(checks.front().found, StartsWith(begin));
    EXPECT_THAT(checks.front().found, HasSubstr(installed(name)));
  }

  std::filesystem::path folder_ = std::filesystem::path(::testing::TempDir()) /
                                  (std::string("stepscope_installed_") +
                                   ::testing::UnitTest::GetInstance()->current_test_info()->name());
  doctor::Places places_;
};

/// Ends a test where the library is not installed, or has another version.
#define SKIP_UNLESS_INSTALLED(soname, name, pinned)               \
  do {                                                            \
    auto const library = RealLibrary::of_toolkit(soname);         \
    SKIP_WITHOUT(library, soname);                                \
    auto const version = library->function<size_t (*)()>(name)(); \
    SKIP_UNLESS_VERSION(*library, version, size_t{pinned});       \
  } while (false)

TEST_F(DoctorOfInstalled, CudnnIsWholeAndItsVersionIsNamed) {
  SKIP_UNLESS_INSTALLED(kCudnnFile, "cudnnGetVersion", 91'900);
  expect(doctor::check_cudnn, kCudnnFile, Verdict::kGood, "9.19.0 for CUDA 13.");
}

TEST_F(DoctorOfInstalled, CublasLtIsWholeAndItsVersionIsNamed) {
  SKIP_UNLESS_INSTALLED(kCublasLtFile, "cublasLtGetVersion", 130'100);
  expect(doctor::check_cublaslt, kCublasLtFile, Verdict::kGood, "13.1.0 for CUDA 13.0, ");
}

TEST_F(DoctorOfInstalled, NcclIsWholeAndItsKnownFaultIsNamed) {
  auto const library = RealLibrary::of_toolkit(kNcclFile);
  SKIP_WITHOUT(library, kNcclFile);
  int version = 0;
  library->function<int (*)(int*)>("ncclGetVersion")(&version);
  SKIP_UNLESS_VERSION(*library, version, 22'809);
  expect(doctor::check_nccl, kNcclFile, Verdict::kWarning, "2.28.9, ");
  EXPECT_THAT(answers(doctor::check_nccl).front().found, HasSubstr("nccl#1992"));
}

TEST_F(DoctorOfInstalled, CuptiIsNamedWithItsRelease) {
  SKIP_WITHOUT(RealLibrary::of_toolkit(kCuptiFile), kCuptiFile);
  ::setenv(tracer::kCuptiVariable, installed(kCuptiFile).c_str(), 1);
  auto const cupti = tracer::load_cupti();
  std::vector<Check> const checks = answers(doctor::check_cupti);
  ::unsetenv(tracer::kCuptiVariable);

  ASSERT_TRUE(cupti) << cupti.error().message;
  if (cupti->version != tracer::cupti::k13v0Update1)
    GTEST_SKIP() << "this test is for CUPTI 13.0 Update 1, installed is " << cupti->version;
  ASSERT_THAT(checks, SizeIs(1));
  EXPECT_THAT(checks.front().found, StartsWith("13.0 Update 1 for CUDA programs, "));
  EXPECT_THAT(checks.front().found, HasSubstr(kCuptiFile));
}

TEST_F(DoctorOfInstalled, CopiesThatAreCutAreNamed) {
  using Case = std::pair<char const*, Question>;
  for (auto const& [name, question] :
       {Case(kCudnnFile, doctor::check_cudnn), Case(kCublasLtFile, doctor::check_cublaslt),
        Case(kNcclFile, doctor::check_nccl)}) {
    SKIP_WITHOUT(RealLibrary::of_toolkit(name), name);
    cut(name);

    std::vector<Check> const checks = answers(question);
    ASSERT_THAT(checks, SizeIs(1)) << name;
    EXPECT_EQ(checks.front().verdict, Verdict::kWarning);
    EXPECT_THAT(checks.front().found, HasSubstr("is incomplete, it has 4096 of "));
  }
}

}  // namespace
}  // namespace stepscope::real_libraries
