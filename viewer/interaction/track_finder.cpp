#include "viewer/interaction/track_finder.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <tuple>

#include "viewer/interaction/navigate.h"
#include "viewer/scene/track_choice.h"

namespace stepscope::viewer {
namespace {

/// Longer texts name no track.
constexpr size_t kLongestText = 256;
/// How long a row stands out: long enough for an eye that is elsewhere.
constexpr float kFlashSeconds = 1.2F;

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }
char small(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

/// How well a path that has all words fits: points for each that is whole and that follows the one
/// before.
int points_of(std::string_view path, std::string_view words) {
  int points = 0;
  size_t from = 0;

  for (size_t at = 0; at < words.size();) {
    size_t const first = words.find_first_not_of(' ', at);
    if (first == std::string_view::npos) break;
    at = std::min(words.find(' ', first), words.size());
    std::string_view const word = words.substr(first, at - first);

    auto const equal = [](char a, char b) { return small(a) == small(b); };
    auto found = std::search(path.begin() + static_cast<std::ptrdiff_t>(from), path.end(),
                             word.begin(), word.end(), equal);
    bool const follows = found != path.end();
    if (!follows) found = std::search(path.begin(), path.end(), word.begin(), word.end(), equal);
    if (found == path.end()) continue;

    auto const begin = static_cast<size_t>(found - path.begin());
    size_t const end = begin + word.size();
    points += follows ? 2 : 0;
    points += begin == 0 || !is_letter(path[begin - 1]) ? 1 : 0;
    points += end == path.size() || !is_letter(path[end]) ? 1 : 0;
    from = end;
  }
  return points;
}

/// How many letters lie between those of the text, which the path has in their order; none: it has
/// not.
std::optional<size_t> letters_between(std::string_view path, std::string_view text) {
  size_t first = 0;
  size_t at = 0;
  size_t letters = 0;

  for (char const wanted : text) {
    if (wanted == ' ') continue;
    while (at < path.size() && small(path[at]) != small(wanted)) ++at;
    if (at == path.size()) return std::nullopt;
    if (letters++ == 0) first = at;
    ++at;
  }

  return at - first - letters;
}

}  // namespace

FoundTracks find_tracks(Scene const& scene, std::string_view text) {
  text = text.substr(0, kLongestText);
  struct Match {
    bool is_loose;
    int64_t cost;
    uint32_t node;
  };
  std::vector<Match> matches;

  for (uint32_t i = 0; i < scene.nodes.size(); ++i) {
    std::string_view const path = scene.nodes[i].path;
    if (text.find_first_not_of(' ') == std::string_view::npos) {
      matches.push_back({false, 0, i});
    } else if (has_words(path, text)) {
      // A point counts as much as a short name is long; equals: the path with less besides the
      // words wins.
      constexpr int64_t kPoint = 1000;
      matches.push_back(
          {false, static_cast<int64_t>(path.size()) - kPoint * points_of(path, text), i});
    } else if (auto const spread = letters_between(path, text)) {
      matches.push_back({true, static_cast<int64_t>(*spread), i});
    }
  }

  FoundTracks found;
  found.total = static_cast<uint32_t>(matches.size());
  size_t const kept = std::min<size_t>(matches.size(), kMostFound);
  std::partial_sort(matches.begin(), matches.begin() + static_cast<std::ptrdiff_t>(kept),
                    matches.end(), [](Match const& a, Match const& b) {
                      return std::tuple(a.is_loose, a.cost, a.node) <
                             std::tuple(b.is_loose, b.cost, b.node);
                    });

  for (size_t i = 0; i < kept; ++i) {
    found.nodes.push_back(matches[i].node);
    if (!matches[i].is_loose) ++found.with_words;
  }
  return found;
}

void go_to_track(ViewState& state, Scene const& scene, uint32_t node, float rows_height) {
  if (node >= scene.nodes.size()) return;
  reveal(state, scene, node, rows_height);
  if (scene.nodes[node].device) state.device = *scene.nodes[node].device;
  state.panels.flash = Flash{node, kFlashSeconds};
  state.panels.found_track = scene.nodes[node].path;
}

void go_to_device(ViewState& state, Scene const& scene, uint32_t device, float rows_height) {
  if (device >= scene.analysis.devices.size()) return;
  state.device = device;
  if (auto const node = scene.node_of_device(scene.analysis.devices[device].ref))
    go_to_track(state, scene, *node, rows_height);
}

void fade_flash(ViewState& state, float seconds) {
  if (!state.panels.flash) return;
  state.panels.flash->seconds -= seconds;
  if (state.panels.flash->seconds <= 0) state.panels.flash.reset();
}

}  // namespace stepscope::viewer
