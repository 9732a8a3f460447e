#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <imgui.h>

#include "analyzer/metrics/core/quantile.h"
#include "reports/words/labels.h"
#include "trace/base/format.h"
#include "viewer/interaction/navigate.h"
#include "viewer/panels/fixed/fixed_panels.h"
#include "viewer/queries/step_comparison.h"
#include "viewer/timeline/describe.h"
#include "viewer/timeline/draw.h"
#include "viewer/widgets/hatch.h"
#include "viewer/widgets/split_bar.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

/// A bar wider than this, at scale 1, tells no more: few steps are not stretched over the strip.
constexpr float kWidestBar = 96;

/// Where a strip of `count` bars lies.
struct Bars {
  ImVec2 origin, size;
  size_t count;
  int64_t highest;  ///< ns of a bar of the whole height; longer ones are cut
  float width = std::min(size.x / static_cast<float>(count),
                         kWidestBar* ui_scale());  ///< of a bar with its gap

  [[nodiscard]] float bottom() const { return origin.y + size.y - 2 * ui_scale(); }
  [[nodiscard]] float height() const { return size.y - 8 * ui_scale(); }
  [[nodiscard]] float height_of(int64_t ns) const {
    float const share = static_cast<float>(ns) / static_cast<float>(highest);
    return std::clamp(share * height(), 1.0F, height());
  }
  [[nodiscard]] bool has(float x) const {
    return x >= origin.x && x < origin.x + width * static_cast<float>(count);
  }
  [[nodiscard]] size_t at(float x) const {
    return std::min(static_cast<size_t>((x - origin.x) / width), count - 1);
  }
};

Bars bars_in(ImVec2 corner, ImVec2 size, size_t count, int64_t highest) {
  float const left = gutter() * ui_scale();
  return {ImVec2(corner.x + left, corner.y),
          ImVec2(std::max(size.x - left - 8 * ui_scale(), 1.0F), size.y), count, highest};
}

int64_t length_of(analyzer::StepPeriod const& step) { return step.when.length(); }
int64_t length_of(analyzer::HostStepStats const& step) { return step.period.length(); }
bool is_warmup(analyzer::StepPeriod const& step) { return step.step->warmup; }
bool is_warmup(analyzer::HostStepStats const& step) { return step.warmup; }

template <class Steps>
int64_t longest_of(Steps const& steps) {
  int64_t longest = 1;
  for (auto const& step : steps) longest = std::max(longest, length_of(step));
  return longest;
}

/// What the highest bar stands for: the longest step, unless a few steps, or those of the warm-up,
/// would leave no room for the others. Then a bit more than 95 % of the steady steps take.
template <class Steps>
int64_t highest_of(Steps const& steps) {
  std::vector<int64_t> steady;
  for (auto const& step : steps)
    if (!is_warmup(step)) steady.push_back(length_of(step));

  int64_t const longest = longest_of(steps);
  if (steady.empty()) return longest;
  int64_t const most = analyzer::quantile(steady, 95);
  return std::clamp<int64_t>(most + most / 8, 1, longest);
}

/// Calls draw(step, x0, x1) for each bar. Bars thinner than a pixel share it: the longest is drawn.
template <class Steps, class Draw>
void each_bar(Steps const& steps, Bars const& bars, Draw const& draw) {
  float const gap = bars.width >= 5 ? 1 * ui_scale() : 0;
  auto const columns = static_cast<size_t>(
      std::max(bars.width >= 1 ? static_cast<float>(bars.count) : bars.size.x, 1.0F));

  for (size_t column = 0; column < columns; ++column) {
    size_t const first = column * bars.count / columns;
    size_t const last = std::max((column + 1) * bars.count / columns, first + 1);
    auto const longest =
        std::max_element(steps.begin() + static_cast<std::ptrdiff_t>(first),
                         steps.begin() + static_cast<std::ptrdiff_t>(last),
                         [](auto const& a, auto const& b) { return length_of(a) < length_of(b); });

    float const x0 = bars.origin.x + std::round(static_cast<float>(first) * bars.width);
    float const x1 =
        std::max(bars.origin.x + std::round(static_cast<float>(last) * bars.width) - gap, x0 + 1);
    draw(*longest, x0, x1);
  }
}

/// Two gaps through a bar that would be higher.
void draw_cut(ImDrawList& list, Bars const& bars, float x0, float x1, Theme theme) {
  float const scale = ui_scale();
  float const top = bars.bottom() - bars.height();
  for (float const y : {4.0F, 8.0F})
    list.AddRectFilled(ImVec2(x0, std::round(top + y * scale)),
                       ImVec2(x1, std::round(top + (y + 1.5F) * scale)), surface(theme).background);
}

