#include "viewer/widgets/style.h"

#include <filesystem>
#include <string>

#include <imgui.h>

#include "viewer/widgets/glyphs.h"
#include "viewer/widgets/palette.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

/// First of the paths that is a file, else empty.
std::string first_file(std::initializer_list<char const*> paths) {
  for (char const* path : paths) {
    std::error_code error;
    if (std::filesystem::is_regular_file(path, error)) return path;
  }
  return {};
}

/// The common characters of Chinese (2,500) and Japanese (3,000): pairs, and a 0 at the end. A font
/// has ten times as many, and each takes room on the graphics card.
ImVector<ImWchar> const& east_asian_ranges() {
  static ImVector<ImWchar> const ranges = [] {
    ImFontAtlas& fonts = *ImGui::GetIO().Fonts;
    ImFontGlyphRangesBuilder characters;
    characters.AddRanges(fonts.GetGlyphRangesChineseSimplifiedCommon());
    characters.AddRanges(fonts.GetGlyphRangesJapanese());

    ImVector<ImWchar> built;
    characters.BuildRanges(&built);
    return built;
  }();
  return ranges;
}

/// What is drawn beyond kGlyphs, once fonts are built. The ranges also have spaces that cannot be
/// seen, and the font lacks some characters.
GlyphSet const& east_asian_glyphs(ImFont const& font) {
  constexpr uint32_t kFirstEastAsian = 0x2E80;
  static GlyphSet const glyphs = [&] {
    GlyphSet set;
    for (uint32_t character = kFirstEastAsian; character < set.size(); ++character)
      if (font.FindGlyphNoFallback(static_cast<ImWchar>(character)) != nullptr) set.set(character);
    return set;
  }();
  return glyphs;
}

/// False where the system has no such font.
bool merge_cjk(float pixels) {
  std::string const path =
      first_file({"/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc",
                  "/usr/share/fonts/truetype/wqy/wqy-microhei.ttc",
                  "/usr/share/fonts/truetype/droid/DroidSansFallbackFull.ttf"});
  if (path.empty()) return false;

  ImGuiIO& io = ImGui::GetIO();
  ImFontConfig config;
  config.MergeMode = true;
  io.Fonts->AddFontFromFileTTF(path.c_str(), pixels, &config, east_asian_ranges().Data);
  return true;
}

void set_colours(ImGuiStyle& style, Surface const& s) {
  auto const set = [&](ImGuiCol slot, uint32_t colour) { style.Colors[slot] = to_vec4(colour); };

  set(ImGuiCol_WindowBg, s.background);
  set(ImGuiCol_ChildBg, s.background);
  set(ImGuiCol_PopupBg, s.header);
  set(ImGuiCol_Border, s.line_strong);
  set(ImGuiCol_Text, s.text);
  set(ImGuiCol_TextDisabled, s.text_dim);

  set(ImGuiCol_FrameBg, s.header);
  set(ImGuiCol_FrameBgHovered, s.line_strong);
  set(ImGuiCol_FrameBgActive, s.line_strong);
  set(ImGuiCol_Button, s.header);
  set(ImGuiCol_ButtonHovered, s.line_strong);
  set(ImGuiCol_ButtonActive, with_alpha(s.accent, 0.5F));
  set(ImGuiCol_Header, with_alpha(s.accent, 0.22F));
  set(ImGuiCol_HeaderHovered, with_alpha(s.accent, 0.14F));
  set(ImGuiCol_HeaderActive, with_alpha(s.accent, 0.30F));

  set(ImGuiCol_Separator, s.line);
  set(ImGuiCol_SeparatorHovered, s.accent);
  set(ImGuiCol_SeparatorActive, s.accent);
  set(ImGuiCol_Tab, s.background);
  set(ImGuiCol_TabHovered, s.line_strong);
  set(ImGuiCol_TabActive, s.header);
  set(ImGuiCol_TableHeaderBg, s.header);
  set(ImGuiCol_TableBorderLight, s.line);
  set(ImGuiCol_TableBorderStrong, s.line);
  set(ImGuiCol_TableRowBgAlt, with_alpha(s.text, 0.03F));
  set(ImGuiCol_ScrollbarBg, with_alpha(s.background, 0));
  set(ImGuiCol_ScrollbarGrab, s.line_strong);
}

}  // namespace

void load_fonts(float scale) {
  more_glyphs = nullptr;
  ImGuiIO& io = ImGui::GetIO();
  float const pixels = kFontSize * scale;
  std::string const regular = first_file({"/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
                                          "/usr/share/fonts/TTF/DejaVuSans.ttf",
                                          "/usr/share/fonts/dejavu-sans-fonts/DejaVuSans.ttf"});
  if (regular.empty()) {
    ImFontConfig config;
    config.SizePixels = pixels;
    io.Fonts->AddFontDefault(&config);
    return;
  }

  ImFont const* const font =
      io.Fonts->AddFontFromFileTTF(regular.c_str(), pixels, nullptr, kGlyphs.data());
  bool const has_cjk = merge_cjk(pixels);

  std::string bold = regular;
  bold.replace(bold.rfind("DejaVuSans.ttf"), std::string::npos, "DejaVuSans-Bold.ttf");
  std::error_code error;
  if (std::filesystem::is_regular_file(bold, error))
    io.Fonts->AddFontFromFileTTF(bold.c_str(), pixels, nullptr, kGlyphs.data());

  if (has_cjk && io.Fonts->Build()) more_glyphs = &east_asian_glyphs(*font);
}

void apply_style(Theme theme, float scale) {
  ImGuiStyle style;
  if (theme == Theme::kDark) {
    ImGui::StyleColorsDark(&style);
  } else {
    ImGui::StyleColorsLight(&style);
  }
  set_colours(style, surface(theme));

  style.WindowPadding = ImVec2(10, 8);
  style.FramePadding = ImVec2(8, 4);
  style.ItemSpacing = ImVec2(8, 5);
  style.CellPadding = ImVec2(6, 3);
  style.WindowRounding = 0;
  style.ChildRounding = 0;
  style.FrameRounding = 4;
  style.PopupRounding = 5;
  style.TabRounding = 4;
  style.GrabRounding = 4;
  style.ScrollbarSize = 11;
  style.ScrollbarRounding = 6;
  style.WindowBorderSize = 0;
  style.ChildBorderSize = 0;

  style.ScaleAllSizes(scale);
  ImGui::GetStyle() = style;
}

}  // namespace stepscope::viewer
