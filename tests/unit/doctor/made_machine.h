// A machine made of files in a folder and of the fake libraries.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "doctor/machine.h"
#include "tests/support/paths.h"

namespace stepscope::doctor {

class MadeMachine : public ::testing::Test {
 protected:
  MadeMachine() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ / "libraries");
    places_.root = folder_.string();
    places_.libraries = (folder_ / "libraries").string();
    places_.run_folder = folder_.string();
    places_.tracer_folder = std::filesystem::absolute(support::build_path("lib")).string();
  }
  ~MadeMachine() override {
    for (std::string const& name : variables_) ::unsetenv(name.c_str());
    std::filesystem::remove_all(folder_);
  }

  void write(std::string const& path, std::string const& text) const {
    std::filesystem::path const whole(folder_.string() + path);
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
  }
  /// The fake, under the name that the checks look for.
  void install(std::string const& name, std::string const& fake = kWhole) const {
    install_at((folder_ / "libraries" / name).string(), fake);
  }
  static void install_at(std::string const& path, std::string const& fake = kWhole) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    // A copy: the loader takes links to one file for one library.
    std::filesystem::copy_file(std::filesystem::absolute(support::build_path("tests/" + fake)),
                               path);
  }
  /// Half of the file is missing, as after a download that broke off.
  static void cut(std::string const& path) {
    std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  }
  /// A machine with two GPUs whose driver works.
  void add_gpus() const {
    write("/proc/driver/nvidia/version",
          "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  "
          "(dvs@machine)\nGCC version:  12\n");
    write("/proc/driver/nvidia/params",
          "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\nModifyDeviceFiles: 1\n");
    write("/dev/nvidia0", "");
    write("/dev/nvidiactl", "");
    install("libcuda.so.1");
    install("libnvidia-ml.so.1");
  }
  /// What the fakes answer; unset at the test's end.
  void set(std::string const& name, std::string const& value) {
    ::setenv(name.c_str(), value.c_str(), 1);
    variables_.push_back(name);
  }

  static constexpr char const* kWhole = "libfake_nvidia.so";
  static constexpr char const* kOfOtherName = "libfake_nvidia_of_other_name.so";
  static constexpr char const* kWithoutFunctions = "libfake_nvidia_without_functions.so";
  Places places_;

 private:
  /// "AMissingOne/cudnn", with parameters, would be two folders.
  static std::string test_name() {
    std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::replace(name.begin(), name.end(), '/', '_');
    return name;
  }

  std::vector<std::string> variables_;
  std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) / ("stepscope_machine_" + test_name());
};

}  // namespace stepscope::doctor
