#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>
#include <imgui.h>

#include "reports/words/labels.h"
#include "trace/base/format.h"
#include "viewer/interaction/navigate.h"
#include "viewer/panels/fixed/fixed_panels.h"
#include "viewer/queries/step_comparison.h"
#include "viewer/timeline/describe.h"
#include "viewer/timeline/draw.h"
#include "viewer/widgets/split_bar.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

/// Where a strip of `count` bars lies; bars thinner than a pixel share it: the longest of them is
/// drawn.
struct Bars {
  ImVec2 origin, size;
  size_t count;
  float width;  ///< of a bar with its gap
  [[nodiscard]] size_t at(float x) const {
    return std::min(static_cast<size_t>((x - origin.x) / width), count - 1);
  }
};

void draw_bar(ImDrawList& list, ViewState const& state, analyzer::StepStats const& step, float x0,
              float x1, float bottom, float height, float longest) {
  float const total = static_cast<float>(step.time.window_ns);
  if (total <= 0) return;

  float const bar = std::max(total / longest * height, 1.0F);
  float y = bottom;
  for (SplitPart const& part : split_parts(step.time)) {
    if (part.time <= 0) continue;
    float const top = y - bar * static_cast<float>(part.time) / total;
    list.AddRectFilled(
        ImVec2(x0, std::round(top)), ImVec2(x1, std::round(y)),
        with_alpha(paint_colour(part.paint, state.theme), step.warmup ? 0.45F : 1.0F));
    y = top;
  }
}

void step_tooltip(Scene const& scene, analyzer::StepStats const& step, Theme theme) {
  begin_tooltip();
  heading(
      fmt::format("Step {}{}", step.step, step.warmup ? " (warm-up: left out of statistics)" : ""));
  text(base::format_duration(step.time.window_ns) + ", " + describe(scene, step.ref));

  for (SplitPart const& part : split_parts(step.time)) {
    if (part.time <= 0) continue;
    swatch(paint_colour(part.paint, theme));
    text(fmt::format("{:>9}  {}", base::format_duration(part.time), paint_name(part.paint)));
  }

  text_coloured("Shift + click compares it with the median step", surface(theme).text_dim);
  end_tooltip();
}

int64_t median_of(std::span<analyzer::StepStats const> steps) {
  auto const* const median = median_step(steps);
  return median == nullptr ? 0 : median->time.window_ns;
}

void draw_bars(ImDrawList& list, ViewState const& state, Scene const& scene,
               std::span<analyzer::StepStats const> steps, Bars const& bars) {
  float const scale = ui_scale();
  int64_t longest = 1;
  for (auto const& step : steps) longest = std::max(longest, step.time.window_ns);

  float const gap = bars.width >= 5 ? 1 * scale : 0;
  float const height = bars.size.y - 8 * scale;
  float const bottom = bars.origin.y + bars.size.y - 2 * scale;
  auto const columns = static_cast<size_t>(
      std::max(bars.width >= 1 ? static_cast<float>(bars.count) : bars.size.x, 1.0F));

  for (size_t column = 0; column < columns; ++column) {
    size_t const first = column * bars.count / columns;
    size_t const last = std::max((column + 1) * bars.count / columns, first + 1);
    auto const best = std::max_element(
        steps.begin() + static_cast<std::ptrdiff_t>(first),
        steps.begin() + static_cast<std::ptrdiff_t>(last),
        [](auto const& a, auto const& b) { return a.time.window_ns < b.time.window_ns; });

    float const x0 = bars.origin.x + std::round(static_cast<float>(first) * bars.width);
    float const x1 =
        std::max(bars.origin.x + std::round(static_cast<float>(last) * bars.width) - gap, x0 + 1);
    draw_bar(list, state, *best, x0, x1, bottom, height, static_cast<float>(longest));

    auto const begin = static_cast<double>(scene.to_view(best->window.begin));
    auto const end = static_cast<double>(scene.to_view(best->window.end));
    if (end > state.window.begin && begin < state.window.end &&
        state.window.span() < static_cast<double>(scene.length))
      list.AddRectFilled(ImVec2(x0, bottom), ImVec2(x1, bottom + 2 * scale),
                         surface(state.theme).accent);
  }

  int64_t const median = median_of(steps);
  if (median <= 0) return;
  float const y = bottom - static_cast<float>(median) / static_cast<float>(longest) * height;
  for (float x = bars.origin.x; x < bars.origin.x + bars.size.x; x += 8 * scale)
    list.AddRectFilled(ImVec2(x, std::round(y)), ImVec2(x + 4 * scale, std::round(y) + 1),
                       with_alpha(surface(state.theme).text, 0.55F));
}

