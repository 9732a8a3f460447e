#include <algorithm>
#include <array>
#include <span>
#include <string>

#include <fmt/format.h>
#include <imgui.h>

#include "trace/base/format.h"
#include "viewer/interaction/navigate.h"
#include "viewer/interaction/track_finder.h"
#include "viewer/panels/common/device_chooser.h"
#include "viewer/panels/common/panel.h"
#include "viewer/panels/host_time.h"
#include "viewer/queries/charts/pipeline_picture.h"
#include "viewer/queries/device_rows.h"
#include "viewer/queries/search_query.h"
#include "viewer/timeline/describe.h"
#include "viewer/widgets/stat_table.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

struct BarShare {
  uint32_t colour;
  int64_t ns;
};
/// Shares of a whole side by side, in an area as high as a line.
template <size_t N>
void draw_shares(std::array<BarShare, N> const& shares, int64_t whole, ImVec2 low, ImVec2 high,
                 Theme theme) {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  float const scale = ui_scale();
  ImVec2 const top(low.x, low.y + 2 * scale), bottom(high.x, high.y - 1 * scale);
  list.AddRectFilled(top, bottom, surface(theme).header, 2 * scale);

  float x = top.x;
  for (BarShare const& share : shares) {
    if (share.ns <= 0 || whole <= 0) continue;
    float const width = (bottom.x - top.x) * static_cast<float>(static_cast<double>(share.ns) /
                                                                static_cast<double>(whole));
    float const next = std::min(x + width, bottom.x);

    list.AddRectFilled(ImVec2(x, top.y), ImVec2(std::max(next, x + 1), bottom.y), share.colour);
    x = next;
  }
}

enum PhaseColumn : size_t {
  kPhaseName,
  kPhaseBar,
  kPhaseTime,
  kPhaseMedian,
  kPhaseP95,
  kPhaseCompute,
  kPhaseComm,
  kPhaseHost,
  kPhaseCount,
  kPhaseOps,
  kPhaseColumns
};
constexpr std::array<FactColumn, kPhaseColumns> kPhaseTable = {
    {{"Phase",
      "A named range of the program, or one named like forward, backward, optimizer. Phases nest: "
      "do not add them",
      0, 0},
     {"Device time",
      "Its parts: compute, exposed communication, anything else; relative to the longest phase",
      110, 2},
     {"Total", "Union of the operations that it launched, over all its runs", 62, 0},
     {"Median", "Device time of one run of it", 62, 0},
     {"95 %", "95th percentile of that", 62, 3},
     {"Compute", "Union, over all", 62, 4},
     {"Exposed", "Communication that no compute hides, over all", 62, 1},
     {"Host", "Sum of its durations on the host", 62, 5},
     {"Ran", "How many times", 46, 0},
     {"Ops", "Device operations that it launched", 52, 6}}};

double phase_value(analyzer::PhaseStats const& phase, size_t column) {
  switch (column) {
    case kPhaseBar:
    case kPhaseTime:
      return value_of(phase.busy_ns);
    case kPhaseMedian:
      return value_of(phase.median_ns);
    case kPhaseP95:
      return value_of(phase.p95_ns);
    case kPhaseCompute:
      return value_of(phase.compute_ns);
    case kPhaseComm:
      return value_of(phase.exposed_comm_ns);
    case kPhaseHost:
      return static_cast<double>(phase.host_ns);
    case kPhaseCount:
      return static_cast<double>(phase.count);
    case kPhaseOps:
      return static_cast<double>(phase.ops);
    default:
      return 0;
  }
}

std::string phase_name(analyzer::PhaseStats const& phase) {
  return phase.name.empty() ? fmt::format("{} further phases", base::format_count(phase.names))
                            : printable_name(phase.name);
}

void phases_of_device(ViewState& state, std::span<analyzer::PhaseStats const> rows) {
  int64_t longest = 0;
  for (analyzer::PhaseStats const& phase : rows)
    longest = std::max(longest, phase.busy_ns.value_or(0));

  FactTable table;
  table.id = "phases";
  table.columns = kPhaseTable;
  table.rows = rows.size();
  table.first_number = 2;
  table.name = [&](size_t row) { return phase_name(rows[row]); };
  table.value = [&](size_t row, size_t column) { return phase_value(rows[row], column); };
  table.text = [&](size_t row, size_t column) {
    double const value = phase_value(rows[row], column);
    return column >= kPhaseCount ? count_words(value) : duration_words(value);
  };

  table.paint = [&](size_t row, size_t column, ImVec2 low, ImVec2 high) {
    analyzer::PhaseStats const& phase = rows[row];
    if (column != kPhaseBar || !phase.busy_ns) return false;
    int64_t const compute = phase.compute_ns.value_or(0), comm = phase.exposed_comm_ns.value_or(0);
    draw_shares(std::array<BarShare, 3>{{{paint_colour(Paint::kCompute, state.theme), compute},
                                         {paint_colour(Paint::kCommunication, state.theme), comm},
                                         {paint_colour(Paint::kCopy, state.theme),
                                          *phase.busy_ns - compute - comm}}},
                longest, low, high, state.theme);
    return true;
  };
  table.more = [&](size_t row) {
    analyzer::PhaseStats const& phase = rows[row];
    return fmt::format(
        "ran {} times, launched {} operations{}", base::format_count(phase.count),
        base::format_count(phase.ops),
        phase.name.empty() ? "" : "\nclick: search for it, N goes from one to the next");
  };

  auto const clicked = fact_table(table, state.theme);
  if (clicked && !rows[*clicked].name.empty())
    search_for(state, query_for(printable_name(rows[*clicked].name)));
}

