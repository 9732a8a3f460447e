// What the window shows over its life: nothing yet, a run that is being opened, a run, and why the next one could not be opened.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "viewer/arguments.h"
#include "viewer/far/far_analysis.h"
#include "viewer/opening.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/start.h"
#include "viewer/sidecar.h"

namespace stepscope::viewer {

class Session {
 public:
  /// `arguments`: what the first run is shown with. `recent_file`: as of recent_runs_file(); empty = remember none.
  Session(Arguments arguments, std::string recent_file);
  /// Writes what has changed of the view.
  ~Session();
  Session(Session const&) = delete;
  Session& operator=(Session const&) = delete;

  /// Begins to open a run. The one that is shown stays until the new one is there.
  void open(std::vector<std::string> paths);
  /// Gives up what is being opened.
  void cancel();
  /// One frame between ImGui::NewFrame and ImGui::Render.
  void frame();

  /// Whether another frame is due without any input.
  [[nodiscard]] bool is_busy() {
    bool const reads = scene_ && scene_->far && scene_->far->tiles().is_busy();
    bool const fades = state_.panels.flash.has_value() || keeper_.is_waiting();
    return opening_ != nullptr || analysis_ != nullptr || reads || fades || (memo_ && memo_->is_busy());
  }
  [[nodiscard]] Opening const* opening() const { return opening_.get(); }
  /// Of the run that is shown, while it comes after the first frame.
  [[nodiscard]] FarAnalysis const* analysis() const { return analysis_.get(); }
  /// Null before the first run is there.
  [[nodiscard]] Scene const* scene() const { return scene_.get(); }
  [[nodiscard]] ViewState const& state() const { return state_; }
  [[nodiscard]] std::string const& error() const { return page_.error; }
  [[nodiscard]] std::string title() const;
  /// What a person has to know of where the view is kept; empty: nothing.
  [[nodiscard]] std::string const& notice() const { return keeper_.notice(); }

 private:
  void take_run();
  void take_wishes();
  void close_run();
  ViewState view_of(std::vector<std::string> const& paths);
  void update_analysis();

  Arguments arguments_;
  std::string recent_file_;
  std::unique_ptr<Opening> opening_;
  std::unique_ptr<Scene> scene_;
  ViewState state_;
  std::unique_ptr<FarAnalysis> analysis_;
  std::unique_ptr<Memo> memo_;  // after the scene, which its work looks at: it ends before
  StartPage page_;
  ViewKeeper keeper_;
  Outside outside_;
};

}  // namespace stepscope::viewer
