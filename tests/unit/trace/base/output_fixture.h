// A folder for tests of what commands write, and what is in it.
#pragma once

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace stepscope::base {

class OutputFixture : public ::testing::Test {
 protected:
  OutputFixture() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ / "out");
    put("outside.txt", "precious");
  }
  ~OutputFixture() override {
    ::umask(umask_before_);
    std::filesystem::remove_all(folder_);
  }

  /// A path in the folder of this test: "outside.txt", or "out" for the output.
  [[nodiscard]] std::string path(std::string const& name) const {
    return (folder_ / name).string();
  }
  [[nodiscard]] std::string out(std::string const& name = "") const {
    return name.empty() ? path("out") : path("out/" + name);
  }
  void put(std::string const& name, std::string const& text) const {
    std::ofstream(folder_ / name) << text;
  }
  [[nodiscard]] std::string text_of(std::string const& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_ / name).rdbuf();
    return text.str();
  }
  /// Names in "out".
  [[nodiscard]] std::set<std::string> names() const {
    std::set<std::string> found;
    if (!std::filesystem::exists(out())) return found;
    for (auto const& entry : std::filesystem::directory_iterator(out()))
      found.insert(entry.path().filename().string());
    return found;
  }
  [[nodiscard]] static unsigned mode_of(std::string const& path) {
    struct stat status {};
    return ::lstat(path.c_str(), &status) == 0 ? status.st_mode & 07777U : 0;
  }

 private:
  std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) /
      ("stepscope_" +
       std::string(::testing::UnitTest::GetInstance()->current_test_info()->test_suite_name()) +
       "_" + ::testing::UnitTest::GetInstance()->current_test_info()->name());
  mode_t umask_before_ = [] {
    mode_t const now = ::umask(022);
    ::umask(now);
    return now;
  }();
};

}  // namespace stepscope::base