void phase_table(Scene const& scene, ViewState& state) {
  device_chooser(scene, state);
  if (scene.analysis.phases.empty()) {
    heading("Phases");
    empty_state(
        "No named part of the program was recorded. Name them with stepscope::api::Phase or an "
        "NVTX range: \"forward\", \"backward\", "
        "\"generator\", … (docs/guide/ANNOTATIONS.md); PyTorch's profiler takes "
        "record_function(\"forward\").",
        state.theme);
    return;
  }

  auto const rows = facts_of(scene.analysis.phases, scene.analysis.devices[state.device].ref);
  if (rows.empty()) {
    empty_state("No phase launched anything on this device.", state.theme);
    return;
  }
  phases_of_device(state, rows);
}

/// "4 stages, 1F1B, 8 micro-batches a step".
std::string pipeline_title(analyzer::PipelineStats const& pipeline) {
  std::string words = base::format_count(pipeline.stages.size(), "stage");
  if (pipeline.schedule == analyzer::PipelineSchedule::kGpipe) words += ", GPipe";
  if (pipeline.schedule == analyzer::PipelineSchedule::kOneForwardOneBackward) words += ", 1F1B";
  if (pipeline.schedule == analyzer::PipelineSchedule::kUnknown) words += ", schedule unknown";
  return words + fmt::format(", {} micro-{} a step", pipeline.micro_batches,
                             pipeline.micro_batches == 1 ? "batch" : "batches");
}

void pipeline_words(analyzer::PipelineStats const& pipeline, Theme theme) {
  Surface const& s = surface(theme);
  heading(pipeline_title(pipeline));
  double const beyond = pipeline.bubble_share - pipeline.ideal_share;
  text_wrapped(fmt::format("Bubble {} of the steps; {} with equal stages and instant messages. The "
                           "stage with most compute has {:.2f} times the mean.",
                           base::format_share(pipeline.bubble_share),
                           base::format_share(pipeline.ideal_share), pipeline.imbalance),
               beyond > 0.05 ? s.warning : s.text_dim);
}

/// A usual step, a row a stage; a click shows it in the timeline.
void schedule_picture(Scene const& scene, ViewState& state, analyzer::PipelineStats const& pipeline,
                      float rows_height) {
  auto const window = steady_step_of(scene, pipeline);
  if (!window) return;

  float const scale = ui_scale();
  float const row = 11 * scale, gutter = 30 * scale;
  ImVec2 const at = ImGui::GetCursorScreenPos();
  float const width = std::max(ImGui::GetContentRegionAvail().x, gutter + 1);
  bool const clicked = ImGui::InvisibleButton(
      "schedule", ImVec2(width, row * static_cast<float>(pipeline.stages.size())));
  ImDrawList& list = *ImGui::GetWindowDrawList();

  for (size_t stage = 0; stage < pipeline.stages.size(); ++stage) {
    ImVec2 const low(at.x + gutter, at.y + row * static_cast<float>(stage));
    ImVec2 const high(at.x + width, low.y + row - 2 * scale);
    if (!ImGui::IsRectVisible(low, high)) continue;
    draw_text(list, ImVec2(at.x, low.y - 3 * scale), surface(state.theme).text_dim,
              std::to_string(stage + 1));
    list.AddRectFilled(low, high, surface(state.theme).row);
    auto const node = scene.node_of_device(pipeline.stages[stage].ref);
    if (!node) continue;

    for (StripPiece const& piece : device_pieces(scene, *node, *window, high.x - low.x)) {
      float const top = piece.idle ? low.y + (high.y - low.y) * 0.6F : low.y;
      list.AddRectFilled(ImVec2(low.x + piece.x0, top), ImVec2(low.x + piece.x1, high.y),
                         paint_colour(piece.paint, state.theme));
    }
  }

  hint(
      fmt::format("A usual step, {}: what the device of each stage does. Half as high: "
                  "idle.\nclick: show it in the timeline",
                  duration_words(window->span())));
  if (!clicked) return;

  go_to(state, scene, *window);
  if (auto const node = scene.node_of_device(pipeline.stages.front().ref))
    go_to_track(state, scene, *node, rows_height);
}

