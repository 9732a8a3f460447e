#include "viewer/scene/track_choice.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace stepscope::viewer {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool same_letter(char a, char b) { return lower(a) == lower(b); }

/// Where a word is, from `from` on; npos if it is nowhere.
size_t find_word(std::string_view path, std::string_view word, size_t from) {
  for (auto at = path.begin() + static_cast<std::ptrdiff_t>(from);; ++at) {
    at = std::search(at, path.end(), word.begin(), word.end(), same_letter);
    if (at == path.end()) return std::string_view::npos;
    auto const first = static_cast<size_t>(at - path.begin());
    size_t const after = first + word.size();
    bool const cut_before = is_digit(word.front()) && first > 0 && is_digit(path[first - 1]);
    bool const cut_after = is_digit(word.back()) && after < path.size() && is_digit(path[after]);
    if (!cut_before && !cut_after) return first;
  }
}

/// Children of one group in the order of the screen.
std::vector<uint32_t> children_of(Scene const& scene, TrackChoice const& choice,
                                  std::optional<uint32_t> parent) {
  uint32_t const last =
      parent ? scene.nodes[*parent].subtree_end : static_cast<uint32_t>(scene.nodes.size());
  std::vector<uint32_t> children;
  for (uint32_t i = parent ? *parent + 1 : 0; i < last; i = scene.nodes[i].subtree_end)
    children.push_back(i);

  auto const order = choice.order.find(parent ? scene.nodes[*parent].path : std::string());
  if (order == choice.order.end()) return children;

  std::unordered_map<std::string_view, size_t> places;
  for (size_t i = 0; i < order->second.size(); ++i) places.try_emplace(order->second[i], i);
  auto const place = [&](uint32_t node) {
    auto const found = places.find(scene.nodes[node].path);
    return found == places.end() ? places.size() + order->second.size() : found->second;
  };

  std::stable_sort(children.begin(), children.end(),
                   [&](uint32_t a, uint32_t b) { return place(a) < place(b); });
  return children;
}

/// Walks the tree as it is shown.
class Walk {
 public:
  Walk(Scene const& scene, ViewState const& state) : scene_(scene), state_(state) {
    if (state.tracks.filter.find_first_not_of(' ') == std::string::npos) return;
    matches_before_.push_back(0);
    for (Node const& node : scene.nodes)
      matches_before_.push_back(matches_before_.back() +
                                (has_words(node.path, state.tracks.filter) ? 1 : 0));
  }

  std::vector<ShownTrack> rows() {
    add_children({});
    return std::move(rows_);
  }

 private:
  /// How many nodes of [first, last) match the filter.
  [[nodiscard]] uint32_t matches(uint32_t first, uint32_t last) const {
    return matches_before_[last] - matches_before_[first];
  }

  // As deep as the scene's tree, which is as deep as a run has levels.
  void add_children(std::optional<uint32_t> parent) {
    for (uint32_t const node : children_of(scene_, state_.tracks, parent)) {
      if (!state_.tracks.hidden.empty() && state_.tracks.hidden.contains(scene_.nodes[node].path))
        continue;

      bool open = !state_.closed.contains(node);
      if (!matches_before_.empty()) {
        if (matches(node, scene_.nodes[node].subtree_end) == 0) continue;
        // A group that is there for what is in it shows that.
        if (matches(node, node + 1) == 0) open = true;
      }
      rows_.push_back({node, open});
      if (open && scene_.nodes[node].subtree_end > node + 1) add_children(node);
    }
  }

  Scene const& scene_;
  ViewState const& state_;
  std::vector<uint32_t> matches_before_;  ///< each node; empty without a filter
  std::vector<ShownTrack> rows_;
};

