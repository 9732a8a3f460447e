// A folder with synthetic runs that a server may read, beside one that it may not.
#pragma once

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "agent/run_store.h"
#include "tests/support/synthetic_run.h"
#include "trace/file/writer.h"

namespace stepscope::agent {

class ServedRuns : public ::testing::Test {
 protected:
  ServedRuns() {
    std::filesystem::remove_all(base_);
    std::filesystem::create_directories(served_);
    std::filesystem::create_directories(outside_);
    write(served_ / "run.stepscope", {.steps = 6, .input_delay_ns = 20'000'000});
    write(outside_ / "secret.stepscope", {});
  }
  ~ServedRuns() override { std::filesystem::remove_all(base_); }

  static void write(std::filesystem::path const& path, support::SyntheticOptions const& options) {
    model::Run const run = support::make_synthetic_run(options);
    ASSERT_TRUE(file::write_trace(run.ranks.front().trace, path.string()));
  }

  std::filesystem::path const base_ =
      std::filesystem::canonical(::testing::TempDir()) /
      ("stepscope_agent_" +
       std::string(::testing::UnitTest::GetInstance()->current_test_info()->test_suite_name()) +
       "_" + ::testing::UnitTest::GetInstance()->current_test_info()->name());
  std::filesystem::path const served_ = base_ / "served", outside_ = base_ / "outside";
};

}  // namespace stepscope::agent
