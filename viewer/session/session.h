// What the window shows over its life: nothing yet, a run that is being opened, a run, and why the
// next one could not be opened.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "viewer/event_store/event_store.h"
#include "viewer/event_store/out_of_core/analysis.h"
#include "viewer/loading/live_follow_policy.h"
#include "viewer/loading/open_task.h"
#include "viewer/loading/reload_task.h"
#include "viewer/loading/run_files.h"
#include "viewer/loading/run_series.h"
#include "viewer/main_window/start.h"
#include "viewer/panels/common/panel_cache.h"
#include "viewer/panels/common/window_link.h"
#include "viewer/panels/compared/run_pair.h"
#include "viewer/session/arguments.h"
#include "viewer/session/view_state_store.h"

namespace stepscope::viewer {

class Session {
 public:
  /// `arguments`: what the first run is shown with. `recent_file`: as of recent_runs_file(); empty
  /// = remember none.
  Session(Arguments arguments, std::string recent_file);
  /// Writes what has changed of the view.
  ~Session();
  Session(Session const&) = delete;
  Session& operator=(Session const&) = delete;

  /// Begins to open a run. The one that is shown stays until the new one is there.
  void open(std::vector<std::string> paths);
  /// Begins to open another run of the series that is shown, by its place in it.
  void show_run(size_t of_series);
  /// Begins to open a run to be compared with the one that is shown; opens it alone where none is.
  void open_compared(std::vector<std::string> paths);
  /// Gives up what is being opened.
  void cancel();
  /// One frame between ImGui::NewFrame and ImGui::Render.
  void frame();

  /// Whether another frame is due without any input.
  [[nodiscard]] bool is_busy() {
    bool const reads = scene_ && scene_->store->is_reading();
    bool const fades =
        state_.panels.flash.has_value() || keeper_.is_waiting() || (pair_ && pair_->is_busy());
    return opening_ != nullptr || rereading_ != nullptr || analysis_ != nullptr ||
           sampling_ != nullptr || reads || fades || (cache_ && cache_->is_busy());
  }
  /// Looks whether the files of the run are still what they were, at most once a second. True:
  /// another frame is due.
  bool look_at_files() { return following_.look(clock_()); }
  /// What time it is, for tests; before anything is opened.
  void set_clock(std::function<LiveFollowPolicy::Time()> clock) { clock_ = std::move(clock); }
  /// Whether that may ever tell something.
  [[nodiscard]] bool is_watching() const { return following_.is_watching(); }
  /// What is known of the files and of what is being written to them.
  [[nodiscard]] LiveFollowPolicy const& following() const { return following_; }
  /// Null unless the run is being read again.
  [[nodiscard]] ReloadTask* rereading() { return rereading_.get(); }
  [[nodiscard]] OpenTask const* opening() const { return opening_.get(); }
  /// The analysis of the run that is shown, while it runs after the first frame.
  [[nodiscard]] OutOfCoreAnalysis const* analysis() const { return analysis_.get(); }
  /// Null before the first run is there.
  [[nodiscard]] Scene const* scene() const { return scene_.get(); }
  [[nodiscard]] ViewState const& state() const { return state_; }
  /// Whether the next run that is chosen or dropped is compared with the one that is shown.
  [[nodiscard]] bool asks_compared() const { return page_.asks && page_.compares; }
  /// Null while one run is shown alone.
  [[nodiscard]] RunPair const* pair() const { return pair_.get(); }
  [[nodiscard]] std::string const& error() const { return page_.error; }
  [[nodiscard]] std::string title() const;
  /// What a person has to know: of where the view is kept, of what was closed, of options that the
  /// run cannot fulfil. Empty: nothing.
  [[nodiscard]] std::string const& notice() const {
    return keeper_.notice().empty() ? said_ : keeper_.notice();
  }

 private:
  void begin(std::vector<std::string> paths, SeriesOptions series);
  void take_run();
  void take_compared();
  void close_comparison();
  void apply_requests();
  void close_run();
  void say_fault(base::Expected<void> const& applied);
  ViewState view_of(std::vector<std::string> const& paths);
  void update_analysis();
  void update_series();
  void begin_following(RunFiles files, std::vector<std::string> paths);
  void read_again();
  void take_reread();
  void update_following();
  void tell_following();
  void apply_file_requests();

  Arguments arguments_;
  std::string recent_file_;
  std::unique_ptr<OpenTask> opening_;
  std::shared_ptr<Scene> scene_;  ///< shared with work that earlier frames began and disposed of
  ViewState state_;
  std::unique_ptr<OutOfCoreAnalysis> analysis_;
  bool begins_unsaved_ = false;              ///< the run's view was not kept
  bool awaits_finding_ = false;              ///< --finding, until the run is analyzed
  std::unique_ptr<SampleReading> sampling_;  ///< of a run of the series that is shown
  bool stays_in_series_ =
      false;  ///< what is being opened is another run of the series that is shown
  std::unique_ptr<PanelCache> cache_;  // after the scene, which its work looks at: it ends before
  std::string shown_path_;             ///< of the run that is shown, as it was given
  std::unique_ptr<RunPair> pair_;      // after the cache: its work looks at the scene
  bool opens_compared_ = false;  ///< what is being opened is compared with the run that is shown
  std::function<LiveFollowPolicy::Time()> clock_ = LiveFollowPolicy::Clock::now;
  LiveFollowPolicy following_;
  std::vector<std::string> followed_paths_;  ///< of the run that is shown
  std::unique_ptr<ReloadTask> rereading_;
  StartPage page_;
  ViewStateStore keeper_;
  std::string
      said_;  ///< what the window closed on its own, or what options ask for and the run lacks
  WindowStatus status_;
  WindowRequests requests_;
};

}  // namespace stepscope::viewer
