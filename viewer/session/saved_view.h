// A view and its notes as a file: the part of the view state that outlives the window, by the paths
// of tracks, and its JSON. The bytes of the file are untrusted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/base/expected.h"
#include "viewer/scene/scene.h"
#include "viewer/scene/view_state.h"

namespace stepscope::viewer {

/// What is not said stays as it is.
struct SavedView {
  std::optional<TimeWindow> window, range;
  std::optional<std::vector<std::string>> closed;  ///< paths of groups
  std::optional<Theme> theme;
  std::optional<Tab> tab;
  std::optional<bool> path;
  std::optional<double> scroll, side_width, bottom_height;  ///< in pixels at scale 1
  std::optional<double> text_size;
  TrackChoice tracks;
  std::vector<Note> notes;
  friend bool operator==(SavedView const&, SavedView const&) = default;
};

inline constexpr size_t kMostViewBytes = 32U << 20U;  ///< a hundred thousand tracks with long names
inline constexpr size_t kMostViewPaths = 100'000;     ///< of each list

/// Errors: no JSON, not a view of ours, a newer one, values that none of ours has. `name`: of the
/// file, for messages.
base::Expected<SavedView> parse_saved_view(std::string_view text, std::string_view name);
/// JSON that reads the same again; for people too.
std::string saved_view_text(SavedView const& saved);

SavedView saved_view(Scene const& scene, ViewState const& state);
/// What the run does not have any more is left out.
void apply_saved_view(SavedView const& saved, Scene const& scene, ViewState& state);
/// The part of a state that is saved.
ViewState kept_part(ViewState const& state);
/// Whether both states would be saved the same; costs no more than to compare them.
[[nodiscard]] bool same_view(ViewState const& a, ViewState const& b);

}  // namespace stepscope::viewer
