#include "viewer/session/session.h"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "trace/base/format.h"
#include "viewer/async/dispose_async.h"
#include "viewer/interaction/navigate.h"
#include "viewer/interaction/view_rebase.h"
#include "viewer/main_window/ui.h"
#include "viewer/session/recent_runs.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

/// Keeps the part of the panels that outlives the change to another run of the series.
void keep_panels(Panels& panels, Panels const& before) {
  panels.tab = before.tab;
  panels.loss = before.loss;
  panels.scaling = before.scaling;
  panels.side_width = before.side_width;
  panels.bottom_height = before.bottom_height;
  panels.text_size = before.text_size;
}

/// What the analysis of the run on the timeline tells the series.
void take_shown(RunSeries& series, base::Expected<OutOfCoreAnalysis::Result>& made) {
  if (!made)
    series.take(series.shown_path(), base::fail_with(made));
  else if (made->sample)
    series.take(series.shown_path(), named_sample(std::move(*made->sample), series.shown_path()));
}

}  // namespace

Session::Session(Arguments arguments, std::string recent_file)
    : arguments_(std::move(arguments)),
      recent_file_(std::move(recent_file)),
      keeper_(std::filesystem::path(recent_file_).parent_path().string(),
              arguments_.keeps_view_beside) {
  state_.theme = arguments_.theme == "light" ? Theme::kLight : Theme::kDark;
  if (arguments_.text_size)
    state_.panels.text_size = std::clamp(*arguments_.text_size, kSmallestText, kLargestText);
  page_.recent = read_recent_runs(recent_file_);
  if (!arguments_.runs.empty()) open(arguments_.runs);
}

Session::~Session() { close_run(); }

void Session::open(std::vector<std::string> paths) {
  // What the command line says of its paths holds for these alone.
  SeriesOptions series = paths == arguments_.runs ? arguments_.series : SeriesOptions{};
  page_.compares = false;
  begin(std::move(paths), std::move(series));
  stays_in_series_ = false;
}

void Session::show_run(size_t of_series) {
  if (!scene_ || !scene_->series || of_series >= scene_->series->runs.size()) return;
  // While it is opened the one that is shown goes on with its own.
  SeriesOptions options;
  options.known = std::make_shared<RunSeries>(*scene_->series);
  options.known->shown = of_series;
  begin({options.known->shown_path()}, options);
  stays_in_series_ = true;
}

void Session::begin(std::vector<std::string> paths, SeriesOptions series) {
  page_.error.clear();
  page_.asks = false;
  opens_compared_ = false;
  opening_ = std::make_unique<OpenTask>(std::move(paths), kMostInMemoryEvents, std::move(series));
}

void Session::open_compared(std::vector<std::string> paths) {
  if (!scene_) return open(std::move(paths));
  // Several files are one run.
  SeriesOptions one;
  one.paths_are = import::PathsAre::kOneRun;
  begin(std::move(paths), std::move(one));
  opens_compared_ = true;
}

/// What was opened stands below the run that is shown from now on.
void Session::take_compared() {
  auto made = opening_->take();
  std::string const path = opening_->paths().empty() ? std::string() : opening_->paths().front();
  opening_.reset();
  opens_compared_ = false;

  if (!made) {
    page_.error = made.error().message;
    return;
  }

  page_.compares = false;
  close_comparison();
  // The timeline that is dragged is another one from now on.
  state_.drag = {};
  pair_ = std::make_unique<RunPair>(std::move(*made), shown_path_, path);
  if (arguments_.panel.empty() || arguments_.panel == "comparison")
    state_.panels.tab = Tab::kComparison;
}

void Session::close_comparison() {
  if (!pair_) return;
  // What it compares looks at the run that stays.
  dispose_async(std::move(pair_), scene_);
  state_.drag = {};
  // What is beyond the run's end was the other one's.
  state_.reach.reset();
  pan(state_, *scene_, 0);
}

void Session::cancel() {
  opening_.reset();
  page_.compares = false;
}

void Session::take_run() {
  auto made = opening_->take();
  RunFiles files = opening_->take_files();
  std::vector<std::string> const paths = opening_->paths();
  opening_.reset();
  opens_compared_ = false;

  if (!made) {
    page_.error = made.error().message;
    return;
  }

  std::shared_ptr<RunSeries> const before = scene_ ? scene_->series : nullptr;
  // A person who chose another run of the series did not ask for that.
  said_ = pair_ && stays_in_series_
              ? "The comparison was closed: another run of the series is on the timeline."
              : "";
  close_run();

  scene_ = std::move(*made);
  cache_ = std::make_unique<PanelCache>();
  if (scene_->series && before) scene_->series->take_samples(*before);

  Panels const panels = state_.panels;
  state_ = view_of(paths);
  if (stays_in_series_) keep_panels(state_.panels, panels);

  if (paths.size() == 1 && !stays_in_series_) {
    add_recent_run(recent_file_, paths.front());
    page_.recent = read_recent_runs(recent_file_);
  }

  shown_path_ = paths.empty() ? std::string() : paths.front();
  if (scene_->series) shown_path_ = scene_->series->shown_path();
  begin_following(std::move(files), paths);

  // Once: a person who closes the comparison and opens the run again wants it alone.
  if (paths == arguments_.runs && !arguments_.candidate.empty())
    open_compared(std::exchange(arguments_.candidate, {}));
}

