#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <imgui.h>

#include "reports/words/runs/comparison_words.h"
#include "reports/words/runs/replayed_curve_words.h"
#include "reports/words/runs/scaling_words.h"
#include "trace/base/format.h"
#include "viewer/async/background.h"
#include "viewer/comparison/scaling_curves.h"
#include "viewer/comparison/scaling_view.h"
#include "viewer/loading/curve_task.h"
#include "viewer/loading/run_series.h"
#include "viewer/panels/common/panel.h"
#include "viewer/panels/compared/run_pair.h"
#include "viewer/panels/compared/scaling_charts.h"
#include "viewer/widgets/stat_table.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

struct ScalingCache {
  Background<SayScaling, ScalingView> view;
  std::optional<SayScaling> predicted_kind;  ///< that `predicted` is of
  PredictedScaling predicted;
  std::string replay_words;          ///< what the replay is, or why the series has no replay
  std::unique_ptr<CurveTask> curve;  ///< null: it is there, or was never asked for

  bool is_busy() {
    bool const compares = view.is_busy();
    if (!curve) return compares;
    // The frame that is due then shows what is taken now.
    take_curve();
    return true;
  }
  void finish() {
    view.finish();
    if (!curve) return;
    curve->finish();
    take_curve();
  }

  /// Begins the replay of a series.
  void predict(ScalingView const& of, std::vector<SharedSample> const& samples, SayScaling say) {
    if (predicted_kind == say) return;
    predicted_kind = say;
    predicted = {of.series, scaling_curves(of.series)};
    replay_words = "Replaying a run to predict other numbers of devices…";
    curve = std::make_unique<CurveTask>(of.series, samples);
  }

 private:
  void take_curve() {
    if (!curve->is_done()) return;
    auto made = curve->take();
    curve.reset();
    if (!made) {
      constexpr size_t kMostOfError = 400;
      replay_words =
          "No replay predicts other numbers: " + printable_name(made.error().message, kMostOfError);
      return;
    }

    predicted.series.replayed = std::move(*made);
    predicted.curves = scaling_curves(predicted.series);
    replay_words = reports::replayed_curve_text(predicted.series);
  }
};

enum RunColumn : size_t {
  kRunName,
  kRunDevices,
  kRunStep,
  kRunInterval,
  kRunEfficiency,
  kRunColumns
};
constexpr std::array<FactColumn, kRunColumns> kRunTable = {
    {{"Run", "", 0, 0},
     {"Devices", "", 54, 0},
     {"Step", "Mean step of all runs on so many devices", 58, 1},
     {"±", "Half of its 95 % interval", 62, 2},
     {"Efficiency", "Against the fewest devices", 66, 0}}};

/// The last part of a path: "n8" of "/runs/n8/".
std::string run_name(std::string const& path) {
  std::filesystem::path const whole(path);
  std::filesystem::path const last =
      whole.has_filename() ? whole.filename() : whole.parent_path().filename();
  return printable_name(last.empty() ? path : last.string());
}

/// The point of a run's number of devices; null where the run is in none.
analyzer::ScalingPoint const* point_of(ScalingView const* view, RunSeries::Member const& run) {
  if (view == nullptr || !run.sample) return nullptr;
  uint64_t const devices = analyzer::devices_of(*run.sample);
  for (analyzer::ScalingPoint const& point : view->series.points)
    if (point.devices == devices) return &point;
  return nullptr;
}

double run_value(ScalingView const* view, RunSeries::Member const& run, size_t column) {
  analyzer::ScalingPoint const* const point = point_of(view, run);
  if (column == kRunDevices)
    return static_cast<double>(run.sample ? analyzer::devices_of(*run.sample) : run.devices);
  if (column == kRunName) return 0;

  if (point == nullptr || !view->refusal.empty()) return std::nan("");
  if (column == kRunStep) return point->step_ns.value;
  if (column == kRunEfficiency) return point->efficiency.value;

  bool const is_known = point->step_ns.low && point->step_ns.high && point->step_ns.value > 0;
  return is_known ? (*point->step_ns.high - *point->step_ns.low) / point->step_ns.value
                  : std::nan("");
}

