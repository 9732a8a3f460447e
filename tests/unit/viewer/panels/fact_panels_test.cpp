// The panels of launches, phases, devices and scaling: frames of each for runs with and without
// their metrics, hostile text, and the effect of clicks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/analyzer/metrics/communication/made_pipeline.h"
#include "tests/unit/viewer/comparison/scaling_scenes.h"
#include "tests/unit/viewer/event_store/out_of_core/out_of_core_scenes.h"
#include "tests/unit/viewer/null_ui.h"
#include "viewer/comparison/scaling_view.h"
#include "viewer/interaction/navigate.h"
#include "viewer/queries/charts/counter_curves.h"
#include "viewer/queries/charts/pipeline_picture.h"
#include "viewer/queries/search_query.h"
#include "viewer/widgets/table_sort.h"

namespace stepscope::viewer {
namespace {

constexpr Tab kFactTabs[] = {Tab::kLaunches, Tab{"phases"}, Tab{"devices"}, Tab::kScaling};
constexpr std::string_view kHostile = "%s%n \xFF\xFE##a###b\x1B[31m";

Scene const& trained() {
  static Scene const kScene =
      synthetic_scene({.devices = 3, .steps = 12, .process_per_device = true});
  return kScene;
}

Scene const& piped() {
  static Scene const kScene = analyzed(analyzer::testing_support::MadePipeline{.stages = 4}.make());
  return kScene;
}

/// A device whose clock is low from 60 to 80 % of the run, with further counters and names of any
/// kind.
Scene clocked(std::string const& name = "gemm") {
  return scene_of([&](model::TraceBuilder& builder) {
    auto const stream = add_stream(builder, name);
    auto const thread = add_thread(builder, name);
    builder.add_device({.id = 0, .name = name});

    auto const counter = [&](char const* of) {
      return builder.add_track(
          {.kind = model::TrackKind::kCounter, .name = of, .id = 0, .device = 0});
    };
    auto const clock = counter("SM clock (MHz)"), power = counter("Power (W)"),
               heat = counter("Temperature (C)");

    for (int64_t step = 0; step < 40; ++step) {
      bool const is_low = step >= 24 && step < 32;
      builder.events(thread).add(model::EventKind::kStep, step * 1000, 1000, builder.intern("step"),
                                 0, model::StepDetail{step});
      builder.events(thread).add(model::EventKind::kPhase, step * 1000, 500, builder.intern(name));

      for (int64_t i = 0; i < 10; ++i) {
        uint64_t const id = static_cast<uint64_t>(step * 10 + i + 1);
        builder.events(thread).add(model::EventKind::kLaunch, step * 1000 + i * 50, 1,
                                   builder.intern("launch"), id);
        builder.events(stream).add(model::EventKind::kKernel, step * 1000 + i * 100,
                                   is_low ? 90 : 60, builder.intern(name), id,
                                   model::KernelDetail{});
        builder.events(clock).add(model::EventKind::kSample, step * 1000 + i * 100, 0,
                                  builder.intern("clock"), 0,
                                  model::SampleDetail{is_low ? 1000.0 : 1980.0});
      }

      builder.events(power).add(model::EventKind::kSample, step * 1000, 0, builder.intern("power"),
                                0, model::SampleDetail{700});
      builder.events(heat).add(
          model::EventKind::kSample, step * 1000, 0, builder.intern("heat"), 0,
          model::SampleDetail{step == 3 ? std::nan("") : 60.0 + static_cast<double>(step)});
    }
  });
}

/// Draws three frames of every tab in both themes, then moves the mouse over all of it.
void draw_panels(Scene const& scene, float width = 1280) {
  NullUi ui(width, 800);
  ViewState state = initial_view(scene);

  for (Theme const theme : {Theme::kDark, Theme::kLight})
    for (Tab const tab : kFactTabs) {
      state.theme = theme;
      state.panels.tab = tab;
      ui.frames(scene, state, 3);
      EXPECT_GT(ImGui::GetDrawData()->TotalVtxCount, 0);

      for (float y = 610; y < 800 && theme == Theme::kDark; y += 23)
        for (float x = 10; x < width - 390; x += 53) {
          ui.move(x, y);
          ui.frames(scene, state, 1);
        }
    }
}

/// Clicks over an area, row by row, until something has happened; false when nothing ever does.
template <class Happened>
bool click_over(NullUi& ui, Scene const& scene, ViewState& state, ImVec2 low, ImVec2 high,
                Happened happened) {
  for (float y = low.y; y < high.y; y += 10)
    for (float x = low.x; x < high.x; x += 24) {
      ui.click(scene, state, x, y);
      if (happened()) return true;
    }
  return false;
}

TEST(FactPanels, DrawRunsThatHaveTheFacts) {
  draw_panels(trained());
  draw_panels(piped());
  draw_panels(clocked());
  draw_panels(trained(), 700);
}

TEST(FactPanels, DrawRunsThatHaveNone) {
  draw_panels(scene_of([](model::TraceBuilder&) {}));
  draw_panels(analyzed(model::Run{}));
  draw_panels(scene_of([](model::TraceBuilder& builder) {
    builder.events(add_stream(builder))
        .add(model::EventKind::kKernel, 5, 1, builder.intern("k"), 0, model::KernelDetail{});
  }));
}

TEST(FactPanels, DrawHostileText) {
  draw_panels(clocked(std::string(kHostile)));
  draw_panels(clocked(std::string(10'000, '%')));
  Scene scene = synthetic_scene({.devices = 2, .steps = 6});
  scene.series = scaling_series({1, 2});
  scene.series->runs[0].path = std::string(kHostile);
  scene.series->runs.push_back({std::string(10'000, '/'), 8, nullptr, std::string(kHostile)});
  draw_panels(scene);
  // The last run of the series is not read yet.
  scene.series->runs.push_back({std::string(kHostile), 9, nullptr, {}});
  draw_panels(scene);
}

TEST(FactPanels, DrawFactsAtTheEndsOfTheirRange) {
  Scene scene = clocked();
  analyzer::DeviceStats& device = scene.analysis.devices[0];
  device.launch.latency_max_ns = INT64_MAX;
  device.launch.calls = UINT64_MAX;
  device.launch.queue = analyzer::QueueStats{1e300, UINT64_MAX, std::nan("")};

  device.telemetry->power_w = analyzer::TelemetryStats::Spread{-1e300, 0, INFINITY};
  device.telemetry->sustained_clock_mhz = std::nan("");
  device.telemetry->throttled = {{-model::kMaxTime, model::kMaxTime}, {0, 0}};
  device.telemetry->limited_ns = {INT64_MAX, 0, 0, 0, 0, 0};

  scene.analysis.copies = {{.ref = device.ref,
                            .count = UINT64_MAX,
                            .bytes = UINT64_MAX,
                            .total_ns = INT64_MAX,
                            .gbps = INFINITY}};
  scene.analysis.graphs = {{.ref = device.ref,
                            .graph = 7,
                            .launches = 1,
                            .ops = 3,
                            .nodes = {},
                            .total_ns = INT64_MAX,
                            .gap_ns = 0}};

  scene.analysis.phases[0].busy_ns = INT64_MAX;
  scene.analysis.pipelines.push_back({});
  scene.analysis.pipelines.push_back({});
  scene.analysis.pipelines.back().stages = {{device.ref, INT64_MAX, INT64_MAX, 0, 0},
                                            {{9, 9}, 0, 0, 0, 0}};

  draw_panels(scene);
}

TEST(FactPanels, ClickOnADeviceShowsItsFactsEverywhere) {
  for (Tab const tab : {Tab::kLaunches, Tab{"devices"}}) {
    Scene scene = synthetic_scene({.devices = 3, .steps = 8, .process_per_device = true});
    for (auto& device : scene.analysis.devices) device.telemetry.emplace();

    NullUi ui;
    ViewState state = initial_view(scene);
    state.panels.tab = tab;
    ui.frames(scene, state, 3);

    ASSERT_TRUE(
        click_over(ui, scene, state, {40, 612}, {60, 700}, [&] { return state.device == 2; }));
    EXPECT_TRUE(state.panels.flash.has_value() || state.device == 2);
  }
}

TEST(FactPanels, ClickOnALongestCopyFliesThere) {
  NullUi ui;
  ViewState state = initial_view(trained());
  state.panels.tab = Tab::kLaunches;
  state.panels.bottom_height = 400;
  ui.frames(trained(), state, 3);

  auto const& copies = trained().analysis.devices[0].longest_copies;
  ASSERT_FALSE(copies.empty());
  ASSERT_TRUE(click_over(ui, trained(), state, {500, 470}, {520, 780},
                         [&] { return !state.history.empty(); }));

  auto const inside = [&](analyzer::DeviceStats::Copy const& copy) {
    return static_cast<double>(trained().to_view(copy.when.begin)) >= state.window.begin &&
           static_cast<double>(trained().to_view(copy.when.end)) <= state.window.end;
  };
  EXPECT_TRUE(std::any_of(copies.begin(), copies.end(), inside));
  EXPECT_LT(state.window.span(), static_cast<double>(trained().length) / 4);
}

TEST(FactPanels, ClickOnAPhaseSearchesForIt) {
  NullUi ui;
  ViewState state = initial_view(trained());
  state.panels.tab = Tab{"phases"};
  ui.frames(trained(), state, 3);
  ASSERT_TRUE(click_over(ui, trained(), state, {40, 640}, {60, 760},
                         [&] { return !state.search.text.empty(); }));

  Query const query = parse_query(state.search.text);
  EXPECT_TRUE(query.whole);
  EXPECT_THAT((std::vector<std::string>{"forward", "backward", "optimizer"}),
              testing::Contains(query.name));
  EXPECT_GT(state.search.total, 0U);
}

TEST(FactPanels, ClickOnAStageShowsAStepOfIt) {
  ASSERT_FALSE(piped().analysis.pipelines.empty());
  NullUi ui;
  ViewState state = initial_view(piped());
  state.panels.tab = Tab{"phases"};
  ui.frames(piped(), state, 3);

  // Below the words and the picture of a step.
  ASSERT_TRUE(click_over(ui, piped(), state, {540, 735}, {560, 790},
                         [&] { return !state.history.empty(); }));

  auto const step = steady_step_of(piped(), piped().analysis.pipelines[0]);
  ASSERT_TRUE(step);
  EXPECT_NEAR(state.window.begin, step->begin, 1);
  EXPECT_NEAR(state.window.end, step->end, 1);
}

TEST(FactPanels, ClickOnATimeThatWasHeldDownFliesThere) {
  Scene const scene = clocked();
  ASSERT_TRUE(scene.analysis.devices[0].telemetry);
  ASSERT_FALSE(scene.analysis.devices[0].telemetry->throttled.empty());

  NullUi ui;
  ViewState state = initial_view(scene);
  state.panels.tab = Tab{"devices"};
  ui.frames(scene, state, 3);
  ASSERT_TRUE(
      click_over(ui, scene, state, {740, 610}, {760, 700}, [&] { return !state.history.empty(); }));

  // The view shows its surroundings, too.
  EXPECT_LT(state.window.span(), static_cast<double>(scene.length));
  EXPECT_GT(state.window.end, 24'000);
  EXPECT_LT(state.window.begin, 32'000);
}

Scene scaled() {
  Scene scene = analyzed(scaling_run(4));
  scene.series = scaling_series();
  return scene;
}

/// The series is shown, and its panel is open.
class ScalingPanel : public testing::Test {
 protected:
  ScalingPanel() {
    show_series(scene, state);
    ui.frames(scene, state, 3);
  }

  Scene scene = scaled();
  NullUi ui;
  ViewState state = initial_view(scene);
};

TEST(ScalingPanels, AreDrawnOfASeriesAndOfOneNumberOfDevices) {
  draw_panels(scaled());
  Scene scene = scaled();
  scene.series = scaling_series({2});
  draw_panels(scene);
}

TEST_F(ScalingPanel, ClickOnANumberOfDevicesShowsWhatIsLostUpToIt) {
  EXPECT_FALSE(state.panels.loss);
  // In the middle of the chart of throughput: two devices of one, two and four.
  ASSERT_TRUE(click_over(ui, scene, state, {110, 600}, {130, 740},
                         [&] { return state.panels.loss.has_value(); }));
  ScalingView const view = scaling_view(samples_of(*scene.series), {}, SayScaling::kFound);
  EXPECT_EQ(*state.panels.loss, *view.to_point(1));
}

TEST_F(ScalingPanel, TheListOfPairsChoosesTheWaterfall) {
  auto const is_open = [] {
    return ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel);
  };
  // The list opens at the heading of the lost time; its entries lie below or above it.
  for (float y = 440; y < 780 && !state.panels.loss; y += 8) {
    if (!is_open()) {
      ASSERT_TRUE(click_over(ui, scene, state, {530, 525}, {580, 620}, is_open));
    }
    ui.click(scene, state, 540, y);
  }

  ASSERT_TRUE(state.panels.loss);
  EXPECT_LT(*state.panels.loss, 3U);
}

TEST_F(ScalingPanel, ClickOnAPartOpensThePanelThatShowsIt) {
  ASSERT_TRUE(click_over(ui, scene, state, {440, 600}, {460, 780},
                         [&] { return state.panels.tab != Tab::kScaling; }));
  EXPECT_THAT(
      (std::vector<Tab>{Tab::kKernels, Tab::kCommunication, Tab::kLaunches, Tab::kStatistics}),
      testing::Contains(state.panels.tab));
}

TEST(CounterCurves, AreThoseOfTheAnalysisInItsUnits) {
  Scene const scene = clocked();
  auto const curves = counter_curves(scene, 0);
  ASSERT_EQ(curves.size(), 3U);
  EXPECT_EQ(curves[0].what, CounterCurve::What::kSmClock);

  auto const pixels = counter_pixels(scene, curves[0], {0, static_cast<double>(scene.length)}, 400);
  double low = 1e9, high = 0;
  for (CounterPixel const& pixel : pixels) {
    if (!pixel.is_known) continue;
    low = std::min(low, pixel.low);
    high = std::max(high, pixel.high);
  }

  auto const spread = spread_of(*scene.analysis.devices[0].telemetry, curves[0].what);
  ASSERT_TRUE(spread);
  EXPECT_DOUBLE_EQ(low, spread->min);
  EXPECT_DOUBLE_EQ(high, spread->max);

  // At 70 % of the run the clock is low.
  EXPECT_DOUBLE_EQ(pixels[280].high, 1000);
  EXPECT_TRUE(counter_curves(scene, 17).empty());
}

TEST(CounterCurves, ZoomedInAPixelHasWhatHoldsAtItsBegin) {
  Scene const scene = clocked();
  auto const pixels = counter_pixels(scene, counter_curves(scene, 0)[0], {25'010, 25'020}, 10);
  for (CounterPixel const& pixel : pixels) {
    EXPECT_TRUE(pixel.is_known);
    EXPECT_DOUBLE_EQ(pixel.low, 1000);
    EXPECT_DOUBLE_EQ(pixel.high, 1000);
  }
}

class OutOfCoreFactPanels : public OutOfCoreTest {};

TEST_F(OutOfCoreFactPanels, AreThoseOfTheSameRunInMemory) {
  Scene const whole = clocked();
  write(whole.run);
  auto const scene = open_out_of_core();
  draw_panels(*scene);
  analyze(*scene);
  draw_panels(*scene);

  TimeWindow const all{0, static_cast<double>(whole.length)};
  auto const in_memory_curves = counter_curves(whole, 0),
             curves_of_files = counter_curves(*scene, 0);
  ASSERT_EQ(curves_of_files.size(), in_memory_curves.size());
  auto const in_memory_pixels = counter_pixels(whole, in_memory_curves[0], all, 40),
             pixels = counter_pixels(*scene, curves_of_files[0], all, 40);

  // The summaries are coarser than so few samples, so their range is at least as wide.
  double low = 1e9, high = 0;
  for (size_t i = 0; i < pixels.size(); ++i) {
    ASSERT_TRUE(pixels[i].is_known);
    EXPECT_LE(pixels[i].low, in_memory_pixels[i].low);
    EXPECT_GE(pixels[i].high, in_memory_pixels[i].high);
    low = std::min(low, pixels[i].low);
    high = std::max(high, pixels[i].high);
  }
  EXPECT_DOUBLE_EQ(low, 1000);
  EXPECT_DOUBLE_EQ(high, 1980);
}

TEST_F(OutOfCoreFactPanels, ASeriesHasTheSameNumbersOfAnOutOfCoreRun) {
  write(scaling_run(2));
  auto const scene = open_out_of_core();
  OutOfCoreAnalysis analysis(scene->store->files(), true);
  analysis.finish();
  auto const made = analysis.take();
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_TRUE(made->sample);

  Scene const whole = open_in_memory();
  analyzer::RunMeasurements const expected = analyzer::sample_run(whole.run, whole.analysis);

  EXPECT_EQ(made->sample->devices, 2U);
  EXPECT_EQ(made->sample->steps, expected.steps);
  EXPECT_EQ(made->sample->step_ns, expected.step_ns);
  EXPECT_EQ(made->sample->parts_ns, expected.parts_ns);
  EXPECT_EQ(made->sample->kernel_names, expected.kernel_names);
}

TEST(PipelinePicture, ShowsWhatEachStageDoesInAUsualStep) {
  analyzer::PipelineStats const& pipeline = piped().analysis.pipelines.at(0);
  auto const step = steady_step_of(piped(), pipeline);
  ASSERT_TRUE(step);

  for (auto const& stage : pipeline.stages) {
    auto const node = piped().node_of_device(stage.ref);
    ASSERT_TRUE(node);
    double busy = 0;
    auto const pieces = device_pieces(piped(), *node, *step, 1000);
    for (StripPiece const& piece : pieces) {
      EXPECT_LT(piece.x0, piece.x1);
      if (piece.paint == Paint::kCompute) busy += static_cast<double>(piece.x1 - piece.x0);
    }

    double const expected =
        static_cast<double>(stage.compute_ns) / static_cast<double>(stage.total_ns);
    EXPECT_NEAR(busy / 1000, expected, 0.06);
  }
  EXPECT_FALSE(steady_step_of(piped(), {}));
}

TEST(FactOrder, SortsByAColumnWithWhatIsNotKnownLast) {
  std::vector<double> const values = {3, std::nan(""), 1, 2, std::nan("")};
  CellValue const value = [&](size_t row, size_t) { return values[row]; };
  EXPECT_THAT(rows_by(values.size(), 1, value, true), testing::ElementsAre(2, 3, 0, 1, 4));
  EXPECT_THAT(rows_by(values.size(), 1, value, false), testing::ElementsAre(0, 3, 2, 1, 4));
  EXPECT_TRUE(is_any_known(values.size(), 1, value));
  EXPECT_FALSE(is_any_known(0, 1, value));
  EXPECT_TRUE(rows_by(0, 0, value, true).empty());
}

TEST(FactOrder, WritesAnyNumber) {
  EXPECT_EQ(duration_words(1500), "1.50 µs");
  EXPECT_EQ(count_words(1234), "1,234");
  EXPECT_EQ(count_words(-3), "0");
  EXPECT_EQ(mean_words(0.125), "0.125");

  EXPECT_EQ(mean_words(4321), "4,321");
  for (double const odd :
       {std::nan(""), static_cast<double>(INFINITY), -static_cast<double>(INFINITY), 1e300}) {
    EXPECT_FALSE(duration_words(odd).empty());
    EXPECT_FALSE(count_words(odd).empty());
    EXPECT_FALSE(mean_words(odd).empty());
  }
}

}  // namespace
}  // namespace stepscope::viewer