void draw_bar(ImDrawList& list, ViewState const& state, analyzer::StepPeriod const& step, float x0,
              float x1, Bars const& bars) {
  float const total = static_cast<float>(step.when.length());
  if (total <= 0) return;

  float const bar = bars.height_of(step.when.length());
  float y = bars.bottom();
  for (SplitPart const& part : split_parts(step)) {
    if (part.time <= 0) continue;
    float const top = y - bar * static_cast<float>(part.time) / total;
    draw_part(list, ImVec2(x0, std::round(top)), ImVec2(x1, std::round(y)), part.paint, state.theme,
              is_warmup(step) ? 0.45F : 1.0F);
    y = top;
  }
  if (step.when.length() > bars.highest) draw_cut(list, bars, x0, x1, state.theme);
}

void step_tooltip(Scene const& scene, analyzer::StepPeriod const& step, Theme theme) {
  begin_tooltip();
  heading(fmt::format("Step {}{}", step.step->step,
                      is_warmup(step) ? " (warm-up: left out of statistics)" : ""));
  text(base::format_duration(step.when.length()) + ", " + describe(scene, step.step->ref));

  for (SplitPart const& part : split_parts(step)) {
    if (part.time <= 0) continue;
    part_swatch(part.paint, theme);
    text(fmt::format("{:>9}  {}", base::format_duration(part.time), paint_name(part.paint)));
  }

  text_coloured("Shift + click compares it with the median step", surface(theme).text_dim);
  end_tooltip();
}

int64_t median_of(std::span<analyzer::StepPeriod const> steps) {
  auto const* const median = median_period(steps);
  return median == nullptr ? 0 : median->when.length();
}

/// A dashed line over all bars.
void draw_median(ImDrawList& list, Bars const& bars, int64_t median, Theme theme) {
  if (median <= 0) return;
  float const scale = ui_scale();
  float const y = std::round(bars.bottom() - bars.height_of(median));
  float const end = bars.origin.x + std::round(bars.width * static_cast<float>(bars.count));
  for (float x = bars.origin.x; x < end; x += 8 * scale)
    list.AddRectFilled(ImVec2(x, y), ImVec2(std::min(x + 4 * scale, end), y + 1),
                       with_alpha(surface(theme).text, 0.55F));
}

/// Whether a bar is marked: of one step those of the chosen device, of many those that the timeline
/// shows, unless it shows all.
bool is_marked(Scene const& scene, ViewState const& state, analyzer::StepPeriod const& step,
               bool is_one_step) {
  if (is_one_step) return step.step->ref == scene.analysis.devices[state.device].ref;
  auto const begin = static_cast<double>(scene.to_view(step.when.begin));
  auto const end = static_cast<double>(scene.to_view(step.when.end));
  return end > state.window.begin && begin < state.window.end &&
         state.window.span() < static_cast<double>(scene.length);
}

/// The rank of a bar, at its foot.
void draw_rank(ImDrawList& list, Scene const& scene, analyzer::StepPeriod const& step, float x0,
               float x1, Bars const& bars) {
  if (step.step->ref.rank_index < 0) return;
  auto const& trace = scene.trace(static_cast<uint32_t>(step.step->ref.rank_index));
  std::string const rank = std::to_string(trace.info().rank);
  float const width = ImGui::CalcTextSize(rank.c_str()).x;
  if (width + 6 * ui_scale() > x1 - x0) return;

  ImVec2 const at(std::round((x0 + x1 - width) / 2),
                  bars.bottom() - ImGui::GetFontSize() - 2 * ui_scale());
  list.AddRectFilled(ImVec2(at.x - 3 * ui_scale(), at.y - 1 * ui_scale()),
                     ImVec2(at.x + width + 3 * ui_scale(), at.y + ImGui::GetFontSize()),
                     IM_COL32(0, 0, 0, 150), 2 * ui_scale());
  draw_text(list, at, IM_COL32(255, 255, 255, 255), rank);
}

void draw_bars(ImDrawList& list, ViewState const& state, Scene const& scene,
               std::span<analyzer::StepPeriod const> steps, Bars const& bars, bool is_one_step) {
  each_bar(steps, bars, [&](analyzer::StepPeriod const& step, float x0, float x1) {
    draw_bar(list, state, step, x0, x1, bars);
    if (is_one_step) draw_rank(list, scene, step, x0, x1, bars);
    if (is_marked(scene, state, step, is_one_step))
      list.AddRectFilled(ImVec2(x0, bars.bottom()), ImVec2(x1, bars.bottom() + 2 * ui_scale()),
                         surface(state.theme).accent);
  });
  draw_median(list, bars, median_of(steps), state.theme);
}

/// Three lines at the left: `title`, the median and the longest, and `where`.
void caption(ViewState const& state, ImVec2 corner, std::string const& title, int64_t median,
             int64_t longest, std::string const& where) {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  Surface const& s = surface(state.theme);
  float const scale = ui_scale();
  ImVec2 const at(corner.x + 8 * scale, corner.y + 6 * scale);
  float const line = ImGui::GetFontSize() + 4 * scale;
  float const room = (gutter() - 16) * scale;

  push_bold();
  draw_text(list, at, s.text, fit(title, room));
  pop_bold();
  draw_text(list, ImVec2(at.x, at.y + line), s.text_dim,
            fit(fmt::format("median {}, longest {}", base::format_duration(median),
                            base::format_duration(longest)),
                room));
  draw_text(list, ImVec2(at.x, at.y + 2 * line), s.text_dim, fit(where, room));
}

