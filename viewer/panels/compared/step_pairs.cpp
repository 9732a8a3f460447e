#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <imgui.h>

#include "reports/words/runs/comparison_words.h"
#include "trace/base/format.h"
#include "viewer/panels/compared/compared_runs.h"
#include "viewer/timeline/describe.h"
#include "viewer/timeline/draw.h"
#include "viewer/widgets/hatch.h"
#include "viewer/widgets/split_bar.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

/// A pair with its gap is at least so wide, in pixels: a bar a side and one between pairs. Where
/// there is no room for all pairs the one with the longest step stands for several.
constexpr float kThinnestPair = 3;
/// Few pairs are not stretched over the whole width, at scale 1.
constexpr float kWidestPair = 60;
/// The base's bars are paler.
constexpr float kBaseAlpha = 0.50F;

struct PairSteps {
  analyzer::StepStats const* base;
  analyzer::StepStats const* candidate;
  [[nodiscard]] int64_t longest() const {
    return std::max(base->time.window_ns, candidate->time.window_ns);
  }
};

PairSteps steps_at_pair(RunPair& pair, size_t i) {
  StepAlignment::Pair const& of = pair.alignment().pairs[i];
  return {&pair.view(RunSide::kBase).scene.analysis.steps[of.base_step],
          &pair.candidate().analysis.steps[of.candidate_step]};
}

/// The split of one step, from the bottom up.
void pair_bar(ImDrawList& list, analyzer::StepStats const& step, ImVec2 foot, float width,
              float height, float alpha, Theme theme) {
  auto const total = static_cast<float>(step.time.window_ns);
  if (total <= 0) return;

  float y = foot.y;
  for (SplitPart const& part : split_parts(step.time)) {
    if (part.time <= 0) continue;
    float const top = y - height * static_cast<float>(part.time) / total;
    draw_part(list, ImVec2(foot.x, std::round(top)), ImVec2(foot.x + width, std::round(y)),
              part.paint, theme, step.warmup ? alpha * 0.5F : alpha);
    y = top;
  }
}

std::string number_words(StepAlignment::Pair const& pair) {
  return pair.base_number == pair.candidate_number
             ? fmt::format("Step {}", pair.base_number)
             : fmt::format("Steps {} and {}", pair.base_number, pair.candidate_number);
}

void pair_tooltip(RunPair& pair, size_t index, Theme theme) {
  PairSteps const steps = steps_at_pair(pair, index);
  begin_tooltip();
  bool const warmup = steps.base->warmup || steps.candidate->warmup;
  heading(number_words(pair.alignment().pairs[index]) +
          (warmup ? " (warm-up: left out of statistics)" : ""));

  if (ImGui::BeginTable("pair", 4, ImGuiTableFlags_SizingFixedFit)) {
    for (char const* title : {"", "base", "new", "change"}) {
      ImGui::TableNextColumn();
      text_right(title, surface(theme).text_dim);
    }
    auto const row = [&](std::string_view name, int64_t base, int64_t candidate) {
      ImGui::TableNextColumn();
      text(name);
      for (std::string const& value :
           {base::format_duration(base), base::format_duration(candidate),
            reports::signed_duration(static_cast<double>(candidate) - static_cast<double>(base))}) {
        ImGui::TableNextColumn();
        text_right(value, surface(theme).text);
      }
    };

    auto const before = split_parts(steps.base->time);
    auto const after = split_parts(steps.candidate->time);
    row("step", steps.base->time.window_ns, steps.candidate->time.window_ns);
    for (size_t i = 0; i < before.size(); ++i)
      if (before[i].time != 0 || after[i].time != 0)
        row(paint_name(before[i].paint), before[i].time, after[i].time);
    ImGui::EndTable();
  }

  text_coloured(fmt::format("{} and {}", describe(pair.view(RunSide::kBase).scene, steps.base->ref),
                            describe(pair.candidate(), steps.candidate->ref)),
                surface(theme).text_dim);
  end_tooltip();
}

void pairs_caption(RunPair& pair, ImVec2 at, Theme theme) {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  Surface const& s = surface(theme);
  float const line = ImGui::GetFontSize() + 4 * ui_scale();
  float const room = (gutter() - 16) * ui_scale();
  StepAlignment const& alignment = pair.alignment();
  push_bold();
  draw_text(list, at, s.text, fit(fmt::format("Steps of both ({})", alignment.pairs.size()), room));
  pop_bold();

  RunDifference const* const known = pair.difference();
  std::string means = known == nullptr ? pair.waits_for() : "not compared";
  if (known != nullptr && known->comparison && !known->comparison->refusal)
    means = fmt::format("mean {} → {}", base::format_duration(known->comparison->base.mean_ns),
                        base::format_duration(known->comparison->candidate.mean_ns));
  draw_text(list, ImVec2(at.x, at.y + line), s.text_dim, fit(means, room));

  std::string alone = "left bar base, right bar new";
  if (alignment.base_alone + alignment.candidate_alone > 0)
    alone = fmt::format("only base {}, only new {}", base::format_count(alignment.base_alone),
                        base::format_count(alignment.candidate_alone));
  draw_text(list, ImVec2(at.x, at.y + 2 * line), s.text_dim, fit(alone, room));
}

/// Columns of one or several pairs.
struct PairColumns {
  ImVec2 origin, size;
  size_t pairs = 0, columns = 0;
  float width = 1;  ///< of a column
  [[nodiscard]] size_t first(size_t column) const { return column * pairs / columns; }
  [[nodiscard]] size_t last(size_t column) const {
    return std::max(first(column + 1), first(column) + 1);
  }
};

