#include "viewer/widgets/palette.h"

#include <algorithm>
#include <array>

namespace stepscope::viewer {
namespace {

constexpr uint32_t rgb(uint32_t hex) { return 0xFF000000U | (hex & 0xFFU) << 16U | (hex & 0xFF00U) | hex >> 16U; }

struct PaintInfo {
  char const* name;
  uint32_t dark, light;  ///< on the dark and on the light theme
};

constexpr std::array<PaintInfo, kPaintCount> kPaints = {{
    {"compute", rgb(0x3D8BD9), rgb(0x4A94DB)},
    {"communication", rgb(0xE69F00), rgb(0xE9A416)},
    {"copy", rgb(0x1FA987), rgb(0x2BB08F)},
    {"range", rgb(0x5A6577), rgb(0xB4BECC)},
    {"step", rgb(0x39414E), rgb(0xD3DAE3)},
    {"phase", rgb(0x49566B), rgb(0xC3CEDD)},
    {"launch", rgb(0x6E8FB5), rgb(0x9DB9D8)},
    {"runtime call", rgb(0x7B8490), rgb(0xA7AFBA)},
    {"held by an event", rgb(0x2C3844), rgb(0xD5DEE6)},
    {"mark", rgb(0xC9CED6), rgb(0x59616D)},
    {"input", rgb(0xF0E442), rgb(0xE3D317)},
    {"sync", rgb(0xA04E22), rgb(0xDD7B3A)},
    {"allocation", rgb(0xCC79A7), rgb(0xCC79A7)},
    {"profiler", rgb(0x8C6D4F), rgb(0xA98A6B)},
    {"dependency", rgb(0x56B4E9), rgb(0x5FB8EA)},
    {"peer", rgb(0x9A86E0), rgb(0x9885E0)},
    {"graph", rgb(0x7FD0C4), rgb(0x5FBDB0)},
    {"launch starved", rgb(0xE4576B), rgb(0xDE5468)},
    {"launch latency", rgb(0xA9B1BD), rgb(0x9AA3AF)},
    {"unexplained", rgb(0x666C76), rgb(0xC4C9D0)},
}};

constexpr Surface kDark = {.background = rgb(0x12151A),
                           .row = rgb(0x171B21),
                           .row_alternate = rgb(0x14181D),
                           .header = rgb(0x222831),
                           .gutter = rgb(0x1B2027),
                           .line = rgb(0x262C35),
                           .line_strong = rgb(0x3A4350),
                           .text = rgb(0xE3E8EE),
                           .text_dim = rgb(0x98A2B0),
                           .accent = rgb(0x6CB2FF),
                           .warning = rgb(0xF0B13C),
                           .critical = rgb(0xFF6B6B),
                           .shadow = rgb(0x000000)};
constexpr Surface kLight = {.background = rgb(0xF4F6F8),
                            .row = rgb(0xFFFFFF),
                            .row_alternate = rgb(0xFAFBFC),
                            .header = rgb(0xE6EBF0),
                            .gutter = rgb(0xF1F4F7),
                            .line = rgb(0xE3E7EC),
                            .line_strong = rgb(0xB9C2CD),
                            .text = rgb(0x1B222B),
                            .text_dim = rgb(0x5B6673),
                            .accent = rgb(0x0B66C9),
                            .warning = rgb(0x9A6200),
                            .critical = rgb(0xC5303C),
                            .shadow = rgb(0x8A94A0)};

uint32_t channel(uint32_t colour, uint32_t shift) { return colour >> shift & 0xFFU; }

}  // namespace

Paint paint_of(model::EventKind kind) {
  using enum model::EventKind;
  switch (kind) {
    case kKernel:
    case kMemset:
    case kSample:
      return Paint::kCompute;
    case kCollective:
      return Paint::kCommunication;
    case kMemcpy:
      return Paint::kCopy;
    case kRange:
    case kAnnotatedRange:
      return Paint::kRange;
    case kStep:
      return Paint::kStep;
    case kPhase:
      return Paint::kPhase;
    case kLaunch:
    case kCollectiveCall:
      return Paint::kLaunch;
    case kApi:
      return Paint::kApi;
    case kStreamWait:
      return Paint::kStreamWait;
    case kMark:
    case kAnnotatedMark:
      return Paint::kMark;
    case kInputWait:
      return Paint::kInput;
    case kSync:
      return Paint::kSync;
    case kMemory:
      return Paint::kAllocation;
    case kOverhead:
      return Paint::kProfiler;
  }
  return Paint::kRange;
}

Paint paint_of(analyzer::IdleCause cause) {
  using enum analyzer::IdleCause;
  switch (cause) {
    case kProfiler:
      return Paint::kProfiler;
    case kAllocation:
      return Paint::kAllocation;
    case kSync:
      return Paint::kSync;
    case kInput:
      return Paint::kInput;
    case kDependency:
      return Paint::kDependency;
    case kPeer:
      return Paint::kPeer;
    case kGraph:
      return Paint::kGraph;
    case kLaunchStarved:
      return Paint::kLaunchStarved;
    case kLaunchLatency:
      return Paint::kLaunchLatency;
    case kUnexplained:
      return Paint::kUnexplained;
  }
  return Paint::kUnexplained;
}

char const* paint_name(Paint paint) { return kPaints[static_cast<size_t>(paint)].name; }

uint32_t paint_colour(Paint paint, Theme theme, uint8_t shade) {
  // Steps of lightness: far enough apart to see two neighbours, near enough to stay one hue.
  static constexpr std::array<uint32_t, 4> kPercent = {88, 100, 110, 95};
  PaintInfo const& info = kPaints[static_cast<size_t>(paint)];
  uint32_t const base = theme == Theme::kDark ? info.dark : info.light;
  uint32_t const percent = kPercent[shade % kPercent.size()];
  auto const scaled = [&](uint32_t shift) { return std::min(255U, channel(base, shift) * percent / 100) << shift; };
  return 0xFF000000U | scaled(0) | scaled(8) | scaled(16);
}

uint32_t text_on(uint32_t background) {
  // Rec. 601 luma; 140 of 255 keeps the contrast above 4.5 : 1 on every colour of the palette.
  uint32_t const luma = (channel(background, 0) * 299 + channel(background, 8) * 587 + channel(background, 16) * 114) / 1000;
  return luma > 140 ? rgb(0x0B0E12) : rgb(0xFFFFFF);
}

uint32_t with_alpha(uint32_t colour, float alpha) {
  return (colour & 0x00FFFFFFU) | static_cast<uint32_t>(std::clamp(alpha, 0.0F, 1.0F) * 255.0F) << 24U;
}

Surface const& surface(Theme theme) { return theme == Theme::kDark ? kDark : kLight; }

}  // namespace stepscope::viewer
