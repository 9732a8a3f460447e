#include "viewer/session/saved_view.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include <nlohmann/json.hpp>

#include "trace/base/format.h"
#include "viewer/interaction/navigate.h"
#include "viewer/interaction/notes.h"
#include "viewer/panels/panels.h"

namespace stepscope::viewer {
namespace {

using Json = nlohmann::ordered_json;
/// Sorted keys: an object with many keys is read in O(n log n), not O(n²).
using ReadView = nlohmann::json;

constexpr std::string_view kKind = "stepscope view";
constexpr int64_t kSchema = 1;
constexpr int kDeepestView = 8;       ///< what is nested deeper is none of ours and is left out
constexpr double kLatestNs = 4.6e18;  ///< 2^62: times of traces lie within
constexpr double kMostPixels = 1e7;   ///< of all rows
constexpr size_t kLongestTrackPath = 4096;  ///< bytes: three names of kMaxName
constexpr size_t kLongestView = 256;        ///< bytes of a filter

/// Reads the members of an object; after the first fault all are empty, and it is asked for once,
/// at the end.
class ViewReader {
 public:
  explicit ViewReader(ReadView const& object) : object_(object) {}

  [[nodiscard]] std::string const& fault() const { return fault_; }
  void fail(std::string_view key) {
    if (fault_.empty()) fault_ = base::printable(key.substr(0, 80));
  }

  ReadView const* member(ReadView const& of, char const* key) {
    if (!fault_.empty()) return nullptr;
    auto const found = of.find(key);
    return found == of.end() || found->is_null() ? nullptr : &*found;
  }
  std::optional<double> number(char const* key, double low, double high) {
    ReadView const* const value = member(object_, key);
    return value == nullptr ? std::nullopt : bounded_number(*value, key, low, high);
  }
  std::optional<bool> boolean(char const* key) {
    ReadView const* const value = member(object_, key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_boolean()) return fail(key), std::nullopt;
    return value->get<bool>();
  }
  std::optional<std::string> text(ReadView const& of, char const* key, size_t most) {
    ReadView const* const value = member(of, key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_string() || value->get_ref<std::string const&>().size() > most)
      return fail(key), std::nullopt;
    return base::valid_utf8(base::printable(value->get_ref<std::string const&>()), most);
  }
  /// [begin, end] of a piece of time.
  std::optional<TimeWindow> window(char const* key) {
    ReadView const* const value = member(object_, key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_array() || value->size() != 2) return fail(key), std::nullopt;
    auto const begin = bounded_number((*value)[0], key, -kLatestNs, kLatestNs);
    auto const end = bounded_number((*value)[1], key, -kLatestNs, kLatestNs);
    if (!begin || !end) return std::nullopt;
    if (!(*begin < *end)) return fail(key), std::nullopt;
    return TimeWindow{*begin, *end};
  }
  std::optional<std::vector<std::string>> paths(ReadView const& of, char const* key) {
    ReadView const* const value = member(of, key);
    if (value == nullptr) return std::nullopt;
    return list_of(*value, key);
  }
  std::vector<std::string> list_of(ReadView const& list, char const* key) {
    std::vector<std::string> result;
    if (!list.is_array() || list.size() > kMostViewPaths) return fail(key), result;
    for (ReadView const& each : list) {
      if (!each.is_string() || each.get_ref<std::string const&>().size() > kLongestTrackPath)
        return fail(key), result;
      result.push_back(each.get<std::string>());
    }
    return result;
  }

 private:
  std::optional<double> bounded_number(ReadView const& value, char const* key, double low,
                                       double high) {
    if (!value.is_number()) return fail(key), std::nullopt;
    double const number = value.get<double>();
    // Not a number is in no bounds.
    if (!(number >= low && number <= high)) return fail(key), std::nullopt;
    return number;
  }

