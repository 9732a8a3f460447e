// Runs that no program makes on purpose: the test lays each out at every zoom and draws a picture
// of it without a graphics library.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "tests/unit/viewer/null_ui.h"
#include "tests/unit/viewer/scenes.h"
#include "viewer/interaction/navigate.h"
#include "viewer/session/saved_view.h"
#include "viewer/timeline/layout.h"

namespace stepscope::viewer {
namespace {

constexpr int64_t kLongYear = int64_t{365} * 86'400 * 1'000'000'000;

struct OddRun {
  char const* name;
  void (*fill)(model::TraceBuilder& builder);
};

void add_kernel(model::TraceBuilder& builder, model::TrackId stream, int64_t start, int64_t dur,
                std::string const& name = "k") {
  builder.events(stream).add(model::EventKind::kKernel, start, dur, builder.intern(name), 0,
                             model::KernelDetail{});
}

constexpr OddRun kOddRuns[] = {
    {"NoTracks", [](model::TraceBuilder&) {}},
    {"TracksWithoutEvents",
     [](model::TraceBuilder& builder) {
       add_stream(builder);
       add_thread(builder);
     }},
    {"OneEvent",
     [](model::TraceBuilder& builder) { add_kernel(builder, add_stream(builder), 5, 1); }},
    {"OneEventWithoutDuration",
     [](model::TraceBuilder& builder) { add_kernel(builder, add_stream(builder), 5, 0); }},
    {"AllAtOnce",
     [](model::TraceBuilder& builder) {
       auto const stream = add_stream(builder);
       for (int i = 0; i < 300; ++i) add_kernel(builder, stream, 77, i % 3 == 0 ? 0 : 10);
     }},
    {"OverlappingOnOneStream",
     [](model::TraceBuilder& builder) {
       auto const stream = add_stream(builder);
       // They overlap, and no kernel lies within another one.
       for (int64_t i = 0; i < 300; ++i) add_kernel(builder, stream, i * 10, 35);
     }},
    {"AYearBesideNothing",
     [](model::TraceBuilder& builder) {
       auto const stream = add_stream(builder);
       add_kernel(builder, stream, 0, kLongYear);
       add_kernel(builder, stream, kLongYear / 3, 0);
       add_kernel(builder, stream, kLongYear, 100);
     }},
    {"NamesOfNoLanguage",
     [](model::TraceBuilder& builder) {
       auto const stream = add_stream(builder, "\xFF\xFE stream \xC3\x28");
       auto const thread = add_thread(builder, std::string(10'000, '\xF0'));

       int64_t at = 0;
       for (std::string const& name :
            {std::string("\xC3\x28\xF0\x9F"), std::string(10'000, 'x'), std::string(10'000, '\x80'),
             std::string("a\0b\x1B[31m", 8), std::string("%s%n##id"), std::string()}) {
         add_kernel(builder, stream, at, 1000, name);
         builder.events(thread).add(model::EventKind::kRange, at, 1000, builder.intern(name));
         at += 1000;
       }
     }},
};

class OddRuns : public testing::TestWithParam<OddRun> {
 protected:
  Scene const scene = scene_of(GetParam().fill);
};

TEST_P(OddRuns, AreLaidOutWithinTheScreenAtEveryZoom) {
  ViewState state = initial_view(scene);
  for (int zoomed = 0; zoomed < 60; ++zoomed) {
    Layout const layout = lay_out(scene, state, {800, 500, 1});
    EXPECT_LT(state.window.begin, state.window.end);

    for (Item const& item : layout.items) {
      ASSERT_TRUE(item.x0 >= 0 && item.x1 <= 800 && item.x0 <= item.x1)
          << item.x0 << " " << item.x1;
      ASSERT_TRUE(std::isfinite(item.y0) && item.y0 < item.y1);
      ASSERT_TRUE(item.fill >= 0 && item.fill <= 1);
    }
    for (size_t i = 1; i < layout.rows.size(); ++i)
      ASSERT_EQ(layout.rows[i].y0, layout.rows[i - 1].y1);
    EXPECT_LT(layout.ticks.size(), 20U);

    // Zoom in at one side, then out again beyond the whole run.
    zoom(state, scene, zoomed < 40 ? 0.4 : 10, zoomed % 2 == 0 ? 0.01 : 0.7);
  }
}

TEST_P(OddRuns, AreDrawnAndReadAgain) {
  NullUi ui(700, 500);
  ViewState state = initial_view(scene);
  ui.frames(scene, state, 3);

  Picture const picture = ui.picture(surface(Theme::kDark).background);
  std::set<uint32_t> colours;
  for (size_t i = 0; i + 2 < picture.pixels.size(); i += 3)
    colours.insert(static_cast<uint32_t>(picture.pixels[i] << 16 | picture.pixels[i + 1] << 8 |
                                         picture.pixels[i + 2]));
  EXPECT_GT(colours.size(), 8U);

  auto const saved = parse_saved_view(saved_view_text(saved_view(scene, state)), "view");
  ASSERT_TRUE(saved) << saved.error().message;
  EXPECT_EQ(*saved, saved_view(scene, state));

  apply_saved_view(*saved, scene, state);
  ui.frames(scene, state, 2);
}

TEST_P(OddRuns, HaveEveryEventUnderTheMouseOrInAMark) {
  ViewState const state = initial_view(scene);
  Layout const layout = lay_out(scene, state, {800, 20'000, 1});
  uint64_t drawn = 0;
  for (Row const& row : layout.rows)
    for (uint32_t i = row.first_item; i < row.last_item; ++i)
      if (layout.items[i].kind != ItemKind::kSegment) drawn += layout.items[i].count;
  uint64_t hidden = 0;
  for (Node const& node : scene.nodes) hidden += node.hidden;
  EXPECT_EQ(drawn + hidden, scene.events);
}

INSTANTIATE_TEST_SUITE_P(All, OddRuns, testing::ValuesIn(kOddRuns),
                         [](testing::TestParamInfo<OddRun> const& odd) {
                           return std::string(odd.param.name);
                         });

}  // namespace
}  // namespace stepscope::viewer