enum StageColumn : size_t {
  kStageName,
  kStageBar,
  kStageBubbleShare,
  kStageBubble,
  kStageCompute,
  kStageColumns
};
constexpr std::array<FactColumn, kStageColumns> kStageTable = {
    {{"Stage", "", 0, 0},
     {"Its steps", "Compute, anything else, bubble: waiting for another stage", 100, 1},
     {"Bubble", "Share of its steps in which it waits for another stage", 56, 0},
     {"A step", "Bubble of a step", 62, 2},
     {"Compute", "Of a step", 62, 0}}};

double stage_value(analyzer::PipelineStats::Stage const& stage, size_t column) {
  auto const steps = static_cast<double>(std::max<uint64_t>(stage.steps, 1));
  switch (column) {
    case kStageBar:
    case kStageBubbleShare:
      return stage.total_ns > 0
                 ? static_cast<double>(stage.bubble_ns) / static_cast<double>(stage.total_ns)
                 : std::nan("");
    case kStageBubble:
      return static_cast<double>(stage.bubble_ns) / steps;
    case kStageCompute:
      return static_cast<double>(stage.compute_ns) / steps;
    default:
      return 0;
  }
}

void stage_table(Scene const& scene, ViewState& state, analyzer::PipelineStats const& pipeline,
                 float rows_height) {
  FactTable table;
  table.id = "stages";
  table.columns = kStageTable;
  table.rows = pipeline.stages.size();
  table.first_number = 2;
  table.height = -1;

  table.name = [&](size_t row) {
    return fmt::format("{} · {}", row + 1, describe(scene, pipeline.stages[row].ref));
  };
  table.value = [&](size_t row, size_t column) {
    return stage_value(pipeline.stages[row], column);
  };
  table.text = [&](size_t row, size_t column) {
    double const value = stage_value(pipeline.stages[row], column);
    return column == kStageBubbleShare ? base::format_share(value) : duration_words(value);
  };

  table.paint = [&](size_t row, size_t column, ImVec2 low, ImVec2 high) {
    auto const& stage = pipeline.stages[row];
    if (column != kStageBar) return false;
    draw_shares(
        std::array<BarShare, 3>{{{paint_colour(Paint::kCompute, state.theme), stage.compute_ns},
                                 {paint_colour(Paint::kUnexplained, state.theme),
                                  stage.total_ns - stage.compute_ns - stage.bubble_ns},
                                 {paint_colour(Paint::kPeer, state.theme), stage.bubble_ns}}},
        stage.total_ns, low, high, state.theme);
    return true;
  };

  auto const clicked = fact_table(table, state.theme);
  if (!clicked) return;

  if (auto const device = scene.device_of(pipeline.stages[*clicked].ref))
    go_to_device(state, scene, *device, rows_height);
  if (auto const window = steady_step_of(scene, pipeline)) go_to(state, scene, *window);
}

void pipeline_list(Scene const& scene, ViewState& state, float rows_height) {
  if (scene.analysis.pipelines.empty()) {
    heading("Pipelines");
    empty_state(
        "No pipeline was found: devices that send each other activations and gradients, as many "
        "one way as the other in every step. "
        "All its ranks, their steps and their sends and receives have to be recorded.",
        state.theme);
    return;
  }

  int number = 0;
  for (analyzer::PipelineStats const& pipeline : scene.analysis.pipelines) {
    ImGui::PushID(number++);
    pipeline_words(pipeline, state.theme);
    schedule_picture(scene, state, pipeline, rows_height);
    stage_table(scene, state, pipeline, rows_height);
    ImGui::PopID();
  }
}

}  // namespace

void phases_panel(PanelScope const& scope) {
  Scene const& scene = scope.scene;
  ViewState& state = scope.state;
  float const rows_height = scope.rows_height;
  if (state.device >= scene.analysis.devices.size()) {
    if (!scene.analysis.hosts.empty()) return host_time(scene, state);
    empty_state(without_device(scene, "This panel shows what each part of the program launches."),
                state.theme);
    return;
  }

  ImGui::BeginChild("phases", ImVec2(ImGui::GetContentRegionAvail().x * 0.56F, 0));
  phase_table(scene, state);
  ImGui::EndChild();

  ImGui::SameLine(0, 18 * ui_scale());
  ImGui::BeginChild("pipelines", ImVec2(0, 0));
  pipeline_list(scene, state, rows_height);
  ImGui::EndChild();
}

}  // namespace stepscope::viewer
