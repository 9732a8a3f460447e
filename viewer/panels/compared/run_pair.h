// Two runs one above the other: the one of the window, the base, and a new one; what changed
// between them, and what keeps both views together. Everything else of the window works on one of
// both, the one in front: the last that was clicked.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/compare/comparison.h"
#include "viewer/async/background.h"
#include "viewer/comparison/change_marks.h"
#include "viewer/comparison/step_alignment.h"
#include "viewer/event_store/out_of_core/analysis.h"
#include "viewer/panels/common/panel_cache.h"
#include "viewer/scene/scene.h"
#include "viewer/scene/view_state.h"

namespace stepscope::viewer {

/// The tables of the comparison; one of them is shown.
enum class ChangeTable : uint8_t { kKernels, kClasses, kCollectives };

/// What changed, ready to be shown. No prose of its own.
struct RunDifference {
  std::optional<analyzer::Comparison> comparison;  ///< none: it did not fit into memory
  ChangeMarks marks;
  /// Beside Comparison::kernels the metric of each one's calls: index of Comparison::metrics.
  std::vector<std::optional<size_t>> kernel_metrics;
};
RunDifference difference_of(analyzer::RunMeasurements base, analyzer::RunMeasurements candidate);

class RunPair {
 public:
  /// One of both, in a frame.
  struct View {
    Scene const& scene;
    ViewState& state;
    PanelCache& cache;
  };
  /// The paths as they were given; of a run of several files the first.
  RunPair(std::unique_ptr<Scene> candidate, std::string base_path, std::string candidate_path);
  RunPair(RunPair const&) = delete;
  RunPair& operator=(RunPair const&) = delete;

  /// A frame begins. The base must outlive the pair; in the first frame the new run gets its view.
  void begin_frame(Scene const& base, ViewState& state, PanelCache& cache);
  /// On whose rows the mouse is; none: what is in front. Held keys move that one, and its scrolling
  /// is done to the other.
  void point_at(std::optional<RunSide> side) { pointed_ = side; }
  [[nodiscard]] RunSide led() const { return pointed_.value_or(front_); }
  /// Does to the time of the other run what was done to that of one. Between begin_frame() and
  /// end_frame(), as often as wanted.
  void follow();
  /// Does the rest: tracks, panels, search.
  void end_frame();

  [[nodiscard]] View view(RunSide side);
  [[nodiscard]] View front() { return view(front_); }
  [[nodiscard]] RunSide front_side() const { return front_; }
  /// From the next frame on.
  void bring_to_front(RunSide side) { next_front_ = side; }
  [[nodiscard]] Scene const& candidate() const { return *candidate_; }
  [[nodiscard]] ViewState const& candidate_state() const { return candidate_state_; }
  [[nodiscard]] std::string const& path(RunSide side) const {
    return side == RunSide::kBase ? base_path_ : candidate_path_;
  }
  /// Both paths are of one recording.
  [[nodiscard]] bool is_same_run() const { return is_same_run_; }

  [[nodiscard]] StepAlignment const& alignment() const { return alignment_; }
  [[nodiscard]] std::optional<uint32_t> aligned() const { return aligned_; }
  /// Shows a step of both: it becomes the aligned one.
  void show_step(uint32_t pair);

  /// What changed; null while it is not known yet: waits_for() says why.
  [[nodiscard]] RunDifference const* difference();
  /// Printable.
  [[nodiscard]] std::string waits_for() const;
  /// The colours of device ops; null: they are coloured by their class.
  [[nodiscard]] ChangeMarks const* marks();
  /// Lets the ops of a query stand out in both runs.
  void highlight(std::string const& query);

  [[nodiscard]] bool is_busy();
  /// Waits until everything is there that was asked for; the analysis of an out-of-core run is
  /// taken with the next frame.
  void finish();

  bool coloured = true;                       ///< a person's choice: device ops by change
  ChangeTable table = ChangeTable::kKernels;  ///< shown in the panel
  float share = 0.5F;                         ///< of the timelines' height that the base has

 private:
  using NodesByPath = std::unordered_map<std::string_view, uint32_t>;
  struct Tracks {
    std::set<uint32_t> closed;
    TrackChoice choice;
  };
  static NodesByPath nodes_by_path(Scene const& scene);
  /// The node of the other run that stands for this one. `others`: of the other run.
  static std::optional<uint32_t> counterpart(Scene const& of, uint32_t node, Scene const& other,
                                             NodesByPath const& others);
  void update_analysis();
  void update_alignment();
  void follow_tracks();
  void follow_scroll();
  void copy_tracks(RunSide from);

  std::unique_ptr<Scene> candidate_;
  ViewState candidate_state_;
  std::unique_ptr<PanelCache> candidate_cache_;  // after the scene, which its work looks at
  std::string base_path_, candidate_path_;
  bool is_same_run_ = false;
  std::unique_ptr<OutOfCoreAnalysis> analysis_;  ///< of the new run, when it is out of core

  Scene const* base_ = nullptr;  ///< of the frame, as the next two
  ViewState* base_state_ = nullptr;
  PanelCache* base_cache_ = nullptr;

  StepAlignment alignment_;
  std::optional<uint32_t> aligned_;
  std::optional<std::pair<bool, bool>>
      aligned_of_;  ///< whether base and new run were analyzed then
  std::optional<TimeWindow> last_base_, last_candidate_;
  std::optional<Tracks> last_base_tracks_, last_candidate_tracks_;
  NodesByPath base_nodes_, candidate_nodes_;
  float last_base_scroll_ = 0, last_candidate_scroll_ = 0;
  RunSide front_ = RunSide::kBase, next_front_ = RunSide::kBase;
  std::optional<RunSide> pointed_;
  Background<int, RunDifference>
      difference_;  // last: its work looks at both scenes. One key: they do not change
};

}  // namespace stepscope::viewer
