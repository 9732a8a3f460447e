#include "tracer/cupti/cupti_api.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tracer/cupti/fake_cupti.h"

namespace stepscope::tracer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class CuptiVariable {
 public:
  explicit CuptiVariable(char const* value) { ::setenv(kCuptiVariable, value, 1); }
  ~CuptiVariable() { ::unsetenv(kCuptiVariable); }
  CuptiVariable(CuptiVariable const&) = delete;
  CuptiVariable& operator=(CuptiVariable const&) = delete;
};

TEST(LoadCupti, takes_only_the_file_that_the_variable_names) {
  CuptiVariable const variable("/does/not/exist/libcupti.so");
  auto const library = load_cupti();
  ASSERT_FALSE(library.has_value());
  EXPECT_THAT(library.error().message, HasSubstr("/does/not/exist/libcupti.so"));
  EXPECT_THAT(library.error().message, HasSubstr("set STEPSCOPE_CUPTI to the libcupti.so"));
}

TEST(LoadCupti, refuses_a_library_that_is_no_cupti) {
  CuptiVariable const variable("libm.so.6");
  auto const library = load_cupti();
  ASSERT_FALSE(library.has_value());
  EXPECT_THAT(library.error().message, HasSubstr("has no cuptiGetVersion"));
}

/// The loader would end the program that is recorded by SIGBUS.
TEST(LoadCupti, refuses_a_library_that_an_installation_left_incomplete) {
  std::string const path = testing::TempDir() + "stepscope_cut_libcupti.so.13";
  std::filesystem::copy_file("/proc/self/exe", path,
                             std::filesystem::copy_options::overwrite_existing);
  constexpr uintmax_t kPart = 8'192;
  std::filesystem::resize_file(path, kPart);

  CuptiVariable const variable(path.c_str());
  auto const library = load_cupti();
  std::filesystem::remove(path);
  ASSERT_FALSE(library.has_value());
  EXPECT_THAT(library.error().message, HasSubstr("is incomplete, it has 8192 of"));
}

TEST(LoadCupti, looks_beside_the_cuda_libraries_of_the_process_first) {
  EXPECT_THAT(cupti_candidates(13, {"/env/nvidia/cu13/lib"}),
              ElementsAre("/env/nvidia/cu13/lib/libcupti.so.13",
                          "/env/nvidia/cu13/lib/../extras/CUPTI/lib64/libcupti.so.13",
                          "/env/nvidia/cu13/lib/../../cuda_cupti/lib/libcupti.so.13",
                          "libcupti.so.13", "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13",
                          "/usr/local/cuda/lib64/libcupti.so.13",
                          "/usr/local/cuda/targets/x86_64-linux/lib/libcupti.so.13"));
}

TEST(LoadCupti, says_where_it_found_the_installed_one_and_which_it_is) {
  auto const library = load_cupti();
  if (!library) GTEST_SKIP() << library.error().message;
  EXPECT_THAT(library->path, HasSubstr("libcupti"));
  EXPECT_GE(library->version, kOldestCuptiVersion);
}

TEST(CuptiErrors, say_what_to_do) {
  FakeCupti fake;
  CuptiApi const api = FakeCupti::api();

  EXPECT_THAT(
      describe_cupti_error(api, "cuptiSubscribe", CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED),
      testing::AllOf(
          HasSubstr(
              "cuptiSubscribe failed with CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED (39)"),
          HasSubstr("another profiler holds CUPTI")));

  EXPECT_THAT(describe_cupti_error(api, "cuptiActivityEnable", CUPTI_ERROR_INSUFFICIENT_PRIVILEGES),
              HasSubstr("NVreg_RestrictProfilingToAdminUsers"));
}

}  // namespace
}  // namespace stepscope::tracer
