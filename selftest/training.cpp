// The bundled workload as a whole: its trace, and what recording costs it.
#include <algorithm>

#include "selftest/recording.h"
#include "selftest/trace_checks.h"
#include "trace/base/format.h"

namespace stepscope::selftest {
namespace {

std::vector<std::string> training(Setup const& setup, std::string const& device, int batch,
                                  int steps) {
  return {setup.program,
          "run",
          "cifar10",
          "--json",
          "--device",
          device,
          "--batch",
          fmt::format("{}", batch),
          "--steps",
          fmt::format("{}", steps),
          "--no-evaluate",
          "--log-every",
          "0"};
}

double median(std::vector<double> values) {
  auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Uses the first device's steps, without the first ones, which start threads and touch memory.
double median_step_ns(nlohmann::json const& summary) {
  constexpr std::ptrdiff_t kWarmUp = 3;
  auto steps = summary.at("devices").at(0).at("step_ns").get<std::vector<double>>();
  steps.erase(steps.begin(),
              steps.begin() +
                  std::min<std::ptrdiff_t>(kWarmUp, static_cast<std::ptrdiff_t>(steps.size()) - 1));
  return median(std::move(steps));
}

}  // namespace

void check_training(Setup const& setup, std::string const& device, Report const& report) {
  constexpr int kBatch = 4, kSteps = 12;
  auto const recording = record(setup, "training", training(setup, device, kBatch, kSteps));
  if (!recording) return report({"training", Verdict::kFailure, recording.error().message, ""});
  if (recording->exit_code != 0)
    return report({"training", Verdict::kFailure,
                   fmt::format("ended with exit status {}", recording->exit_code), ""});
  for (Check const& check : check_trace(recording->run, recording->output.back())) report(check);
}

void check_overhead(Setup const& setup, std::string const& device, Report const& report) {
  constexpr int kBatch = 16, kSteps = 30, kPairs = 3;
  constexpr double kTarget = 1.01;
  std::vector<double> ratios;
  auto const command = training(setup, device, kBatch, kSteps);

  for (int pair = 0; pair < kPairs; ++pair) {
    // Alternately first, so that what warms up or slows down the machine counts for both.
    auto const first = pair % 2 == 0 ? run_alone(command) : record(setup, "overhead", command);
    auto const second = pair % 2 == 0 ? record(setup, "overhead", command) : run_alone(command);

    if (!first || !second)
      return report({"overhead", Verdict::kFailure, (first ? second : first).error().message, ""});

    auto const& alone = pair % 2 == 0 ? first : second;
    auto const& recorded = pair % 2 == 0 ? second : first;
    ratios.push_back(median_step_ns(recorded->output.back()) /
                     median_step_ns(alone->output.back()));
  }

  auto const [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  double const ratio = median(ratios);
  Check check{"overhead", ratio <= kTarget ? Verdict::kGood : Verdict::kWarning,
              fmt::format("a recorded step takes {:.3f} × one that is not ({:.3f} to {:.3f} over "
                          "{} pairs of {} steps)",
                          ratio, *least, *most, kPairs, kSteps),
              ""};

  if (check.verdict == Verdict::kWarning)
    check.fix = "let nothing else run on this machine and try again: the target is 1.010";

  report(check);
}

}  // namespace stepscope::selftest