void caption(Scene const& scene, ViewState const& state, std::span<analyzer::StepStats const> steps,
             ImVec2 at) {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  Surface const& s = surface(state.theme);
  float const line = ImGui::GetFontSize() + 4 * ui_scale();
  float const room = (kGutter - 16) * ui_scale();
  int64_t longest = 0;
  for (auto const& step : steps) longest = std::max(longest, step.time.window_ns);

  push_bold();
  draw_text(list, at, s.text, fmt::format("Steps ({})", steps.size()));
  pop_bold();
  draw_text(list, ImVec2(at.x, at.y + line), s.text_dim,
            fit(fmt::format("median {}, longest {}", base::format_duration(median_of(steps)),
                            base::format_duration(longest)),
                room));

  bool const detected = scene.analysis.step_source == analyzer::StepSource::kDetected;
  std::string const where = detected ? "detected, not annotated"
                                     : describe(scene, scene.analysis.devices[state.device].ref);
  draw_text(list, ImVec2(at.x, at.y + 2 * line), s.text_dim, fit(where, room));
}

/// A step of a process without a device: what waits for data below, the rest above.
void draw_host_bar(ImDrawList& list, Theme theme, analyzer::HostStepStats const& step, ImVec2 low,
                   ImVec2 high) {
  auto const length = static_cast<float>(std::max<int64_t>(step.period.length(), 1));
  float const middle = high.y - (high.y - low.y) * static_cast<float>(step.input_ns) / length;
  float const alpha = step.warmup ? 0.45F : 1.0F;
  list.AddRectFilled(low, ImVec2(high.x, std::round(middle)),
                     with_alpha(paint_colour(Paint::kCompute, theme), alpha));
  list.AddRectFilled(ImVec2(low.x, std::round(middle)), high,
                     with_alpha(paint_colour(Paint::kInput, theme), alpha));
}

void host_step_tooltip(analyzer::HostStepStats const& step, Theme theme) {
  begin_tooltip();
  heading(
      fmt::format("Step {}{}", step.step, step.warmup ? " (warm-up: left out of statistics)" : ""));
  text(base::format_duration(step.period.length()));
  swatch(paint_colour(Paint::kInput, theme));
  text(fmt::format("{:>9}  waits for data", base::format_duration(step.input_ns)));
  if (step.outlier) text("much longer than the others");
  end_tooltip();
}

/// The first process without a device that has steps; null: there is none.
analyzer::HostStats const* host_with_steps(Scene const& scene) {
  auto const& hosts = scene.analysis.hosts;
  auto const found = std::find_if(hosts.begin(), hosts.end(),
                                  [](auto const& host) { return !host.steps.empty(); });
  return found == hosts.end() ? nullptr : &*found;
}

