// What a person sees and has chosen, as one value: copying it is a snapshot, comparing it is a
// test, nothing else is remembered between two frames. View time = ns since Scene::origin, as
// double: exact to 1 ns for 104 days, which is longer than a trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "viewer/widgets/theme.h"

namespace stepscope::viewer {

/// The visible part of the run, in view time; begin < end.
struct TimeWindow {
  double begin = 0, end = 1;
  [[nodiscard]] double span() const { return end - begin; }
  friend bool operator==(TimeWindow const&, TimeWindow const&) = default;
};

/// An event (a row of a rank's trace) or a piece of idle time (index into Analysis::gaps). In a run
/// that is not in memory rows have no numbers: there an event is known by its place.
struct Selection {
  enum class What : uint8_t { kEvent, kGap };
  static constexpr uint32_t kAnyDepth = UINT32_MAX;
  What what = What::kEvent;
  uint32_t rank = 0;   ///< index into Run::ranks
  uint32_t index = 0;  ///< row of the trace, or index of the gap

  // Which event of an out-of-core run, where rows have no numbers; otherwise 0.
  uint32_t track = 0;
  uint32_t depth = 0;          ///< kAnyDepth: unknown
  int64_t start = 0, dur = 0;  ///< trace time
  friend bool operator==(Selection const&, Selection const&) = default;
};

/// The finding in focus and which of its places is shown.
struct FindingFocus {
  uint32_t finding = 0, evidence = 0;
  friend bool operator==(FindingFocus const&, FindingFocus const&) = default;
};

/// The search box; `hits` in time order, bounded by kMaxSearchHits.
struct Search {
  bool open = false;
  std::string text;  ///< as in search_query.h; what does not match it steps back in the timeline
  bool pending = false;  ///< `hits` are not yet all of `text`
  std::vector<Selection> hits;
  uint64_t total = 0;  ///< all that match, also those past the bound
  std::optional<uint32_t> current;
  friend bool operator==(Search const&, Search const&) = default;
};

/// What the mouse is doing since its button went down.
struct Drag {
  enum class Mode : uint8_t { kNone, kPan, kRange, kTrack };
  Mode mode = Mode::kNone;
  double anchor = 0;       ///< view time under the mouse when it began
  uint32_t node = 0;       ///< index of Scene::nodes: the track that is moved by its name
  bool pinned = false;     ///< its row at the top is
  bool is_moving = false;  ///< the mouse has left the place where the button went down
  float y = 0;             ///< of the mouse, in pixels below the top of the rows
  friend bool operator==(Drag const&, Drag const&) = default;
};

/// Which tracks are shown and where, by Node::path, which outlives that the run is opened again.
struct TrackChoice {
  std::vector<std::string> pinned;  ///< stay at the top in this order while the others scroll
  std::set<std::string> hidden;     ///< with what is below them
  /// The children of a group by its path ("" = the ranks), in the order of the screen; those that
  /// it does not name follow.
  std::map<std::string, std::vector<std::string>> order;
  std::string
      filter;  ///< words: only tracks that have them all are shown, with the groups around them
  friend bool operator==(TrackChoice const&, TrackChoice const&) = default;
};

inline constexpr size_t kLongestNote = 2000;  ///< bytes
/// What somebody wrote at a time of the run.
struct Note {
  int64_t time_ns = 0;  ///< view time
  std::string text;
  friend bool operator==(Note const&, Note const&) = default;
};

/// The box that goes to a track by its name.
struct TrackFinder {
  bool open = false;
  std::string text;
  uint32_t chosen = 0;  ///< of what matches, from the best on
  friend bool operator==(TrackFinder const&, TrackFinder const&) = default;
};

/// A row that was gone to stands out for a moment.
struct Flash {
  uint32_t node = 0;
  float seconds = 0;  ///< left
  friend bool operator==(Flash const&, Flash const&) = default;
};

/// The next event of the selected one's name, in a run that is not in memory: another thread looks
/// for it.
struct SameNameSeek {
  Selection from;
  int direction = 1;
  std::optional<std::string> name;  ///< where it was read
  bool is_over = false;             ///< there is none
  friend bool operator==(SameNameSeek const&, SameNameSeek const&) = default;
};

/// The panel in front, by the id that it has in the list of panels (viewer/panels/panels.cpp); text
/// in static storage.
struct Tab {
  std::string_view id;
  // The panels that code opens; a panel that only a person opens needs no name here.
  static Tab const kStatistics, kKernels, kCommunication, kPath, kNotes, kLaunches, kScaling,
      kComparison, kWhatIf;
  friend constexpr bool operator==(Tab const&, Tab const&) = default;
};
inline constexpr Tab Tab::kStatistics{"statistics"};
inline constexpr Tab Tab::kKernels{"kernels"};
inline constexpr Tab Tab::kCommunication{"communication"};
inline constexpr Tab Tab::kPath{"path"};
inline constexpr Tab Tab::kNotes{"notes"};
inline constexpr Tab Tab::kLaunches{"launches"};
inline constexpr Tab Tab::kScaling{"scaling"};
inline constexpr Tab Tab::kComparison{"comparison"};
inline constexpr Tab Tab::kWhatIf{"what-if"};

/// What a person says a series is, where the runs do not show it.
enum class SayScaling : uint8_t { kFound, kStrong, kWeak };

inline constexpr size_t kLongestChanges = 4000;  ///< bytes
/// What the panel What-if asks, and whether the timeline shows the answer.
struct WhatIfView {
  std::string changes;  ///< as analyzer::parse_changes() reads them; empty: nothing is asked
  bool ghosts = true;   ///< predicted events are drawn under the recorded ones
  std::vector<uint32_t> nodes;  ///< indexes of Scene::nodes that have a ghost track in this frame,
                                ///< ascending; the window writes it
  friend bool operator==(WhatIfView const&, WhatIfView const&) = default;
};

inline constexpr float kSmallestText = 0.75F, kLargestText = 2.5F;
/// Which part of the window the arrow keys and the space bar are for.
enum class KeyPlace : uint8_t { kTimeline, kFindings, kDetails, kPanel };

/// What is shown around the timeline and over it.
struct Panels {
  Tab tab = Tab::kStatistics;
  KeyPlace keys = KeyPlace::kTimeline;
  bool keys_are_new = false;     ///< the part has yet to take them
  bool keys_left_table = false;  ///< by Esc, for what is around the table
  bool help = false;
  bool path = false;  ///< the critical path is drawn over the timeline
  std::optional<int64_t>
      memory_at;  ///< view time: whose owners of memory are shown; none: those at the peak
  std::optional<uint32_t>
      thread;  ///< index of Scene::nodes whose flame graph is shown; none: the selection's
  TrackFinder finder;
  std::string found_track;  ///< Node::path of the track that was gone to last
  std::optional<Flash> flash;
  std::optional<SameNameSeek> seek;
  bool filter = false;                 ///< the box of TrackChoice::filter waits for text
  std::optional<uint32_t> track_menu;  ///< index of Scene::nodes whose menu is open
  std::optional<uint32_t> compared;    ///< index of Analysis::steps: compared with the median step
  std::optional<double> pointed;       ///< view time under the mouse, while it is over the timeline
  std::optional<uint32_t> new_note;    ///< of ViewState::notes: waits for its text
  std::optional<uint32_t>
      loss;  ///< of ScalingSeries::losses: whose waterfall is shown; none: the whole
  WhatIfView what_if;
  SayScaling scaling = SayScaling::kFound;      ///< what a series is taken for
  float side_width = 380, bottom_height = 230;  ///< in pixels at scale 1
  float text_size = 1;  ///< kSmallestText to kLargestText: all that is drawn grows with it
  friend bool operator==(Panels const&, Panels const&) = default;
};

struct ViewState {
  TimeWindow window;
  std::optional<TimeWindow> reach;  ///< what there is to see: of two runs that are compared the
                                    ///< time of both; none: the run's
  std::vector<TimeWindow> history;  ///< earlier windows, latest last: Backspace goes back
  float scroll = 0;                 ///< of the rows, in pixels at scale 1
  std::set<uint32_t> closed;        ///< indexes of Scene::nodes whose children are hidden
  std::optional<Selection> selection;
  std::optional<TimeWindow> range;  ///< the marked range of time
  std::optional<FindingFocus> finding;
  uint32_t device =
      0;  ///< index into Analysis::devices: whose steps, memory and kernels the panels show
  Search search;
  Drag drag;
  Panels panels;
  Theme theme = Theme::kDark;
  TrackChoice tracks;
  std::vector<Note> notes;  ///< by time
  friend bool operator==(ViewState const&, ViewState const&) = default;
};

}  // namespace stepscope::viewer
