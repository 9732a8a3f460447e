// The matrix of the communication panel: a row a device, a column a collective, the brighter the
// longer it waited.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <imgui.h>

#include "trace/base/format.h"
#include "viewer/async/background.h"
#include "viewer/interaction/navigate.h"
#include "viewer/panels/communication/communication.h"
#include "viewer/queries/charts/wait_matrix.h"
#include "viewer/timeline/describe.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

struct WaitsCache : Background<WaitMatrixKey, WaitMatrix> {};

/// Cells below this cannot be pointed at, in pixels at scale 1.
constexpr float kLeastCell = 3;
constexpr float kLabels = 62;  ///< width of the rows' names
constexpr float kSums = 132;   ///< width of what a row sums to

struct Matrix {
  ImVec2 low, high;
  float cell_width = 1, cell_height = 1;
};

/// No wait has the colour of an empty row; the square root keeps short waits visible next to long
/// ones.
uint32_t wait_colour(int64_t wait_ns, int64_t longest_ns, Theme theme) {
  float const share = longest_ns > 0
                          ? std::sqrt(static_cast<float>(wait_ns) / static_cast<float>(longest_ns))
                          : 0.0F;
  ImVec4 const from = to_vec4(surface(theme).header);
  ImVec4 const to = to_vec4(paint_colour(Paint::kPeer, theme));
  auto const mix = [&](float a, float b) { return a + (b - a) * std::clamp(share, 0.0F, 1.0F); };
  return ImGui::ColorConvertFloat4ToU32(
      ImVec4(mix(from.x, to.x), mix(from.y, to.y), mix(from.z, to.z), 1));
}

std::string row_name(Scene const& scene, WaitMatrix::Row const& row) {
  auto const& devices = scene.analysis.devices;
  std::string const first = describe(scene, devices[row.first_device].ref);
  // Ranks of one device each need no more than their rank.
  bool const alone = std::none_of(devices.begin(), devices.end(), [&](auto const& d) {
    return d.ref.rank_index == devices[row.first_device].ref.rank_index &&
           !(d.ref == devices[row.first_device].ref);
  });
  return alone ? first.substr(0, first.find(" · ")) : first;
}

void draw_matrix(ImDrawList& list, Scene const& scene, ViewState const& state,
                 WaitMatrix const& grid, Matrix const& matrix) {
  Surface const& s = surface(state.theme);
  float const scale = ui_scale();
  float const gap = matrix.cell_width >= 4 * scale ? 1.0F : 0.0F;
  float label_free = matrix.low.y - 100;

  for (size_t r = 0; r < grid.rows.size(); ++r) {
    float const y0 = std::round(matrix.low.y + static_cast<float>(r) * matrix.cell_height);
    float const y1 = std::round(matrix.low.y + static_cast<float>(r + 1) * matrix.cell_height) -
                     (matrix.cell_height >= 4 ? 1.0F : 0.0F);
    float const text_y = std::round((y0 + y1 - ImGui::GetFontSize()) / 2);

    if (text_y >= label_free) {
      draw_text(list, ImVec2(matrix.low.x - (kLabels - 2) * scale, text_y), s.text_dim,
                fit(row_name(scene, grid.rows[r]), (kLabels - 8) * scale));
      label_free = text_y + ImGui::GetFontSize();
    }
    if (matrix.cell_height >= ImGui::GetFontSize())
      draw_text(list, ImVec2(matrix.high.x + 8 * scale, text_y), s.text_dim,
                fit(fmt::format("{}, last {}×", base::format_duration(grid.rows[r].wait_ns),
                                base::format_count(grid.rows[r].last)),
                    kSums * scale - 8 * scale));

    for (uint32_t c = 0; c < grid.columns; ++c) {
      WaitMatrix::Cell const& cell = grid.at(r, c);
      if (cell.collective == WaitMatrix::kNone) continue;

      float const x0 = std::floor(matrix.low.x + static_cast<float>(c) * matrix.cell_width);
      float const x1 = std::max(
          std::floor(matrix.low.x + static_cast<float>(c + 1) * matrix.cell_width) - gap, x0 + 1);
      list.AddRectFilled(ImVec2(x0, y0), ImVec2(x1, std::max(y1, y0 + 1)),
                         wait_colour(cell.wait_ns, grid.longest_ns, state.theme));
      if (cell.last > 0)
        list.AddRectFilled(
            ImVec2(x0, std::max(y1 - 4 * scale, y0)), ImVec2(x1, y1),
            with_alpha(s.warning, static_cast<float>(cell.last) / static_cast<float>(cell.count)));
    }
  }
}