/// The strip where no device has steps. Where steps share a pixel, the longest is drawn.
void host_step_strip(Scene const& scene, ViewState& state, analyzer::HostStats const& host,
                     ImVec2 corner, ImVec2 size, bool hovered) {
  float const scale = ui_scale();
  ImDrawList& list = *ImGui::GetWindowDrawList();
  auto const& steps = host.steps;
  int64_t longest = 1;
  for (auto const& step : steps) longest = std::max(longest, step.period.length());

  push_bold();
  draw_text(list, ImVec2(corner.x + 8 * scale, corner.y + 6 * scale), surface(state.theme).text,
            fmt::format("Steps ({})", steps.size()));
  pop_bold();
  float const line = ImGui::GetFontSize() + 4 * scale;
  draw_text(
      list, ImVec2(corner.x + 8 * scale, corner.y + 6 * scale + line),
      surface(state.theme).text_dim,
      fit(fmt::format("median {}, longest {}", base::format_duration(host.median_ns.value_or(0)),
                      base::format_duration(longest)),
          (kGutter - 16) * scale));

  Bars bars{ImVec2(corner.x + kGutter * scale, corner.y),
            ImVec2(std::max(size.x - (kGutter + 8) * scale, 1.0F), size.y), steps.size(), 1};
  bars.width = std::min(bars.size.x / static_cast<float>(steps.size()), 48 * scale);
  float const gap = bars.width >= 5 ? 1 * scale : 0;
  float const bottom = corner.y + size.y - 2 * scale;
  auto const columns = static_cast<size_t>(
      std::max(bars.width >= 1 ? static_cast<float>(bars.count) : bars.size.x, 1.0F));

  for (size_t column = 0; column < columns; ++column) {
    size_t const first = column * bars.count / columns;
    size_t const last = std::max((column + 1) * bars.count / columns, first + 1);
    auto const best = std::max_element(
        steps.begin() + static_cast<std::ptrdiff_t>(first),
        steps.begin() + static_cast<std::ptrdiff_t>(last),
        [](auto const& a, auto const& b) { return a.period.length() < b.period.length(); });

    float const x0 = bars.origin.x + std::round(static_cast<float>(first) * bars.width);
    float const x1 =
        std::max(bars.origin.x + std::round(static_cast<float>(last) * bars.width) - gap, x0 + 1);
    float const share = static_cast<float>(best->period.length()) / static_cast<float>(longest);
    draw_host_bar(list, state.theme, *best,
                  ImVec2(x0, bottom - std::max((size.y - 8 * scale) * share, 1.0F)),
                  ImVec2(x1, bottom));
  }

  float const x = ImGui::GetIO().MousePos.x;
  if (!hovered || x < bars.origin.x ||
      x >= bars.origin.x + bars.width * static_cast<float>(bars.count))
    return;
  analyzer::HostStepStats const& step = steps[bars.at(x)];
  host_step_tooltip(step, state.theme);
  if (ImGui::IsItemClicked())
    frame(state, scene, {scene.to_view(step.period.begin), scene.to_view(step.period.end)});
}

/// What stands where steps would.
std::string without_steps(Scene const& scene) {
  if (scene.missing_analysis) return printable_name(*scene.missing_analysis);
  if (scene.analysis.layers)
    return fmt::format("No whole step was recorded: the work {}.",
                       reports::layers_label(*scene.analysis.layers));
  return "No steps were found. Mark them with the annotation API or with NVTX ranges named "
         "\"step\".";
}

}  // namespace

void step_strip(Scene const& scene, ViewState& state, float height) {
  float const scale = ui_scale();
  auto const steps = steps_of(scene, state.device);
  ImVec2 const corner = ImGui::GetCursorScreenPos();
  float const width = std::max(ImGui::GetContentRegionAvail().x, 1.0F);
  ImGui::InvisibleButton("steps", ImVec2(width, height));
  bool const hovered = ImGui::IsItemHovered();
  ImDrawList& list = *ImGui::GetWindowDrawList();
  ImVec2 const text_at(corner.x + 8 * scale, corner.y + 6 * scale);

  if (analyzer::HostStats const* host = host_with_steps(scene); steps.empty() && host != nullptr)
    return host_step_strip(scene, state, *host, corner, ImVec2(width, height), hovered);
  if (steps.empty()) {
    push_bold();
    draw_text(list, text_at, surface(state.theme).text, "Steps");
    pop_bold();
    draw_text(list,
              ImVec2(corner.x + kGutter * scale, corner.y + height / 2 - ImGui::GetFontSize() / 2),
              surface(state.theme).text_dim, fit(without_steps(scene), width - kGutter * scale));
    return;
  }

  caption(scene, state, steps, text_at);
  Bars bars{ImVec2(corner.x + kGutter * scale, corner.y),
            ImVec2(std::max(width - (kGutter + 8) * scale, 1.0F), height), steps.size(), 1};
  // Few steps are not stretched over the whole width: a bar of more than this tells no more.
  bars.width = std::min(bars.size.x / static_cast<float>(steps.size()), 48 * scale);
  draw_bars(list, state, scene, steps, bars);

  float const x = ImGui::GetIO().MousePos.x;
  if (!hovered || x < bars.origin.x ||
      x >= bars.origin.x + bars.width * static_cast<float>(bars.count))
    return;

  analyzer::StepStats const& step = steps[bars.at(x)];
  step_tooltip(scene, step, state.theme);
  if (!ImGui::IsItemClicked()) return;

  if (ImGui::GetIO().KeyShift) {
    state.panels.compared = static_cast<uint32_t>(&step - scene.analysis.steps.data());
    state.panels.tab = Tab::kStatistics;
    return;
  }
  frame(state, scene, {scene.to_view(step.window.begin), scene.to_view(step.window.end)});
}

}  // namespace stepscope::viewer
