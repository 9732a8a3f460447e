#include "viewer/session.h"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "trace/base/format.h"
#include "viewer/recent_runs.h"
#include "viewer/ui.h"
#include "viewer/widgets.h"

namespace stepscope::viewer {

Session::Session(Arguments arguments, std::string recent_file)
    : arguments_(std::move(arguments)),
      recent_file_(std::move(recent_file)),
      keeper_(std::filesystem::path(recent_file_).parent_path().string()) {
  state_.theme = arguments_.theme == "light" ? Theme::kLight : Theme::kDark;
  page_.recent = read_recent_runs(recent_file_);
  if (!arguments_.runs.empty()) open(arguments_.runs);
}

Session::~Session() { close_run(); }

void Session::open(std::vector<std::string> paths) {
  page_.error.clear();
  page_.asks = false;
  opening_ = std::make_unique<Opening>(std::move(paths));
}

void Session::cancel() { opening_.reset(); }

void Session::take_run() {
  auto made = opening_->take();
  std::vector<std::string> const paths = opening_->paths();
  opening_.reset();
  if (!made) {
    page_.error = made.error().message;
    return;
  }
  close_run();
  scene_ = std::move(*made);
  memo_ = std::make_unique<Memo>();
  state_ = view_of(paths);
  if (paths.size() == 1) {
    add_recent_run(recent_file_, paths.front());
    page_.recent = read_recent_runs(recent_file_);
  }
}

/// As it was kept, and as the command line wants it.
ViewState Session::view_of(std::vector<std::string> const& paths) {
  ViewState fresh = initial_view(*scene_);
  fresh.theme = state_.theme;
  if (paths.size() == 1)
    if (auto const saved = keeper_.open(paths.front())) apply_saved_view(*saved, *scene_, fresh);
  Theme const theme = fresh.theme;
  // What was asked for on the command line is meant for its run; what cannot be found is seen in the search box.
  if (paths == arguments_.runs) static_cast<void>(apply_arguments(arguments_, *scene_, fresh));
  // Dark is what it says when nobody has said anything.
  if (arguments_.theme == "dark") fresh.theme = theme;
  return fresh;
}

void Session::close_run() {
  if (scene_) keeper_.flush(*scene_, state_);
  keeper_.close();
  memo_.reset();
  analysis_.reset();
  scene_.reset();
}

/// What the menus were asked for that is around the run.
void Session::take_wishes() {
  keeper_.look_at(*scene_, state_);
  if (outside_.seen) keeper_.clear_notice();
  if (outside_.ask_path) page_.asks = true;
  if (!outside_.open.empty()) open({outside_.open});
  if (outside_.close_run) {
    close_run();
    ViewState empty;
    empty.theme = state_.theme;
    state_ = std::move(empty);
  }
}

/// A run that is shown from afar is analyzed once it is on the screen.
void Session::update_analysis() {
  if (!scene_ || scene_->is_analyzed) return;
  if (!analysis_ && scene_->analysis_words.empty()) {
    analysis_ = std::make_unique<FarAnalysis>(scene_->far->shared_sources());
  }
  if (!analysis_) return;
  scene_->analysis_words =
      fmt::format("analyzing {} events, {:.0f} %", base::format_count(scene_->events), 100 * analysis_->share());
  if (!analysis_->is_done()) return;
  auto made = analysis_->take();
  analysis_.reset();
  if (!made) {
    scene_->analysis_words = "not analyzed: " + made.error().message;
    return;
  }
  // What is computed beside the frames looks at the scene: it ends before that changes, and is asked for again.
  memo_.reset();
  take_analysis(*scene_, std::move(*made));
  scene_->analysis_words.clear();
  memo_ = std::make_unique<Memo>();
}

void Session::frame() {
  if (opening_ && opening_->is_done()) take_run();
  if (analysis_) update_analysis();
  outside_ = Outside{.recent = page_.recent, .kept_in = keeper_.file(), .notice = keeper_.notice()};
  if (scene_) {
    draw_ui(*scene_, state_, *memo_, &outside_);
    take_wishes();
  }
  if (!analysis_) update_analysis();
  if (scene_ && !opening_ && page_.error.empty() && !page_.asks) return;
  page_.closes = scene_ != nullptr;
  StartChoice const choice = start_page(page_, opening_.get(), state_.theme);
  if (choice.cancel) cancel();
  if (choice.close || (page_.closes && key_pressed(Key::kEscape))) {
    page_.error.clear();
    page_.asks = false;
  }
  if (!choice.open.empty()) open({choice.open});
}

std::string Session::title() const { return scene_ ? base::printable(scene_->run.name) + " – Stepscope" : "Stepscope"; }

}  // namespace stepscope::viewer