  ReadView const& object_;
  std::string fault_;
};

TrackChoice read_tracks(ViewReader& reader, ReadView const& object) {
  TrackChoice tracks;
  ReadView const* const value = reader.member(object, "tracks");
  if (value == nullptr) return tracks;
  if (!value->is_object()) return reader.fail("tracks"), tracks;

  tracks.pinned = reader.paths(*value, "pinned").value_or(std::vector<std::string>());
  auto const hidden = reader.paths(*value, "hidden").value_or(std::vector<std::string>());
  tracks.hidden.insert(hidden.begin(), hidden.end());
  tracks.filter = reader.text(*value, "filter", kLongestView).value_or("");

  ReadView const* const order = reader.member(*value, "order");
  if (order == nullptr) return tracks;
  if (!order->is_array() || order->size() > kMostViewPaths) return reader.fail("order"), tracks;
  for (ReadView const& each : *order) {
    if (!each.is_object()) return reader.fail("order"), tracks;
    auto group = reader.text(each, "group", kLongestTrackPath);
    auto children = reader.paths(each, "tracks");
    if (group && children) tracks.order.emplace(std::move(*group), std::move(*children));
  }
  return tracks;
}

std::vector<Note> read_notes(ViewReader& reader, ReadView const& object) {
  std::vector<Note> notes;
  ReadView const* const value = reader.member(object, "notes");
  if (value == nullptr) return notes;
  if (!value->is_array() || value->size() > kMostNotes) return reader.fail("notes"), notes;

  for (ReadView const& each : *value) {
    if (!each.is_object()) return reader.fail("notes"), notes;
    ReadView const* const time = reader.member(each, "time_ns");
    auto words = reader.text(each, "text", kLongestNote);
    // A number beyond 64 bits is one with a point.
    bool const is_whole = time != nullptr && time->is_number_integer();
    auto const bounded = is_whole ? time->get<double>() : 2 * kLatestNs;
    if (!words || std::abs(bounded) > kLatestNs) return reader.fail("notes"), notes;
    notes.push_back({time->get<int64_t>(), std::move(*words)});
  }

  std::stable_sort(notes.begin(), notes.end(),
                   [](Note const& a, Note const& b) { return a.time_ns < b.time_ns; });
  return notes;
}

base::Expected<ReadView> parse_json(std::string_view text, std::string_view name) {
  try {
    return ReadView::parse(
        text, [](int depth, ReadView::parse_event_t, ReadView&) { return depth <= kDeepestView; });
  } catch (ReadView::exception const&) {
    return base::fail("{}: no JSON", name);
  }
}

/// A list of texts, one a line.
Json json_of(std::vector<std::string> const& paths) { return Json(paths); }

}  // namespace

base::Expected<SavedView> parse_saved_view(std::string_view text, std::string_view name) {
  if (text.size() > kMostViewBytes) return base::fail("{}: larger than any view", name);
  auto const json = parse_json(text, name);
  if (!json) return base::fail_with(json);
  if (!json->is_object()) return base::fail("{}: not a view of Stepscope", name);

  ViewReader reader(*json);
  if (reader.text(*json, "kind", 80) != std::string(kKind))
    return base::fail("{}: not a view of Stepscope", name);
  auto const schema = reader.number("schema", 1, kMostPixels);
  if (!schema || *schema > static_cast<double>(kSchema))
    return base::fail("{}: a view of a newer Stepscope", name);

  SavedView saved;
  saved.window = reader.window("window_ns");
  saved.range = reader.window("marked_ns");
  saved.closed = reader.paths(*json, "closed");
  saved.path = reader.boolean("critical_path");
  saved.scroll = reader.number("scroll", 0, kMostPixels);
  saved.side_width = reader.number("side_width", 0, kMostPixels);
  saved.bottom_height = reader.number("bottom_height", 0, kMostPixels);
  saved.text_size = reader.number("text_size", double{kSmallestText}, double{kLargestText});

  if (auto const theme = reader.text(*json, "theme", 80)) {
    if (*theme != "light" && *theme != "dark") reader.fail("theme");
    saved.theme = *theme == "light" ? Theme::kLight : Theme::kDark;
  }
  if (auto const tab = reader.text(*json, "tab", 80)) {
    // A panel of a later version is no fault.
    if (Panel const* const panel = find_panel(*tab)) saved.tab = Tab{panel->id};
  }

  saved.tracks = read_tracks(reader, *json);
  saved.notes = read_notes(reader, *json);
  if (!reader.fault().empty())
    return base::fail("{}: \"{}\" is not as a view has it", name, reader.fault());
  return saved;
}

std::string saved_view_text(SavedView const& saved) {
  Json json;
  json["kind"] = kKind;
  json["schema"] = kSchema;

  if (saved.window) json["window_ns"] = {saved.window->begin, saved.window->end};
  if (saved.range) json["marked_ns"] = {saved.range->begin, saved.range->end};
  if (saved.theme) json["theme"] = *saved.theme == Theme::kLight ? "light" : "dark";
  if (saved.tab) json["tab"] = saved.tab->id;
  if (saved.path) json["critical_path"] = *saved.path;
  if (saved.scroll) json["scroll"] = *saved.scroll;
  if (saved.side_width) json["side_width"] = *saved.side_width;
  if (saved.bottom_height) json["bottom_height"] = *saved.bottom_height;
  if (saved.text_size) json["text_size"] = *saved.text_size;
  if (saved.closed) json["closed"] = json_of(*saved.closed);

  Json& tracks = json["tracks"] = Json::object();
  tracks["pinned"] = json_of(saved.tracks.pinned);
  tracks["hidden"] = json_of({saved.tracks.hidden.begin(), saved.tracks.hidden.end()});
  tracks["filter"] = saved.tracks.filter;
  Json& order = tracks["order"] = Json::array();
  for (auto const& [parent, children] : saved.tracks.order)
    order.push_back({{"group", parent}, {"tracks", json_of(children)}});

  Json& notes = json["notes"] = Json::array();
  for (Note const& note : saved.notes)
    notes.push_back({{"time_ns", note.time_ns}, {"text", note.text}});
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

SavedView saved_view(Scene const& scene, ViewState const& state) {
  SavedView saved;
  saved.window = state.window;
  saved.range = state.range;

  saved.theme = state.theme;
  saved.tab = state.panels.tab;
  saved.path = state.panels.path;
  saved.scroll = static_cast<double>(state.scroll);
  saved.side_width = static_cast<double>(state.panels.side_width);
  saved.bottom_height = static_cast<double>(state.panels.bottom_height);
  saved.text_size = static_cast<double>(state.panels.text_size);

  saved.closed.emplace();
  for (uint32_t const node : state.closed)
    if (node < scene.nodes.size()) saved.closed->push_back(scene.nodes[node].path);
  if (saved.closed->size() > kMostViewPaths) saved.closed.reset();  // opens as a new run does
  saved.tracks = state.tracks;
  saved.notes = state.notes;
  return saved;
}

void apply_saved_view(SavedView const& saved, Scene const& scene, ViewState& state) {
  if (saved.window) {
    go_to(state, scene, *saved.window);
    state.history.clear();
  }

  // What is marked beyond the run is marked nowhere.
  if (saved.range && saved.range->begin < static_cast<double>(scene.length) && saved.range->end > 0)
    state.range = saved.range;

  if (saved.theme) state.theme = *saved.theme;
  // A run of a series that is now opened alone has no scaling panel.
  bool const has_panel = saved.tab != Tab::kScaling || scene.series != nullptr;
  if (saved.tab && has_panel) state.panels.tab = *saved.tab;
  if (saved.path) state.panels.path = *saved.path;
  if (saved.scroll) state.scroll = static_cast<float>(*saved.scroll);
  if (saved.side_width) state.panels.side_width = static_cast<float>(*saved.side_width);
  if (saved.bottom_height) state.panels.bottom_height = static_cast<float>(*saved.bottom_height);
  if (saved.text_size) state.panels.text_size = static_cast<float>(*saved.text_size);

  if (saved.closed) {
    std::unordered_map<std::string_view, uint32_t> nodes;
    for (uint32_t i = 0; i < scene.nodes.size(); ++i) nodes.emplace(scene.nodes[i].path, i);
    state.closed.clear();
    for (std::string const& path : *saved.closed)
      if (auto const node = nodes.find(path); node != nodes.end())
        state.closed.insert(node->second);
  }

  state.tracks = saved.tracks;
  state.notes = saved.notes;
}

ViewState kept_part(ViewState const& state) {
  ViewState kept;
  kept.window = state.window;
  kept.range = state.range;
  kept.theme = state.theme;
  kept.scroll = state.scroll;

  kept.panels.tab = state.panels.tab;
  kept.panels.path = state.panels.path;
  kept.panels.side_width = state.panels.side_width;
  kept.panels.bottom_height = state.panels.bottom_height;
  kept.panels.text_size = state.panels.text_size;

  kept.closed = state.closed;
  kept.tracks = state.tracks;
  kept.notes = state.notes;
  return kept;
}

bool same_view(ViewState const& a, ViewState const& b) {
  return a.window == b.window && a.range == b.range && a.theme == b.theme && a.scroll == b.scroll &&
         a.panels.tab == b.panels.tab && a.panels.path == b.panels.path &&
         a.panels.side_width == b.panels.side_width &&
         a.panels.bottom_height == b.panels.bottom_height &&
         a.panels.text_size == b.panels.text_size && a.closed == b.closed && a.tracks == b.tracks &&
         a.notes == b.notes;
}

}  // namespace stepscope::viewer
