// Caveats of scaling series, what differs from the fewest devices, and the steps left out.
#include "reports/words/labels.h"
#include "reports/words/language.h"
#include "reports/words/runs/comparison_words.h"
#include "reports/words/runs/scaling_words.h"

namespace stepscope::reports {
namespace {

using analyzer::ScalingPoint;
using analyzer::ScalingSeries;
using analyzer::SeriesCaveat;

/// "2 of warm-up, 1 outlier"; empty if all steps count.
std::string runs_left_out(ScalingPoint const& point) {
  std::vector<std::string> parts;
  if (point.warmup_steps > 0) parts.push_back(tr("{} of warm-up", point.warmup_steps));
  if (point.slow_start_steps > 0) parts.push_back(tr("{} of a slow start", point.slow_start_steps));
  if (point.outlier_steps > 0) parts.push_back(counted(point.outlier_steps, "outlier"));
  if (point.incomplete_steps > 0)
    parts.push_back(tr("{} not steady on all devices", point.incomplete_steps));
  std::string text;
  for (std::string const& each : parts) text.append(text.empty() ? "" : tr(", ")) += each;
  return text;
}

std::string caveat_sentence(analyzer::SeriesCaveatStats const& facts) {
  std::string const devices = devices_text(facts.devices);

  switch (facts.caveat) {
    case SeriesCaveat::kOneRun:
      return tr(
          "One run of {}: its error bars show how far steps vary, not how far runs vary. "
          "Give several runs of each number of devices to measure that.",
          devices);
    case SeriesCaveat::kOneStep:
      return tr("A single step of {}: no error bars there. Record more steps.", devices);
    case SeriesCaveat::kDrift:
      return tr(
          "The step time drifts within the run of {}, "
          "so its steps do not show how far it varies. "
          "Record for longer, or record several runs.",
          devices);

    case SeriesCaveat::kKernelNames:
      return tr(
          "Less than half of the kernel time of {} is in kernels that also run on the fewest "
          "devices: another program, or other kernels for other sizes? "
          "Single kernels can hardly be compared.",
          devices);
    case SeriesCaveat::kMissingRanks:
      return tr(
          "Ranks are missing in a run of {}: "
          "they count as devices, but no number includes their times.",
          devices);
    case SeriesCaveat::kUnusedDevices:
      return tr("A run of {} has more devices, without steps: they are not counted.", devices);
    case SeriesCaveat::kTraceIntegrity:
      return tr(
          "A recording of {} lost events (stepscope doctor RUN reports which): "
          "its parts may be wrong.",
          devices);

    case SeriesCaveat::kSuperlinear:
      return tr(
          "{} do more than ideal: "
          "either their share of the work fits caches better, "
          "or something slowed the runs on the fewest devices. "
          "Record the latter again before you trust efficiencies.",
          devices);
    case SeriesCaveat::kOutliers:
      return tr(
          "All numbers are of steady steps. "
          "The steps of {} that were left out (outliers, "
          "a slow start) make its average step longer by 2 % or more.",
          devices);
  }
  return {};
}

/// "Amdahl needs 3, USL needs 4": the models and their fewest numbers of devices.
std::string too_few_text(ScalingSeries const& series) {
  std::string text;
  for (analyzer::ScalingModel const model : series.fits.too_few)
    text += std::string(text.empty() ? "" : tr(", ")) +
            tr("{} needs {}", model_label(model), analyzer::fewest_sizes(model));
  return text;
}

}  // namespace

std::vector<std::string> scaling_differences(ScalingSeries const& series) {
  std::vector<std::string> lines;
  for (auto const& caveat : series.caveats)
    if (caveat.caveat == SeriesCaveat::kKernelNames) lines.push_back(caveat_sentence(caveat));
  for (analyzer::PointDifference const& each : series.differences)
    lines.push_back(fmt::format("{}: {}", devices_text(series.points[each.point].devices),
                                difference_text(each.difference)));
  return lines;
}

std::vector<std::string> scaling_notes(ScalingSeries const& series) {
  std::vector<std::string> notes;
  for (auto const& caveat : series.caveats)
    if (caveat.caveat != SeriesCaveat::kKernelNames) notes.push_back(caveat_sentence(caveat));

  if (series.points.front().devices > 1)
    notes.push_back(tr("No run of one device: speed-up and efficiency are against {}.",
                       devices_text(series.points.front().devices)));
  if (!series.fits.too_few.empty())
    notes.push_back(tr("Not fitted, too few different numbers of devices: {}; there are {}.",
                       too_few_text(series), series.points.size()));

  std::string left_out;
  for (ScalingPoint const& point : series.points)
    if (std::string const of_point = runs_left_out(point); !of_point.empty())
      left_out += std::string(left_out.empty() ? "" : tr("; ")) +
                  tr("{} on {}", of_point, devices_text(point.devices));
  if (!left_out.empty()) notes.push_back(tr("Steps left out: {}.", left_out));

  return notes;
}

}  // namespace stepscope::reports
