// The functions that Stepscope looks up, and those that the doubles have, are functions of the
// installed libraries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/real_libraries/elf_symbols.h"
#include "tests/real_libraries/real_library.h"
#include "tracer/cupti/cupti_api.h"
#include "workloads/backend/cuda/libraries.h"

namespace stepscope::real_libraries {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

#define STEPSCOPE_NAME(member, function) #function,
std::vector<char const*> const kOfCudnn = {STEPSCOPE_CUDNN_FUNCTIONS(STEPSCOPE_NAME)};
std::vector<char const*> const kOfCublasLt = {STEPSCOPE_CUBLASLT_FUNCTIONS(STEPSCOPE_NAME)};
std::vector<char const*> const kOfNccl = {STEPSCOPE_NCCL_FUNCTIONS(STEPSCOPE_NAME)};
#undef STEPSCOPE_NAME

std::vector<std::string> missing_in(RealLibrary const& library,
                                    std::vector<char const*> const& names) {
  std::vector<std::string> missing;
  for (char const* const name : names)
    if (library.symbol(name) == nullptr) missing.emplace_back(name);
  return missing;
}

class VendorSymbols : public ::testing::TestWithParam<char const*> {};

TEST_P(VendorSymbols, OfTheDoubleAreInTheInstalledLibrary) {
  auto const real = RealLibrary::of_toolkit(GetParam());
  SKIP_WITHOUT(real, GetParam());
  auto const made = RealLibrary::of_doubles(GetParam());
  if (!made) GTEST_SKIP() << "this build has no double of " << GetParam();

  auto const exported = read_elf_symbols(made->path()).exported;
  std::vector<char const*> names;
  // CUPTI's functions for several subscribers are newer than the toolkit that this is for.
  for (auto const& [name, value] : exported) {
    bool const is_vendors = name.starts_with("cu") || name.starts_with("nccl");
    if (is_vendors && !name.ends_with("_v2")) names.push_back(name.c_str());
  }
  EXPECT_THAT(names, Not(IsEmpty()));
  EXPECT_THAT(missing_in(*real, names), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Doubles, VendorSymbols,
                         ::testing::Values("libcupti.so.13", "libcudnn.so.9", "libcublasLt.so.13",
                                           "libnccl.so.2"),
                         [](auto const& one) {
                           std::string const name = one.param;
                           return name.substr(3, name.find('.') - 3);
                         });

TEST(VendorFunctions, OfTheWorkloadsAreInTheInstalledLibraries) {
  for (auto const& [soname, names] :
       {std::pair("libcudnn.so.9", &kOfCudnn), std::pair("libcublasLt.so.13", &kOfCublasLt),
        std::pair("libnccl.so.2", &kOfNccl)}) {
    auto const real = RealLibrary::of_toolkit(soname);
    SKIP_WITHOUT(real, soname);
    EXPECT_THAT(missing_in(*real, *names), IsEmpty()) << soname;
  }
}

TEST(VendorFunctions, OfTheTracerAreInTheInstalledCupti) {
  auto const real = RealLibrary::of_toolkit("libcupti.so.13");
  SKIP_WITHOUT(real, "libcupti.so.13");
  ::setenv(tracer::kCuptiVariable, real->path().c_str(), 1);
  auto const cupti = tracer::load_cupti();
  ::unsetenv(tracer::kCuptiVariable);
  ASSERT_TRUE(cupti) << cupti.error().message;

  // What older versions lack.
  EXPECT_NE(cupti->api.enable_runtime_api, nullptr);
  EXPECT_NE(cupti->api.enable_driver_api, nullptr);
  EXPECT_NE(cupti->api.enable_hw_trace, nullptr);
  EXPECT_NE(cupti->api.enable_all_sync_records, nullptr);
  EXPECT_NE(cupti->api.get_context_id, nullptr);
  EXPECT_NE(cupti->api.get_stream_id, nullptr);
}

}  // namespace
}  // namespace stepscope::real_libraries
