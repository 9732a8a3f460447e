#include "viewer/widgets/stat_table.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

std::vector<uint32_t> order_of(FactTable const& table) {
  ImGuiTableSortSpecs const* const specs = ImGui::TableGetSortSpecs();
  if (specs != nullptr && specs->SpecsCount > 0 && specs->Specs[0].ColumnIndex > 0)
    return rows_by(table.rows, static_cast<size_t>(specs->Specs[0].ColumnIndex), table.value,
                   specs->Specs[0].SortDirection == ImGuiSortDirection_Ascending);

  std::vector<uint32_t> order(table.rows);
  std::iota(order.begin(), order.end(), 0U);
  bool const is_reversed = specs != nullptr && specs->SpecsCount > 0 &&
                           specs->Specs[0].SortDirection == ImGuiSortDirection_Descending;
  if (is_reversed) std::reverse(order.begin(), order.end());
  return order;
}

float width_of(FactColumn const& column) {
  constexpr float kLeastStretched = 60;  // of a picture, at scale 1
  return std::max((column.width > 0 ? column.width : kLeastStretched) * ui_scale(),
                  ImGui::CalcTextSize(column.title).x);
}

struct ShownColumns {
  std::vector<bool> is_shown;
  float names = 0;  ///< width of the first
};

/// Names can be read, then as many columns as find room, the most important first; what is known
/// nowhere has none.
ShownColumns shown_columns(FactTable const& table, float room) {
  constexpr size_t kMostNames = 64;    // as many as any screen has
  constexpr float kLongestName = 220;  // longer ones are cut
  constexpr float kLeastName = 100;    // so much of them says which is meant

  float const padding = 2 * ImGui::GetStyle().CellPadding.x;
  float names = ImGui::CalcTextSize(table.columns[0].title).x;
  for (size_t row = 0; row < std::min(table.rows, kMostNames); ++row)
    names = std::max(names, ImGui::CalcTextSize(table.name(row).c_str()).x);
  names =
      std::min(names, kLongestName * ui_scale()) + (table.swatch ? ImGui::GetFontSize() * 1.2F : 0);
  float const least_names = kLeastName * ui_scale();
  room -= names + padding;

  std::vector<size_t> order(table.columns.size() - 1);
  std::iota(order.begin(), order.end(), size_t{1});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return table.columns[a].rank < table.columns[b].rank;
  });

  std::vector<bool> shown(table.columns.size(), false);
  shown[0] = true;

  for (size_t const c : order) {
    float const width = width_of(table.columns[c]) + padding;
    // A picture is worth more than the ends of long names.
    float const cut = std::clamp(
        width - room, 0.0F, table.columns[c].width > 0 ? 0 : std::max(names - least_names, 0.0F));
    // The first of them is there however narrow the window is.

    bool const has_room = width - cut <= room || c == order.front();
    if (!has_room || !is_any_known(table.rows, c, table.value)) continue;
    shown[c] = true;
    names -= cut;
    room -= width - cut;
  }
  return {shown, names};
}

void set_up_columns(FactTable const& table, ShownColumns const& shown) {
  // Where a picture takes what is left, names take what they need.
  bool is_name_fixed = false;
  for (size_t c = 1; c < table.columns.size(); ++c)
    is_name_fixed = is_name_fixed || (shown.is_shown[c] && table.columns[c].width <= 0);

  for (size_t c = 0; c < table.columns.size(); ++c) {
    FactColumn const& column = table.columns[c];
    bool const is_fixed = c == 0 ? is_name_fixed : column.width > 0;
    ImGuiTableColumnFlags flags =
        is_fixed ? ImGuiTableColumnFlags_WidthFixed : ImGuiTableColumnFlags_WidthStretch;
    if (!shown.is_shown[c]) flags |= ImGuiTableColumnFlags_Disabled;
    if (c > 0) flags |= ImGuiTableColumnFlags_PreferSortDescending;

    float width = 0;
    if (is_fixed) width = c == 0 ? shown.names : width_of(column);
    ImGui::TableSetupColumn(column.title, flags, width);
  }
}

/// The first cell, which is the whole row for the mouse. True when it was clicked.
bool name_cell(FactTable const& table, size_t row, Theme theme) {
  bool clicked = false;
  if (table.swatch)
    if (auto const colour = table.swatch(row)) swatch(*colour);

  std::string const name = table.name(row);
  ImVec2 const at = ImGui::GetCursorScreenPos();
  std::string const shown = fit(name, ImGui::GetContentRegionAvail().x);
  std::string const more = table.more ? table.more(row) : std::string();

  if (table.can_click) {
    ImGui::PushID(static_cast<int>(row));
    clicked = ImGui::Selectable("##row", table.chosen == row, ImGuiSelectableFlags_SpanAllColumns);
    if (!more.empty() || shown != name) hint(more.empty() ? name : name + "\n" + more);
    ImGui::PopID();
    draw_text(*ImGui::GetWindowDrawList(), at, surface(theme).text, shown);
  } else {
    text(shown);
    if (!more.empty() || shown != name) hint(more.empty() ? name : name + "\n" + more);
  }
  return clicked;
}

void number_cells(FactTable const& table, size_t row, Theme theme) {
  for (size_t c = 1; c < table.columns.size(); ++c) {
    if (!ImGui::TableSetColumnIndex(static_cast<int>(c))) continue;

    if (table.paint) {
      ImVec2 const low = ImGui::GetCursorScreenPos();
      ImVec2 const high(low.x + std::max(ImGui::GetContentRegionAvail().x, 1.0F),
                        low.y + ImGui::GetFontSize());
      if (table.paint(row, c, low, high)) continue;
    }

    bool const is_known = !std::isnan(table.value(row, c));
    text_right(is_known ? table.text(row, c) : "–",
               is_known ? surface(theme).text : surface(theme).text_dim);
  }
}

}  // namespace

std::optional<size_t> fact_table(FactTable const& table, Theme theme) {
  ImGuiTableFlags flags = ImGuiTableFlags_RowBg | ImGuiTableFlags_Sortable |
                          ImGuiTableFlags_SortTristate | ImGuiTableFlags_SizingFixedFit |
                          ImGuiTableFlags_NoSavedSettings;
  if (table.height >= 0) flags |= ImGuiTableFlags_ScrollY;
  float const room =
      ImGui::GetContentRegionAvail().x - (table.height >= 0 ? ImGui::GetStyle().ScrollbarSize : 0);

  std::optional<size_t> clicked;
  if (!ImGui::BeginTable(table.id, static_cast<int>(table.columns.size()), flags,
                         ImVec2(0, std::max(table.height, 0.0F))))
    return clicked;

  if (table.height >= 0) ImGui::TableSetupScrollFreeze(0, 1);
  set_up_columns(table, shown_columns(table, room));
  std::vector<char const*> meanings;
  for (FactColumn const& column : table.columns) meanings.push_back(column.meaning);
  header_row(table.first_number, meanings);

  std::vector<uint32_t> const order = order_of(table);
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(order.size()));
  while (clipper.Step())
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      size_t const row = order[static_cast<size_t>(i)];
      ImGui::TableNextRow();
      ImGui::TableNextColumn();
      if (name_cell(table, row, theme)) clicked = row;
      number_cells(table, row, theme);
    }

  ImGui::EndTable();
  return clicked;
}

}  // namespace stepscope::viewer