/// The runs of the series; a click puts one on the timeline. `view`: null before all are read.
void run_table(RunSeries const& series, ScalingView const* view, Theme theme,
               WindowRequests* requests) {
  FactTable table;
  table.id = "runs";
  table.columns = kRunTable;
  table.rows = series.runs.size();
  table.height = -1;
  table.chosen = series.shown;
  table.can_click = requests != nullptr;

  table.name = [&](size_t row) { return run_name(series.runs[row].path); };
  table.value = [&](size_t row, size_t column) {
    return run_value(view, series.runs[row], column);
  };
  table.text = [&](size_t row, size_t column) {
    if (column == kRunInterval)
      return reports::half_interval(point_of(view, series.runs[row])->step_ns);
    double const value = run_value(view, series.runs[row], column);
    if (column == kRunEfficiency) return base::format_share(value);
    return column == kRunStep ? duration_words(value) : count_words(value);
  };

  table.swatch = [&](size_t row) {
    uint32_t const of_shown = row == series.shown ? surface(theme).accent : surface(theme).line;
    return std::optional<uint32_t>(series.runs[row].error.empty() ? of_shown
                                                                  : surface(theme).critical);
  };
  table.more = [&](size_t row) {
    RunSeries::Member const& run = series.runs[row];
    if (!run.error.empty()) return "not in the numbers: " + printable_name(run.error);
    std::string const where = printable_name(run.path);
    if (row == series.shown) return where + "\non the timeline";
    return requests != nullptr ? where + "\nclick: on the timeline" : where;
  };

  auto const clicked = fact_table(table, theme);
  if (clicked && requests != nullptr && *clicked != series.shown) requests->show_run = *clicked;
}

enum LossColumn : size_t { kLossPart, kLossBar, kLossNs, kLossColumns };
constexpr std::array<FactColumn, kLossColumns> kLossTable = {
    {{"Part", "", 0, 0},
     {"From ideal",
      "From the ideal step to the measured one: each begins where the one before ends", 0, 1},
     {"Lost", "", 66, 0}}};

/// The panel that shows what makes a part.
Tab tab_of(analyzer::LostPart part) {
  using enum analyzer::LostPart;
  switch (part) {
    case kKernels:
    case kCalls:
    case kOtherKernels:
    case kOverlap:
      return Tab::kKernels;
    case kCommunication:
    case kWaiting:
    case kImbalance:
      return Tab::kCommunication;
    case kCopies:
      return Tab::kLaunches;
    case kHost:
    case kRest:
      break;
  }
  return Tab::kStatistics;
}

void draw_lost_bar(ScalingView::Waterfall const& waterfall, ScalingView::Bar const& bar, ImVec2 low,
                   ImVec2 high, Theme theme) {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  float const scale = ui_scale();
  double const span = std::max(
      static_cast<double>(waterfall.most_ns) - static_cast<double>(waterfall.least_ns), 1.0);
  auto const x = [&](int64_t ns) {
    double const share = (static_cast<double>(ns) - static_cast<double>(waterfall.least_ns)) / span;
    return low.x + static_cast<float>(share) * (high.x - low.x - 1);
  };

  // Where the step would end, and where it does.
  for (auto const& [ns, colour] : {std::pair(waterfall.ideal_ns, surface(theme).text_dim),
                                   std::pair(waterfall.step_ns, surface(theme).text)})
    list.AddRectFilled(ImVec2(x(ns), low.y - 2 * scale), ImVec2(x(ns) + 1, high.y + 2 * scale),
                       with_alpha(colour, 0.6F));
  float const begin = x(std::min(bar.begin_ns, bar.end_ns)),
              end = x(std::max(bar.begin_ns, bar.end_ns));

  // What is gained is an outline: no meaning hangs on colour alone.
  ImVec2 const top(begin, low.y + 2 * scale),
      bottom(std::max(end, begin + 2 * scale), high.y - scale);
  uint32_t const colour = paint_colour(paint_of(bar.part), theme);
  if (bar.lost_ns >= 0)
    list.AddRectFilled(top, bottom, colour);
  else
    list.AddRect(top, bottom, colour, 0, 0, 1.5F * scale);
}

