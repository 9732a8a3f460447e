#include <algorithm>
#include <cmath>

#include "viewer/timeline/layout.h"

namespace stepscope::viewer {

std::optional<Hit> hit_test(Layout const& layout, float x, float y) {
  for (uint32_t r = 0; r < layout.rows.size(); ++r) {
    Row const& row = layout.rows[r];
    if (y < row.y0 || y >= row.y1 || row.pinned != (y < layout.pinned_height)) continue;

    Hit hit{r, {}};
    for (uint32_t i = row.first_item; i < row.last_item; ++i) {
      Item const& item = layout.items[i];
      // The whole height of the lane counts, and a pixel more at the right of what is drawn one
      // pixel wide.
      bool const in_y = item.kind == ItemKind::kSegment || (y >= item.y0 - 1 && y < item.y1 + 1);
      if (in_y && x >= std::floor(item.x0) && x < std::max(item.x1, std::floor(item.x0) + 1))
        hit.item = i;
    }
    return hit;
  }
  return std::nullopt;
}

GhostItem const* ghost_at(Layout const& layout, float x, float y) {
  GhostItem const* found = nullptr;
  for (GhostItem const& item : layout.ghosts) {
    if (layout.rows[item.row].pinned != (y < layout.pinned_height)) continue;
    bool const is_in_lane = y >= item.y0 - 1 && y < item.y1 + 1;
    if (is_in_lane && x >= std::floor(item.x0) && x < std::max(item.x1, std::floor(item.x0) + 1))
      found = &item;
  }
  return found;
}

}  // namespace stepscope::viewer