/// No wait … the longest, and what the mark means.
void draw_scale(ImDrawList& list, WaitMatrix const& grid, ImVec2 at, float room, Theme theme) {
  Surface const& s = surface(theme);
  float const scale = ui_scale();
  float const size = ImGui::GetFontSize();
  float x = at.x;
  auto const words = [&](std::string const& text) {
    if (x + ImGui::CalcTextSize(text.c_str()).x > at.x + room) return;
    draw_text(list, ImVec2(x, at.y), s.text_dim, text);
    x += ImGui::CalcTextSize(text.c_str()).x + 6 * scale;
  };

  words("waited 0");
  constexpr int kShades = 24;
  for (int i = 0; i < kShades; ++i, x += 3 * scale)
    list.AddRectFilled(ImVec2(x, at.y + size * 0.15F), ImVec2(x + 3 * scale, at.y + size * 0.95F),
                       wait_colour(grid.longest_ns * i / (kShades - 1), grid.longest_ns, theme));

  x += 6 * scale;
  words(base::format_duration(grid.longest_ns));
  x += 10 * scale;

  list.AddRectFilled(ImVec2(x, at.y + size * 0.7F), ImVec2(x + size * 0.8F, at.y + size * 0.95F),
                     s.warning);
  x += size;
  words("came last");
}

void matrix_tooltip(Scene const& scene, WaitMatrix const& grid, WaitMatrix::Cell const& cell,
                    WaitMatrix::Row const& row) {
  auto const& facts = scene.analysis.collectives[cell.collective];
  auto const& participant = facts.participants[cell.participant];

  begin_tooltip();
  heading(
      fmt::format("{}, {}", words_of(model::to_string(facts.op)), base::format_bytes(facts.bytes)));
  text(describe(scene, participant.ref) +
       (cell.wait_ns > 0 ? " waited " + base::format_duration(cell.wait_ns) : " did not wait"));
  if (facts.last_participant >= 0 &&
      static_cast<size_t>(facts.last_participant) < facts.participants.size())
    text("came last: " +
         describe(scene, facts.participants[static_cast<size_t>(facts.last_participant)].ref));
  text(fmt::format("arrival skew {}, transfer {}", base::format_duration(facts.skew_ns),
                   base::format_duration(facts.transfer_ns)));

  if (grid.collectives > grid.columns)
    text(fmt::format("the longest wait of {}, came last to {} of them",
                     base::format_count(cell.count, "collective"), base::format_count(cell.last)));
  if (row.last_device - row.first_device > 1)
    text(fmt::format("and of {} devices", row.last_device - row.first_device));
  text(fmt::format("in this time: waited {} in all, came last {} times",
                   base::format_duration(row.wait_ns), base::format_count(row.last)));
  end_tooltip();
}

}  // namespace

void show_collective(Scene const& scene, ViewState& state, uint32_t collective,
                     uint32_t participant, float rows_height) {
  auto const& facts = scene.analysis.collectives[collective];
  if (participant >= facts.participants.size() ||
      facts.participants[participant].ref.rank_index < 0)
    return;

  auto const& of = facts.participants[participant];
  select(state, scene, scene.selection_of(of));
  model::Interval when = of.when;
  for (auto const& other : facts.participants)
    when = {std::min(when.begin, other.when.begin), std::max(when.end, other.when.end)};
  frame(state, scene, {scene.to_view(when.begin), scene.to_view(when.end)});
  if (auto const node = scene.node_of(*state.selection)) reveal(state, scene, *node, rows_height);
}

