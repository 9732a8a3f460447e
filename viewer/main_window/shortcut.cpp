#include "viewer/main_window/shortcut.h"

#include <algorithm>

#include <imgui.h>

namespace stepscope::viewer {
namespace {

char const* key_name(Key key) {
  switch (key) {
    case Key::kA:
      return "A";
    case Key::kD:
      return "D";
    case Key::kF:
      return "F";
    case Key::kM:
      return "M";
    case Key::kO:
      return "O";
    case Key::kP:
      return "P";
    case Key::kS:
      return "S";
    case Key::kW:
      return "W";
    case Key::kEscape:
      return "Esc";
    case Key::kBackspace:
      return "Backspace";
    case Key::kEnter:
      return "Enter";
    case Key::kLeft:
      return "Left";
    case Key::kRight:
      return "Right";
    case Key::kUp:
      return "Up";
    case Key::kDown:
      return "Down";
    case Key::kHome:
      return "Home";
    case Key::kEqual:
      return "=";
    case Key::kMinus:
      return "-";
    case Key::kF6:
      return "F6";
    case Key::kSpace:
      return "Space";
  }
  return "";
}

}  // namespace

std::string words_of(Shortcut const& shortcut) {
  char const c = shortcut.typed;
  if (c >= 'A' && c <= 'Z') return std::string("Shift+") + c;
  if (c >= 'a' && c <= 'z') return std::string(1, static_cast<char>(c - 'a' + 'A'));
  if (c != 0) return std::string(1, c);
  if (!shortcut.key) return {};
  return std::string(shortcut.ctrl ? "Ctrl+" : "") + key_name(*shortcut.key);
}

bool is_pressed(Shortcut const& shortcut) {
  ImGuiIO const& io = ImGui::GetIO();
  if (io.KeyCtrl != shortcut.ctrl && shortcut.exists()) return false;
  if (shortcut.typed != 0) {
    auto const wanted = static_cast<ImWchar>(shortcut.typed);
    return std::find(io.InputQueueCharacters.begin(), io.InputQueueCharacters.end(), wanted) !=
           io.InputQueueCharacters.end();
  }
  return shortcut.key && key_pressed(*shortcut.key, shortcut.repeats);
}

}  // namespace stepscope::viewer
