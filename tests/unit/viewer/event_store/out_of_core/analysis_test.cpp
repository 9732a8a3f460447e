// The analysis of an out-of-core run and the search in it: with files that cannot be read, and with
// very many hits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/unreadable_trace.h"
#include "tests/unit/viewer/event_store/out_of_core/out_of_core_scenes.h"
#include "tests/unit/viewer/null_ui.h"
#include "trace/file/format.h"
#include "viewer/event_store/out_of_core/out_of_core_run.h"
#include "viewer/event_store/out_of_core/out_of_core_store.h"
#include "viewer/interaction/navigate.h"
#include "viewer/panels/panels.h"

namespace stepscope::viewer {
namespace {

constexpr Viewport kAnalysisArea{700, 6000, 1};

/// Every seventh block has the second name alone; the last event has a third one.
uint32_t name_of_event(uint64_t block, uint64_t event, uint64_t events) {
  if (event + 1 == events) return 3;
  return block % 7 == 0 || event % 5 == 0 ? 2 : 1;
}

class OutOfCoreAnalysisTest : public OutOfCoreTest {};

TEST_F(OutOfCoreAnalysisTest, ARankThatCannotBeReadIsLeftOutAndStaysOnTheScreen) {
  write(support::make_synthetic_run({.devices = 3, .steps = 12, .process_per_device = true}));
  support::make_unreadable(path(1));
  auto const scene = open_out_of_core();

  size_t const nodes = scene->nodes.size();
  analyze(*scene);

  EXPECT_TRUE(scene->has_analysis());
  ASSERT_EQ(scene->analysis.devices.size(), 2U);
  EXPECT_EQ(scene->analysis.devices[0].ref.rank_index, 0);
  EXPECT_EQ(scene->analysis.devices[1].ref.rank_index, 2);
  EXPECT_THAT(scene->analysis.integrity.notes,
              testing::Contains(testing::HasSubstr("rank-1.stepscope")));
  EXPECT_EQ(scene->nodes.size(), nodes);

  ViewState state = initial_view(*scene);
  Layout const layout = lay_out(*scene, state, kAnalysisArea);
  for (Row const& row : layout.rows) {
    if (scene->nodes[row.node].kind != NodeKind::kDevice) continue;
    EXPECT_LT(row.first_item, row.last_item) << scene->nodes[row.node].path;
  }

  for (Node const& node : scene->nodes) {
    if (node.kind != NodeKind::kDevice) continue;
    EXPECT_EQ(node.device.has_value(), node.rank != 1);
  }

  NullUi ui;
  for (Panel const& panel : all_panels()) {
    state.panels.tab = Tab{panel.id};
    ui.frames(*scene, state, 2);
  }
}

TEST_F(OutOfCoreAnalysisTest, NothingThatCanBeReadIsAnError) {
  write(support::make_synthetic_run({.devices = 2, .steps = 4, .process_per_device = true}));
  support::make_unreadable(path(0));
  support::make_unreadable(path(1));
  auto const scene = open_out_of_core();
  OutOfCoreAnalysis analysis(scene->store->files());
  analysis.finish();
  auto const made = analysis.take();
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, testing::HasSubstr("rank-0.stepscope"));
}

TEST_F(OutOfCoreAnalysisTest, IsTakenOverWhileEventsAreRead) {
  write(support::make_synthetic_run({.devices = 2, .steps = 24, .process_per_device = true}));
  Scene const expected = open_in_memory();
  auto const scene = open_out_of_core();

  ViewState state = initial_view(*scene);
  auto const length = static_cast<double>(scene->length);
  for (int i = 0; i < 4; ++i) {
    state.window = {length * 0.2 * i, length * 0.2 * i + length * 0.1};
    scene->store->begin_frame();
    want_events(*scene, state, lay_out(*scene, state, kAnalysisArea));
  }

  analyze(*scene);
  EXPECT_EQ(out_of_core_run(*scene).tiles().bytes(), 0U) << "what was read knows no gaps";

  Layout const layout = settled(*scene, state, kAnalysisArea);
  bool any_gap = false;
  for (Item const& item : layout.items)
    any_gap = any_gap || (item.kind == ItemKind::kSegment && item.idle && item.gap_index());
  EXPECT_TRUE(any_gap);

  // The rows of device memory have the same curves as the run in memory.
  for (size_t i = 0; i < expected.nodes.size(); ++i) {
    if (expected.nodes[i].kind != NodeKind::kMemory) continue;
    EXPECT_EQ(scene->nodes[i].curve.time, expected.nodes[i].curve.time);
    EXPECT_EQ(scene->nodes[i].curve.value, expected.nodes[i].curve.value);
  }
}

TEST_F(OutOfCoreAnalysisTest, CountsAllHitsAndKeepsSome) {
  // So many blocks that the search only counts the hits of the last ones.
  constexpr uint64_t kBlocks = 260, kRows = 1000;
  auto writer = file::TraceWriter::create(path(0));
  ASSERT_TRUE(writer);
  std::vector<std::string_view> const texts = {"wanted", "other", "rare"};
  ASSERT_TRUE(writer->write_strings(1, texts));
  model::TraceInfo info;
  info.rank = 0;
  ASSERT_TRUE(writer->write_description(info, {}, {}));
  model::Track const track{model::TrackKind::kStream, "stream", 7, 0};
  ASSERT_TRUE(writer->write_tracks(model::TrackId{0}, std::span(&track, 1)));

  uint64_t wanted = 0, rare = 0;
  for (uint64_t b = 0, i = 0; b < kBlocks; ++b) {
    model::EventBatch batch;
    for (uint64_t row = 0; row < kRows; ++row, ++i) {
      uint32_t const name = name_of_event(b, i, kBlocks * kRows);
      wanted += name == 1 ? 1 : 0;
      rare += name == 3 ? 1 : 0;
      batch.add(model::EventKind::kKernel, static_cast<int64_t>(i) * 100,
                10 + static_cast<int64_t>(i % 3), model::StringId{name}, 0, model::KernelDetail{});
    }
    ASSERT_TRUE(writer->write_events(model::TrackId{0}, batch));
  }
  ASSERT_TRUE(writer->finish());

  auto const scene = open_out_of_core();
  SearchHits const found = find_hits(*scene, "wanted");
  EXPECT_EQ(found.total, wanted);
  EXPECT_EQ(found.hits.size(), kMaxSearchHits);
  for (size_t i = 1; i < found.hits.size(); ++i)
    ASSERT_LT(found.hits[i - 1].start, found.hits[i].start);
  EXPECT_EQ(find_hits(*scene, "wanted >=11ns kind:kernel").total +
                find_hits(*scene, "wanted <11ns").total,
            wanted);

  SearchHits const one = find_hits(*scene, "rare");
  EXPECT_EQ(one.total, rare);
  ASSERT_EQ(one.hits.size(), 1U);
  EXPECT_EQ(one.hits[0].start, static_cast<int64_t>(kBlocks * kRows - 1) * 100);

  EXPECT_EQ(find_hits(*scene, ">1ms").total, 0U);
  EXPECT_EQ(find_hits(*scene, "kind:kernel").total, kBlocks * kRows);
}

}  // namespace
}  // namespace stepscope::viewer
