// The next event of the same name in a run that is not in memory: looked for from the selected one
// outward, block by block, until the first is found.
#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "viewer/scene/scene.h"

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
/// What was found.
struct SameNameFound {
  std::optional<Selection> event;  ///< none: there is none in that direction
};

/// In the order of the rows: by start, longer ones first; of events of one start and one duration
/// one counts. About 10 ns an event between both, on every core; told to stop, it returns nothing.
/// A damaged block has no events.
SameNameFound find_same_name_in_files(Scene const& scene, SameNameKey const& key,
                                      std::stop_token const& stop);

}  // namespace stepscope::viewer
