#include "reports/text/waits.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "analyzer/metrics/communication/wait_matrix.h"
#include "analyzer/metrics/steps/run_summary.h"
#include "reports/text/layout.h"
#include "reports/words/labels.h"
#include "reports/words/language.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

/// Less of the time than this is not worth a line.
constexpr double kLeastWaiting = 0.01;
/// Share of the waiting; causes below it are many and small.
constexpr double kLeastCause = 0.05;
constexpr size_t kMostCauses = 3;

/// A finding says which device the others wait for, with its share and its reason: here it is not
/// said again.
bool has_straggler(analyzer::Analysis const& analysis) {
  return std::any_of(
      analysis.findings.begin(), analysis.findings.end(), [](analyzer::Finding const& finding) {
        return finding.rule == "straggler" &&
               std::any_of(finding.metrics.begin(), finding.metrics.end(),
                           [](auto const& m) { return m.first == "share_of_waits"; });
      });
}

std::string cause_words(analyzer::WaitStats const& row) {
  std::string words(wait_part(row).label);
  return row.host_op.empty() ? words : words + tr(", “{}”", shown(row.host_op, 60));
}

/// A screen shows no more; the page and the JSON have all.
constexpr size_t kMostDevices = 16;

/// What a device makes others wait, over the run.
struct CausedWait {
  double exposed_ns = 0;
  analyzer::WaitStats const* most = nullptr;  ///< its main cause
};

CausedWait caused_by(analyzer::Analysis const& analysis, analyzer::DeviceRef ref) {
  CausedWait caused;
  for (analyzer::WaitStats const& row : analysis.waits) {
    if (row.ref != ref) continue;
    caused.exposed_ns += static_cast<double>(row.exposed_ns);
    if (caused.most == nullptr || row.exposed_ns > caused.most->exposed_ns) caused.most = &row;
  }
  return caused;
}

/// A line for each device: how long it waits, and how much of all waiting it causes and by what.
/// None where there is one device, or too many for a screen.
std::string device_lines(model::Run const& run, analyzer::Analysis const& analysis,
                         Paint const& paint, int width) {
  auto const summary = analyzer::summarize_waits(analysis);
  std::vector<analyzer::DeviceMean> const means = analyzer::device_means(analysis);
  if (means.size() < 2 || means.size() > kMostDevices || !summary || summary->exposed_ns <= 0)
    return {};

  size_t label_columns = 0;
  for (analyzer::DeviceMean const& mean : means)
    label_columns = std::max(label_columns, columns_of(device_label(run, mean.ref)));
  auto const line = [&](std::string const& device, std::string const& waits,
                        std::string const& causes, std::string const& why) {
    std::string const pad(label_columns - std::min(label_columns, columns_of(device)), ' ');
    std::string const gap(10 - std::min<size_t>(10, columns_of(waits)), ' ');
    return fmt::format("  {}{}  {}{}  {:>11}{}", device, pad, gap, waits, causes,
                       why.empty() ? "" : "  " + why);
  };

  std::string text = paint.dim(line("device", "waits", "causes", "mostly by")) + "\n";
  for (analyzer::DeviceMean const& mean : means) {
    CausedWait const caused = caused_by(analysis, mean.ref);
    double const share = caused.exposed_ns / summary->exposed_ns;
    std::string const waits =
        mean.steps > 0 ? base::format_duration(std::llround(mean.exposed_late_ns)) : "–";
    bool const is_named = share >= kLeastCause && caused.most != nullptr;

    std::string const why = is_named ? cause_words(*caused.most) : "";
    std::string const row = line(device_label(run, mean.ref), waits, base::format_share(share), "");
    size_t const room = static_cast<size_t>(width) - std::min<size_t>(columns_of(row) + 2, width);
    text += row + (why.empty() ? "" : "  " + shown(why, std::max<size_t>(room, 20))) + "\n";
  }
  return text;
}

}  // namespace

std::string waits_sentence(model::Run const& run, analyzer::Analysis const& analysis) {
  std::optional<analyzer::WaitSummary> const summary = analyzer::summarize_waits(analysis);
  if (!summary || summary->waiting_ns < kLeastWaiting * summary->measured_ns) return {};

  std::string causes;
  size_t const most_causes = has_straggler(analysis) ? 0 : kMostCauses;
  for (size_t i = 0; i < std::min(analysis.waits.size(), most_causes); ++i) {
    analyzer::WaitStats const& row = analysis.waits[i];
    double const share = static_cast<double>(row.exposed_ns) / summary->exposed_ns;
    if (share < kLeastCause) break;
    causes += i == 0 ? tr(", caused by ") : tr(", ");
    causes +=
        tr("{} ({}) {}", device_label(run, row.ref), cause_words(row), base::format_share(share));
  }

  std::string each;
  if (summary->step_and_device_ns)
    each = tr("{} a step and device, ",
              base::format_duration(std::llround(*summary->step_and_device_ns)));
  return tr("Waiting for peers: {}{} of the time{}.", each, base::format_share(summary->share()),
            causes);
}

std::string waits_text(model::Run const& run, analyzer::Analysis const& analysis,
                       Paint const& paint, int width) {
  std::string const sentence = waits_sentence(run, analysis);
  if (sentence.empty()) return {};
  return "\n" + wrapped(sentence, width, "  ", "    ") + device_lines(run, analysis, paint, width);
}

}  // namespace stepscope::reports