/// The names of `other` in their order. Names that only `own` has come where they were: after the
/// name that they followed in `own`, or at the begin.
std::vector<std::string> merged_order(std::vector<std::string> const& own,
                                      std::vector<std::string> const& other) {
  std::unordered_set<std::string_view> const known(other.begin(), other.end());
  std::unordered_map<std::string_view, std::vector<std::string_view>> followers;
  std::string_view before;  // no track has an empty path
  for (std::string const& name : own) {
    if (known.contains(name))
      before = name;
    else
      followers[before].push_back(name);
  }

  std::vector<std::string> merged;
  auto const add_followers = [&](std::string_view name) {
    auto const found = followers.find(name);
    if (found != followers.end())
      merged.insert(merged.end(), found->second.begin(), found->second.end());
  };

  add_followers({});
  for (std::string const& name : other) {
    merged.push_back(name);
    add_followers(name);
  }
  return merged;
}

/// The neighbour among the siblings that can be seen.
std::optional<uint32_t> neighbour(ViewState const& state, Scene const& scene, uint32_t node,
                                  int direction) {
  auto const siblings = children_of(scene, state.tracks, parent_of(scene, node));
  auto const here = std::find(siblings.begin(), siblings.end(), node) - siblings.begin();
  auto const count = static_cast<std::ptrdiff_t>(siblings.size());
  for (std::ptrdiff_t i = here + direction; i >= 0 && i < count; i += direction) {
    uint32_t const other = siblings[static_cast<size_t>(i)];
    if (!state.tracks.hidden.contains(scene.nodes[other].path)) return other;
  }
  return std::nullopt;
}

}  // namespace

void name_paths(std::vector<Node>& nodes) {
  std::unordered_map<std::string, uint32_t> numbers;  // of the paths that were given
  std::vector<uint32_t> around;

  for (uint32_t i = 0; i < nodes.size(); ++i) {
    while (!around.empty() && nodes[around.back()].subtree_end <= i) around.pop_back();
    std::string const plain =
        (around.empty() ? std::string() : nodes[around.back()].path + "/") + nodes[i].label;

    std::string path = plain;
    // A number once given is not tried again: many of one name take no longer than many of many.
    while (!numbers.try_emplace(path, 1).second)
      path = plain + "#" + std::to_string(++numbers[plain]);

    nodes[i].path = std::move(path);
    around.push_back(i);
  }
}

bool has_words(std::string_view path, std::string_view words) {
  for (size_t at = 0; at < words.size();) {
    size_t const first = words.find_first_not_of(' ', at);
    if (first == std::string_view::npos) break;
    size_t const after = std::min(words.find(' ', first), words.size());
    if (find_word(path, words.substr(first, after - first), 0) == std::string_view::npos)
      return false;
    at = after;
  }
  return true;
}

std::vector<ShownTrack> shown_tracks(Scene const& scene, ViewState const& state) {
  return Walk(scene, state).rows();
}

std::vector<uint32_t> pinned_tracks(Scene const& scene, TrackChoice const& choice) {
  std::vector<uint32_t> result;
  if (choice.pinned.empty()) return result;

  std::unordered_map<std::string_view, size_t> places;
  for (size_t i = 0; i < choice.pinned.size(); ++i) places.try_emplace(choice.pinned[i], i);

  std::vector<std::pair<size_t, uint32_t>> found;
  for (uint32_t i = 0; i < scene.nodes.size(); ++i)
    if (auto const place = places.find(scene.nodes[i].path); place != places.end())
      found.emplace_back(place->second, i);

  std::sort(found.begin(), found.end());

  result.reserve(found.size());
  for (auto const& [place, node] : found) result.push_back(node);
  return result;
}

uint32_t count_hidden(Scene const& scene, TrackChoice const& choice) {
  if (choice.hidden.empty()) return 0;
  return static_cast<uint32_t>(
      std::count_if(scene.nodes.begin(), scene.nodes.end(),
                    [&](Node const& node) { return choice.hidden.contains(node.path); }));
}

std::optional<uint32_t> node_of_path(Scene const& scene, std::string_view path) {
  for (uint32_t i = 0; i < scene.nodes.size(); ++i)
    if (scene.nodes[i].path == path) return i;
  return std::nullopt;
}

std::optional<uint32_t> chosen_track(Scene const& scene, ViewState const& state) {
  bool const has_found = !state.panels.found_track.empty();
  if (auto const found = has_found ? node_of_path(scene, state.panels.found_track) : std::nullopt)
    return found;
  return state.selection ? scene.node_of(*state.selection) : std::nullopt;
}

