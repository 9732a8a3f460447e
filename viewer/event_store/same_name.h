// The next event of the selected one's name: the question and its answer.
#pragma once

#include <optional>
#include <string>

#include "viewer/scene/view_state.h"

namespace stepscope::viewer {

/// Which event of the selected one's name is wanted: the next (+1) or the previous (−1) on its
/// track.
struct SameNameKey {
  Selection from;
  int direction = 1;
  std::optional<std::string>
      name;  ///< of the selected event; none: it is looked up, of two events in one place any
  friend bool operator==(SameNameKey const&, SameNameKey const&) = default;
};

struct SameNameFound {
  std::optional<Selection> event;  ///< none: there is none in that direction
};

}  // namespace stepscope::viewer
