#include "trace/base/partial_file.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepscope::base {
namespace {

class PartialFileTest : public ::testing::Test {
 protected:
  PartialFileTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~PartialFileTest() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path(char const* name) const { return (folder_ / name).string(); }
  [[nodiscard]] std::string content(char const* name) const {
    std::stringstream text;
    text << std::ifstream(path(name)).rdbuf();
    return text.str();
  }
  [[nodiscard]] int64_t files() const { return std::distance(std::filesystem::directory_iterator(folder_), {}); }
  std::filesystem::path folder_ = std::filesystem::path(::testing::TempDir()) /
                                  ("stepscope_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
};

TEST_F(PartialFileTest, IsThereOnlyWhenItIsWhole) {
  std::ofstream(path("a")) << "old";
  auto file = PartialFile::create(path("a"));
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_TRUE(file->write("new "));
  ASSERT_TRUE(file->write("content"));
  EXPECT_EQ(content("a"), "old");
  EXPECT_EQ(file->bytes_written(), 11U);
  ASSERT_TRUE(file->finish());
  EXPECT_EQ(content("a"), "new content");
  EXPECT_EQ(files(), 1);
}

TEST_F(PartialFileTest, NothingStaysOfOneThatIsNotFinished) {
  std::ofstream(path("a")) << "old";
  {
    auto file = PartialFile::create(path("a"));
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write("new"));
    EXPECT_EQ(files(), 2);
  }
  EXPECT_EQ(files(), 1);
  EXPECT_EQ(content("a"), "old");
}

TEST_F(PartialFileTest, MovedItIsRemovedOnce) {
  std::optional<PartialFile> kept;
  {
    auto file = PartialFile::create(path("a"));
    ASSERT_TRUE(file);
    kept = std::move(*file);
  }
  ASSERT_TRUE(kept->write("x"));
  ASSERT_TRUE(kept->finish());
  EXPECT_EQ(content("a"), "x");
}

TEST_F(PartialFileTest, WhatCannotBeWrittenIsAnErrorThatNamesIt) {
  for (std::string const& name : {path("missing/a"), folder_.string(), path("a/"), std::string()}) {
    auto const file = PartialFile::create(name);
    ASSERT_FALSE(file) << name;
    EXPECT_NE(file.error().message.find(name), std::string::npos) << file.error().message;
    EXPECT_THAT(file.error().message, testing::AnyOf(testing::HasSubstr("choose another place"), testing::HasSubstr("with -o")));
  }
  EXPECT_EQ(files(), 0);
}

}  // namespace
}  // namespace stepscope::base
