// stepscope live RUN: how a run that is recorded with --stream does now, and what would be worth a
// window.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <thread>

#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/commands.h"
#include "reports/live/live_page.h"
#include "run_loading/live_streams.h"
#include "trace/base/files/output_file.h"
#include "trace/base/parse_time.h"

namespace stepscope::cli {
namespace {

constexpr size_t kStripSteps = 400;
/// A folder on a file server is not read more often.
constexpr int64_t kLeastInterval = 100'000'000;
/// Ranks of a page, where the terminal does not say how high it is.
constexpr size_t kUsualLines = 16;
/// Lines of a page beside those of ranks.
constexpr size_t kOtherLines = 14;

struct LiveCommand {
  std::string run, interval = "2s", textfile;
  bool is_once = false, as_json = false, all = false;
};

int64_t now_epoch_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

size_t lines_of_terminal() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) return kUsualLines;
  return size.ws_row > kOtherLines + 4 ? size.ws_row - kOtherLines : 4;
}

/// Clears the screen and begins at its top.
constexpr char kNewPage[] = "\x1b[H\x1b[2J";

base::Expected<void> show(LiveCommand const& options, run_loading::LiveStreams const& streams) {
  auto state = reports::live_state(options.run, streams.run(), kStripSteps, now_epoch_ns());
  state.problems = streams.problems();
  if (!options.textfile.empty())
    if (auto const written =
            base::write_file_atomically(options.textfile, reports::live_metrics(state));
        !written)
      return written;

  if (options.as_json) {
    std::fputs(reports::live_json(state).c_str(), stdout);
  } else if (options.textfile.empty() || options.is_once || ::isatty(STDOUT_FILENO) != 0) {
    reports::Paint const paint{use_color(), terminal_width()};
    bool const is_page = !options.is_once && ::isatty(STDOUT_FILENO) != 0;
    size_t const most = options.all ? 0 : lines_of_terminal();
    std::printf("%s%s", is_page ? kNewPage : "", reports::live_page(state, most, paint).c_str());
  }
  std::fflush(stdout);
  return {};
}

int live(LiveCommand const& options) {
  auto const interval = base::parse_duration(options.interval, "--interval");
  if (!interval) return report_error(interval.error());
  std::chrono::nanoseconds const pause(std::max(*interval, kLeastInterval));
  auto streams = run_loading::LiveStreams::open(options.run);
  if (!streams) return report_error(streams.error());

  for (;;) {
    if (auto const shown = show(options, *streams); !shown) return report_error(shown.error());
    if (options.is_once) return kGood;
    std::this_thread::sleep_for(pause);
    streams->refresh();
  }
}

}  // namespace

Action add_live(CLI::App& app) {
  auto const options = std::make_shared<LiveCommand>();
  app.footer(
      "Ends with Ctrl-C. Where the run keeps a ring, too (record --stream --ring 60s), stepscope "
      "trigger RUN writes what just happened.");
  app.add_option("RUN", options->run, "the folder of a run that is recorded with --stream")
      ->required();

  app.add_flag("--once", options->is_once, "print one page and end");
  app.add_flag("--all", options->all, "show all ranks, not only those that fit and matter most");
  app.add_option("--interval", options->interval, "read again after this time")
      ->capture_default_str();
  app.add_flag("--json", options->as_json, "print JSON, one object each time");
  app.add_option("--textfile", options->textfile,
                 "write OpenMetrics text to this file each time, for the textfile collector of "
                 "Prometheus' node exporter");
  return [options] { return live(*options); };
}

}  // namespace stepscope::cli
