// The shell commands of the panel of details: `stepscope query` must return the selected event, in
// memory and out of core.
#include "viewer/interaction/shell_commands.h"

#include <gmock/gmock.h>

#include <map>

#include "query/database.h"
#include "tests/unit/viewer/event_store/out_of_core/out_of_core_scenes.h"
#include "tests/unit/viewer/null_ui.h"
#include "trace/base/parse_time.h"
#include "viewer/panels/panels.h"

namespace stepscope::viewer {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

/// The rows of an answer, by the names of the columns.
class KeptRows : public query::RowSink {
 public:
  void begin(std::span<std::string const> columns) override {
    columns_.assign(columns.begin(), columns.end());
  }
  bool row(std::span<model::Cell const> cells) override {
    rows.emplace_back();
    for (size_t i = 0; i < cells.size(); ++i) rows.back()[columns_[i]] = model::to_text(cells[i]);
    return true;
  }
  std::vector<std::map<std::string, std::string>> rows;

 private:
  std::vector<std::string> columns_;
};

class ShellCommandsTest : public OutOfCoreTest {
 protected:
  void SetUp() override {
    OutOfCoreTest::SetUp();
    write(support::make_synthetic_run({.devices = 2, .steps = 4, .process_per_device = true}));
  }
  [[nodiscard]] std::unique_ptr<Scene> opened() const {
    OpenTask opening({folder_.string()});
    opening.finish();
    auto scene = opening.take();
    EXPECT_TRUE(scene) << scene.error().message;
    return std::move(*scene);
  }
  /// What `stepscope query` answers to the command.
  std::vector<std::map<std::string, std::string>> answer(std::string const& command) {
    std::string const begin = "stepscope query " + folder_.string() + " \"";
    EXPECT_THAT(command, StartsWith(begin));
    EXPECT_THAT(command, EndsWith("\""));

    auto const run = import::open_run(folder_.string());
    EXPECT_TRUE(run);
    auto database = query::Database::open(*run);
    EXPECT_TRUE(database);

    KeptRows kept;
    auto const done =
        database->run(command.substr(begin.size(), command.size() - begin.size() - 1), kept);
    EXPECT_TRUE(done) << done.error().message << '\n' << command;
    return kept.rows;
  }
};

TEST_F(ShellCommandsTest, AskForTheEventThatIsSelected) {
  auto const scene = opened();
  model::Trace const& trace = scene->trace(1);
  std::map<model::EventKind, std::string> asked;

  for (uint32_t row = 0; row < trace.event_count(); row += 7) {
    std::string const command = query_command(*scene, scene->selection_of(1, trace, row));
    if (!asked.emplace(trace.kind(row), command).second) continue;
    auto const rows = answer(command);
    ASSERT_EQ(rows.size(), 1U) << command;
    EXPECT_EQ(rows[0].at("name"), trace.name(row));
    EXPECT_EQ(rows[0].at("dur_ns"), std::to_string(trace.columns().dur[row]));
    EXPECT_EQ(rows[0].at("rank"), "1");
  }

  EXPECT_THAT(asked[model::EventKind::kKernel], HasSubstr("from kernels"));
  EXPECT_THAT(asked[model::EventKind::kCollective], HasSubstr("from collectives"));
  EXPECT_GE(asked.size(), 4U);
}

TEST_F(ShellCommandsTest, AskForTheSameOutOfCore) {
  auto const scene = open_out_of_core();
  Scene const whole = open_in_memory();
  model::Trace const& trace = whole.trace(0);
  uint32_t checked = 0;

  for (uint32_t row = 0; row < trace.event_count(); row += 17) {
    Selection const selection = scene->selection_of(0, trace, row);
    auto const rows = answer(query_command(*scene, selection));
    ASSERT_GE(rows.size(), 1U);
    EXPECT_EQ(rows[0].at("id"), std::to_string(row));
    ++checked;
  }

  EXPECT_GE(checked, 5U);
}

TEST_F(ShellCommandsTest, AskForTheGapThatIsSelected) {
  auto const scene = opened();
  ASSERT_FALSE(scene->analysis.gaps.empty());

  uint32_t found = 0;
  for (uint32_t index = 0; index < std::min<size_t>(scene->analysis.gaps.size(), 40); ++index) {
    analyzer::IdleGap const gap = scene->analysis.gaps[index];
    auto const rows =
        answer(query_command(*scene, {.what = Selection::What::kGap, .index = index}));
    // Gaps outside of the device's window are in no table.
    ASSERT_LE(rows.size(), 1U);
    if (rows.empty()) continue;
    ++found;
    EXPECT_EQ(rows[0].at("cause"), analyzer::to_string(gap.cause));
    EXPECT_EQ(rows[0].at("dur_ns"), std::to_string(gap.when.length()));
  }

  EXPECT_GT(found, 10U);
}

TEST_F(ShellCommandsTest, OpenTheWindowToTheNanosecond) {
  auto const scene = opened();
  std::string const command = view_command(*scene, {1'234'567'891.0, 1'300'000'000.0});
  EXPECT_EQ(command, "stepscope view " + folder_.string() + " --time 1.234567891s:1.3s");
  auto const read = base::parse_time_range("1.234567891s:1.3s");
  ASSERT_TRUE(read);
  EXPECT_DOUBLE_EQ(read->begin_ns, 1'234'567'891.0);
  EXPECT_THAT(view_command(*scene, {-5, 0}), EndsWith(" --time 0s:0.000000001s"));
}

TEST_F(ShellCommandsTest, AreCopiedByAButton) {
  auto const scene = opened();
  NullUi ui;
  ViewState state = initial_view(*scene);
  state.selection = scene->selection_of(0, scene->trace(0), 3);
  show_panel(state, "details");
  ui.frames(*scene, state, 3);

  ImGui::SetClipboardText("");
  std::string const wanted = query_command(*scene, *state.selection);
  bool copied = false;
  for (float y = 100; y < 800 && !copied; y += 8) {
    ui.click(*scene, state, 1280 - state.panels.side_width + 40, y);
    copied = ImGui::GetClipboardText() == wanted;
  }

  EXPECT_TRUE(copied);
}

TEST(ShellCommands, AreNoneWithoutFiles) {
  Scene const scene = synthetic_scene();
  EXPECT_EQ(query_command(scene, scene.selection_of(0, scene.trace(0), 0)), "");
  EXPECT_EQ(view_command(scene, {0, 1}), "");
}

}  // namespace
}  // namespace stepscope::viewer
