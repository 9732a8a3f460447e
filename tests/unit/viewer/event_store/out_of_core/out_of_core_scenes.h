// Opens runs out of core, whatever their size, and the same runs in memory.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/viewer/scenes.h"
#include "trace/file/writer.h"
#include "trace/import/open/open_run.h"
#include "viewer/event_store/event_store.h"
#include "viewer/event_store/out_of_core/analysis.h"
#include "viewer/loading/open_task.h"
#include "viewer/timeline/unread_rows.h"

namespace stepscope::viewer {

class OutOfCoreTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name =
        (std::filesystem::temp_directory_path() / "stepscope-out-of-core-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(model::Run const& run) const {
    for (size_t i = 0; i < run.ranks.size(); ++i)
      ASSERT_TRUE(file::write_trace(run.ranks[i].trace, path(static_cast<int>(i))));
  }
  [[nodiscard]] std::string path(int rank) const {
    return (folder_ / ("rank-" + std::to_string(rank) + ".stepscope")).string();
  }
  [[nodiscard]] Scene open_in_memory() const {
    auto run = import::open_run(folder_.string());
    EXPECT_TRUE(run);
    return analyzed(std::move(*run));
  }
  /// The analysis has not run yet.
  [[nodiscard]] std::unique_ptr<Scene> open_out_of_core() const {
    OpenTask opening({folder_.string()}, 0);
    opening.finish();
    auto scene = opening.take();
    EXPECT_TRUE(scene) << scene.error().message;
    EXPECT_TRUE((*scene)->store->files());
    EXPECT_FALSE((*scene)->has_analysis());
    return std::move(*scene);
  }
  static void analyze(Scene& scene) {
    OutOfCoreAnalysis analysis(scene.store->files());
    analysis.finish();
    auto made = analysis.take();
    ASSERT_TRUE(made) << made.error().message;
    take_analysis(scene, std::move(*made));
  }
  /// The layout after all tiles that it wants were read.
  static Layout settled(Scene const& scene, ViewState const& state, Viewport viewport) {
    for (int frame = 0; frame < 3; ++frame) {
      scene.store->begin_frame();
      want_events(scene, state, lay_out(scene, state, viewport));
      scene.store->finish_reading();
    }
    scene.store->begin_frame();
    return lay_out(scene, state, viewport);
  }

  std::filesystem::path folder_;
};

}  // namespace stepscope::viewer
