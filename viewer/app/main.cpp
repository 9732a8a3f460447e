// stepscope-viewer: opens runs in a window, or draws one picture of them.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include "viewer/app/window.h"
#include "viewer/arguments.h"
#include "viewer/far/far_analysis.h"
#include "viewer/opening.h"

namespace stepscope::viewer {
namespace {

constexpr int kUseError = 2;  ///< wrong use or unreadable input, as everywhere in Stepscope

int report_error(base::Error const& error) {
  fmt::print(stderr, "stepscope: {}\n", error.message);
  return kUseError;
}

int take_picture(Arguments const& arguments, PixelSize size) {
  if (arguments.runs.empty()) return report_error({"--screenshot: of which run? Name a trace file, or a folder of them"});
  Opening opening(arguments.runs);
  opening.finish();
  auto opened = opening.take();
  if (!opened) return report_error(opened.error());
  Scene& scene = **opened;
  if (!scene.is_analyzed) {
    FarAnalysis analysis(scene.far->shared_sources());
    analysis.finish();
    auto made = analysis.take();
    if (!made) return report_error(made.error());
    take_analysis(scene, std::move(*made));
  }
  ViewState state = initial_view(scene);
  if (auto const applied = apply_arguments(arguments, scene, state); !applied) return report_error(applied.error());
  auto const drawn = write_screenshot(scene, std::move(state), size, arguments.screenshot);
  return drawn ? 0 : report_error(drawn.error());
}

int view(Arguments const& arguments) {
  auto const size = parse_size(arguments.size);
  if (!size) return report_error(size.error());
  if (!arguments.screenshot.empty()) return take_picture(arguments, *size);
  // What is wrong with the options is said before a window opens; what is not in the run, in it.
  Arguments options = arguments;
  options.select.clear();
  ViewState ignored;
  if (auto const applied = apply_arguments(options, Scene{}, ignored); !applied) return report_error(applied.error());
  auto const shown = run_window(arguments, *size);
  return shown ? 0 : report_error(shown.error());
}

}  // namespace
}  // namespace stepscope::viewer

int main(int argc, char** argv) {
  stepscope::viewer::Arguments arguments;
  CLI::App app("Shows runs: all ranks on one timeline, with the findings beside it", "stepscope view");
  app.add_option("RUN", arguments.runs, "trace files, or folders of them; without, those that were opened last are offered");
  app.add_option("--screenshot", arguments.screenshot, "draw one picture into this PNG file, open no window");
  app.add_option("--size", arguments.size, "of the window or picture, in pixels")->capture_default_str();
  app.add_option("--time", arguments.time, "show this part, such as 1.5s:1600ms");
  app.add_option("--select", arguments.select, "select the first event whose name contains this");
  app.add_option("--panel", arguments.panel,
                 "in front: findings, details, statistics, kernels, communication, path, flames, memory, run or notes");
  app.add_option("--theme", arguments.theme, "dark or light")->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    return app.exit(error) == 0 ? 0 : stepscope::viewer::kUseError;
  }
  int const status = stepscope::viewer::view(arguments);
  // A run that nobody waits for any more may still be read: it ends with the program.
  if (!stepscope::viewer::Opening::is_any_at_work()) return status;
  std::fflush(nullptr);
  std::_Exit(status);
}
