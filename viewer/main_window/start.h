// What the window shows while there is no run on it: the progress of opening one, an error, or the
// runs that were opened last.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "viewer/loading/open_task.h"
#include "viewer/scene/view_state.h"

namespace stepscope::viewer {

struct StartPage {
  std::vector<std::string> recent;  ///< paths
  std::string error;                ///< of the last run that could not be opened; hostile text
  bool closes = false;              ///< there is a run behind it to go back to
  bool asks = false;                ///< which run is wanted, though one is shown
  bool compares = false;            ///< what is chosen is compared with the run that is shown
  std::string typed;                ///< a path, in the box
};
/// What a person chose on it.
struct StartChoice {
  std::string open;     ///< this run; empty = none
  bool cancel = false;  ///< what is being opened
  bool close = false;   ///< the page
};

/// `opening`: null when nothing is.
StartChoice start_page(StartPage& page, OpenTask const* opening, Theme theme);

}  // namespace stepscope::viewer
