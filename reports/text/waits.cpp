#include "reports/text/waits.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "analyzer/metrics/communication/wait_matrix.h"
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

std::string waits_text(model::Run const& run, analyzer::Analysis const& analysis, int width) {
  std::string const sentence = waits_sentence(run, analysis);
  return sentence.empty() ? sentence : "\n" + wrapped(sentence, width, "  ", "    ");
}

}  // namespace stepscope::reports