namespace {

/// Room for the cells, in pixels.
struct MatrixRoom {
  float width, height;
};

/// The last matrix that is known for what is visible; null before the first.
WaitMatrix const* matrix_of(Scene const& scene, ViewState const& state, PanelCache& panels,
                            MatrixRoom room) {
  float const least = kLeastCell * ui_scale();
  WaitMatrixKey const key{state.range.value_or(state.window),
                          static_cast<uint32_t>(std::max(room.height / least, 1.0F)),
                          static_cast<uint32_t>(std::max(room.width / least, 1.0F))};

  auto& cache = panels.of<WaitsCache>();
  WaitMatrix const* const grid =
      cache.ask(key, [&scene](WaitMatrixKey const& of, std::stop_token const& stop) {
        return wait_matrix(scene, of, stop);
      });
  return grid != nullptr ? grid : cache.latest();
}

/// Few collectives are not stretched over the whole width, nor few devices over the whole height.
Matrix place_matrix(WaitMatrix const& grid, ImVec2 corner, MatrixRoom room) {
  float const scale = ui_scale();
  Matrix matrix;
  matrix.low = ImVec2(corner.x + kLabels * scale, corner.y);
  matrix.cell_width = std::min(room.width / static_cast<float>(grid.columns), 26 * scale);
  matrix.cell_height = std::min(room.height / static_cast<float>(grid.rows.size()), 30 * scale);
  matrix.high = ImVec2(matrix.low.x + matrix.cell_width * static_cast<float>(grid.columns),
                       matrix.low.y + matrix.cell_height * static_cast<float>(grid.rows.size()));
  return matrix;
}

/// Outlines and explains the cell under the mouse; a click shows its collective.
void pointed_cell(Scene const& scene, ViewState& state, WaitMatrix const& grid,
                  Matrix const& matrix, float rows_height) {
  ImVec2 const mouse = ImGui::GetIO().MousePos;
  if (!ImGui::IsItemHovered() || mouse.x < matrix.low.x) return;

  auto const column = std::min(static_cast<uint32_t>((mouse.x - matrix.low.x) / matrix.cell_width),
                               grid.columns - 1);
  auto const row = std::min(static_cast<size_t>((mouse.y - matrix.low.y) / matrix.cell_height),
                            grid.rows.size() - 1);
  WaitMatrix::Cell const& cell = grid.at(row, column);
  if (cell.collective == WaitMatrix::kNone) return;

  ImVec2 const at(matrix.low.x + static_cast<float>(column) * matrix.cell_width,
                  matrix.low.y + static_cast<float>(row) * matrix.cell_height);
  ImGui::GetWindowDrawList()->AddRect(
      at, ImVec2(at.x + matrix.cell_width, at.y + matrix.cell_height), surface(state.theme).text);
  matrix_tooltip(scene, grid, cell, grid.rows[row]);
  if (ImGui::IsItemClicked())
    show_collective(scene, state, cell.collective, cell.participant, rows_height);
}

}  // namespace

void wait_matrix(Scene const& scene, ViewState& state, PanelCache& panels, float rows_height) {
  float const scale = ui_scale();
  ImVec2 const all = ImGui::GetContentRegionAvail();
  float const captions = 2 * ImGui::GetTextLineHeightWithSpacing() + 4 * scale;
  MatrixRoom const room{std::max(all.x - (kLabels + kSums) * scale, 1.0F),
                        std::max(all.y - captions, kLeastCell * scale)};
  WaitMatrix const* const grid = matrix_of(scene, state, panels, room);

  heading("Waiting for each other");
  ImGui::SameLine();
  text_coloured(
      fmt::format("{} in {}",
                  base::format_count(grid == nullptr ? 0 : grid->collectives, "collective"),
                  state.range ? "the marked range" : "what is visible"),
      surface(state.theme).text_dim);
  if (grid == nullptr || grid->rows.empty()) {
    empty_state("No collective of several devices begins in this time.", state.theme);
    return;
  }

  ImVec2 const corner = ImGui::GetCursorScreenPos();
  Matrix const matrix = place_matrix(*grid, corner, room);
  ImGui::InvisibleButton("matrix", ImVec2(std::max(matrix.high.x - corner.x, 1.0F),
                                          std::max(matrix.high.y - corner.y, 1.0F)));
  ImDrawList& list = *ImGui::GetWindowDrawList();
  draw_matrix(list, scene, state, *grid, matrix);
  draw_scale(list, *grid, ImVec2(matrix.low.x, matrix.high.y + 5 * scale), room.width, state.theme);
  pointed_cell(scene, state, *grid, matrix, rows_height);
}

}  // namespace stepscope::viewer
