// The panels: one free function each, one file each. They show the scene and change the view state,
// and remember nothing.
#pragma once

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <imgui.h>

#include "viewer/async/background.h"
#include "viewer/comparison/scaling_view.h"
#include "viewer/event_store/out_of_core/path.h"
#include "viewer/event_store/out_of_core/same_name.h"
#include "viewer/interaction/actions.h"
#include "viewer/interaction/navigate.h"
#include "viewer/queries/charts/bandwidth_by_size.h"
#include "viewer/queries/charts/wait_matrix.h"
#include "viewer/queries/duration_histogram.h"
#include "viewer/queries/flame_graph.h"
#include "viewer/queries/memory_owners.h"
#include "viewer/queries/overview_strips.h"
#include "viewer/queries/path_line.h"
#include "viewer/queries/range_statistics.h"
#include "viewer/scene/scene.h"
#include "viewer/scene/view_state.h"
#include "viewer/timeline/layout.h"

namespace stepscope::viewer {

/// What was computed for an earlier frame and still holds, and what is being computed beside the
/// frames; losing it costs time only. The scene must outlive it.
struct Memo {
  Background<TimeWindow, RangeStatistics> statistics;
  Background<uint32_t, OverviewStrips> overview;
  std::shared_ptr<SearchFeed>
      search_feed;       ///< of the search that is at hand, when the run is not in memory
  std::string searched;  ///< for which that is
  Background<std::string, SearchHits> search;
  Background<HistogramKey, DurationHistogram> histogram;
  Background<WaitMatrixKey, WaitMatrix> waits;
  Background<int, std::vector<BandwidthPoint>> links;  ///< one key: they are the run's
  Background<int, PathLine>
      path;  ///< one key; of a run that is not in memory its end alone is told
  std::shared_ptr<PathFeed> path_feed;  ///< of such a run
  PathLine path_of_files;               ///< what it has given
  Background<FlameKey, FlameGraph> flames;
  Background<OwnersKey, std::optional<analyzer::MemoryOwners>> owners;
  Background<SameNameKey, SameNameFound> same_name;
  Background<SayScaling, ScalingView> scaling;

  /// Whether another frame is due when something is done.
  [[nodiscard]] bool is_busy() {
    bool const any[] = {statistics.is_busy(), overview.is_busy(), search.is_busy(),
                        histogram.is_busy(),  waits.is_busy(),    links.is_busy(),
                        path.is_busy(),       flames.is_busy(),   owners.is_busy(),
                        scaling.is_busy(),    same_name.is_busy()};
    return std::find(std::begin(any), std::end(any), true) != std::end(any);
  }
  /// Waits for all that was asked for.
  void finish() {
    statistics.finish();
    overview.finish();
    search.finish();
    histogram.finish();
    waits.finish();
    links.finish();
    path.finish();
    flames.finish();
    owners.finish();
    same_name.finish();
    scaling.finish();
  }
};

/// The line at the top: menus, run, search.
void top_bar(ActionScope const& scope);
/// A bar a step: height = duration, colours = its split. A click shows the step.
void step_strip(Scene const& scene, ViewState& state, float height);
/// The whole run, a line a device, with the window on it: drag to move.
void overview(Scene const& scene, ViewState& state, Memo& memo, float height);
/// Findings by severity and cost; a click shows the place.
void findings(Scene const& scene, ViewState& state, float rows_height);
/// Everything known of the selection.
void details(Scene const& scene, ViewState& state, float rows_height);
/// Split and top ops of the marked range, or of what is visible.
void statistics(Scene const& scene, ViewState& state, Memo& memo);
/// Kernels of the chosen device, sortable, with the durations of the one that was searched for: a
/// click searches for the name, or for the calls in a bar.
void kernels(Scene const& scene, ViewState& state, Memo& memo);
/// Who waited for whom in collectives and why, and how fast they were by size.
void communication(Scene const& scene, ViewState& state, Memo& memo, float rows_height);
/// The line of the path, as far as it is found; asks for it. Null: nothing is.
PathLine const* path_so_far(Scene const& scene, Memo& memo);
/// What the run's length is made of; a switch draws the path over the timeline.
void critical_path(Scene const& scene, ViewState& state, Memo& memo, float rows_height);
/// Where the time of a thread went, by nested names, in the marked range or what is visible.
void flames(Scene const& scene, ViewState& state, Memo& memo);
/// Allocated memory of the chosen device over time by purpose, where it grows to, and who holds it:
/// at the peak, or where one clicks.
void memory(Scene const& scene, ViewState& state, Memo& memo);
/// How work got to the devices: launches, queues and CUDA graphs, and copies by direction.
void launches(Scene const& scene, ViewState& state, float rows_height);
/// Named parts of the program as populations of their own, and pipelines of devices with their
/// stages.
void phases(Scene const& scene, ViewState& state, float rows_height);
/// The same of a run without devices: time by range, threads, and who came last to negotiations of
/// collectives.
void host_time(Scene const& scene, ViewState& state);
/// Clocks, power and temperature of the devices over time, and when a clock was held down.
void devices(Scene const& scene, ViewState& state, float rows_height);
/// Runs on different numbers of devices against each other: what more of them give, what is lost to
/// what. A click on a run puts it on the timeline, where somebody can do that (`outside`).
void scaling(Scene const& scene, ViewState& state, Memo& memo, Outside* outside);
/// What was recorded, by what, and how far to trust it.
void run_info(Scene const& scene, ViewState& state);
/// The notes, to be written and deleted; `kept_in`: the file in which they are kept, empty: none.
void notes(Scene const& scene, ViewState& state, std::string const& kept_in);
/// A flag on the ruler and a line a note; its text where the mouse is. `origin`: of the rows.
void note_flags(ImDrawList& list, ViewState& state, Layout const& layout, ImVec2 origin,
                bool hovered);
/// The step that was chosen beside the median step. False: none was.
bool step_comparison(Scene const& scene, ViewState& state);
/// All keys and mouse gestures, over everything.
void help(ViewState& state);

/// Shows the event that Panels::seek looks for, once it is found; the words about it, in the line
/// at the top.
void update_same_name(Scene const& scene, ViewState& state, Memo& memo);
void same_name_words(ViewState const& state);

/// The menus, in a line.
void menu_bar(ActionScope const& scope);
/// The box that goes to a track by its name, over everything, while it is open.
void track_finder(Scene const& scene, ViewState& state, float rows_height);
/// Opens the menu of a track; the menu itself, in the same window.
void open_track_menu(ViewState& state, uint32_t node);
void track_menu(Scene const& scene, ViewState& state);
/// The box above the tracks; `corner`: of the ruler.
void track_filter(ViewState& state, ImVec2 corner);
/// "3 tracks hidden", with what shows them again; `corner`: of the legend. Returns the width that
/// it takes in pixels.
float hidden_tracks(Scene const& scene, ViewState& state, ImVec2 corner);
/// What the colours of a comparison say, in the line of the legend.
void change_legend(ImDrawList& list, Theme theme, ImVec2 at, float width);
/// The row that was gone to; `origin`: of the rows.
void draw_flash(ImDrawList& list, ViewState const& state, Layout const& layout, ImVec2 origin);
/// What a person has to know of the run's files, or of the file in which the view is kept.
void notice(Outside& outside, Theme theme);

/// A choice of the device that step strip, kernels and memory show; nothing with one device.
void device_chooser(Scene const& scene, ViewState& state);

}  // namespace stepscope::viewer
