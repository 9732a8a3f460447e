#include "viewer/widgets/text.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "trace/base/format.h"
#include "viewer/widgets/glyphs.h"

namespace stepscope::viewer {

namespace {

/// ImGui draws no character beyond 0xFFFF, where most emoji are.
bool is_drawn(uint32_t character) {
  for (size_t at = 0; at + 1 < kGlyphs.size(); at += 2)
    if (character >= kGlyphs[at] && character <= kGlyphs[at + 1]) return true;
  GlyphSet const* const more = more_glyphs;
  return more != nullptr && character < more->size() && more->test(character);
}

/// The character that begins at a place of UTF-8, and how many bytes it has.
std::pair<uint32_t, size_t> character_at(std::string_view text, size_t at) {
  auto const first = static_cast<unsigned char>(text[at]);
  auto const bytes = static_cast<size_t>(std::clamp(std::countl_one(first), 1, 4));
  if (bytes == 1 || text.size() - at < bytes) return {first, 1};

  uint32_t character = first & (0x7FU >> bytes);
  for (size_t next = 1; next < bytes; ++next)
    character = character << 6U | (static_cast<unsigned char>(text[at + next]) & 0x3FU);
  return {character, bytes};
}

/// Writes a character that no font draws as its number: names that differ in nothing else look
/// different.
std::string with_numbered_characters(std::string text) {
  auto const is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::all_of(text.begin(), text.end(), is_ascii)) return text;

  std::string result;
  for (size_t at = 0; at < text.size();) {
    auto const [character, bytes] = character_at(text, at);
    if (bytes == 1 || is_drawn(character))
      result += text.substr(at, bytes);
    else
      result += fmt::format("U+{:04X}", character);
    at += bytes;
  }
  return result;
}

}  // namespace

std::string printable_name(std::string_view raw, size_t max_bytes) {
  if (raw.size() <= max_bytes) return with_numbered_characters(base::printable(raw));
  size_t cut = max_bytes;
  while (cut > 0 && (static_cast<unsigned char>(raw[cut]) & 0xC0U) == 0x80) --cut;
  return with_numbered_characters(base::printable(raw.substr(0, cut))) + "…";
}

std::string_view short_name(std::string_view name) {
  if (name.starts_with("void ")) name.remove_prefix(5);
  size_t const arguments = std::min(name.find_first_of("<( "), name.size());
  size_t const scope = name.substr(0, arguments).rfind("::");
  if (scope != std::string_view::npos && scope + 2 < name.size()) name.remove_prefix(scope + 2);
  return name;
}

double time_unit(double ns) {
  for (double const unit : {1e9, 1e6, 1e3})
    if (ns >= unit) return unit;
  return 1;
}

std::string format_time_range(double begin_ns, double end_ns) {
  double const resolution = std::max((end_ns - begin_ns) / 1000, 1.0);
  double const size = std::max(std::abs(begin_ns), std::abs(end_ns));
  double const unit = time_unit(size);
  return format_time_in(begin_ns, resolution, unit) + " – " +
         format_time_in(end_ns, resolution, unit);
}

std::string format_time(double view_ns, double resolution_ns) {
  double const size = std::max(std::abs(view_ns), resolution_ns);
  return format_time_in(view_ns, resolution_ns, time_unit(size));
}

char const* time_unit_name(double unit_ns) {
  if (unit_ns >= 1e9) return "s";
  if (unit_ns >= 1e6) return "ms";
  return unit_ns >= 1e3 ? "µs" : "ns";
}

std::string format_time_in(double view_ns, double resolution_ns, double unit_ns) {
  char const* const name = time_unit_name(unit_ns);
  // 1e-9: what log10 of an exact power of ten may be off.
  double const digits = std::ceil(std::log10(unit_ns / std::max(resolution_ns, 1e-3)) - 1e-9);
  return fmt::format("{:.{}f} {}", view_ns / unit_ns,
                     static_cast<int>(std::clamp(digits, 0.0, 9.0)), name);
}

}  // namespace stepscope::viewer