/// What the bars are of: the chosen device, or all devices of the run, which has one step.
std::string bars_of(Scene const& scene, ViewState const& state, bool is_one_step) {
  if (is_one_step) return fmt::format("of {} devices, by rank", scene.analysis.devices.size());
  return scene.analysis.step_source == analyzer::StepSource::kDetected
             ? "detected, not annotated"
             : describe(scene, scene.analysis.devices[state.device].ref);
}

/// A step of a process without a device: what waits for data below, the rest above.
void draw_host_bar(ImDrawList& list, Theme theme, analyzer::HostStepStats const& step, ImVec2 low,
                   ImVec2 high) {
  auto const length = static_cast<float>(std::max<int64_t>(step.period.length(), 1));
  float const middle = high.y - (high.y - low.y) * static_cast<float>(step.input_ns) / length;
  float const alpha = step.warmup ? 0.45F : 1.0F;
  draw_part(list, low, ImVec2(high.x, std::round(middle)), Paint::kCompute, theme, alpha);
  draw_part(list, ImVec2(low.x, std::round(middle)), high, Paint::kInput, theme, alpha);
}

void host_step_tooltip(analyzer::HostStepStats const& step, Theme theme) {
  begin_tooltip();
  heading(
      fmt::format("Step {}{}", step.step, step.warmup ? " (warm-up: left out of statistics)" : ""));
  text(base::format_duration(step.period.length()));
  part_swatch(Paint::kInput, theme);
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

/// The strip where no device has steps.
void host_step_strip(Scene const& scene, ViewState& state, analyzer::HostStats const& host,
                     ImVec2 corner, ImVec2 size, bool hovered) {
  auto const& steps = host.steps;
  caption(state, corner, fmt::format("Steps ({})", steps.size()), host.median_ns.value_or(0),
          longest_of(steps), "");

  ImDrawList& list = *ImGui::GetWindowDrawList();
  Bars const bars = bars_in(corner, size, steps.size(), highest_of(steps));
  each_bar(steps, bars, [&](analyzer::HostStepStats const& step, float x0, float x1) {
    draw_host_bar(list, state.theme, step,
                  ImVec2(x0, bars.bottom() - bars.height_of(step.period.length())),
                  ImVec2(x1, bars.bottom()));
    if (step.period.length() > bars.highest) draw_cut(list, bars, x0, x1, state.theme);
  });

  float const x = ImGui::GetIO().MousePos.x;
  if (!hovered || !bars.has(x)) return;
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
  StepBars const shown = step_bars(scene, state.device);
  auto const steps = shown.steps;
  ImVec2 const corner = ImGui::GetCursorScreenPos();
  ImVec2 const size(std::max(ImGui::GetContentRegionAvail().x, 1.0F), height);
  ImGui::InvisibleButton("steps", size);
  bool const hovered = ImGui::IsItemHovered();
  ImDrawList& list = *ImGui::GetWindowDrawList();

  if (analyzer::HostStats const* host = host_with_steps(scene); steps.empty() && host != nullptr)
    return host_step_strip(scene, state, *host, corner, size, hovered);
  if (steps.empty()) {
    push_bold();
    draw_text(list, ImVec2(corner.x + 8 * scale, corner.y + 6 * scale), surface(state.theme).text,
              "Steps");
    pop_bold();
    draw_text(list,
              ImVec2(corner.x + gutter() * scale, corner.y + height / 2 - ImGui::GetFontSize() / 2),
              surface(state.theme).text_dim, fit(without_steps(scene), size.x - gutter() * scale));
    return;
  }

  std::string const title = shown.is_one_step ? fmt::format("Step {}", steps.front().step->step)
                                              : fmt::format("Steps ({})", steps.size());
  caption(state, corner, title, median_of(steps), longest_of(steps),
          bars_of(scene, state, shown.is_one_step));
  Bars const bars = bars_in(corner, size, steps.size(), highest_of(steps));
  draw_bars(list, state, scene, steps, bars, shown.is_one_step);

  float const x = ImGui::GetIO().MousePos.x;
  if (!hovered || !bars.has(x)) return;
  analyzer::StepPeriod const& step = steps[bars.at(x)];
  step_tooltip(scene, step, state.theme);
  if (!ImGui::IsItemClicked()) return;

  if (ImGui::GetIO().KeyShift) {
    state.panels.compared = static_cast<uint32_t>(step.step - scene.analysis.steps.data());
    state.panels.tab = Tab::kStatistics;
    return;
  }
  state.device = scene.device_of(step.step->ref).value_or(state.device);
  frame(state, scene, {scene.to_view(step.when.begin), scene.to_view(step.when.end)});
}

}  // namespace stepscope::viewer
