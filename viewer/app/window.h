// A GLFW window with OpenGL 3 and Dear ImGui in it: the only place that knows of either.
#pragma once

#include <string>

#include "trace/base/expected.h"
#include "viewer/panels/compared/run_pair.h"
#include "viewer/scene/scene.h"
#include "viewer/scene/view_state.h"
#include "viewer/session/arguments.h"

namespace stepscope::viewer {

/// Opens the window, and the run in it, until it is closed. Redraws only on input and when
/// something that was waited for is there. Files that are dropped on it are opened; with shift they
/// are compared with the run that is shown.
base::Expected<void> run_window(Arguments const& arguments, PixelSize size);
/// Draws one settled frame of exactly `size` pixels into a PNG file, with OpenGL, or without it
/// where there is no display. With a `pair` the run is shown as its base; null shows it
/// alone.
base::Expected<void> write_screenshot(Scene const& scene, ViewState state, PixelSize size,
                                      std::string const& path, RunPair* pair = nullptr);

}  // namespace stepscope::viewer
