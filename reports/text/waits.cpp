#include "reports/text/waits.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "analyzer/metrics/communication/wait_matrix.h"
#include "analyzer/metrics/steps/run_summary.h"
#include "reports/text/layout.h"
#include "reports/words/kernel_label.h"
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
/// In less room a cause says nothing.
constexpr size_t kLeastWhy = 8;

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
                         analyzer::WaitSummary const& summary, Paint const& paint, size_t width) {
  if (analysis.devices.size() < 2 || analysis.devices.size() > kMostDevices) return {};
  std::vector<analyzer::DeviceMean> const means = analyzer::device_means(analysis);
  bool const has_steps =
      std::any_of(means.begin(), means.end(), [](auto const& mean) { return mean.steps > 0; });

  std::vector<std::vector<std::string>> rows = {{"device", "waits a step", "causes of all"}};
  std::vector<std::string> whys = {"mostly by"};
  for (analyzer::DeviceMean const& mean : means) {
    CausedWait const caused = caused_by(analysis, mean.ref);
    double const share = caused.exposed_ns / summary.exposed_ns;
    rows.push_back(
        {device_label(run, mean.ref),
         mean.steps > 0 ? base::format_duration(std::llround(mean.exposed_late_ns)) : "–",
         base::format_share(share)});
    bool const is_named = share >= kLeastCause && caused.most != nullptr;
    whys.push_back(is_named ? cause_words(*caused.most) : "");
  }
  // Without steps their column says nothing.
  for (auto& row : rows)
    if (!has_steps) row.erase(row.begin() + 1);

  std::string const table = aligned(rows, {});
  std::string_view rest = table;
  std::string text;
  for (size_t i = 0; i < rows.size(); ++i) {
    std::string line(rest.substr(0, rest.find('\n')));
    rest.remove_prefix(line.size() + 1);
    size_t const taken = columns_of(line) + 2;
    bool const is_narrow = taken + kLeastWhy > width;
    if (!whys[i].empty() && !is_narrow) line += "  " + kernel_label(whys[i], width - taken);
    text += (i == 0 ? paint.dim(line) : line) + "\n";

    if (i == 0 || whys[i].empty() || !is_narrow) continue;
    std::string const below = "    " + whys.front() + " ";
    size_t const room = std::max(width, columns_of(below) + kLeastWhy) - columns_of(below);
    text += below + kernel_label(whys[i], room) + "\n";
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
  return "\n" + wrapped(sentence, width, "  ", "    ") +
         device_lines(run, analysis, *analyzer::summarize_waits(analysis), paint,
                      static_cast<size_t>(std::max(width, 0)));
}

}  // namespace stepscope::reports
