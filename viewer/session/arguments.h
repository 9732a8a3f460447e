// The viewer's command line, apart from any window.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/base/expected.h"
#include "viewer/loading/run_series.h"
#include "viewer/scene/scene.h"
#include "viewer/scene/view_state.h"

namespace stepscope::viewer {

struct Arguments {
  std::vector<std::string> runs;
  std::vector<std::string> candidate;  ///< --vs: the files of one run, which is compared with the
                                       ///< first one; empty = none
  SeriesOptions series;                ///< how they are taken
  std::string screenshot;              ///< empty = open a window
  std::string size = "1600x1000", time, select, panel;
  std::optional<size_t> finding;     ///< --finding: from 1
  std::vector<std::string> changes;  ///< --change: what the panel What-if asks, together
  std::string theme = "dark";
  std::optional<float> text_size;  ///< --text-size
  bool keeps_view_beside = false;  ///< view and notes travel with the run
};

struct PixelSize {
  int width = 0, height = 0;
};
/// "1600x900"; each side 320 to 16384.
base::Expected<PixelSize> parse_size(std::string_view text);
/// Puts what --time, --select, --panel, --theme and --finding ask for into the state. A scene
/// without its analysis has no findings yet: see show_finding().
base::Expected<void> apply_arguments(Arguments const& arguments, Scene const& scene,
                                     ViewState& state);

/// Shows the first finding of a run of more than kOpenRanks ranks, unless the arguments ask for
/// something else: over a whole run, the rows of many ranks show little.
void show_first_finding(Arguments const& arguments, Scene const& scene, ViewState& state);
/// Shows the finding that --finding names. Errors: the run has no such finding.
base::Expected<void> show_finding(Arguments const& arguments, Scene const& scene, ViewState& state);

}  // namespace stepscope::viewer
