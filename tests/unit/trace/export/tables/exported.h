// A place for what a test exports.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "trace/export/exporters.h"
#include "trace/model/run.h"

namespace stepscope::exporting {

class Exported : public ::testing::Test {
 protected:
  Exported() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~Exported() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(std::string const& name) const {
    return (folder_ / name).string();
  }
  /// All processes of the run, or the error.
  static base::Expected<void> write(model::Run const& run,
                                    base::Expected<std::unique_ptr<Exporter>> exporter) {
    if (!exporter) return base::fail_with(exporter);
    for (model::RankTrace const& rank : run.ranks)
      if (auto const added = (*exporter)->add(rank.trace, rank.offset_ns); !added) return added;
    return (*exporter)->finish();
  }
  /// What is in the folder, by name.
  [[nodiscard]] std::vector<std::string> there() const {
    std::vector<std::string> names;
    for (auto const& entry : std::filesystem::directory_iterator(folder_))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) /
      ("stepscope_exported_" +
       std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
};

}  // namespace stepscope::exporting
