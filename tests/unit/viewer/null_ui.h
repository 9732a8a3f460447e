// The viewer's whole window without a backend: tests lay out frames, feed them with input and
// render them to nothing or to pixels.
#pragma once

#include <cfloat>
#include <string_view>

#include <imgui.h>

#include "viewer/event_store/event_store.h"
#include "viewer/main_window/ui.h"
#include "viewer/panels/compared/run_pair.h"
#include "viewer/widgets/raster.h"
#include "viewer/widgets/style.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {

class NullUi {
 public:
  explicit NullUi(float width = 1280, float height = 800, float scale = 1) {
    ImGui::CreateContext();
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;
    io.DisplaySize = ImVec2(width, height);
    io.DeltaTime = 1.0F / 60;
    io.MousePos = ImVec2(-FLT_MAX, -FLT_MAX);
#if IMGUI_VERSION_NUM < 18700
    for (int key = 0; key < ImGuiKey_COUNT; ++key) io.KeyMap[key] = 300 + key;
#endif

    load_fonts(scale);
    io.Fonts->Build();
    apply_style(Theme::kDark, scale);
  }
  ~NullUi() { ImGui::DestroyContext(); }
  NullUi(NullUi const&) = delete;
  NullUi& operator=(NullUi const&) = delete;

  void frames(Scene const& scene, ViewState& state, int count = 1) {
    for (int i = 0; i < count; ++i) {
      ImGui::NewFrame();
      draw_ui(scene, state, cache_, {}, pair);
      ImGui::Render();
      // The next frame has the results of background work: tests do not depend on time.
      cache_.finish();
      if (pair != nullptr) pair->finish();
      scene.store->finish_reading();
    }
  }
  void move(float x, float y) { ImGui::GetIO().MousePos = ImVec2(x, y); }
  void button(bool down, int which = 0) { ImGui::GetIO().MouseDown[which] = down; }
  void right_click(Scene const& scene, ViewState& state, float x, float y) {
    move(x, y);
    frames(scene, state, 2);
    button(true, 1);
    frames(scene, state);
    button(false, 1);
    frames(scene, state, 2);
  }
  void click(Scene const& scene, ViewState& state, float x, float y) {
    move(x, y);
    frames(scene, state, 2);
    button(true);
    frames(scene, state);
    button(false);
    frames(scene, state, 2);
    // Past the double-click time: the next click is a new one.
    ImGui::GetIO().DeltaTime = 1;
    frames(scene, state);
    ImGui::GetIO().DeltaTime = 1.0F / 60;
  }
  /// Types characters as a keyboard does, one frame each.
  void type(Scene const& scene, ViewState& state, std::string_view characters) {
    for (char const c : characters) {
      ImGui::GetIO().AddInputCharacter(static_cast<unsigned>(c));
      frames(scene, state, 2);
    }
  }
  void press(Scene const& scene, ViewState& state, Key key) {
    set(key, true);
    frames(scene, state);
    set(key, false);
    frames(scene, state);
  }
  void press_with_ctrl(Scene const& scene, ViewState& state, Key key) {
    hold_modifier(true, false);
    press(scene, state, key);
    hold_modifier(false, false);
    frames(scene, state);
  }
  void hold(Key key, bool down) { set(key, down); }
  static void hold_modifier(bool ctrl, bool shift) {
    ImGuiIO& io = ImGui::GetIO();
#if IMGUI_VERSION_NUM < 18700
    io.KeyCtrl = ctrl;
    io.KeyShift = shift;
#else
    io.AddKeyEvent(ImGuiMod_Ctrl, ctrl);
    io.AddKeyEvent(ImGuiMod_Shift, shift);
#endif
  }
  /// A pair whose base is the scene of the frames; null: the scene is shown alone.
  RunPair* pair = nullptr;

  [[nodiscard]] Picture picture(uint32_t background) const {
    ImGuiIO const& io = ImGui::GetIO();
    return rasterise(*ImGui::GetDrawData(), *io.Fonts, static_cast<int>(io.DisplaySize.x),
                     static_cast<int>(io.DisplaySize.y), background);
  }

 private:
  static void set(Key key, bool down) {
    ImGuiIO& io = ImGui::GetIO();
#if IMGUI_VERSION_NUM < 18700
    static constexpr int kCodes[] = {'A',
                                     'D',
                                     'F',
                                     'M',
                                     'S',
                                     'W',
                                     300 + ImGuiKey_Escape,
                                     300 + ImGuiKey_Backspace,
                                     300 + ImGuiKey_Enter,
                                     300 + ImGuiKey_LeftArrow,
                                     300 + ImGuiKey_RightArrow,
                                     300 + ImGuiKey_UpArrow,
                                     300 + ImGuiKey_DownArrow,
                                     300 + ImGuiKey_Home,
                                     'O',
                                     'P',
                                     '=',
                                     '-',
                                     295,
                                     300 + ImGuiKey_Space};

    io.KeysDown[kCodes[static_cast<int>(key)]] = down;
#else
    static constexpr ImGuiKey kCodes[] = {
        ImGuiKey_A,         ImGuiKey_D,         ImGuiKey_F,          ImGuiKey_M,
        ImGuiKey_S,         ImGuiKey_W,         ImGuiKey_Escape,     ImGuiKey_Backspace,
        ImGuiKey_Enter,     ImGuiKey_LeftArrow, ImGuiKey_RightArrow, ImGuiKey_UpArrow,
        ImGuiKey_DownArrow, ImGuiKey_Home,      ImGuiKey_O,          ImGuiKey_P,
        ImGuiKey_Equal,     ImGuiKey_Minus,     ImGuiKey_F6,         ImGuiKey_Space};

    io.AddKeyEvent(kCodes[static_cast<int>(key)], down);
#endif
  }
  PanelCache cache_;
};

}  // namespace stepscope::viewer
