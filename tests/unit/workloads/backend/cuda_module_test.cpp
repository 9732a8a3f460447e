// The way to the CUDA backend, as far as it goes without a GPU: device specifications, the search
// for libraries, loading the module. A missing module, one of another program and a machine without
// CUDA are errors that say what to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/unit/workloads/temporary_folder.h"
#include "workloads/backend/cuda_module.h"
#include "workloads/backend/vendor_library.h"

namespace stepscope::workloads {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TemporaryFolder;

TEST(Gpus, AreNamedOneByOneOrAllTogether) {
  EXPECT_THAT(parse_gpus("").value(), ElementsAre(0));
  EXPECT_THAT(parse_gpus("4").value(), ElementsAre(4));
  EXPECT_THAT(parse_gpus("0,cuda:1").value(), ElementsAre(0, 1));
  EXPECT_THAT(parse_gpus("1,0,1").value(), ElementsAre(1, 0, 1));
  EXPECT_THAT(parse_gpus("all").value(), IsEmpty());
}

TEST(Gpus, WhatIsNoNumberIsRefusedWithAnExample) {
  for (char const* const wrong :
       {"x", "-1", "0,", ",0", "0,host:1", "0,,1", "0 1", "1x", "99999999999", "all,0"}) {
    auto const gpus = parse_gpus(wrong);
    ASSERT_FALSE(gpus.has_value()) << wrong;
    EXPECT_THAT(gpus.error().message,
                AllOf(HasSubstr("is not the number of a GPU"), HasSubstr("cuda:0,cuda:1")))
        << wrong;
  }

  std::string many = "0";
  for (int i = 0; i < 64; ++i) many += ",0";
  EXPECT_THAT(parse_gpus(many).error().message, HasSubstr("more than 64 devices"));
}

TEST(Gpus, CannotBeUsedWithoutADriverAndTheMessageSaysWhatToDo) {
  auto const group = open_devices("cuda", {});
  if (group) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_THAT(group.error().message, AllOf(HasSubstr("cuda"), HasSubstr("--device host")));
}

TEST(CudaModule, IsLoadedWhereItWasBuilt) {
  std::error_code error;
  if (!std::filesystem::exists(cuda_module_path(), error))
    GTEST_SKIP() << "this build has no " << cuda_module_path();
  auto const open = load_cuda_module(cuda_module_path());
  EXPECT_TRUE(open.has_value()) << open.error().message;
}

TEST(CudaModule, ThatIsMissingDamagedOrAnothersIsAnErrorThatSaysWhatToDo) {
  TemporaryFolder const folder;
  EXPECT_THAT(load_cuda_module(folder.file("none.so")).error().message,
              AllOf(HasSubstr("this build has no CUDA part"), HasSubstr("--device host")));

  testing::write_bytes(folder.file("damaged.so"), "no shared object");
  EXPECT_THAT(
      load_cuda_module(folder.file("damaged.so")).error().message,
      AllOf(HasSubstr("cannot be loaded"), HasSubstr("damaged.so"), HasSubstr("--device host")));

  std::string other;
  for (char const* const path : {"/lib/x86_64-linux-gnu/libm.so.6", "/lib64/libm.so.6"}) {
    std::error_code error;
    if (std::filesystem::exists(path, error)) other = path;
  }
  if (other.empty()) GTEST_SKIP() << "no other library was found to try";

  EXPECT_THAT(load_cuda_module(other).error().message,
              HasSubstr("is not the CUDA part of this program"));
}

TEST(VendorLibraries, AreLookedForByTheLoaderInToolkitsAndInPythonsPackages) {
  TemporaryFolder const folder;
  std::string const toolkit = folder.path() + "/toolkit/lib64",
                    python = "/python/lib/python3.12/site-packages/nvidia/cu13/lib";

  std::filesystem::create_directories(toolkit);
  std::filesystem::create_directories(folder.path() + python);
  testing::write_bytes(toolkit + "/libmade.so.9", "");
  testing::write_bytes(folder.path() + python + "/libmade.so.9", "");

  ::setenv("CUDA_PATH", (folder.path() + "/toolkit").c_str(), 1);
  ::setenv("VIRTUAL_ENV", (folder.path() + "/python").c_str(), 1);
  auto const candidates = library_candidates("libmade.so.9");
  ::unsetenv("CUDA_PATH");
  ::unsetenv("VIRTUAL_ENV");

  EXPECT_THAT(candidates, ElementsAre("libmade.so.9", toolkit + "/libmade.so.9",
                                      folder.path() + python + "/libmade.so.9"));
}

TEST(VendorLibraries, OneThatIsNowhereIsAnErrorWithItsPurposeAndAdvice) {
  constexpr std::array kNames = {"libnobody-has-this.so.1"};
  auto const library = VendorLibrary::open(kNames, "sums need it", "install it");
  ASSERT_FALSE(library.has_value());
  EXPECT_THAT(library.error().message, AllOf(HasSubstr("libnobody-has-this.so.1 was not found"),
                                             HasSubstr("sums need it: install it")));
}

TEST(VendorLibraries, OneThatTheLoaderFindsIsOpenedAndItsFunctionsAreFound) {
  constexpr std::array kNames = {"libnobody-has-this.so.1", "libm.so.6"};
  auto const library = VendorLibrary::open(kNames, "", "");
  ASSERT_TRUE(library.has_value()) << library.error().message;
  EXPECT_THAT(library->path(), HasSubstr("libm.so.6"));
  double (*cosine)(double) = nullptr;
  ASSERT_TRUE(library->find("cos", cosine));
  EXPECT_EQ(cosine(0.0), 1.0);
  EXPECT_FALSE(library->find("no_such_function", cosine));
}

TEST(Precision, OfHostDevicesIsFp32Alone) {
  EXPECT_TRUE(open_devices("host", {.precision = Precision::kFp32}).has_value());
  for (Precision const precision : {Precision::kTf32, Precision::kBf16}) {
    auto const group = open_devices("host", {.precision = precision});
    ASSERT_FALSE(group.has_value());
    EXPECT_THAT(group.error().message,
                AllOf(HasSubstr(precision_name(precision)), HasSubstr("--precision fp32")));
  }
}

}  // namespace
}  // namespace stepscope::workloads
