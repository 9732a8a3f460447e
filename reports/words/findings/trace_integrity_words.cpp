#include "reports/words/findings/trace_integrity_words.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "reports/words/findings/advice.h"
#include "reports/words/language.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

/// A metric of the finding, and what it counts.
struct TraceFault {
  std::string_view metric, one, many;
};
/// The worst first.
constexpr std::array kTraceFaults = {
    TraceFault{"lost_blocks", "{} damaged block of the file", "{} damaged blocks of the file"},
    TraceFault{"dropped", "{} lost event", "{} lost events"},
    TraceFault{"missing_ranks", "{} missing rank", "{} missing ranks"},
    TraceFault{"truncated", "{} truncated trace", "{} truncated traces"},
    TraceFault{"unmatched_launches", "{} launch without its device operation",
               "{} launches without their device operation"},
    TraceFault{"unmatched_ops", "{} device operation without its launch",
               "{} device operations without their launch"},
    TraceFault{"negative_latencies", "{} device operation before its launch",
               "{} device operations before their launch"},
    TraceFault{"overlapping_slices", "{} overlap on one stream", "{} overlaps on one stream"},
};

double trace_integrity_metric(analyzer::Finding const& finding, std::string_view key) {
  for (auto const& [name, value] : finding.metrics)
    if (name == key && std::isfinite(value)) return value;
  return 0;
}

std::string faults_text(analyzer::Finding const& finding) {
  std::string text;
  for (TraceFault const& fault : kTraceFaults) {
    double const value = trace_integrity_metric(finding, fault.metric);
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
  return ops > 0 && 2 * trace_integrity_metric(finding, "unmatched_ops") > ops;
}

/// A title, the meaning of the faults, and what helps.
struct IntegrityCase {
  std::string_view title, meaning;
  std::string_view advice;  ///< empty: advice_on_host_calls()
};

constexpr IntegrityCase kRanksMissing = {
    "Not all ranks are in this run",
    "Nothing is known of what a missing rank did: "
    "late ranks, waiting and bandwidth may be wrong.",
    "Put the traces of all ranks into one folder and open that folder: "
    "the ranks of a job form one run."};
constexpr IntegrityCase kIncomplete = {
    "The recording is incomplete", "Events are missing, so numbers may be wrong.",
    "Record again with larger buffers or fewer steps, and end the program cleanly. "
    "stepscope doctor reports what was lost and which conclusions that weakens."};
constexpr IntegrityCase kNoDeviceOps = {
    "Device work was launched and not recorded",
    "The recording has launches but none of the operations that they started, "
    "so nothing is known of the devices.",
    "Record again without hardware counters, which keep a profiler from recording "
    "operations, and with access to the device's activity records (stepscope doctor "
    "checks it)."};
constexpr IntegrityCase kFewLaunches = {
    "Most launches were not recorded",
    "Most device operations have no launch in the recording. "
    "What the devices did is reliable; why they were idle is mostly unknown.",
    {}};
constexpr IntegrityCase kContradictions = {
    "Some events do not fit together",
    "Launches lack their operation, operations lack their launch, "
    "or times contradict each other. Numbers may be off by about as much.",
    "Start and stop the recording between two steps, while the devices are idle. "
    "stepscope doctor reports which conclusions are weaker."};

IntegrityCase const& case_of(analyzer::Analysis const& analysis, analyzer::Finding const& finding) {
  bool const has_lost = trace_integrity_metric(finding, "dropped") > 0 ||
                        trace_integrity_metric(finding, "lost_blocks") > 0;
  if (!has_lost && trace_integrity_metric(finding, "missing_ranks") > 0) return kRanksMissing;
  if (has_lost || trace_integrity_metric(finding, "truncated") > 0) return kIncomplete;

  if (trace_integrity_metric(finding, "unmatched_launches") > 0 && device_ops(analysis) == 0)
    return kNoDeviceOps;
  return has_hardly_launches(analysis, finding) ? kFewLaunches : kContradictions;
}

}  // namespace

FindingWords trace_integrity_words(analyzer::Analysis const& analysis,
                                   analyzer::Finding const& finding) {
  IntegrityCase const& found = case_of(analysis, finding);
  double const score = trace_integrity_metric(finding, "score");
  std::string explanation(tr(found.meaning));
  explanation += tr(" It scores {} of 100 points",
                    base::format_count(static_cast<uint64_t>(std::fmax(score, 0))));

  std::string const faults = faults_text(finding);
  if (!faults.empty()) explanation += tr(": {}", faults);
  explanation += tr(".");

  std::string_view const advice = found.advice.empty() ? advice_on_host_calls() : found.advice;
  return {std::string(tr(found.title)), std::move(explanation), std::string(tr(advice))};
}

}  // namespace stepscope::reports
