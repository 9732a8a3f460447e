#include <array>

#include "agent/tools/tools.h"

namespace stepscope::agent {

std::span<Tool const> tools() {
  static std::array const all = {open_tool(),  summary_tool(), findings_tool(), query_tool(),
                                 table_tool(), compare_tool(), whatif_tool(),   view_link_tool()};
  return all;
}

}  // namespace stepscope::agent