std::optional<uint32_t> parent_of(Scene const& scene, uint32_t node) {
  std::optional<uint32_t> parent;
  for (uint32_t i = 0; i < node;) {
    bool const around = scene.nodes[i].subtree_end > node;
    if (around) parent = i;
    i = around ? i + 1 : scene.nodes[i].subtree_end;
  }
  return parent;
}

bool is_pinned(ViewState const& state, Scene const& scene, uint32_t node) {
  auto const& pinned = state.tracks.pinned;
  return std::find(pinned.begin(), pinned.end(), scene.nodes[node].path) != pinned.end();
}

void toggle_pin(ViewState& state, Scene const& scene, uint32_t node) {
  std::string const& path = scene.nodes[node].path;
  if (std::erase(state.tracks.pinned, path) == 0) state.tracks.pinned.push_back(path);
}

void hide(ViewState& state, Scene const& scene, uint32_t node) {
  std::erase(state.tracks.pinned, scene.nodes[node].path);
  state.tracks.hidden.insert(scene.nodes[node].path);
}

void hide_others(ViewState& state, Scene const& scene, uint32_t node) {
  for (uint32_t i = 0; i < scene.nodes.size(); ++i)
    if (i != node && scene.nodes[i].kind == scene.nodes[node].kind) hide(state, scene, i);
}

void show_all_tracks(ViewState& state) {
  state.tracks.hidden.clear();
  state.tracks.filter.clear();
  state.panels.filter = false;
}

bool can_move(ViewState const& state, Scene const& scene, uint32_t node, int direction) {
  return neighbour(state, scene, node, direction).has_value();
}

bool move_track(ViewState& state, Scene const& scene, uint32_t node, int direction) {
  auto const other = neighbour(state, scene, node, direction);
  if (!other) return false;
  move_track_to(state, scene, node, *other, direction > 0);
  return true;
}

void move_track_to(ViewState& state, Scene const& scene, uint32_t node, uint32_t other,
                   bool below) {
  auto const parent = parent_of(scene, node);
  if (node == other || parent_of(scene, other) != parent) return;

  auto siblings = children_of(scene, state.tracks, parent);
  siblings.erase(std::find(siblings.begin(), siblings.end(), node));
  auto const at = std::find(siblings.begin(), siblings.end(), other);
  siblings.insert(below ? at + 1 : at, node);

  std::vector<std::string>& order =
      state.tracks.order[parent ? scene.nodes[*parent].path : std::string()];
  order.clear();
  for (uint32_t const sibling : siblings) order.push_back(scene.nodes[sibling].path);
}

void move_pinned_to(ViewState& state, Scene const& scene, uint32_t node, uint32_t other,
                    bool below) {
  std::vector<std::string>& pinned = state.tracks.pinned;
  std::string const& path = scene.nodes[node].path;
  bool const are_pinned = is_pinned(state, scene, node) && is_pinned(state, scene, other);
  if (node == other || !are_pinned) return;
  pinned.erase(std::find(pinned.begin(), pinned.end(), path));
  auto const at = std::find(pinned.begin(), pinned.end(), scene.nodes[other].path);
  pinned.insert(below ? at + 1 : at, path);
}

TrackChoice adopted_choice(Scene const& scene, TrackChoice const& own, TrackChoice const& other) {
  TrackChoice adopted = other;
  for (auto& [group, order] : adopted.order) {
    auto const parent = group.empty() ? std::nullopt : node_of_path(scene, group);
    if (!group.empty() && !parent) continue;

    std::vector<std::string> here;
    for (uint32_t const child : children_of(scene, own, parent))
      here.push_back(scene.nodes[child].path);
    order = merged_order(here, order);
  }
  return adopted;
}

void close_all_ranks(ViewState& state, Scene const& scene) {
  for (uint32_t i = 0; i < scene.nodes.size(); i = scene.nodes[i].subtree_end)
    state.closed.insert(i);
}

void toggle_open(ViewState& state, uint32_t node) {
  if (state.closed.erase(node) == 0) state.closed.insert(node);
}

void open_all(ViewState& state) { state.closed.clear(); }

}  // namespace stepscope::viewer
