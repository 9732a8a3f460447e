// Which colour means what. Hues are from the Okabe-Ito set, which people with any kind of colour
// blindness can distinguish. Idle time also has another shape (half height) and is hatched
// (viewer/widgets/hatch.h), so that no meaning depends on hue alone.
#pragma once

#include <cstdint>

#include "analyzer/results/analysis.h"
#include "reports/words/labels.h"
#include "trace/model/kinds.h"
#include "viewer/widgets/theme.h"

namespace stepscope::viewer {

enum class Paint : uint8_t {
  kCompute,
  kCommunication,
  kCopy,
  kRange,
  kStep,
  kPhase,
  kLaunch,
  kApi,
  kEventWait,
  kMark,
  kInput,
  kSync,
  kAllocation,
  kProfiler,
  kDependency,
  kPeer,
  kGraph,
  kLaunchBound,
  kLaunchLatency,
  kUnexplained,
};
inline constexpr int kPaintCount = 20;

Paint paint_of(model::EventKind kind);
Paint paint_of(analyzer::IdleCause cause);
/// How idle time of that cause is hatched; kNone of all else.
reports::Hatch hatch_of(Paint paint);
/// What the colour stands for, in words.
char const* paint_name(Paint paint);

/// Colours are packed as ImGui packs them. `shade` 0–3 varies the lightness so that neighbours of
/// one class can be told apart.
uint32_t paint_colour(Paint paint, Theme theme, uint8_t shade = 1);
/// Black or white, whichever reads better on `background`.
uint32_t text_on(uint32_t background);
/// The same colour with another opacity, 0–1.
uint32_t with_alpha(uint32_t colour, float alpha);

/// Colours of everything that is not an event.
struct Surface {
  uint32_t background, row, row_alternate, header, gutter, line, line_strong, text, text_dim,
      accent, warning, critical, shadow;
};
Surface const& surface(Theme theme);

}  // namespace stepscope::viewer