/// Which two numbers of devices.
void pair_chooser(ScalingView const& view, ViewState& state, uint32_t shown) {
  ImGui::SetNextItemWidth(std::min(160 * ui_scale(), ImGui::GetContentRegionAvail().x));
  if (!ImGui::BeginCombo("##pair", view.waterfalls[shown].pair.c_str())) return;
  for (uint32_t i = 0; i < view.waterfalls.size(); ++i)
    if (ImGui::Selectable(view.waterfalls[i].pair.c_str(), i == shown)) state.panels.loss = i;
  ImGui::EndCombo();
}

void waterfall_table(ScalingView const& view, ViewState& state) {
  uint32_t const shown = std::min(state.panels.loss.value_or(view.whole()),
                                  static_cast<uint32_t>(view.waterfalls.size() - 1));
  ScalingView::Waterfall const& waterfall = view.waterfalls[shown];
  ImGui::AlignTextToFramePadding();
  heading("Lost time");
  ImGui::SameLine();
  pair_chooser(view, state, shown);

  auto const lost =
      static_cast<double>(waterfall.step_ns) - static_cast<double>(waterfall.ideal_ns);
  text_coloured(
      fit(fmt::format("step {}, ideal {}: {}", base::format_duration(waterfall.step_ns),
                      base::format_duration(waterfall.ideal_ns), reports::signed_duration(lost)),
          ImGui::GetContentRegionAvail().x),
      surface(state.theme).text_dim);

  if (waterfall.bars.empty()) {
    empty_state("Nothing is lost and nothing is gained.", state.theme);
    return;
  }

  FactTable table;
  table.id = "waterfall";
  table.columns = kLossTable;
  table.rows = waterfall.bars.size();
  table.first_number = 2;

  table.name = [&](size_t row) { return waterfall.bars[row].label; };
  table.swatch = [&](size_t row) {
    return std::optional(paint_colour(paint_of(waterfall.bars[row].part), state.theme));
  };
  table.value = [&](size_t row, size_t) {
    return static_cast<double>(waterfall.bars[row].lost_ns);
  };
  table.text = [&](size_t row, size_t) {
    return reports::signed_duration(static_cast<double>(waterfall.bars[row].lost_ns));
  };

  table.paint = [&](size_t row, size_t column, ImVec2 low, ImVec2 high) {
    if (column != kLossBar) return false;
    draw_lost_bar(waterfall, waterfall.bars[row], low, high, state.theme);
    return true;
  };
  table.more = [&](size_t row) {
    ScalingView::Bar const& bar = waterfall.bars[row];
    return bar.meaning + (bar.reason.empty() ? "" : "\n" + bar.reason) +
           "\nclick: the panel that shows it for the run on the timeline";
  };

  if (auto const clicked = fact_table(table, state.theme))
    state.panels.tab = tab_of(waterfall.bars[*clicked].part);
}

void notes_list(RunSeries const& series, ScalingView const& view, std::string const& replay_words,
                Theme theme) {
  for (RunSeries::Member const& run : series.runs)
    if (!run.error.empty())
      text_wrapped(fmt::format("Not in the numbers: {}", printable_name(run.error)),
                   surface(theme).warning);
  for (std::string const& note : view.notes) text_wrapped(note, surface(theme).text_dim);
  if (!replay_words.empty()) text_wrapped(replay_words, surface(theme).text_dim);
}

void refused(ScalingView const& view, ViewState& state) {
  Surface const& s = surface(state.theme);
  heading("These runs make no scaling series");
  text_wrapped(view.refusal, s.text);
  if (!view.is_kind_unclear) return;
  ImGui::Spacing();
  if (ImGui::Button("Strong: a step does the same work"))
    state.panels.scaling = SayScaling::kStrong;
  ImGui::SameLine();
  if (ImGui::Button("Weak: each device does")) state.panels.scaling = SayScaling::kWeak;
}

