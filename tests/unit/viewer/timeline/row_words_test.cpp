// Names and notes to the left of the rows: a tooltip shows those that have no room there.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/viewer/null_ui.h"
#include "tests/unit/viewer/scenes.h"
#include "viewer/timeline/describe.h"
#include "viewer/timeline/draw.h"

namespace stepscope::viewer {
namespace {

/// A run of one thread, and the number of vertices with the mouse at a height of its name column.
struct ThreadOfName {
  explicit ThreadOfName(std::string const& name)
      : scene(scene_of([&](model::TraceBuilder& builder) {
          auto const thread = add_thread(builder, name);
          builder.events(thread).add(model::EventKind::kRange, 0, 100, builder.intern("work"), 0);
        })),
        state(initial_view(scene)) {}

  int vertices(float y) {
    ui.move(60, y);
    ui.frames(scene, state, 2);
    return ImGui::GetDrawData()->TotalVtxCount;
  }

  NullUi ui;
  Scene scene;
  ViewState state;
};

TEST(ValueRange, IsThatOfTheValuesWithTheirUnitOnce) {
  auto const range = [](std::vector<double> values, bool is_bytes) {
    Curve curve;
    curve.value = std::move(values);
    finish_curve(curve);
    return value_range(curve, is_bytes);
  };
  EXPECT_EQ(range({300, 700, 450.5}, false), "300 – 700") << "and not from 0 on";
  EXPECT_EQ(range({-2, 5}, false), "-2 – 5");
  EXPECT_EQ(range({0, 0}, false), "0");
  EXPECT_EQ(range({}, false), "");
  constexpr double kGiB = 1 << 30;
  EXPECT_EQ(range({1.25 * kGiB, 1.5 * kGiB}, true), "1.25 – 1.50 GiB");
  EXPECT_EQ(range({0, 1.5 * kGiB}, true), "0 B – 1.50 GiB");
  EXPECT_EQ(range({0, std::numeric_limits<double>::infinity()}, true), "");
  EXPECT_EQ(range({std::nan(""), 1e300}, true), "") << "what a damaged file may hold";

  Curve unread;
  unread.highest = 98;
  EXPECT_EQ(value_range(unread, false), "max 98");
}

RowWords words_of(ThreadOfName& of, uint32_t node, std::string const& note = "") {
  of.ui.frames(of.scene, of.state);
  of.scene.nodes[node].note = note;
  Row row;
  row.node = node;
  return row_words(of.scene, row, 1);
}

TEST(RowWords, AreWholeWhereTheyHaveRoom) {
  ThreadOfName made("loader");
  RowWords const words = words_of(made, 1, "2 lost");
  EXPECT_EQ(words.label, "loader");
  EXPECT_EQ(words.note, "2 lost");
  EXPECT_FALSE(words.is_cut);
}

TEST(RowWords, ANoteWithoutRoomIsLeftOutAndKnownToBe) {
  ThreadOfName made("a loader of pictures");
  RowWords const words = words_of(made, 1, "peak allocated 96.0 MiB");
  EXPECT_EQ(words.label, "a loader of pictures");
  EXPECT_EQ(words.note, "");
  EXPECT_TRUE(words.is_cut);
}

TEST(RowWords, ALongLabelIsCut) {
  ThreadOfName made(std::string(100, 'w'));
  RowWords const words = words_of(made, 1);
  EXPECT_LT(words.label.size(), 60U);
  EXPECT_TRUE(words.is_cut);
}

TEST(RowWords, TheMouseOnACutNameShowsItWhole) {
  ThreadOfName cut(std::string(100, 'w'));
  float found = 0;
  for (float y = 200; y < 400 && found == 0; y += 4)
    if (cut.vertices(y) > cut.vertices(2000)) found = y;
  ASSERT_GT(found, 0);
}

TEST(RowWords, TheMouseOnAWholeNameShowsNothing) {
  ThreadOfName whole("loader");
  int const away = whole.vertices(2000);
  // Below the box of the filter, which has words of its own.
  for (float y = 200; y < 400; y += 4) EXPECT_EQ(whole.vertices(y), away) << y;
}

}  // namespace
}  // namespace stepscope::viewer
