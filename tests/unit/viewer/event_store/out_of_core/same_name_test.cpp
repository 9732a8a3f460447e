// Compares the next and the previous event of the same name in an out-of-core run with those of the
// same run in memory.
#include "viewer/event_store/out_of_core/same_name.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/viewer/event_store/out_of_core/out_of_core_scenes.h"
#include "tests/unit/viewer/null_ui.h"
#include "viewer/interaction/navigate.h"

namespace stepscope::viewer {
namespace {

class OutOfCoreSameName : public OutOfCoreTest {
 protected:
  /// Many blocks on a stream and a thread, with names that are common, seldom and once, and with
  /// equal starts.
  void write_many(int events = 200'000) {
    model::TraceBuilder builder;
    auto const stream = add_stream(builder);
    auto const thread = add_thread(builder);
    std::mt19937 random(11);
    std::vector<model::StringId> const names = {builder.intern("common"), builder.intern("seldom"),
                                                builder.intern("other")};

    int64_t at = 0;
    for (int i = 0; i < events; ++i) {
      bool const is_seldom = i == 5 || i == events - 7;
      size_t name = is_seldom ? 1 : 0;
      if (!is_seldom && random() % 3 == 0) name = 2;
      auto const dur = static_cast<int64_t>(1 + random() % 900);
      builder.events(stream).add(model::EventKind::kKernel, at, dur, names[name], 0,
                                 model::KernelDetail{});
      builder.events(thread).add(model::EventKind::kRange, at, dur, names[2 - name]);
      at += static_cast<int64_t>(random() % 3) * 500;
    }

    model::Run run;
    run.ranks.push_back({std::move(builder).finish(), 0, ""});
    write(run);
  }
  /// The next row of the same name with another start or duration.
  static std::optional<Selection> next_in_memory(Scene const& scene, uint32_t row, int direction) {
    model::Trace const& trace = scene.trace(0);
    auto const& columns = trace.columns();
    auto const rows = trace.rows_of(columns.track[row]);

    for (int64_t i = int64_t{row} + direction; i >= rows.first && i < rows.last; i += direction) {
      auto const at = static_cast<size_t>(i);
      bool const is_here =
          columns.start[at] == columns.start[row] && columns.dur[at] == columns.dur[row];
      if (is_here || columns.name[at] != columns.name[row]) continue;
      return Selection{.track = columns.track[at].value,
                       .depth = Selection::kAnyDepth,
                       .start = columns.start[at],
                       .dur = columns.dur[at]};
    }

    return std::nullopt;
  }
};

TEST_F(OutOfCoreSameName, IsThatOfTheRunInMemoryFromAnywhere) {
  write_many();
  Scene const expected = open_in_memory();
  auto const scene = open_out_of_core();
  model::Trace const& trace = expected.trace(0);

  std::mt19937 random(3);
  int looked_up = 0;
  for (int i = 0; i < 60; ++i) {
    uint32_t row = 0;
    if (i == 1) row = trace.event_count() - 1;
    if (i > 1) row = static_cast<uint32_t>(random() % trace.event_count());
    for (int const direction : {1, -1}) {
      Selection const from = scene->selection_of(0, trace, row);
      auto const wanted = next_in_memory(expected, row, direction);
      SameNameKey const key{from, direction, std::string(trace.name(row))};
      EXPECT_EQ(find_same_name_in_files(*scene, key, {}).event, wanted) << row << " " << direction;
      // Nearly every event has its start and duration alone, so the search can look its name up.
      looked_up +=
          find_same_name_in_files(*scene, {from, direction, {}}, {}).event == wanted ? 1 : 0;
    }
  }

  EXPECT_GT(looked_up, 115);
}

TEST_F(OutOfCoreSameName, OfANameThatIsThereTwiceIsFoundAcrossTheWholeRun) {
  write_many();
  Scene const expected = open_in_memory();
  auto const scene = open_out_of_core();
  model::Trace const& trace = expected.trace(0);

  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < trace.event_count(); ++row)
    if (trace.name(row) == "seldom" && trace.kind(row) == model::EventKind::kKernel)
      rows.push_back(row);
  ASSERT_EQ(rows.size(), 2U);

  // In the GUI: the key goes to the next one, whatever tiles were read around the selection.
  NullUi ui;
  ViewState state = initial_view(*scene);
  state.selection = scene->selection_of(0, trace, rows[0]);
  zoom_to_selection(state, *scene);
  ui.frames(*scene, state, 3);
  ui.type(*scene, state, ".");
  ui.frames(*scene, state, 2);
  ASSERT_TRUE(state.selection);
  EXPECT_EQ(state.selection->start, trace.start(rows[1]));
  EXPECT_FALSE(state.panels.seek);
  model::Interval const when = scene->when(*state.selection);
  EXPECT_LE(state.window.begin, static_cast<double>(when.begin));
  EXPECT_GE(state.window.end, static_cast<double>(when.end));

  // It is the last one: the viewer says so, and nothing moves.
  Selection const last = *state.selection;
  ui.type(*scene, state, ".");
  ui.frames(*scene, state, 2);
  EXPECT_EQ(state.selection, last);
  ASSERT_TRUE(state.panels.seek);
  EXPECT_TRUE(state.panels.seek->is_over);
  ui.press(*scene, state, Key::kEscape);
  EXPECT_FALSE(state.panels.seek);
  EXPECT_TRUE(state.selection) << "Esc clears one thing";
  ui.type(*scene, state, ",");
  ui.frames(*scene, state, 2);
  EXPECT_EQ(state.selection->start, trace.start(rows[0]));
}

TEST_F(OutOfCoreSameName, IsStoppedByEscapeAndByAnotherSelection) {
  write_many(1000);
  Scene const expected = open_in_memory();
  auto const scene = open_out_of_core();
  NullUi ui;
  ViewState state = initial_view(*scene);
  state.selection = scene->selection_of(0, expected.trace(0), 10);

  ASSERT_TRUE(step_same_name(state, *scene, 1));
  ASSERT_TRUE(state.panels.seek);
  dismiss(state);
  EXPECT_FALSE(state.panels.seek);

  ASSERT_TRUE(step_same_name(state, *scene, 1));
  state.selection = scene->selection_of(0, expected.trace(0), 500);
  ui.frames(*scene, state, 2);
  EXPECT_FALSE(state.panels.seek);
  EXPECT_EQ(state.selection->start, expected.trace(0).start(500));

  std::stop_source stopped;
  stopped.request_stop();
  EXPECT_FALSE(
      find_same_name_in_files(*scene, {*state.selection, 1, {}}, stopped.get_token()).event);
}

TEST_F(OutOfCoreSameName, OfAnEventThatIsNotThereIsNone) {
  write_many(1000);
  auto const scene = open_out_of_core();
  Selection nowhere{.start = 123'456'789, .dur = 17};
  EXPECT_FALSE(find_same_name_in_files(*scene, {nowhere, 1, {}}, {}).event);
  nowhere.track = 99;
  EXPECT_FALSE(find_same_name_in_files(*scene, {nowhere, 1, {}}, {}).event);
  nowhere.rank = 99;
  EXPECT_FALSE(find_same_name_in_files(*scene, {nowhere, -1, {}}, {}).event);
}

}  // namespace
}  // namespace stepscope::viewer
