// stepscope trigger RUN: asks processes that are recorded with --on-request for a window of steps
// or of time. It asks those that keep a ring to write it. It asks any of them to stop.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "trace/base/format.h"
#include "trace/base/parse_time.h"
#include "trace/base/shell_word.h"
#include "tracer/requests/asking.h"

namespace stepscope::cli {
namespace {

using base::format_count;
using base::printable;

struct TriggerCommand {
  std::string run, timeout = "10s", duration;
  tracer::AskedWindow asked;
  bool stops = false, cancels = false, flushes = false, returns_at_once = false;
  bool names_window = false;  ///< with --steps, --in or --duration
};

std::string processes(size_t count) {
  return count == 1 ? "1 process" : format_count(count) + " processes";
}

/// "steps 1,240 to 1,244".
std::string steps_text(tracer::StepRange steps) {
  std::string const first = format_count(static_cast<uint64_t>(steps.first));
  if (steps.first == steps.last) return "step " + first;
  return fmt::format("steps {} to {}", first, format_count(static_cast<uint64_t>(steps.last)));
}

int ask_to(tracer::Request::Kind kind, char const* what, tracer::Asking& asking,
           std::chrono::nanoseconds timeout) {
  auto const answers = asking.ask_to(kind, timeout);
  if (!answers) return report_error(answers.error());
  std::printf("stepscope: %s in %s, the programs go on\n", what,
              processes(answers->size()).c_str());
  return kGood;
}

/// `run`: as the user names it, and not as its processes do.
void print_window(std::string const& run, tracer::WrittenWindow const& window) {
  std::set<std::string> folders;
  for (tracer::ProcessState const& process : window.written)
    folders.insert(std::filesystem::path(process.file).parent_path().filename().string());

  for (std::string const& name : folders) {
    std::string const folder = (std::filesystem::path(run) / name).string();
    std::printf("stepscope: %s written by %s; see it with: stepscope analyze %s\n",
                printable(folder).c_str(), processes(window.written.size()).c_str(),
                base::shell_word(folder).c_str());
  }
}

/// The window would be waited for without an end, where the program hangs.
void tell_of_standstill(std::string const& run, std::string const& what,
                        std::vector<tracer::ProcessState> const& still,
                        std::chrono::nanoseconds time) {
  tracer::ProcessState const& furthest = *std::max_element(
      still.begin(), still.end(), [](auto const& a, auto const& b) { return a.step < b.step; });
  bool const has_begun = furthest.phase == tracer::ProcessState::Phase::kRecording;

  // A window that is open cannot be cancelled.
  tell(fmt::format(
      "no step has begun for {}: {} is at step {}, and the window of {} {}. {}: Ctrl-C, "
      "then stepscope trigger {} {}",
      base::format_duration(time.count()), printable(tracer::describe(furthest)),
      format_count(static_cast<uint64_t>(furthest.step)), what,
      has_begun ? "is open" : "has not begun",
      has_begun ? "To read what it has until now" : "To give it up", base::shell_word(run),
      has_begun ? "--flush" : "--cancel"));
}

/// `what`: "steps 12 to 16"; `ring`: its name, where that is what is waited for. Another command
/// that asks meanwhile hears that a window is on its way.
int wait_for_files(TriggerCommand const& options, std::string const& what, tracer::Asking asking,
                   std::vector<tracer::ProcessState> const& recording,
                   std::string const& ring = {}) {
  if (options.returns_at_once) return kGood;
  { tracer::Asking const ended = std::move(asking); }
  bool const is_by_steps = ring.empty() && options.duration.empty();
  tracer::WindowWait wait{.timeout = std::chrono::hours(24 * 365), .ring = ring};
  if (is_by_steps)
    wait.when_still = [&](std::vector<tracer::ProcessState> const& processes,
                          std::chrono::nanoseconds time) {
      tell_of_standstill(options.run, what, processes, time);
    };
  auto const window = tracer::wait_for_window(options.run, recording, wait);
  print_window(options.run, window);

  for (tracer::ProcessState const& process : window.without)
    std::fprintf(stderr, "stepscope: %s has not recorded the %s: %s\n",
                 printable(tracer::describe(process)).c_str(), what.c_str(),
                 process.problem.empty() ? "it has ended, marked none of them or answers no more"
                                         : printable(process.problem).c_str());
  return window.without.empty() ? kGood : kFinding;
}

int ask_for_ring(TriggerCommand const& options, tracer::Asking asking,
                 std::vector<tracer::ProcessState> const& there, std::chrono::nanoseconds timeout) {
  if (options.names_window)
    return report_error({fmt::format(
        "{}: its processes keep a ring of what is past, ask for it without --steps, --in and "
        "--duration",
        options.run)});

  auto const request = tracer::choose_ring(options.run, there);
  if (!request) return report_error(request.error());
  auto const writing = asking.ask_for_ring(there, *request, timeout);
  if (!writing) return report_error(writing.error());
  tell(fmt::format(
      "{}, at step {} now, {} what is kept", processes(writing->size()),
      writing->front().step < 0 ? "-" : format_count(static_cast<uint64_t>(writing->front().step)),
      writing->size() == 1 ? "writes" : "write"));
  return wait_for_files(options, "ring", std::move(asking), *writing, request->ring);
}

int ask_for_time(TriggerCommand const& options, tracer::Asking asking,
                 std::vector<tracer::ProcessState> const& there, std::chrono::nanoseconds timeout) {
  auto const duration_ns = base::parse_duration(options.duration, "--duration");
  if (!duration_ns) return report_error(duration_ns.error());
  auto const since_1970 = std::chrono::system_clock::now().time_since_epoch();
  int64_t const now_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(since_1970).count();
  auto const request =
      tracer::choose_time(there, {.duration_ns = *duration_ns,
                                  .now_epoch_ns = now_ns,
                                  .without_missing = options.asked.without_missing});
  if (!request) return report_error(request.error());
  auto const recording = asking.ask_for_time(there, *request, timeout);
  if (!recording) return report_error(recording.error());

  std::string const what = base::format_duration(*duration_ns);
  tell(fmt::format("{} will be recorded in {}, beginning in {}", what, processes(recording->size()),
                   base::format_duration(request->begin_epoch_ns - now_ns)));
  return wait_for_files(options, what, std::move(asking), *recording);
}

int ask_for_window(TriggerCommand const& options, tracer::Asking asking,
                   std::chrono::nanoseconds timeout) {
  auto const there = asking.ask(timeout);
  if (!there) return report_error(there.error());
  bool const keep_ring =
      std::any_of(there->begin(), there->end(), [](tracer::ProcessState const& process) {
        return process.phase == tracer::ProcessState::Phase::kKeeping;
      });
  if (keep_ring) return ask_for_ring(options, std::move(asking), *there, timeout);
  if (!options.duration.empty()) return ask_for_time(options, std::move(asking), *there, timeout);

  auto const steps = tracer::choose_steps(*there, options.asked);
  if (!steps) return report_error(steps.error());
  auto const recording = asking.ask_for_window(*there, *steps, timeout);
  if (!recording) return report_error(recording.error());

  tell(fmt::format("{} will be recorded in {}, which {} at step {} now", steps_text(*steps),
                   processes(recording->size()), recording->size() == 1 ? "is" : "are",
                   format_count(static_cast<uint64_t>(recording->front().step))));
  if (size_t const others = there->size() - recording->size(); others > 0)
    tell(fmt::format("{} without steps {} no part in it", processes(others),
                     others == 1 ? "takes" : "take"));
  return wait_for_files(options, steps_text(*steps), std::move(asking), *recording);
}

/// Readers take a file that is not complete for what it has.
int flush(TriggerCommand const& options, tracer::Asking& asking, std::chrono::nanoseconds timeout) {
  auto const answers = asking.ask_to(tracer::Request::Kind::kFlush, timeout);
  if (!answers) return report_error(answers.error());

  size_t recording = 0;
  for (tracer::ProcessState const& process : *answers) {
    if (process.phase == tracer::ProcessState::Phase::kKeeping)
      return report_error({fmt::format(
          "{}: its processes keep a ring, which stepscope trigger without --flush has them write",
          options.run)});
    bool const is_done = process.answer == tracer::ProcessState::Answer::kDone;
    if (is_done && process.phase == tracer::ProcessState::Phase::kRecording) ++recording;
  }
  if (recording == 0)
    return report_error({fmt::format(
        "{}: no window is open, and those that were are in their files", options.run)});
  std::printf("stepscope: all until now is in the files of %s\n", processes(recording).c_str());
  return kGood;
}

int trigger(TriggerCommand const& options) {
  auto const timeout = base::parse_duration(options.timeout, "--timeout");
  if (!timeout) return report_error(timeout.error());
  auto asking = tracer::Asking::begin(options.run);
  if (!asking) return report_error(asking.error());

  std::chrono::nanoseconds const patience(*timeout);
  if (options.stops)
    return ask_to(tracer::Request::Kind::kStop, "recording ends", *asking, patience);
  if (options.cancels)
    return ask_to(tracer::Request::Kind::kNone, "no window is waited for", *asking, patience);
  if (options.flushes) return flush(options, *asking, patience);
  return ask_for_window(options, std::move(*asking), patience);
}

}  // namespace

Action add_trigger(CLI::App& app) {
  auto const options = std::make_shared<TriggerCommand>();
  app.footer(
      "Each window is a run in a folder of its own, RUN/steps-FIRST-LAST or RUN/at-TIME. Processes "
      "that are recorded with --ring write what they keep to RUN/ring-STEP. Exit code 1: a process "
      "has not recorded its part.");

  app.add_option("RUN", options->run, "the run that is being recorded with --on-request or --ring")
      ->required();
  auto* const steps = app.add_option("--steps", options->asked.steps, "how many steps to record")
                          ->check(whole_number(1, INT64_MAX))
                          ->capture_default_str();
  auto* const ahead = app.add_option("--in", options->asked.ahead,
                                     "begin so many steps after the furthest process (default: "
                                     "steps of two seconds)")
                          ->check(whole_number(1, INT64_MAX));

  auto* const duration =
      app.add_option("--duration", options->duration,
                     "record a stretch of time in place of steps, such as 10 (seconds) or 500ms");

  app.add_option("--timeout", options->timeout,
                 "wait so long for the answer of a process, such as 30 (seconds) or 500ms")
      ->capture_default_str();
  auto* const at_once = app.add_flag("--no-wait", options->returns_at_once,
                                     "do not wait until the window is written");
  app.add_flag("--partial", options->asked.without_missing,
               "record also where ranks of the job have marked no step");

  auto* const stop =
      app.add_flag("--stop", options->stops, "end recording for good; the programs go on");
  auto* const cancel =
      app.add_flag("--cancel", options->cancels, "give up a window whose first step has not come");
  auto* const flush = app.add_flag("--flush", options->flushes,
                                   "have what the open window has until now written to its file");
  stop->excludes(cancel)->excludes(flush);
  flush->excludes(cancel);
  duration->excludes(steps)->excludes(ahead);
  for (auto* const one : {stop, cancel, flush})
    one->excludes(steps)->excludes(ahead)->excludes(at_once)->excludes(duration);
  return [options, steps, ahead, duration] {
    options->names_window = steps->count() > 0 || ahead->count() > 0 || duration->count() > 0;
    return trigger(*options);
  };
}

}  // namespace stepscope::cli
