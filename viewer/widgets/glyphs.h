// Which characters the viewer's fonts draw.
#pragma once

#include <array>
#include <atomic>
#include <bitset>
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

using GlyphSet = std::bitset<0x10000>;
/// What a Chinese font of the system draws besides. Null before fonts are loaded, and where the
/// system has none.
inline std::atomic<GlyphSet const*> more_glyphs = nullptr;

}  // namespace stepscope::viewer