void columns(RunSeries const& series, ScalingView const& view, ScalingCache const& cache,
             ViewState& state, WindowRequests* requests) {
  float const width = ImGui::GetContentRegionAvail().x;
  float const gap = 16 * ui_scale();

  std::optional<size_t> clicked;
  ImGui::BeginChild("throughput", ImVec2(width * 0.17F, 0));
  clicked = throughput_chart(view, cache.predicted, state.theme);
  ImGui::EndChild();

  ImGui::SameLine(0, gap);
  ImGui::BeginChild("efficiency", ImVec2(width * 0.21F, 0));
  if (auto const point = efficiency_chart(view, state.theme)) clicked = point;
  ImGui::EndChild();

  ImGui::SameLine(0, gap);
  ImGui::BeginChild("lost", ImVec2(width * 0.35F, 0));
  waterfall_table(view, state);
  ImGui::EndChild();

  ImGui::SameLine(0, gap);
  ImGui::BeginChild("runs", ImVec2(0, 0));
  run_table(series, &view, state.theme, requests);
  notes_list(series, view, cache.replay_words, state.theme);
  ImGui::EndChild();

  if (!clicked) return;
  if (auto const loss = view.to_point(*clicked)) state.panels.loss = loss;
}

void still_reading(RunSeries const& series, ViewState const& state, WindowRequests* requests) {
  auto const next = series.next();
  text_coloured(fmt::format("{} of {} runs are read{}", series.read(), series.runs.size(),
                            next ? "; now " + printable_name(series.runs[*next].path)
                                 : "; the one on the timeline is being analyzed"),
                surface(state.theme).text_dim);
  run_table(series, nullptr, state.theme, requests);
}

void one_series(Scene const& scene, ViewState& state, PanelCache& cache, WindowRequests* requests) {
  if (!scene.series) {
    empty_state(
        "One run is open. Open runs on different numbers of devices together to see how they "
        "scale: stepscope view RUN1 RUN2 RUN4 …, or "
        "the folder that stepscope run WORKLOAD --scale 1,2,4 makes (docs/guide/SCALING.md).",
        state.theme);
    return;
  }

  RunSeries const& series = *scene.series;
  if (!series.is_read()) return still_reading(series, state, requests);

  std::vector<SharedSample> samples;
  for (RunSeries::Member const& run : series.runs)
    if (run.sample) samples.push_back(run.sample);
  auto& scaling = cache.of<ScalingCache>();
  ScalingView const* const view =
      scaling.view.ask(state.panels.scaling,
                       [samples, options = series.options](SayScaling say, std::stop_token const&) {
                         return scaling_view(samples, options, say);
                       });

  if (view == nullptr) return text_coloured("Comparing the runs…", surface(state.theme).text_dim);
  if (view->series.points.empty() || !view->refusal.empty()) {
    refused(*view, state);
    run_table(series, view, state.theme, requests);
    return;
  }

  text_wrapped(view->verdict, surface(state.theme).text);
  if (state.panels.scaling != SayScaling::kFound) {
    ImGui::SameLine();
    if (ImGui::SmallButton("As found")) state.panels.scaling = SayScaling::kFound;
  }
  scaling.predict(*view, samples, state.panels.scaling);
  columns(series, *view, scaling, state, requests);
}

}  // namespace

void scaling_panel(PanelScope const& scope) {
  if (scope.pair == nullptr)
    return one_series(scope.scene, scope.state, scope.cache, scope.window.requests);

  // Only the base of a pair may be part of a series, whichever run is in front.
  RunPair::View const base = scope.pair->view(RunSide::kBase);
  one_series(base.scene, base.state, base.cache, scope.window.requests);
  // A click there opens another panel.
  scope.state.panels.tab = base.state.panels.tab;
}

}  // namespace stepscope::viewer
