#include "viewer/widgets/palette.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace stepscope::viewer {
namespace {

constexpr uint32_t rgb(uint32_t hex) {
  return 0xFF000000U | (hex & 0xFFU) << 16U | (hex & 0xFF00U) | hex >> 16U;
}

struct PaintInfo {
  char const* name;           ///< null: that of the part
  uint32_t dark = 0;          ///< on the dark theme
  uint32_t light = 0;         ///< on the light theme
  std::optional<int> part{};  ///< index of reports::part(), which then has the colours
};

/// Paints of classes and idle causes look as in reports.
constexpr PaintInfo of_class(char const* name, int part) { return {name, 0, 0, part}; }

constexpr PaintInfo of_cause(analyzer::IdleCause cause) {
  constexpr int kFirstCause = 3;
  return {nullptr, 0, 0, kFirstCause + static_cast<int>(cause)};
}

constexpr std::array<PaintInfo, kPaintCount> kPaints = {{
    of_class("compute", 0),
    of_class("communication", 1),
    of_class("copy", 2),
    {"range", rgb(0x5A6577), rgb(0xB4BECC)},
    {"step", rgb(0x465061), rgb(0xC3CDDB)},
    {"phase", rgb(0x39414D), rgb(0xD7DDE6)},
    {"launch", rgb(0x7D8796), rgb(0x8F98A6)},
    {"runtime call", rgb(0x7B8490), rgb(0xA7AFBA)},
    {"waiting for an event", rgb(0x2C3844), rgb(0xD5DEE6)},
    {"mark", rgb(0xC9CED6), rgb(0x59616D)},
    of_cause(analyzer::IdleCause::kInput),
    of_cause(analyzer::IdleCause::kSync),
    of_cause(analyzer::IdleCause::kAllocation),
    of_cause(analyzer::IdleCause::kProfiler),
    of_cause(analyzer::IdleCause::kDependency),
    of_cause(analyzer::IdleCause::kPeer),
    of_cause(analyzer::IdleCause::kGraph),
    of_cause(analyzer::IdleCause::kLaunchBound),
    of_cause(analyzer::IdleCause::kLaunchLatency),
    of_cause(analyzer::IdleCause::kUnexplained),
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
                           .accent = rgb(0x74B9FF),
                           .warning = rgb(0xFFC266),
                           .critical = rgb(0xFF8A80),
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
                            .accent = rgb(0x0A5FA8),
                            .warning = rgb(0x9A5B00),
                            .critical = rgb(0xB3261E),
                            .shadow = rgb(0x8A94A0)};

uint32_t channel(uint32_t colour, uint32_t shift) { return colour >> shift & 0xFFU; }

uint32_t base_colour(PaintInfo const& info, Theme theme) {
  if (!info.part) return theme == Theme::kDark ? info.dark : info.light;

  reports::Part const& part = reports::part(*info.part);
  return rgb(theme == Theme::kDark ? part.dark : part.light);
}

/// Steps of lightness, in per cent: far enough apart to see two neighbours, near enough to stay one
/// hue.
constexpr std::array<uint32_t, 4> kShades = {88, 100, 110, 95};

/// The colours of one theme, by paint and shade: a frame asks for thousands.
using ColourTable = std::array<uint32_t, kPaintCount * kShades.size()>;

ColourTable make_colour_table(Theme theme) {
  ColourTable colours{};
  for (size_t paint = 0; paint < kPaints.size(); ++paint) {
    uint32_t const base = base_colour(kPaints[paint], theme);

    for (size_t shade = 0; shade < kShades.size(); ++shade) {
      auto const scaled = [&](uint32_t shift) {
        return std::min(255U, channel(base, shift) * kShades[shade] / 100) << shift;
      };
      colours[paint * kShades.size() + shade] = 0xFF000000U | scaled(0) | scaled(8) | scaled(16);
    }
  }
  return colours;
}

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
      return Paint::kEventWait;
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
    case kLaunchBound:
      return Paint::kLaunchBound;
    case kLaunchLatency:
      return Paint::kLaunchLatency;
    case kUnexplained:
      return Paint::kUnexplained;
  }
  return Paint::kUnexplained;
}

reports::Hatch hatch_of(Paint paint) {
  PaintInfo const& info = kPaints[static_cast<size_t>(paint)];
  return info.part ? reports::part(*info.part).hatch : reports::Hatch::kNone;
}

char const* paint_name(Paint paint) {
  PaintInfo const& info = kPaints[static_cast<size_t>(paint)];
  return info.name != nullptr ? info.name : reports::part(*info.part).label.data();
}

uint32_t paint_colour(Paint paint, Theme theme, uint8_t shade) {
  static ColourTable const dark = make_colour_table(Theme::kDark),
                           light = make_colour_table(Theme::kLight);
  ColourTable const& colours = theme == Theme::kDark ? dark : light;
  return colours[static_cast<size_t>(paint) * kShades.size() + shade % kShades.size()];
}

uint32_t text_on(uint32_t background) {
  auto const linear = [&](uint32_t shift) {
    double const value = channel(background, shift) / 255.0;
    return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
  };
  // Relative luminance (WCAG 2). The better of black and white has a contrast of 4.58 or more.
  double const luminance = 0.2126 * linear(0) + 0.7152 * linear(8) + 0.0722 * linear(16);
  return (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) ? rgb(0x000000) : rgb(0xFFFFFF);
}

uint32_t with_alpha(uint32_t colour, float alpha) {
  return (colour & 0x00FFFFFFU) | static_cast<uint32_t>(std::clamp(alpha, 0.0F, 1.0F) * 255.0F)
                                      << 24U;
}

Surface const& surface(Theme theme) { return theme == Theme::kDark ? kDark : kLight; }

}  // namespace stepscope::viewer
