#include "trace/base/files/partial_file.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/trace/base/output_fixture.h"
#include "trace/base/files/temporary.h"

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
  [[nodiscard]] int64_t files() const {
    return std::distance(std::filesystem::directory_iterator(folder_), {});
  }
  std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) /
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
    EXPECT_EQ(content("a"), "old");
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

TEST_F(PartialFileTest, ADeviceOrAPipeIsWrittenAndNotReplaced) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  int const reader = ::open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  auto file = PartialFile::create(path("pipe"));
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_TRUE(file->write("content"));
  ASSERT_TRUE(file->finish());
  std::string got(16, ' ');
  EXPECT_EQ(::read(reader, got.data(), got.size()), 7);
  ::close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(path("pipe")));
  EXPECT_EQ(files(), 1);

  std::filesystem::create_symlink("/dev/full", path("full"));
  auto full = PartialFile::create(path("full"));
  ASSERT_TRUE(full) << full.error().message;
  EXPECT_FALSE(full->write("content"));
  EXPECT_EQ(files(), 2);
}

TEST_F(PartialFileTest, AnOpenDescriptorIsWrittenWhereItStands) {
  int const open = ::open(path("a").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(::write(open, "before ", 7), 7);

  for (std::string const folder : {"/dev/fd/", "/proc/self/fd/"}) {
    auto file = PartialFile::create(folder + std::to_string(open));
    ASSERT_TRUE(file) << file.error().message;
    ASSERT_TRUE(file->write("new "));
    ASSERT_TRUE(file->finish());
  }

  ASSERT_EQ(::write(open, "after", 5), 5);
  ::close(open);

  EXPECT_EQ(content("a"), "before new new after");
  EXPECT_FALSE(PartialFile::create("/dev/fd/" + std::to_string(open)));
}

TEST_F(PartialFileTest, ALinkStaysAndWhatItLeadsToIsReplaced) {
  std::filesystem::create_directories(path("folder"));
  std::ofstream(path("folder/a")) << "old";
  std::filesystem::create_symlink("folder/a", path("link"));

  auto file = PartialFile::create(path("link"));
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_TRUE(file->write("new"));
  ASSERT_TRUE(file->finish());

  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(content("folder/a"), "new");
  EXPECT_EQ(files(), 2);
}

TEST_F(PartialFileTest, WhatCannotBeWrittenIsAnErrorThatNamesIt) {
  for (std::string const& name : {path("missing/a"), folder_.string(), path("a/"), std::string()}) {
    auto const file = PartialFile::create(name);
    ASSERT_FALSE(file) << name;
    EXPECT_NE(file.error().message.find(name), std::string::npos) << file.error().message;
    EXPECT_THAT(file.error().message,
                testing::AnyOf(testing::HasSubstr("choose another place"),
                               testing::HasSubstr("name a file"), testing::HasSubstr("with -o")));
  }
  EXPECT_EQ(files(), 0);
}

/// Both ways of writing a file: without a name until it is whole, and with a hidden one.
class PartialFileWays : public OutputFixture,
                        public testing::WithParamInterface<PartialFile::Nameless> {
 protected:
  using Links = PartialFile::Links;
  void write(std::string const& file_path, std::string const& text,
             Links links = Links::kFollow) const {
    auto file = PartialFile::create(file_path, links, GetParam());
    ASSERT_TRUE(file) << file.error().message;
    ASSERT_TRUE(file->write(text));
    ASSERT_TRUE(file->finish());
  }
};

INSTANTIATE_TEST_SUITE_P(All, PartialFileWays,
                         testing::Values(PartialFile::Nameless::kWherePossible,
                                         PartialFile::Nameless::kNever));

TEST_P(PartialFileWays, PermissionsAreThoseThatTheUmaskLeavesNewOrReplaced) {
  for (auto const& [mask, mode] :
       {std::pair(0022U, 0644U), std::pair(0077U, 0600U), std::pair(0002U, 0664U)}) {
    ::umask(mask);

    for (char const* const text : {"first", "second"}) {
      write(out("a"), text);
      EXPECT_EQ(mode_of(out("a")), mode) << text;
      EXPECT_EQ(text_of("out/a"), text);
    }
    std::filesystem::remove(out("a"));
  }

  EXPECT_THAT(names(), testing::IsEmpty());
}

TEST_P(PartialFileWays, ALinkThatTheUserNamedStaysAndOneInAFolderIsReplaced) {
  std::filesystem::create_symlink(path("outside.txt"), out("named"));
  write(out("named"), "meant for it");
  EXPECT_TRUE(std::filesystem::is_symlink(out("named")));
  EXPECT_EQ(text_of("outside.txt"), "meant for it");

  std::filesystem::create_symlink(path("outside.txt"), out("planted"));
  write(out("planted"), "for the folder", Links::kReplace);
  EXPECT_FALSE(std::filesystem::is_symlink(out("planted")));
  EXPECT_EQ(text_of("out/planted"), "for the folder");
  EXPECT_EQ(text_of("outside.txt"), "meant for it");
}

TEST_P(PartialFileWays, OfTwoAtOnceTheLastOneIsThereWhole) {
  auto first = PartialFile::create(out("a"), Links::kFollow, GetParam());
  auto second = PartialFile::create(out("a"), Links::kFollow, GetParam());
  ASSERT_TRUE(first && second);
  for (int piece = 0; piece < 3; ++piece) ASSERT_TRUE(first->write("1") && second->write("22"));
  ASSERT_TRUE(second->finish());
  EXPECT_EQ(text_of("out/a"), "222222");
  ASSERT_TRUE(first->finish());
  EXPECT_EQ(text_of("out/a"), "111");
  EXPECT_THAT(names(), testing::ElementsAre("a"));
}

TEST_P(PartialFileWays, HasNoNameOfItsOwnBeforeItIsWhole) {
  auto const file = PartialFile::create(out("a"), Links::kFollow, GetParam());
  ASSERT_TRUE(file);
  for (std::string const& name : names()) EXPECT_TRUE(is_temporary_name(name)) << name;
}

}  // namespace
}  // namespace stepscope::base
