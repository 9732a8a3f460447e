#include "trace/base/files/output_file.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "trace/base/files/mapped_file.h"

namespace stepscope::base {
namespace {

class OutputFile : public ::testing::Test {
 protected:
  OutputFile() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~OutputFile() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path(char const* name) const { return (folder_ / name).string(); }
  std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) /
      ("stepscope_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
};

std::string content_of(std::string const& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST_F(OutputFile, ReplacesTheOldContentAndLeavesNothingBeside) {
  ASSERT_TRUE(write_file_atomically(path("a"), "old"));
  ASSERT_TRUE(write_file_atomically(path("a"), "new"));
  EXPECT_EQ(content_of(path("a")), "new");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(OutputFile, AFolderThatIsNotThereIsAnErrorThatNamesTheFile) {
  auto const written = write_file_atomically(path("missing/a"), "x");
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().message.find("missing/a"), std::string::npos);
}

TEST_F(OutputFile, MappingAnEmptyFileGivesNoBytes) {
  ASSERT_TRUE(write_file_atomically(path("empty"), ""));
  auto const file = MappedFile::open(path("empty"));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_TRUE(file->bytes().empty());
}

TEST_F(OutputFile, MappingAFolderOrAMissingFileIsAnError) {
  EXPECT_FALSE(MappedFile::open(folder_.string()));
  EXPECT_FALSE(MappedFile::open(path("missing")));
}

TEST_F(OutputFile, AMovedMappingKeepsItsBytes) {
  ASSERT_TRUE(write_file_atomically(path("a"), "bytes"));
  auto file = MappedFile::open(path("a"));
  ASSERT_TRUE(file);
  MappedFile const moved = std::move(*file);
  EXPECT_EQ(moved.bytes().size(), 5U);
}

}  // namespace
}  // namespace stepscope::base
