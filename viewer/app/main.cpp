// stepscope-viewer: opens runs in a window, or draws one picture of them.
#include <cstdio>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include "analyzer/analysis.h"
#include "trace/import/open_run.h"
#include "viewer/app/window.h"
#include "viewer/arguments.h"

namespace stepscope::viewer {
namespace {

constexpr int kUseError = 2;  ///< wrong use or unreadable input, as everywhere in Stepscope

int report_error(base::Error const& error) {
  fmt::print(stderr, "stepscope: {}\n", error.message);
  return kUseError;
}

int view(Arguments const& arguments) {
  auto const size = parse_size(arguments.size);
  if (!size) return report_error(size.error());
  auto run = import::open_run(arguments.runs);
  if (!run) return report_error(run.error());
  auto analysis = analyzer::analyze(*run);
  Scene const scene = make_scene(std::move(*run), std::move(analysis));
  ViewState state = initial_view(scene);
  if (auto const applied = apply_arguments(arguments, scene, state); !applied) return report_error(applied.error());
  auto const shown = arguments.screenshot.empty() ? run_window(scene, std::move(state), *size)
                                                  : write_screenshot(scene, std::move(state), *size, arguments.screenshot);
  if (!shown) return report_error(shown.error());
  return 0;
}

}  // namespace
}  // namespace stepscope::viewer

int main(int argc, char** argv) {
  stepscope::viewer::Arguments arguments;
  CLI::App app("Shows runs: all ranks on one timeline, with the findings beside it", "stepscope view");
  app.add_option("RUN", arguments.runs, "trace files, or folders of them")->required();
  app.add_option("--screenshot", arguments.screenshot, "draw one picture into this PNG file, open no window");
  app.add_option("--size", arguments.size, "of the window or picture, in pixels")->capture_default_str();
  app.add_option("--time", arguments.time, "show this part, such as 1.5s:1600ms");
  app.add_option("--select", arguments.select, "select the first event whose name contains this");
  app.add_option("--panel", arguments.panel, "in front: findings, details, statistics, kernels, memory or run");
  app.add_option("--theme", arguments.theme, "dark or light")->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    return app.exit(error) == 0 ? 0 : stepscope::viewer::kUseError;
  }
  return stepscope::viewer::view(arguments);
}
