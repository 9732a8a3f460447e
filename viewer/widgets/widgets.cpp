#include "viewer/widgets/widgets.h"

#include <algorithm>
#include <cmath>

#include "reports/words/kernel_label.h"

namespace stepscope::viewer {

void text_coloured(std::string_view words, uint32_t colour) {
  ImGui::PushStyleColor(ImGuiCol_Text, colour);
  text(words);
  ImGui::PopStyleColor();
}

namespace {

/// The words with line breaks where a line of `width` is full. ImGui itself also breaks behind the
/// point of "1.08 ms".
std::string broken_at_spaces(std::string_view words, float width) {
  std::string text;
  float const space = ImGui::CalcTextSize(" ").x;
  float used = 0;
  for (size_t at = 0; at < words.size();) {
    size_t const end = std::min(words.find_first_of(" \n", at), words.size());
    std::string_view const word = words.substr(at, end - at);
    float const needed = ImGui::CalcTextSize(word.data(), word.data() + word.size()).x;
    if (used > 0 && used + space + needed > width) {
      text.back() = '\n';
      used = 0;
    }

    text += word;
    used += needed + (used > 0 ? space : 0);
    if (end < words.size()) text += words[end];
    if (end < words.size() && words[end] == '\n') used = 0;
    at = end + 1;
  }
  return text;
}

}  // namespace

void text_wrapped(std::string_view words, uint32_t colour) {
  // Words that are longer than a line are still broken by ImGui.
  ImGui::PushTextWrapPos(0.0F);
  text_coloured(broken_at_spaces(words, ImGui::GetContentRegionAvail().x), colour);
  ImGui::PopTextWrapPos();
}

void push_bold() {
  auto const& fonts = ImGui::GetIO().Fonts->Fonts;
  ImGui::PushFont(fonts[fonts.Size > 1 ? 1 : 0]);
}
void pop_bold() { ImGui::PopFont(); }

void heading(std::string_view words) {
  push_bold();
  text(words);
  pop_bold();
}

void text_right(std::string_view words, uint32_t colour) {
  float const width = ImGui::CalcTextSize(words.data(), words.data() + words.size()).x;
  float const room = ImGui::GetContentRegionAvail().x;
  if (room > width) ImGui::SetCursorPosX(ImGui::GetCursorPosX() + room - width);
  text_coloured(words, colour);
}

void property(std::string_view name, std::string_view value, Theme theme) {
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  text_coloured(name, surface(theme).text_dim);
  ImGui::TableNextColumn();
  text_wrapped(value, surface(theme).text);
}

namespace {

bool& next_table_has_focus() {
  static bool has_focus = false;
  return has_focus;
}

}  // namespace

void give_focus_to_next_table(bool gives) { next_table_has_focus() = gives; }

void header_row(int first_number, std::span<char const* const> meanings) {
  if (std::exchange(next_table_has_focus(), false)) ImGui::SetWindowFocus();

  ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
  for (int column = 0; column < ImGui::TableGetColumnCount(); ++column) {
    if (!ImGui::TableSetColumnIndex(column)) continue;
    char const* const title = ImGui::TableGetColumnName(column);
    ImGui::PushID(column);

    // The heading itself has no text, so that it can be put to the right; it keeps its click and
    // its sort arrow.
    ImVec2 const at = ImGui::GetCursorScreenPos();
    float const room = ImGui::GetContentRegionAvail().x;
    ImGui::TableHeader("");
    auto const index = static_cast<size_t>(column);
    if (index < meanings.size() && *meanings[index] != '\0') hint(meanings[index]);

    bool const sorted = (ImGui::TableGetColumnFlags(column) & ImGuiTableColumnFlags_IsSorted) != 0;
    float const arrow = sorted ? ImGui::GetFontSize() : 0;
    float const x =
        column < first_number ? 0 : std::max(room - arrow - ImGui::CalcTextSize(title).x, 0.0F);
    draw_text(*ImGui::GetWindowDrawList(), ImVec2(at.x + x, at.y),
              ImGui::GetColorU32(ImGuiCol_TextDisabled), title);
    ImGui::PopID();
  }
}

void empty_state(std::string_view words, Theme theme) {
  ImGui::Dummy(ImVec2(0, 4 * ui_scale()));
  text_wrapped(words, surface(theme).text_dim);
}

std::pair<ImVec2, ImVec2> swatch_room() {
  float const size = ImGui::GetFontSize();
  ImVec2 const at = ImGui::GetCursorScreenPos();
  float const inset = size * 0.18F;
  ImGui::Dummy(ImVec2(size - 2 * inset, size));
  ImGui::SameLine(0, 5 * ui_scale());
  return {ImVec2(at.x, at.y + inset), ImVec2(at.x + size - 2 * inset, at.y + size - inset)};
}

void swatch(uint32_t colour) {
  auto const [low, high] = swatch_room();
  ImGui::GetWindowDrawList()->AddRectFilled(low, high, colour, 2 * ui_scale());
}

void begin_tooltip() {
  float const scale = ui_scale();
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(10 * scale, 8 * scale));
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(8 * scale, 4 * scale));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 5 * scale);
  ImGui::PushStyleVar(ImGuiStyleVar_PopupBorderSize, 1);
  ImGui::BeginTooltip();
}

void end_tooltip() {
  ImGui::EndTooltip();
  ImGui::PopStyleVar(4);
}

