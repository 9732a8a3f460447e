// The key of an action: what it is called, and whether it was pressed.
#pragma once

#include <optional>
#include <string>

#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {

/// A character that is typed, whatever the keyboard's layout, or a key.
struct Shortcut {
  char typed = 0;
  std::optional<Key> key;
  bool ctrl = false, repeats = false;
  [[nodiscard]] bool exists() const { return typed != 0 || key.has_value(); }
  friend bool operator==(Shortcut const&, Shortcut const&) = default;
};

/// "Ctrl+P", "Shift+N", "Home"; empty without one.
std::string words_of(Shortcut const& shortcut);
/// Whether it was pressed in this frame.
bool is_pressed(Shortcut const& shortcut);

}  // namespace stepscope::viewer
