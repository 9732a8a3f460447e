#include <algorithm>
#include <cmath>

#include "viewer/event_store/in_memory/in_memory_questions.h"

namespace stepscope::viewer {
namespace {

/// Samples of a pixel that are looked at: at 10 samples a second and 500 pixels enough for all of
/// three hours.
constexpr size_t kMostSamplesOfPixel = 256;

}  // namespace

std::vector<CounterPixel> counter_pixels_in_memory(Curve const& curve, TimeWindow window,
                                                   size_t count, int64_t length) {
  std::vector<CounterPixel> pixels(count);
  size_t at = 0;  // of the first sample after the pixel's begin
  for (size_t i = 0; i < count; ++i) {
    double const begin =
        window.begin + window.span() * static_cast<double>(i) / static_cast<double>(count);
    double const end =
        window.begin + window.span() * static_cast<double>(i + 1) / static_cast<double>(count);
    if (begin > static_cast<double>(length)) break;
    auto const after = [&](double time) {
      return static_cast<size_t>(
          std::partition_point(curve.time.begin() + static_cast<std::ptrdiff_t>(at),
                               curve.time.end(),
                               [&](int64_t t) { return static_cast<double>(t) <= time; }) -
          curve.time.begin());
    };

    at = after(begin);
    size_t const last = after(end);
    size_t const first = at > 0 ? at - 1 : at;
    size_t const stride = std::max<size_t>((last - first) / kMostSamplesOfPixel, 1);

    CounterPixel& pixel = pixels[i];
    for (size_t sample = first; sample < last; sample += stride) {
      double const value = curve.value[sample];
      if (!std::isfinite(value)) continue;
      pixel.low = pixel.is_known ? std::min(pixel.low, value) : value;
      pixel.high = pixel.is_known ? std::max(pixel.high, value) : value;
      pixel.is_known = true;
    }
  }
  return pixels;
}

std::vector<StripPiece> device_strip_in_memory(Segments const& segments, TimeWindow window,
                                               float width) {
  std::vector<StripPiece> pieces;
  auto at = segments.begin();
  for (float x = 0; x < width; ++x) {
    // What is in the middle of a pixel stands for it: of a whole step no more can be seen.
    auto const time =
        window.begin + (static_cast<double>(x) + 0.5) / static_cast<double>(width) * window.span();
    at = std::partition_point(at, segments.end(), [&](Segment const& segment) {
      return static_cast<double>(segment.end) <= time;
    });
    if (at == segments.end()) break;
    if (static_cast<double>(at->begin) > time) continue;

    StripPiece* const last = pieces.empty() ? nullptr : &pieces.back();
    bool const idle = at->gap.has_value();
    if (last != nullptr && last->x1 == x && last->paint == at->paint && last->idle == idle) {
      last->x1 = x + 1;
    } else {
      pieces.push_back({x, x + 1, at->paint, idle, at->gap.value_or(StripPiece::kNoGap)});
    }
  }
  return pieces;
}

}  // namespace stepscope::viewer
