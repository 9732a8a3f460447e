#include "viewer/main_window/key_focus.h"

#include <utility>

#include <imgui.h>

#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {

void hand_keys_on(ViewState& state) {
  constexpr int kPlaces = 4;
  state.panels.keys = static_cast<KeyPlace>((static_cast<int>(state.panels.keys) + 1) % kPlaces);
  state.panels.keys_are_new = state.panels.keys != KeyPlace::kTimeline;
}

void begin_keys(ViewState& state) {
  auto& flags = ImGui::GetIO().ConfigFlags;
  bool const had_keys = (flags & ImGuiConfigFlags_NavEnableKeyboard) != 0;
  if (state.panels.keys != KeyPlace::kTimeline) {
    flags |= ImGuiConfigFlags_NavEnableKeyboard;
  } else if (had_keys) {
    flags &= ~ImGuiConfigFlags_NavEnableKeyboard;
    ImGui::SetWindowFocus();  // so that nothing in the part stays marked
  }
}

void take_keys(ViewState& state, KeyPlace place) {
  if (state.panels.keys != place) return;
  if (std::exchange(state.panels.keys_are_new, false)) {
    give_focus_to_next_table(true);
    return ImGui::SetWindowFocus();
  }

  // ImGui has taken Esc already: out of a table into the part around it, or out of that.
  bool const is_inside = ImGui::IsWindowFocused(ImGuiFocusedFlags_ChildWindows);
  state.panels.keys_left_table = is_inside && key_pressed(Key::kEscape);
  if (key_pressed(Key::kEscape)) return;

  bool const writes = state.panels.finder.open || state.search.open || state.panels.filter;
  bool const is_elsewhere = !is_inside && !ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup);
  if (is_elsewhere && !writes) state.panels.keys = KeyPlace::kTimeline;
}

void mark_keys(ViewState const& state, KeyPlace place) {
  if (state.panels.keys != place) return;
  give_focus_to_next_table(false);
  float const inset = ui_scale();
  ImVec2 const low = ImGui::GetWindowPos(), size = ImGui::GetWindowSize();
  ImVec2 const high(low.x + size.x, low.y + size.y);

  ImDrawList& list = *ImGui::GetWindowDrawList();
  list.PushClipRect(low, high);  // that of the content leaves the edges out
  list.AddRect(ImVec2(low.x + inset, low.y + inset), ImVec2(high.x - inset, high.y - inset),
               surface(state.theme).accent, 0, 0, 1.5F * ui_scale());
  list.PopClipRect();
}

}  // namespace stepscope::viewer
