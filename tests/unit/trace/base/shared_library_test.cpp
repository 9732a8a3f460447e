#include "trace/base/files/shared_library.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepscope::base {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class SharedLibrary : public ::testing::Test {
 protected:
  SharedLibrary() { std::filesystem::create_directories(folder_); }
  ~SharedLibrary() override { std::filesystem::remove_all(folder_); }

  /// The program itself is a file as libraries are.
  [[nodiscard]] std::string copy_of_program(uint64_t bytes) const {
    std::ifstream from("/proc/self/exe", std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(from), {}};
    if (bytes < text.size()) text.resize(bytes);
    return write("libcut.so.1", text);
  }
  [[nodiscard]] std::string write(std::string const& name, std::string const& text) const {
    std::string const path = folder_ / name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  std::filesystem::path folder_ = std::filesystem::path(::testing::TempDir()) /
                                  (std::string("stepscope_library_") +
                                   ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(SharedLibrary, ThatIsWholeIsGood) {
  EXPECT_TRUE(check_shared_library(copy_of_program(UINT64_MAX), {}));
  EXPECT_TRUE(check_shared_library("libc.so.6", library_folders()));
}

TEST_F(SharedLibrary, ThatIsCutIsNamedWithWhatToDo) {
  for (uint64_t const bytes : {100U, 4'096U, 20'000U}) {
    auto const result = check_shared_library(copy_of_program(bytes), {});
    ASSERT_FALSE(result) << bytes;
    EXPECT_THAT(result.error().message,
                AllOf(HasSubstr("libcut.so.1: is incomplete"), HasSubstr("install its package")));
  }
}

TEST_F(SharedLibrary, IsLookedForInTheFoldersInTheirOrder) {
  EXPECT_FALSE(copy_of_program(4'096).empty());
  EXPECT_FALSE(check_shared_library("libcut.so.1", {"/nowhere", folder_.string()}));
  EXPECT_TRUE(check_shared_library("libcut.so.1", {"/nowhere"}));

  std::filesystem::create_directories(folder_ / "first");
  std::filesystem::copy_file("/proc/self/exe", folder_ / "first" / "libcut.so.1");
  EXPECT_TRUE(
      check_shared_library("libcut.so.1", {(folder_ / "first").string(), folder_.string()}));
}

TEST_F(SharedLibrary, OfOtherKindsIsTheLoadersBusiness) {
  EXPECT_TRUE(check_shared_library(write("libtext.so", "INPUT(libreal.so)"), {}));
  EXPECT_TRUE(check_shared_library(write("libempty.so", ""), {}));
  EXPECT_TRUE(check_shared_library(folder_.string(), {}));
  EXPECT_TRUE(check_shared_library("/does/not/exist.so", {}));
  EXPECT_TRUE(check_shared_library(write("libelf.so",
                                         "\x7f"
                                         "ELF"),
                                   {}));
}

TEST_F(SharedLibrary, FoldersAreThoseOfTheLoader) {
  EXPECT_THAT(library_folders(), ::testing::Contains(HasSubstr("/lib")));
}

}  // namespace
}  // namespace stepscope::base
