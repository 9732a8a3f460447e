#include "reports/words/quality_words.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "reports/words/language.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

/// A metric of the finding, and what it counts.
struct QualityFault {
  std::string_view metric, one, many;
};
/// The worst first.
constexpr std::array kQualityFaults = {
    QualityFault{"lost_blocks", "{} damaged block of the file", "{} damaged blocks of the file"},
    QualityFault{"dropped", "{} lost event", "{} lost events"},
    QualityFault{"missing_ranks", "{} missing rank", "{} missing ranks"},
    QualityFault{"truncated", "{} truncated trace", "{} truncated traces"},
    QualityFault{"unmatched_launches", "{} launch without its device operation",
                 "{} launches without their device operation"},
    QualityFault{"unmatched_ops", "{} device operation without its launch",
                 "{} device operations without their launch"},
    QualityFault{"negative_latencies", "{} device operation before its launch",
                 "{} device operations before their launch"},
    QualityFault{"overlapping_slices", "{} overlap on one stream", "{} overlaps on one stream"},
};

double quality_metric(analyzer::Finding const& finding, std::string_view key) {
  for (auto const& [name, value] : finding.metrics)
    if (name == key && std::isfinite(value)) return value;
  return 0;
}

std::string faults_text(analyzer::Finding const& finding) {
  std::string text;
  for (QualityFault const& fault : kQualityFaults) {
    double const value = quality_metric(finding, fault.metric);
    if (value < 1) continue;

    auto const count = static_cast<uint64_t>(std::fmin(value, 1e15));
    if (!text.empty()) text += tr(", ");
    text += fmt::format(fmt::runtime(tr(count == 1 ? fault.one : fault.many)),
                        base::format_count(count));
  }

  return text;
}

uint64_t device_ops(analyzer::Analysis const& analysis) {
  uint64_t ops = 0;
  for (analyzer::DeviceStats const& device : analysis.devices)
    ops += device.kernels + device.copies;
  return ops;
}

/// More than half of the operations lack their launch, so the start of the recording is not the
/// reason.
bool has_hardly_launches(analyzer::Analysis const& analysis, analyzer::Finding const& finding) {
  auto const ops = static_cast<double>(device_ops(analysis));
  return ops > 0 && 2 * quality_metric(finding, "unmatched_ops") > ops;
}

}  // namespace

FindingWords quality_words(analyzer::Analysis const& analysis, analyzer::Finding const& finding) {
  std::string explanation;
  FindingWords words;
  bool const has_lost =
      quality_metric(finding, "dropped") > 0 || quality_metric(finding, "lost_blocks") > 0;
  bool const is_cut = quality_metric(finding, "truncated") > 0;
  if (!has_lost && quality_metric(finding, "missing_ranks") > 0) {
    words.title = tr("Not all ranks are in this run");
    explanation =
        tr("Nothing is known of what a missing rank did: "
           "late ranks, waiting and bandwidth may be wrong.");
    words.advice =
        tr("Put the traces of all ranks into one folder and open that folder: "
           "the ranks of a job form one run.");
  } else if (has_lost || is_cut) {
    words.title = tr("The recording is incomplete");
    explanation = tr("Events are missing, so numbers may be wrong.");
    words.advice =
        tr("Record again with larger buffers or fewer steps, and end the program cleanly. "
           "stepscope doctor reports what was lost and which conclusions that weakens.");
  } else if (quality_metric(finding, "unmatched_launches") > 0 && device_ops(analysis) == 0) {
    words.title = tr("Device work was launched and not recorded");
    explanation =
        tr("The recording has launches but none of the operations that they started, "
           "so nothing is known of the devices.");
    words.advice =
        tr("Record again without hardware counters, which keep a profiler from recording "
           "operations, and with access to the device's activity records (stepscope doctor "
           "checks it).");
  } else if (has_hardly_launches(analysis, finding)) {
    words.title = tr("Most launches were not recorded");
    explanation =
        tr("Most device operations have no launch in the recording. "
           "What the devices did is reliable; why they were idle is mostly unknown.");
    words.advice =
        tr("Record the host calls, too (PyTorch: ProfilerActivity.CPU; nsys: "
           "--trace=cuda), or open a file that has them (for JAX and TensorFlow the .xplane.pb).");
  } else {
    words.title = tr("Some events do not fit together");
    explanation =
        tr("Launches lack their operation, operations lack their launch, "
           "or times contradict each other. Numbers may be off by about as much.");
    words.advice =
        tr("Start and stop the recording between two steps, while the devices are idle. "
           "stepscope doctor reports which conclusions are weaker.");
  }
  explanation +=
      tr(" It scores {} of 100 points",
         base::format_count(static_cast<uint64_t>(std::fmax(quality_metric(finding, "score"), 0))));
  std::string const faults = faults_text(finding);
  if (!faults.empty()) explanation += tr(": {}", faults);
  words.explanation = explanation.append(tr("."));
  return words;
}

}  // namespace stepscope::reports
