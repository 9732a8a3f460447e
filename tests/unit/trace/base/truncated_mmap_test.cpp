#include "trace/base/files/truncated_mmap.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "trace/base/files/mapped_file.h"
#include "trace/base/files/output_file.h"

namespace stepscope::base {
namespace {

constexpr size_t kBytes = 1U << 20;  // many pages, of any size

class CutFiles : public ::testing::Test {
 protected:
  CutFiles() {
    survive_cut_files();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~CutFiles() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path(char const* name) const { return (folder_ / name).string(); }
  [[nodiscard]] MappedFile mapped(char const* name) const {
    EXPECT_TRUE(write_file_atomically(path(name), std::string(kBytes, 'x')));
    auto file = MappedFile::open(path(name));
    EXPECT_TRUE(file);
    return std::move(*file);
  }
  static size_t count(MappedFile const& file, char wanted) {
    return static_cast<size_t>(
        std::count(file.bytes().begin(), file.bytes().end(), static_cast<std::byte>(wanted)));
  }

  std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) /
      ("stepscope_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
};

TEST_F(CutFiles, ReadAsZerosBehindTheirEnd) {
  MappedFile const file = mapped("a");
  MappedFile const other = mapped("b");
  EXPECT_FALSE(file.is_cut());
  std::filesystem::resize_file(path("a"), kBytes / 4);
  EXPECT_EQ(count(file, 'x'), kBytes / 4);
  EXPECT_EQ(count(file, '\0'), kBytes - kBytes / 4);
  EXPECT_TRUE(file.is_cut());
  EXPECT_EQ(count(other, 'x'), kBytes);
  EXPECT_FALSE(other.is_cut());
}

TEST_F(CutFiles, AreFoundWhileOtherFilesComeAndGo) {
  std::atomic<size_t> whole = 0;
  {
    std::vector<std::jthread> threads;
    for (char const* const name : {"x", "y"})
      threads.emplace_back([&, name](std::stop_token const& stop) {
        while (!stop.stop_requested()) {
          MappedFile const file = mapped(name);
          if (count(file, 'x') == kBytes) ++whole;
        }
      });

    // Until another file has been read meanwhile: its thread may get a core late.
    for (int i = 0; i < 50 || (whole == 0 && i < 10'000); ++i) {
      MappedFile const file = mapped("cut");
      std::filesystem::resize_file(path("cut"), 0);
      EXPECT_EQ(count(file, '\0'), kBytes);
      EXPECT_TRUE(file.is_cut());
    }
  }
  EXPECT_GT(whole, 0U);
}

TEST_F(CutFiles, AreReadByManyThreadsAtOnce) {
  MappedFile const file = mapped("a");
  std::filesystem::resize_file(path("a"), 0);
  std::vector<size_t> zeros(4);
  {
    std::vector<std::jthread> threads;
    for (size_t& of_thread : zeros) threads.emplace_back([&] { of_thread = count(file, '\0'); });
  }
  EXPECT_EQ(zeros, std::vector<size_t>(4, kBytes));
}

TEST_F(CutFiles, AreToldAlsoWithinTheLastPage) {
  MappedFile const file = mapped("a");
  std::filesystem::resize_file(path("a"), kBytes - 1);
  EXPECT_TRUE(file.is_cut());
}

TEST_F(CutFiles, ThatGrowOrAreReplacedKeepTheirBytes) {
  MappedFile const grown = mapped("a");
  std::filesystem::resize_file(path("a"), 2 * kBytes);
  EXPECT_EQ(count(grown, 'x'), kBytes);
  EXPECT_FALSE(grown.is_cut());
  MappedFile const replaced = mapped("b");
  ASSERT_TRUE(write_file_atomically(path("b"), "short"));
  EXPECT_EQ(count(replaced, 'x'), kBytes);
  EXPECT_FALSE(replaced.is_cut());
}

TEST_F(CutFiles, LeaveTheirPlaceToTheNextMapping) {
  for (int i = 0; i < 100; ++i) {
    MappedFile file = mapped("a");
    if (i % 2 == 0) std::filesystem::resize_file(path("a"), 0);
    MappedFile const moved = std::move(file);
    EXPECT_EQ(count(moved, 'x'), i % 2 == 0 ? 0U : kBytes);
    EXPECT_EQ(moved.is_cut(), i % 2 == 0);
  }
}

TEST(CutFilesDeathTest, OtherFaultsStillEndTheProgram) {
  survive_cut_files();
  EXPECT_DEATH(::raise(SIGBUS), "");
}

}  // namespace
}  // namespace stepscope::base
