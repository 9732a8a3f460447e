#include "viewer/session.h"

#include <utility>

#include "trace/base/format.h"
#include "viewer/recent_runs.h"
#include "viewer/ui.h"
#include "viewer/widgets.h"

namespace stepscope::viewer {

Session::Session(Arguments arguments, std::string recent_file)
    : arguments_(std::move(arguments)), recent_file_(std::move(recent_file)) {
  state_.theme = arguments_.theme == "light" ? Theme::kLight : Theme::kDark;
  page_.recent = read_recent_runs(recent_file_);
  if (!arguments_.runs.empty()) open(arguments_.runs);
}

void Session::open(std::vector<std::string> paths) {
  page_.error.clear();
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
  memo_.reset();
  scene_ = std::move(*made);
  memo_ = std::make_unique<Memo>();
  ViewState fresh = initial_view(*scene_);
  // What was asked for on the command line is meant for its run; what cannot be found is seen in the search box.
  if (paths == arguments_.runs) static_cast<void>(apply_arguments(arguments_, *scene_, fresh));
  fresh.theme = state_.theme;
  state_ = std::move(fresh);
  if (paths.size() == 1) {
    add_recent_run(recent_file_, paths.front());
    page_.recent = read_recent_runs(recent_file_);
  }
}

void Session::frame() {
  if (opening_ && opening_->is_done()) take_run();
  if (scene_) draw_ui(*scene_, state_, *memo_);
  if (scene_ && !opening_ && page_.error.empty()) return;
  page_.closes = scene_ != nullptr;
  StartChoice const choice = start_page(page_, opening_.get(), state_.theme);
  if (choice.cancel) cancel();
  if (choice.close || (page_.closes && key_pressed(Key::kEscape))) page_.error.clear();
  if (!choice.open.empty()) open({choice.open});
}

std::string Session::title() const { return scene_ ? base::printable(scene_->run.name) + " – Stepscope" : "Stepscope"; }

}  // namespace stepscope::viewer
