// The plain CUDA program under the tracer: each of its modes is a check, and what recording adds to
// a launch is one.
#include <algorithm>
#include <array>
#include <filesystem>

#include "selftest/probe_checks.h"
#include "selftest/recording.h"
#include "selftest/trace_checks.h"
#include "trace/base/format.h"

namespace stepscope::selftest {
namespace {

struct Mode {
  char const* name;
  int exit_code = 0;             ///< that it ends with, as a shell reports it
  char const* option = nullptr;  ///< of `stepscope record`
};
constexpr int kKilledBySegv = 139, kNoDevice = 77;
constexpr std::array kModes = {Mode{"work"},
                               Mode{"graph"},
                               Mode{"streams"},
                               Mode{"long-name"},
                               Mode{"reset"},
                               Mode{"fork"},
                               Mode{"exit"},
                               Mode{"crash", kKilledBySegv},
                               Mode{"window", 0, "--from-code"}};

std::string join(std::string const& a, std::string const& b) {
  return a.empty() || b.empty() ? a + b : a + ", " + b;
}

Check check_mode(Setup const& setup, Mode const& mode) {
  std::string const name = fmt::format("probe {}", mode.name);
  std::vector<std::string> const options =
      mode.option == nullptr ? std::vector<std::string>() : std::vector<std::string>{mode.option};

  auto const recording = record(setup, name, {setup.probe, mode.name}, options);
  if (!recording) return {name, Verdict::kFailure, recording.error().message, ""};

  Work const found = found_in(recording->run);
  std::string wrong = differences(found, asked_for(recording->output));

  if (recording->exit_code != mode.exit_code)
    wrong = join(fmt::format("exit status {} instead of {}", recording->exit_code, mode.exit_code),
                 wrong);

  return judge(name, recording->run, wrong, describe(found), kGpuClockToleranceNs);
}

double ns_per_launch(Recording const& recording) {
  return recording.output.back().value("ns_per_launch", 0.0);
}

/// Empty launches, alone and recorded in turns.
Check check_launch_cost(Setup const& setup) {
  constexpr int kPairs = 5;
  constexpr double kTargetNs = 100;

  std::vector<double> added;
  double alone_ns = 0;
  std::map<std::string, double> numbers;

  for (int pair = 0; pair < kPairs; ++pair) {
    auto const alone = run_alone({setup.probe, "empty"});
    auto const recorded = record(setup, "probe empty", {setup.probe, "empty"});
    if (!alone || !recorded)
      return {"probe empty", Verdict::kFailure, (alone ? recorded : alone).error().message, ""};

    Check check = judge("probe empty", recorded->run,
                        differences(found_in(recorded->run), asked_for(recorded->output)), "",
                        kGpuClockToleranceNs);
    if (check.verdict == Verdict::kFailure) return check;

    numbers = std::move(check.numbers);
    added.push_back(ns_per_launch(*recorded) - ns_per_launch(*alone));
    alone_ns = ns_per_launch(*alone);
  }

  std::sort(added.begin(), added.end());
  double const median = added[added.size() / 2];
  numbers["added_ns_per_launch"] = median;
  numbers["ns_per_launch_alone"] = alone_ns;

  return {"probe empty", median <= kTargetNs ? Verdict::kGood : Verdict::kWarning,
          fmt::format(
              "recording adds {:.0f} ns to a launch of {:.0f} ns ({:.0f} to {:.0f} over {} pairs)",
              median, alone_ns, added.front(), added.back(), kPairs),
          median <= kTargetNs
              ? ""
              : "let nothing else run on this machine and try again: the target is 100 ns",
          std::move(numbers)};
}

}  // namespace

void check_probe(Setup const& setup, Report const& report) {
  if (!std::filesystem::exists(setup.probe))
    return report({"probe", Verdict::kSkipped,
                   setup.probe + ": not built, this build found no CUDA compiler", ""});

  auto const works = doctor::run_program({setup.probe, "long-name"}, std::chrono::seconds(60));
  if (!works || !works->succeeded()) {
    std::string const reason =
        works ? works->output.substr(0, works->output.find('\n')) : works.error().message;
    bool const is_skipped = works && works->exit_code == kNoDevice;
    return report({"probe", is_skipped ? Verdict::kSkipped : Verdict::kFailure, reason, ""});
  }

  for (Mode const& mode : kModes) report(check_mode(setup, mode));
  report(check_launch_cost(setup));
}

}  // namespace stepscope::selftest