void hint(std::string_view words) {
  if (!ImGui::IsItemHovered()) return;
  begin_tooltip();
  ImGui::PushTextWrapPos(ImGui::GetFontSize() * 30);
  text(words);
  ImGui::PopTextWrapPos();
  end_tooltip();
}

void focus_next_box() {
  // Dear ImGui 1.90.1 finds it only in the window that has the focus.
  ImGui::SetWindowFocus();
  ImGui::SetKeyboardFocusHere();
}

std::string fit(std::string_view words, float width) {
  if (width <= 0 || words.empty()) return {};
  ImFont* const font = ImGui::GetFont();

  float const size = ImGui::GetFontSize();
  // No glyph is narrower than a sixth of the height: longer texts need not be measured.
  words = words.substr(0, static_cast<size_t>(width / size * 24) + 8);
  char const* const end = words.data() + words.size();
  char const* rest = nullptr;
  float const whole = font->CalcTextSizeA(size, width, 0, words.data(), end, &rest).x;
  if (rest == end && whole <= width) return std::string(words);

  static constexpr std::string_view kEllipsis = "…";
  float const dots = ImGui::CalcTextSize(kEllipsis.data(), kEllipsis.data() + kEllipsis.size()).x;
  if (width < dots * 2) return {};
  font->CalcTextSizeA(size, width - dots, 0, words.data(), end, &rest);
  if (rest <= words.data()) return {};
  return std::string(words.data(), rest) + std::string(kEllipsis);
}

std::string fit_kernel(std::string_view name, float width) {
  // Letters are not equally wide: from a guess on, fewer until they fit.
  std::string label(name);
  float needed = ImGui::CalcTextSize(label.c_str()).x;
  auto columns = static_cast<float>(name.size());
  while (needed > width && columns > 2) {
    columns = std::floor(std::min(columns * width / needed, columns - 1));
    label = reports::kernel_label(name, static_cast<size_t>(std::max(columns, 2.0F)));
    needed = ImGui::CalcTextSize(label.c_str()).x;
  }
  return fit(label, width);
}

std::string fit_bar(std::string_view words, float width) {
  // Below this many heights the dots would take the place of the only letters.
  constexpr float kNarrow = 6;
  float const size = ImGui::GetFontSize();
  if (width <= 0 || width > kNarrow * size) return fit(words, width);
  words = words.substr(0, static_cast<size_t>(kNarrow * 24));
  char const* rest = words.data();
  ImGui::GetFont()->CalcTextSizeA(size, width, 0, words.data(), words.data() + words.size(), &rest);
  return std::string(words.data(), rest);
}

void draw_text(ImDrawList& list, ImVec2 at, uint32_t colour, std::string_view words) {
  if (!words.empty()) list.AddText(at, colour, words.data(), words.data() + words.size());
}

namespace {

#if IMGUI_VERSION_NUM < 18700
/// Before 1.87 keys without a name are the codes of the window library; GLFW's are ASCII for
/// letters and signs.
int key_code(Key key) {
  auto const named = [](ImGuiKey name) { return ImGui::GetKeyIndex(name); };
  switch (key) {
    case Key::kA:
      return 'A';
    case Key::kD:
      return 'D';
    case Key::kF:
      return 'F';
    case Key::kM:
      return 'M';
    case Key::kO:
      return 'O';
    case Key::kP:
      return 'P';
    case Key::kS:
      return 'S';
    case Key::kW:
      return 'W';
    case Key::kEscape:
      return named(ImGuiKey_Escape);
    case Key::kBackspace:
      return named(ImGuiKey_Backspace);
    case Key::kEnter:
      return named(ImGuiKey_Enter);
    case Key::kLeft:
      return named(ImGuiKey_LeftArrow);
    case Key::kRight:
      return named(ImGuiKey_RightArrow);
    case Key::kUp:
      return named(ImGuiKey_UpArrow);
    case Key::kDown:
      return named(ImGuiKey_DownArrow);
    case Key::kHome:
      return named(ImGuiKey_Home);
    case Key::kEqual:
      return '=';
    case Key::kMinus:
      return '-';
    case Key::kF6:
      return 295;
    case Key::kSpace:
      return named(ImGuiKey_Space);
  }
  return -1;
}
#else
ImGuiKey key_code(Key key) {
  static constexpr ImGuiKey kCodes[] = {
      ImGuiKey_A,          ImGuiKey_D,       ImGuiKey_F,         ImGuiKey_M,     ImGuiKey_S,
      ImGuiKey_W,          ImGuiKey_Escape,  ImGuiKey_Backspace, ImGuiKey_Enter, ImGuiKey_LeftArrow,
      ImGuiKey_RightArrow, ImGuiKey_UpArrow, ImGuiKey_DownArrow, ImGuiKey_Home,  ImGuiKey_O,
      ImGuiKey_P,          ImGuiKey_Equal,   ImGuiKey_Minus,     ImGuiKey_F6,    ImGuiKey_Space};
  return kCodes[static_cast<int>(key)];
}
#endif

}  // namespace

bool key_down(Key key) {
  auto const code = key_code(key);
  return static_cast<int>(code) >= 0 && ImGui::IsKeyDown(code);
}

bool key_pressed(Key key, bool repeat) {
  auto const code = key_code(key);
  return static_cast<int>(code) >= 0 && ImGui::IsKeyPressed(code, repeat);
}

}  // namespace stepscope::viewer
