// What every export format must do.
#include "trace/export/exporters.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/full_disk.h"
#include "tests/unit/trace/export/synthetic_traces.h"
#include "tests/unit/workloads/temporary_folder.h"

namespace stepscope::exporting {
namespace {

using testing::synthetic_trace;
using workloads::testing::TemporaryFolder;

int64_t files_in(std::string const& folder) {
  return std::distance(std::filesystem::recursive_directory_iterator(folder), {});
}

class EveryFormat : public ::testing::TestWithParam<size_t> {
 protected:
  [[nodiscard]] static ExportFormat const& format() { return export_formats()[GetParam()]; }
  TemporaryFolder folder_;
  std::string path_ = folder_.file("run" + std::string(format().file_suffix));
};

TEST_P(EveryFormat, IsThereOnlyWhenItIsFinished) {
  {
    auto exporter = format().open(path_);
    ASSERT_TRUE(exporter) << exporter.error().message;
    ASSERT_TRUE((*exporter)->add(synthetic_trace(0), 0));
    EXPECT_FALSE(std::filesystem::exists(path_));
  }
  EXPECT_EQ(files_in(folder_.path()), 0);
  testing::write(format(), path_, {}, {});
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_P(EveryFormat, TheSameRunGivesTheSameBytes) {
  std::vector<model::Trace> traces;
  for (int32_t const rank : {0, 1}) traces.push_back(synthetic_trace(rank));
  std::string const again = folder_.file("again" + std::string(format().file_suffix));
  testing::write(format(), path_, traces, {0, 1000});
  testing::write(format(), again, traces, {0, 1000});
  if (!std::filesystem::is_regular_file(path_)) return;
  EXPECT_GT(std::filesystem::file_size(path_), 1000U);
  EXPECT_EQ(workloads::testing::read_bytes(path_), workloads::testing::read_bytes(again));
}

TEST_P(EveryFormat, AFullDiskIsAnErrorThatNamesTheFileAndLeavesNothing) {
  for (rlim_t const most : {0, 500}) {
    support::FullDisk const full(most);
    auto exporter = format().open(path_);
    std::string message = exporter ? "" : exporter.error().message;

    if (exporter) {
      auto const added = (*exporter)->add(synthetic_trace(0), 0);
      auto const finished = added ? (*exporter)->finish() : added;
      ASSERT_FALSE(finished) << most;
      message = finished.error().message;
      exporter->reset();
    }

    EXPECT_NE(message.find(path_), std::string::npos) << message;
    EXPECT_EQ(files_in(folder_.path()), 0) << most;
  }
}

TEST_P(EveryFormat, APlaceThatCannotBeWrittenIsAnErrorThatNamesIt) {
  std::string const nowhere = folder_.file("missing/run" + std::string(format().file_suffix));
  auto const exporter = format().open(nowhere);
  ASSERT_FALSE(exporter);
  EXPECT_NE(exporter.error().message.find(nowhere), std::string::npos) << exporter.error().message;
}

INSTANTIATE_TEST_SUITE_P(Exporters, EveryFormat,
                         ::testing::Range<size_t>(0, export_formats().size()), [](auto const& of) {
                           return std::string(export_formats()[of.param].name);
                         });

TEST(ExportFormats, HaveNamesAndSuffixesOfTheirOwn) {
  std::set<std::string_view> names, suffixes;
  for (ExportFormat const& format : export_formats()) {
    EXPECT_TRUE(names.insert(format.name).second) << format.name;
    EXPECT_TRUE(suffixes.insert(format.file_suffix).second) << format.file_suffix;
    EXPECT_FALSE(format.summary.empty());
  }
}

}  // namespace
}  // namespace stepscope::exporting
