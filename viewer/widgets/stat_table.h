// A table of facts, a row each: sorted by a click on a heading, with what each column means, and
// with a row that can be clicked. What is in the cells is made for the rows alone that are seen.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include <imgui.h>

#include "viewer/widgets/palette.h"
#include "viewer/widgets/table_sort.h"

namespace stepscope::viewer {

struct FactColumn {
  char const* title = "";
  char const* meaning = "";  ///< when the mouse is over the heading; empty: nothing
  float width = 0;           ///< at scale 1; 0: takes what the others leave
  int rank = 0;              ///< where not all find room, columns of lower numbers do
};

struct FactTable {
  char const* id = "";
  std::span<FactColumn const> columns;  ///< the first has the names
  size_t rows = 0;
  std::function<std::string(size_t row)> name;  ///< printable
  CellValue value;                              ///< of the first column: the order as it is
  std::function<std::string(size_t row, size_t column)> text;  ///< of cells that have a value
  /// Draws a cell instead of its text and returns true. The area is as high as a line.
  std::function<bool(size_t row, size_t column, ImVec2 low, ImVec2 high)> paint;
  std::function<std::optional<uint32_t>(size_t row)> swatch;  ///< a colour before the name
  std::function<std::string(size_t row)> more;  ///< in the row's tooltip, below the name
  std::optional<size_t> chosen;
  bool can_click = true;
  float height =
      0;  ///< 0: what is left of the window, with a scroll bar of its own; < 0: as high as its rows
  int first_number = 1;  ///< column from which headings are at the right
};

/// Returns the row that was clicked.
std::optional<size_t> fact_table(FactTable const& table, Theme theme);

}  // namespace stepscope::viewer
