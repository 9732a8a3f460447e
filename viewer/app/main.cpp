// stepscope-viewer: opens runs in a window, or draws one picture of them.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include "trace/base/files/truncated_mmap.h"
#include "trace/base/files/unfinished.h"
#include "viewer/app/window.h"
#include "viewer/event_store/event_store.h"
#include "viewer/event_store/out_of_core/analysis.h"
#include "viewer/loading/open_task.h"
#include "viewer/loading/run_series.h"
#include "viewer/panels/panels.h"
#include "viewer/session/arguments.h"

namespace stepscope::viewer {
namespace {

constexpr int kUseError = 2;  ///< wrong use or unreadable input, as everywhere in Stepscope

int report_error(base::Error const& error) {
  fmt::print(stderr, "stepscope: {}\n", error.message);
  return kUseError;
}

/// Several files are one run.
SeriesOptions one_run() {
  SeriesOptions options;
  options.paths_are = import::PathsAre::kOneRun;
  return options;
}

/// The run that another one is compared with, whole.
base::Expected<std::unique_ptr<Scene>> open_candidate(OpenTask& opening) {
  opening.finish();
  auto opened = opening.take();
  if (!opened || (*opened)->has_analysis()) return opened;
  OutOfCoreAnalysis analysis((*opened)->store->files());
  analysis.finish();
  auto made = analysis.take();
  if (!made) return base::fail_with(made);
  take_analysis(**opened, std::move(*made));
  return opened;
}

int take_picture(Arguments const& arguments, PixelSize size) {
  if (arguments.runs.empty())
    return report_error({"--screenshot: of which run? Name a trace file, or a folder of them"});

  OpenTask opening(arguments.runs, kMostInMemoryEvents, arguments.series);
  std::unique_ptr<OpenTask> candidate;
  if (!arguments.candidate.empty())
    candidate = std::make_unique<OpenTask>(arguments.candidate, kMostInMemoryEvents, one_run());

  opening.finish();
  auto opened = opening.take();
  if (!opened) return report_error(opened.error());

  Scene& scene = **opened;
  if (!scene.has_analysis()) {
    OutOfCoreAnalysis analysis(scene.store->files(), scene.series != nullptr);
    analysis.finish();
    auto made = analysis.take();
    if (!made) return report_error(made.error());
    if (made->sample)
      scene.series->take(scene.series->shown_path(),
                         named_sample(*made->sample, scene.series->shown_path()));
    take_analysis(scene, std::move(*made));
  }

  ViewState state = initial_view(scene);
  show_series(scene, state);
  show_first_finding(arguments, scene, state);
  if (auto const applied = apply_arguments(arguments, scene, state); !applied)
    return report_error(applied.error());
  if (scene.series && state.panels.tab == Tab::kScaling) finish_reading(*scene.series);

  std::unique_ptr<RunPair> pair;
  if (candidate) {
    auto compared = open_candidate(*candidate);
    if (!compared) return report_error(compared.error());
    pair = std::make_unique<RunPair>(
        std::move(*compared), scene.series ? scene.series->shown_path() : arguments.runs.front(),
        arguments.candidate.front());
  }

  auto const drawn =
      write_screenshot(scene, std::move(state), size, arguments.screenshot, pair.get());
  return drawn ? 0 : report_error(drawn.error());
}

int view(Arguments const& arguments) {
  auto const size = parse_size(arguments.size);
  if (!size) return report_error(size.error());
  if (!arguments.screenshot.empty()) return take_picture(arguments, *size);

  // Wrong options are reported before a window opens; the window itself shows what the run lacks.
  Arguments options = arguments;
  options.select.clear();
  options.finding.reset();
  ViewState ignored;
  if (auto const applied = apply_arguments(options, Scene{}, ignored); !applied)
    return report_error(applied.error());

  auto const shown = run_window(arguments, *size);
  return shown ? 0 : report_error(shown.error());
}

}  // namespace
}  // namespace stepscope::viewer

namespace {

/// As those of stepscope report.
void add_series_options(CLI::App& app, stepscope::viewer::SeriesOptions& options) {
  using stepscope::analyzer::ScalingKind;
  using stepscope::import::PathsAre;

  auto* const series = app.add_flag_callback(
      "--series", [&options] { options.paths_are = PathsAre::kRuns; },
      "each RUN is one run of a scaling series");
  app.add_flag_callback(
         "--one-run", [&options] { options.paths_are = PathsAre::kOneRun; },
         "all RUNs are parts of one")
      ->excludes(series);

  app.add_option(
      "--devices", options.devices,
      "show the run of the series on this many devices on the timeline (default: the most)");
  app.add_option_function<std::string>(
         "--scaling",
         [&options](std::string const& kind) {
           options.scaling.kind = kind == "strong" ? ScalingKind::kStrong : ScalingKind::kWeak;
         },
         "strong or weak scaling of the series (default: detect)")
      ->check(CLI::IsMember({"strong", "weak"}));
  app.add_option("--samples", options.scaling.samples,
                 "samples in a step of the job (strong scaling) or of a device (weak scaling)")
      ->check(CLI::Range(1.0, 1e9));
}

}  // namespace

int main(int argc, char** argv) {
  stepscope::base::survive_cut_files();
  stepscope::base::remove_unfinished_on_signals();

  stepscope::viewer::Arguments arguments;
  CLI::App app("Shows runs: all ranks on one timeline, with the findings next to it",
               "stepscope view");
  app.add_option("RUN", arguments.runs,
                 "trace files, or folders of traces (default: choose among the last runs)");
  app.add_option("--vs", arguments.candidate,
                 "run after a change: shown below RUN, with what changed");
  app.add_option("--screenshot", arguments.screenshot,
                 "draw one picture into this PNG file, open no window");
  app.add_option("--size", arguments.size, "size of the window or picture, in pixels")
      ->capture_default_str();
  app.add_option("--time", arguments.time, "show this part, such as 1.5s:1600ms");
  app.add_option("--select", arguments.select, "select the first event whose name contains this");
  app.add_option("--finding", arguments.finding, "show this finding, from 1, at its first place");
  app.add_option("--panel", arguments.panel, "panel in front: " + stepscope::viewer::panel_names());
  app.add_option("--change", arguments.changes,
                 "a change to predict, such as input=0, as of stepscope whatif; repeat it for more "
                 "at once")
      ->allow_extra_args(false);
  app.add_option("--theme", arguments.theme, "dark or light")->capture_default_str();
  app.add_option("--text-size", arguments.text_size,
                 "all text so many times as large, 0.75 to 2.5 (in the window Ctrl+= and Ctrl+-)");
  app.add_flag("--keep-view-beside", arguments.keeps_view_beside,
               "keep view and notes in a file next to RUN, so that they travel with it (default: "
               "in the user's state folder)");

  add_series_options(app, arguments.series);
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    return app.exit(error) == 0 ? 0 : stepscope::viewer::kUseError;
  }

  int const status = stepscope::viewer::view(arguments);
  // A run that was given up may still be read on a detached thread: it ends with the program.
  if (!stepscope::viewer::OpenTask::is_any_running()) return status;
  std::fflush(nullptr);
  std::_Exit(status);
}
