// The menus: every action of the table in its menu, with its key; File has the runs that were
// opened last besides.
#include <array>
#include <string>

#include <imgui.h>

#include "viewer/interaction/actions.h"
#include "viewer/panels/panels.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

std::string popup_of(Menu menu) { return std::string("menu ") + menu_name(menu); }

void recent_runs(Outside& outside) {
  ImGui::Separator();
  for (size_t i = 0; i < outside.recent.size(); ++i) {
    ImGui::PushID(static_cast<int>(i));
    // The end of a path says more than its beginning.
    std::string name = printable_name(outside.recent[i]);
    constexpr size_t kLongest = 60;
    if (name.size() > kLongest) {
      size_t cut = name.size() - kLongest;
      while (cut < name.size() && (static_cast<unsigned char>(name[cut]) & 0xC0U) == 0x80) ++cut;
      name = "…" + name.substr(cut);
    }
    if (ImGui::MenuItem((name + "##run").c_str())) outside.open = outside.recent[i];
    ImGui::PopID();
  }
}

void menu_of(Menu menu, ActionScope const& scope) {
  bool is_first = true;
  for (Action const& action : all_actions()) {
    if (action.menu != menu) continue;
    if (action.begins_group && !is_first) ImGui::Separator();
    is_first = false;
    std::string const keys = words_of(action.shortcut);
    bool const on = action.is_on != nullptr && action.is_on(scope);
    if (ImGui::MenuItem(action.name, keys.empty() ? nullptr : keys.c_str(), on,
                        is_enabled(action, scope)))
      action.run(scope);
  }
  if (menu == Menu::kFile && scope.outside != nullptr && !scope.outside->recent.empty())
    recent_runs(*scope.outside);
}

}  // namespace

void menu_bar(ActionScope const& scope) {
  float const scale = ui_scale();
  bool any_open = false;
  for (int i = 0; i < kMenus; ++i)
    any_open = any_open || ImGui::IsPopupOpen(popup_of(static_cast<Menu>(i)).c_str());
  ImGui::PushStyleColor(ImGuiCol_Button, surface(scope.state.theme).background);
  for (int i = 0; i < kMenus; ++i) {
    auto const menu = static_cast<Menu>(i);
    std::string const id = popup_of(menu);
    bool const clicked = ImGui::Button(menu_name(menu));
    // Once one menu is open the mouse alone opens the others.
    bool const passed = any_open && !ImGui::IsPopupOpen(id.c_str()) &&
                        ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenBlockedByPopup);
    ImVec2 const corner(ImGui::GetItemRectMin().x, ImGui::GetItemRectMax().y + 2 * scale);
    if (clicked || passed) ImGui::OpenPopup(id.c_str());
    ImGui::SetNextWindowPos(corner);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(10 * scale, 8 * scale));
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(10 * scale, 6 * scale));
    if (ImGui::BeginPopup(id.c_str())) {
      menu_of(menu, scope);
      if (key_pressed(Key::kEscape)) ImGui::CloseCurrentPopup();
      ImGui::EndPopup();
    }
    ImGui::PopStyleVar(2);
    ImGui::SameLine(0, 0);
  }
  ImGui::PopStyleColor();
}

}  // namespace stepscope::viewer
