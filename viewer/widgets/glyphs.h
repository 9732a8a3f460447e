// Which characters the viewer's fonts draw.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace stepscope::viewer {

/// What names and units need, and what the font has of other scripts: a name that a program chose
/// stays readable. Letters of scripts that are written from the right stand one by one, in the
/// order of the text. First and last of each range, and a 0 at the end, as ImGui wants it.
inline constexpr std::array kGlyphs = std::to_array<uint16_t>(
    {0x20,   0x24F,   // Latin
     0x370,  0x5FF,   // Greek, Cyrillic, Armenian, Hebrew
     0x600,  0x6FF,   // Arabic
     0x10A0, 0x10FF,  // Georgian
     0x1E00, 0x1FFF,  // Latin and Greek with further accents
     0x2010, 0x205E,  // punctuation
     0x2080, 0x218F,  // subscripts, currencies, letterlike symbols, fractions
     0x2190, 0x22FF,  // arrows, mathematics
     0x25A0, 0x27BF,  // shapes, symbols, dingbats
     0xFE70, 0xFEFF,  // Arabic letters as they join
     0xFFFD, 0xFFFD,  // the replacement character
     0});
/// Chinese and Japanese, where the system has a font for them.
inline constexpr std::array kEastAsian =
    std::to_array<uint16_t>({0x2E80, 0x9FFF, 0xF900, 0xFAFF, 0xFF00, 0xFFEF, 0});

/// Set once fonts are loaded.
inline std::atomic<bool> draws_east_asian = true;

}  // namespace stepscope::viewer
