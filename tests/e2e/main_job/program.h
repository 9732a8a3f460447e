// Runs the stepscope program as a user does, in a folder of its own.
#pragma once

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/paths.h"

namespace stepscope::e2e {

struct Outcome {
  int code = -1;       ///< as a shell reports it
  std::string output;  ///< stdout, and stderr unless redirected
};

/// Options that make training small enough for a test. The names of the real network stay.
inline std::string const kSmall = " --batch 4 --steps 12 --no-evaluate --log-every 0 ";

class Program : public ::testing::Test {
 protected:
  Program() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~Program() override { std::filesystem::remove_all(folder_); }

  /// Runs `stepscope ARGUMENTS` in the test's folder, with the command line read by a shell.
  [[nodiscard]] Outcome stepscope(std::string const& arguments) const {
    return shell(program() + " " + arguments);
  }
  [[nodiscard]] Outcome shell(std::string const& command) const {
    Outcome outcome;
    // The generated data set is kept between tests; nothing else outside the folder is touched.
    std::string const whole = "cd '" + folder_.string() + "' && { " + command + " ; } 2>&1";
    std::FILE* const pipe = ::popen(whole.c_str(), "r");
    if (pipe == nullptr) return outcome;

    std::array<char, 4096> buffer{};
    while (size_t const size = std::fread(buffer.data(), 1, buffer.size(), pipe))
      outcome.output.append(buffer.data(), size);

    int const status = ::pclose(pipe);
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return outcome;
  }
  [[nodiscard]] static std::string program() {
    return "'" + std::filesystem::absolute(support::build_path("bin/stepscope")).string() + "'";
  }
  [[nodiscard]] std::string path(std::string const& name) const {
    return (folder_ / name).string();
  }

  std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) /
      // Tests of several programs have the same name, and one may run twice at the same time.
      ("stepscope_e2e_" +
       std::string(::testing::UnitTest::GetInstance()->current_test_info()->test_suite_name()) +
       "_" + ::testing::UnitTest::GetInstance()->current_test_info()->name() + "_" +
       std::to_string(::getpid()));
};

}  // namespace stepscope::e2e
