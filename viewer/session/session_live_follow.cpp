// The part of a session that follows a run that is being written. It looks at the run's files, and
// puts the run that was read again in the place of the one that is shown.
#include <algorithm>
#include <utility>

#include "viewer/async/dispose_async.h"
#include "viewer/interaction/view_rebase.h"
#include "viewer/session/session.h"

namespace stepscope::viewer {
namespace {

/// Whether nothing more is to come; formats that do not tell have all.
bool came_to_end(Scene const& scene) {
  return std::none_of(scene.run.ranks.begin(), scene.run.ranks.end(),
                      [](model::RankTrace const& rank) { return rank.trace.log().truncated; });
}

}  // namespace

void Session::begin_following(RunFiles files, std::vector<std::string> paths) {
  followed_paths_ = std::move(paths);
  following_.begin(std::move(files), came_to_end(*scene_), clock_());
}

void Session::read_again() {
  SeriesOptions options = followed_paths_ == arguments_.runs ? arguments_.series : SeriesOptions{};
  std::vector<std::string> paths = followed_paths_;
  if (!scene_->series) {
    // Files that are being written may look like several runs for a moment.
    options.paths_are = import::PathsAre::kOneRun;
  } else {
    options.known = std::make_shared<RunSeries>(*scene_->series);
    // Its numbers come anew, too.
    auto& shown = options.known->runs[options.known->shown];
    shown.sample.reset();
    shown.error.clear();
    paths = {options.known->shown_path()};
  }

  following_.reading_begins(clock_());
  rereading_ = std::make_unique<ReloadTask>(
      std::make_unique<OpenTask>(std::move(paths), kMostInMemoryEvents, std::move(options)));
}

void Session::take_reread() {
  auto made = rereading_->take();
  RunFiles files = rereading_->take_files();
  rereading_.reset();

  auto const now = clock_();
  if (!made) return following_.reading_fails(made.error().message, now);

  // Two runs are being compared, or what was read is another run by now: the one that is shown
  // stays.
  if (pair_ || following_.is_lost()) {
    dispose_async(std::move(*made));
    return following_.drop_reading();
  }

  ViewState next = carried_over(state_, *scene_, **made);
  if ((*made)->series && scene_->series) (*made)->series->take_samples(*scene_->series);

  analysis_.reset();
  dispose_async(std::move(cache_), std::exchange(scene_, std::move(*made)));
  cache_ = std::make_unique<PanelCache>();
  state_ = std::move(next);

  keeper_.adopt(state_);
  following_.reading_ends(std::move(files), came_to_end(*scene_), now);
}

void Session::update_following() {
  if (!scene_) return;
  look_at_files();
  if (rereading_ && rereading_->is_done()) take_reread();
  // One thing after the other: what is opened or analyzed is more urgent.
  bool const is_free = !rereading_ && !opening_ && !analysis_ && !pair_;
  if (is_free && following_.wants_reading(clock_())) read_again();
}

void Session::tell_following() {
  status_.recording = following_.recording();
  status_.follows = following_.follows();
  status_.file_notice = following_.notice();
}

void Session::apply_file_requests() {
  if (requests_.toggle_follow) following_.set_follows(!following_.follows());
  if (requests_.file_notice_seen) following_.clear_notice();
  if (!requests_.read_again || !scene_ || opening_) return;
  close_comparison();
  if (!rereading_) read_again();
}

}  // namespace stepscope::viewer
