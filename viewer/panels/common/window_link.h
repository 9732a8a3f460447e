// What the window and the panels tell each other: the window its status, the panels their requests.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "viewer/loading/live_follow_policy.h"

namespace stepscope::viewer {

/// What the window knows about the run's surroundings in a frame.
struct WindowStatus {
  std::vector<std::string> recent;  ///< paths of runs that were opened last
  std::string kept_in;              ///< file that keeps view and notes; empty: none does
  std::string notice;               ///< about that file; printable; empty: nothing to say
  std::string file_notice;  ///< what happened to the run's files; hostile text; empty: nothing
  Recording recording = Recording::kWhole;
  bool follows = false;  ///< the window reads a growing run as it comes
};

/// What panels and menus ask of the window in a frame. The window applies it after the frame.
struct WindowRequests {
  std::string open;       ///< path of a run to open; empty: none
  bool ask_path = false;  ///< show the page that asks which run to open
  bool close_run = false;
  bool toggle_follow = false;
  bool read_again = false;
  bool file_notice_seen = false;
  bool notice_seen = false;
  bool ask_compared = false;       ///< show the page that asks which run to compare with
  bool close_comparison = false;   ///< keep the base alone
  std::optional<size_t> show_run;  ///< put this run of the series on the timeline
};

/// Both are null where no window is around the run: in a picture, in tests.
struct WindowLink {
  WindowStatus const* status = nullptr;
  WindowRequests* requests = nullptr;
};

}  // namespace stepscope::viewer
