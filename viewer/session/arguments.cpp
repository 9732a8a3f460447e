#include "viewer/session/arguments.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "analyzer/whatif/changes/change.h"
#include "trace/base/format.h"
#include "trace/base/parse_time.h"
#include "viewer/interaction/navigate.h"
#include "viewer/panels/panels.h"

namespace stepscope::viewer {
namespace {

constexpr int
    kMinSide = 320,
    kMaxSide = 16384;  ///< smaller shows nothing, larger is beyond what OpenGL must be able to draw

/// The rows' height is not known before the first frame; any screen shows this many pixels.
constexpr float kRowsHeight = 300;

std::optional<int> parse_side(std::string_view text) {
  int value = 0;
  auto const [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || rest != text.data() + text.size() || value < kMinSide ||
      value > kMaxSide)
    return std::nullopt;
  return value;
}

}  // namespace

base::Expected<PixelSize> parse_size(std::string_view text) {
  size_t const x = text.find('x');
  if (x != std::string_view::npos) {
    auto const width = parse_side(text.substr(0, x));
    auto const height = parse_side(text.substr(x + 1));
    if (width && height) return PixelSize{*width, *height};
  }
  return base::fail("--size {}: not a size, write WIDTHxHEIGHT with {} to {} pixels each",
                    base::printable(text), kMinSide, kMaxSide);
}

namespace {

base::Expected<void> show_time(Arguments const& arguments, Scene const& scene, ViewState& state) {
  if (arguments.time.empty()) return {};
  auto const time = base::parse_time_range(arguments.time);
  if (!time) return base::fail_with(time);
  // A run that is compared with this one may be longer.
  if (scene.events > 0 && arguments.candidate.empty() &&
      time->begin_ns >= static_cast<double>(scene.length))
    return base::fail("--time {}: is behind the run's end, it has {:.6f} s",
                      base::printable(arguments.time), static_cast<double>(scene.length) / 1e9);
  go_to(state, scene, {time->begin_ns, time->end_ns});
  return {};
}

}  // namespace

base::Expected<void> apply_arguments(Arguments const& arguments, Scene const& scene,
                                     ViewState& state) {
  if (arguments.text_size) {
    float const size = *arguments.text_size;
    if (!(size >= kSmallestText && size <= kLargestText))
      return base::fail("--text-size {}: write a number from {} to {}", size, kSmallestText,
                        kLargestText);
    state.panels.text_size = size;
  }
  if (arguments.theme != "dark" && arguments.theme != "light")
    return base::fail("--theme {}: unknown, write dark or light", base::printable(arguments.theme));
  state.theme = arguments.theme == "light" ? Theme::kLight : Theme::kDark;

  if (!arguments.panel.empty() && !show_panel(state, arguments.panel))
    return base::fail("--panel {}: unknown, write {}", base::printable(arguments.panel),
                      panel_names());

  for (std::string const& change : arguments.changes)
    if (auto const parsed = analyzer::parse_change(change); !parsed)
      return base::fail("--change {}", parsed.error().message);
  if (!arguments.changes.empty()) {
    state.panels.what_if.changes = analyzer::written_changes(arguments.changes);
    if (arguments.panel.empty()) state.panels.tab = Tab::kWhatIf;
  }

  bool const is_compared = !arguments.candidate.empty();
  if (is_compared && arguments.runs.empty())
    return base::fail("--vs {}: compared with which run? Write stepscope view BASE --vs NEW",
                      base::printable(arguments.candidate.front()));
  if (arguments.panel == "comparison" && !is_compared)
    return base::fail("--panel comparison: of which runs? Write stepscope view BASE --vs NEW");
  if (is_compared && arguments.panel.empty() && arguments.changes.empty())
    state.panels.tab = Tab::kComparison;

  if (auto const time = show_time(arguments, scene, state); !time) return time;

  auto const finding = show_finding(arguments, scene, state);
  if (arguments.select.empty()) return finding;
  state.search.text = arguments.select;
  state.search.open = true;
  run_search(state, scene);
  if (state.search.hits.empty())
    return base::fail("--select {}: no event has this name, look for it with stepscope analyze",
                      base::printable(arguments.select));

  TimeWindow const asked = state.window;
  step_search(state, scene, 1, kRowsHeight);
  if (!arguments.time.empty()) state.window = asked;
  return finding;
}

void show_first_finding(Arguments const& arguments, Scene const& scene, ViewState& state) {
  bool const asks = arguments.finding || !arguments.time.empty() || !arguments.select.empty() ||
                    !arguments.panel.empty() || !arguments.changes.empty() ||
                    !arguments.candidate.empty();
  bool const is_series = scene.series && scene.series->runs.size() > 1;
  bool const has_many = scene.run.ranks.size() > kOpenRanks;
  if (asks || is_series || !has_many || !scene.has_analysis() || scene.analysis.findings.empty())
    return;
  focus_finding(state, scene, {0, 0}, kRowsHeight);
}

base::Expected<void> show_finding(Arguments const& arguments, Scene const& scene,
                                  ViewState& state) {
  if (!arguments.finding || !scene.has_analysis()) return {};
  size_t const count = scene.analysis.findings.size();
  if (*arguments.finding < 1 || *arguments.finding > count)
    return base::fail("--finding {}: the run has {}, stepscope analyze lists them",
                      *arguments.finding, base::format_count(count, "finding"));

  TimeWindow const asked = state.window;
  focus_finding(state, scene, {static_cast<uint32_t>(*arguments.finding - 1), 0}, kRowsHeight);
  if (!arguments.time.empty()) state.window = asked;
  return {};
}

}  // namespace stepscope::viewer