/// In a column the pair with the longest step.
size_t shown_pair(RunPair& pair, PairColumns const& columns, size_t column) {
  size_t best = columns.first(column);
  for (size_t i = best; i < columns.last(column); ++i)
    if (steps_at_pair(pair, i).longest() > steps_at_pair(pair, best).longest()) best = i;
  return best;
}

void draw_pairs(ImDrawList& list, RunPair& pair, PairColumns const& columns, Theme theme) {
  float const scale = ui_scale();
  int64_t longest = 1;
  for (size_t i = 0; i < columns.pairs; ++i)
    longest = std::max(longest, steps_at_pair(pair, i).longest());

  float const height = columns.size.y - 8 * scale;
  float const bottom = columns.origin.y + columns.size.y - 2 * scale;
  float const gap = columns.width >= 6 * scale ? std::round(2 * scale) : 1;
  TimeWindow const window = pair.view(RunSide::kBase).state.window;

  for (size_t column = 0; column < columns.columns; ++column) {
    size_t const shown = shown_pair(pair, columns, column);
    PairSteps const steps = steps_at_pair(pair, shown);
    float const x = columns.origin.x + std::round(static_cast<float>(column) * columns.width);
    float const next =
        columns.origin.x + std::round(static_cast<float>(column + 1) * columns.width);
    float const half = std::max(std::floor((next - x - gap) / 2), 1.0F);

    auto const high = [&](analyzer::StepStats const& step) {
      return std::max(
          static_cast<float>(step.time.window_ns) / static_cast<float>(longest) * height, 1.0F);
    };
    pair_bar(list, *steps.base, ImVec2(x, bottom), half, high(*steps.base), kBaseAlpha, theme);
    pair_bar(list, *steps.candidate, ImVec2(x + half, bottom), half, high(*steps.candidate), 1,
             theme);

    StepAlignment::Pair const& of = pair.alignment().pairs[shown];
    bool const in_view = static_cast<double>(of.base_end) > window.begin &&
                         static_cast<double>(of.base_begin) < window.end;
    bool const is_aligned = pair.aligned() && *pair.aligned() >= columns.first(column) &&
                            *pair.aligned() < columns.last(column);
    if (in_view || is_aligned)
      list.AddRectFilled(ImVec2(x, bottom - (is_aligned ? 2 * scale : 0)),
                         ImVec2(x + 2 * half, bottom + 2 * scale),
                         with_alpha(surface(theme).accent, is_aligned ? 1.0F : 0.6F));
  }
}

}  // namespace

std::string why_no_pairs(RunPair& pair) {
  for (RunSide const side : {RunSide::kBase, RunSide::kNew}) {
    Scene const& scene = pair.view(side).scene;
    char const* const name = side == RunSide::kBase ? "The base" : "The new run";
    if (scene.missing_analysis)
      return fmt::format("{}: {}", name, printable_name(*scene.missing_analysis));

    auto const& hosts = scene.analysis.hosts;
    bool const has_thread_steps = std::any_of(hosts.begin(), hosts.end(),
                                              [](auto const& host) { return !host.steps.empty(); });
    if (scene.analysis.steps.empty() && has_thread_steps)
      return fmt::format(
          "{} has steps of threads alone: Comparison shows what they take; only steps of devices "
          "are aligned.",
          name);
    if (scene.analysis.steps.empty())
      return fmt::format(
          "{} has no steps: mark them with the annotation API or with NVTX ranges named \"step\".",
          name);
  }
  return "The runs have no step in common.";
}

void step_pairs(RunPair& pair, float height) {
  float const scale = ui_scale();
  Theme const theme = pair.front().state.theme;
  ImVec2 const corner = ImGui::GetCursorScreenPos();
  float const width = std::max(ImGui::GetContentRegionAvail().x, 1.0F);
  ImGui::InvisibleButton("steps", ImVec2(width, height));
  bool const hovered = ImGui::IsItemHovered();

  ImDrawList& list = *ImGui::GetWindowDrawList();
  size_t const count = pair.alignment().pairs.size();
  pairs_caption(pair, ImVec2(corner.x + 8 * scale, corner.y + 6 * scale), theme);
  if (count == 0) {
    draw_text(list,
              ImVec2(corner.x + gutter() * scale, corner.y + height / 2 - ImGui::GetFontSize() / 2),
              surface(theme).text_dim, fit(why_no_pairs(pair), width - gutter() * scale));
    return;
  }

  PairColumns columns;
  columns.origin = ImVec2(corner.x + gutter() * scale, corner.y);
  columns.size = ImVec2(std::max(width - (gutter() + 8) * scale, 1.0F), height);
  columns.pairs = count;
  columns.columns =
      std::min(count, static_cast<size_t>(std::max(columns.size.x / kThinnestPair, 1.0F)));
  columns.width =
      std::min(columns.size.x / static_cast<float>(columns.columns), kWidestPair * scale);
  draw_pairs(list, pair, columns, theme);

  float const x = ImGui::GetIO().MousePos.x - columns.origin.x;
  if (!hovered || x < 0 || x >= columns.width * static_cast<float>(columns.columns)) return;
  auto const column = std::min(static_cast<size_t>(x / columns.width), columns.columns - 1);
  size_t const pointed = shown_pair(pair, columns, column);
  pair_tooltip(pair, pointed, theme);
  if (ImGui::IsItemClicked()) pair.show_step(static_cast<uint32_t>(pointed));
}

}  // namespace stepscope::viewer
