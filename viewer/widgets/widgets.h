// The few ImGui idioms that every panel uses: text that is never a format string, cells, headings,
// keys of both ImGui key models.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <imgui.h>

#include "viewer/widgets/palette.h"

namespace stepscope::viewer {

/// Font size at scale 1, in pixels.
inline constexpr float kFontSize = 14;
/// Pixels a logical pixel, from the font that is loaded.
inline float ui_scale() { return ImGui::GetFontSize() / kFontSize; }
inline ImVec4 to_vec4(uint32_t colour) { return ImGui::ColorConvertU32ToFloat4(colour); }

inline void text(std::string_view words) {
  ImGui::TextUnformatted(words.data(), words.data() + words.size());
}
void text_coloured(std::string_view words, uint32_t colour);
/// Breaks lines at the right edge of the window.
void text_wrapped(std::string_view words, uint32_t colour);
/// In bold when a second font is loaded.
void heading(std::string_view words);
void push_bold();
void pop_bold();
/// Right-aligned in the table cell or what is left of the line.
void text_right(std::string_view words, uint32_t colour);
/// Two cells of a table: name dimmed, value. The value wraps.
void property(std::string_view name, std::string_view value, Theme theme);
/// The table's headings; those from column `first_number` on are aligned right, as the numbers
/// below them. `meanings`: a tooltip for each column; an empty one shows nothing.
void header_row(int first_number, std::span<char const* const> meanings = {});
/// What a panel says when it has nothing to show: what is missing and what to do.
void empty_state(std::string_view words, Theme theme);
/// Room for a square as high as the text, on the same line as what follows: its corners.
std::pair<ImVec2, ImVec2> swatch_room();
/// A filled square there.
void swatch(uint32_t colour);
/// A tooltip with room around its text, whatever the window below it has; always followed by
/// end_tooltip().
void begin_tooltip();
void end_tooltip();
/// Tooltip of the last item.
void hint(std::string_view words);

/// What is typed goes to the box that follows.
void focus_next_box();
/// The next table has the keyboard, until this is taken back.
void give_focus_to_next_table(bool gives);

/// As much of `words` as fits into `width`, with "…" when not all of it; nothing when not even that
/// fits.
std::string fit(std::string_view words, float width);
/// The same for a kernel's name: what tells least goes first (reports::kernel_label()).
std::string fit_kernel(std::string_view name, float width);
/// The same for a bar, where a name's beginning says more than "…".
std::string fit_bar(std::string_view words, float width);
void draw_text(ImDrawList& list, ImVec2 at, uint32_t colour, std::string_view words);

enum class Key {
  kA,
  kD,
  kF,
  kM,
  kS,
  kW,
  kEscape,
  kBackspace,
  kEnter,
  kLeft,
  kRight,
  kUp,
  kDown,
  kHome,
  kO,
  kP,
  kEqual,
  kMinus,
  kF6,
  kSpace
};
bool key_down(Key key);
/// True in the frame in which it went down, and on repeats when asked.
bool key_pressed(Key key, bool repeat = false);

}  // namespace stepscope::viewer
