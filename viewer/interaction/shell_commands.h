// What to type into a shell to have again what is on the screen: for a script, a colleague, a note.
#pragma once

#include <string>

#include "viewer/scene/scene.h"

namespace stepscope::viewer {

/// `stepscope query RUN "select * from kernels where rank = 3 and id = 1234"`: what is recorded of
/// an event, or what the analysis says of a gap, as one row. Printable, for one line. Empty: the
/// run was not opened from files.
std::string query_command(Scene const& scene, Selection const& selection);
/// `stepscope view RUN --time 1.2s:1.4s`: the window over this time.
std::string view_command(Scene const& scene, TimeWindow const& window);

}  // namespace stepscope::viewer