/// As it was kept, and as the command line wants it.
ViewState Session::view_of(std::vector<std::string> const& paths) {
  ViewState candidate = initial_view(*scene_);
  candidate.theme = state_.theme;
  candidate.panels.text_size = state_.panels.text_size;
  bool const is_series = scene_->series && scene_->series->runs.size() > 1;

  // The view of a series is that of the run on the timeline.
  std::optional<SavedView> saved;
  if (is_series || paths.size() == 1)
    saved = keeper_.open(scene_->series ? scene_->series->shown_path() : paths.front());
  if (saved) apply_saved_view(*saved, *scene_, candidate);
  begins_unsaved_ = !saved;
  bool const is_of_arguments = paths == arguments_.runs;
  if (!saved) show_first_finding(is_of_arguments ? arguments_ : Arguments{}, *scene_, candidate);

  // Who opens several runs together wants to see them so.
  show_series(*scene_, candidate);

  Theme const theme = candidate.theme;
  // What was asked for on the command line is meant for its run.
  if (paths == arguments_.runs) say_fault(apply_arguments(arguments_, *scene_, candidate));
  awaits_finding_ = paths == arguments_.runs && !scene_->has_analysis();
  // Dark is the default: it may not be what the command line asks for.
  if (arguments_.theme == "dark") candidate.theme = theme;
  return candidate;
}

void Session::say_fault(base::Expected<void> const& applied) {
  if (!applied) said_ = applied.error().message;
}

void Session::close_run() {
  close_comparison();
  following_.end();
  if (scene_) keeper_.flush(*scene_, state_);
  keeper_.close();
  sampling_.reset();
  analysis_.reset();
  if (scene_) dispose_async(std::move(rereading_), std::move(cache_), std::move(scene_));
}

/// What the menus were asked for that is around the run.
void Session::apply_requests() {
  keeper_.look_at(*scene_, state_);
  if (requests_.notice_seen && keeper_.notice().empty()) said_.clear();
  if (requests_.notice_seen) keeper_.clear_notice();

  if (requests_.ask_path || requests_.ask_compared) {
    page_.asks = true;
    page_.compares = requests_.ask_compared;
  }

  if (requests_.close_comparison) close_comparison();
  apply_file_requests();
  if (!requests_.open.empty()) open({requests_.open});
  if (requests_.show_run) show_run(*requests_.show_run);

  if (requests_.close_run) {
    close_run();
    ViewState empty;
    empty.theme = state_.theme;
    empty.panels.text_size = state_.panels.text_size;
    state_ = std::move(empty);
  }
}

/// An out-of-core run is analyzed once it is on the screen.
void Session::update_analysis() {
  if (!scene_ || scene_->has_analysis()) return;
  if (!analysis_ && scene_->missing_analysis->empty()) {
    analysis_ =
        std::make_unique<OutOfCoreAnalysis>(scene_->store->files(), scene_->series != nullptr);
  }

  if (!analysis_) return;
  scene_->missing_analysis =
      fmt::format("analyzing {} events, {:.0f} %", base::format_count(scene_->events),
                  100 * analysis_->share());

  if (!analysis_->is_done()) return;
  auto made = analysis_->take();
  analysis_.reset();
  if (scene_->series) take_shown(*scene_->series, made);

  if (!made) {
    scene_->missing_analysis = "not analyzed: " + made.error().message;
    return;
  }

  // Work on other threads reads the scene: it ends before the scene changes, and panels ask for it
  // again.
  cache_.reset();
  bool const is_untouched = begins_unsaved_ && state_.window == initial_view(*scene_).window &&
                            state_.history.empty() && !state_.selection;
  take_analysis(*scene_, state_, std::move(*made));
  cache_ = std::make_unique<PanelCache>();
  bool const is_of_arguments = std::exchange(awaits_finding_, false);
  if (is_of_arguments) say_fault(show_finding(arguments_, *scene_, state_));
  if (is_untouched) show_first_finding(is_of_arguments ? arguments_ : Arguments{}, *scene_, state_);
}

/// The other runs of a series, one after the other.
void Session::update_series() {
  if (!scene_ || !scene_->series) return;
  RunSeries& series = *scene_->series;
  if (sampling_ && sampling_->is_done()) {
    series.take(sampling_->path(), sampling_->take());
    sampling_.reset();
  }
  if (sampling_) return;
  if (auto const next = series.next())
    sampling_ = std::make_unique<SampleReading>(series.runs[*next].path);
}

void Session::frame() {
  if (opening_ && opening_->is_done()) {
    // The run that it should be compared with may have been closed meanwhile.
    if (opens_compared_ && scene_) {
      take_compared();
    } else {
      take_run();
    }
  }

  if (analysis_) update_analysis();
  update_series();
  update_following();

  status_ = WindowStatus{.recent = page_.recent, .kept_in = keeper_.file(), .notice = notice()};
  requests_ = {};
  tell_following();
  // View and notes are the base's.
  if (pair_ && pair_->front_side() == RunSide::kNew) status_.kept_in.clear();

  if (scene_) {
    draw_ui(*scene_, state_, *cache_, {&status_, &requests_}, pair_.get());
    apply_requests();
  }

  if (!analysis_) update_analysis();
  if (scene_ && !opening_ && page_.error.empty() && !page_.asks) return;

  page_.closes = scene_ != nullptr;
  StartChoice const choice = start_page(page_, opening_.get(), state_.theme);
  if (choice.cancel || (opening_ && key_pressed(Key::kEscape))) cancel();
  if (choice.close || (page_.closes && key_pressed(Key::kEscape))) {
    page_.error.clear();
    page_.asks = false;
    page_.compares = false;
  }

  if (!choice.open.empty()) {
    if (page_.compares) {
      open_compared({choice.open});
    } else {
      open({choice.open});
    }
  }
}

std::string Session::title() const {
  if (!scene_) return "Stepscope";
  std::string const name = base::printable(scene_->run.name);
  return (pair_ ? name + " → " + base::printable(pair_->candidate().run.name) : name) +
         " – Stepscope";
}

}  // namespace stepscope::viewer
