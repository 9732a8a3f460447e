#include "viewer/arguments.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "trace/base/format.h"
#include "viewer/navigate.h"
#include "viewer/ui.h"

namespace stepscope::viewer {
namespace {

constexpr int kMinSide = 320, kMaxSide = 16384;  ///< smaller shows nothing, larger is beyond what OpenGL must be able to draw

std::optional<int> parse_side(std::string_view text) {
  int value = 0;
  auto const [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || rest != text.data() + text.size() || value < kMinSide || value > kMaxSide) return std::nullopt;
  return value;
}

std::optional<double> parse_instant(std::string_view text) {
  double value = 0;
  auto const [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || !std::isfinite(value)) return std::nullopt;
  std::string_view const unit(rest, static_cast<size_t>(text.data() + text.size() - rest));
  static constexpr std::pair<std::string_view, double> kUnits[] = {{"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  for (auto const& [name, ns] : kUnits)
    if (unit == name) return value * ns;
  return unit.empty() && value == 0 ? std::optional(0.0) : std::nullopt;
}

}  // namespace

base::Expected<PixelSize> parse_size(std::string_view text) {
  size_t const x = text.find('x');
  if (x != std::string_view::npos) {
    auto const width = parse_side(text.substr(0, x));
    auto const height = parse_side(text.substr(x + 1));
    if (width && height) return PixelSize{*width, *height};
  }
  return base::fail("--size {}: not a size, write WIDTHxHEIGHT with {} to {} pixels each", base::printable(text), kMinSide,
                    kMaxSide);
}

base::Expected<TimeWindow> parse_time_window(std::string_view text) {
  size_t const colon = text.find(':');
  if (colon != std::string_view::npos) {
    auto const begin = parse_instant(text.substr(0, colon));
    auto const end = parse_instant(text.substr(colon + 1));
    if (begin && end && *begin < *end) return TimeWindow{*begin, *end};
  }
  return base::fail("--time {}: not a range of time, write BEGIN:END with units, such as 1.5s:1600ms", base::printable(text));
}

base::Expected<void> apply_arguments(Arguments const& arguments, Scene const& scene, ViewState& state) {
  if (arguments.theme != "dark" && arguments.theme != "light")
    return base::fail("--theme {}: unknown, write dark or light", base::printable(arguments.theme));
  state.theme = arguments.theme == "light" ? Theme::kLight : Theme::kDark;
  if (!arguments.panel.empty() && !show_panel(state, arguments.panel))
    return base::fail("--panel {}: unknown, write findings, details, statistics, kernels, memory or run",
                      base::printable(arguments.panel));
  if (!arguments.time.empty()) {
    auto const window = parse_time_window(arguments.time);
    if (!window) return base::fail_with(window);
    go_to(state, scene, *window);
  }
  if (arguments.select.empty()) return {};
  // The rows' height is not known before the first frame; any screen shows this many pixels.
  constexpr float kRowsHeight = 300;
  state.search.text = arguments.select;
  state.search.open = true;
  run_search(state, scene);
  if (state.search.hits.empty())
    return base::fail("--select {}: no event has this name, look for it with stepscope analyze",
                      base::printable(arguments.select));
  TimeWindow const asked = state.window;
  step_search(state, scene, 1, kRowsHeight);
  if (!arguments.time.empty()) state.window = asked;
  return {};
}

}  // namespace stepscope::viewer
