// Cost of launch-bound time: what the launching threads did while devices idled, and exposed time
// that compute would have hidden.
#include <algorithm>

#include <fmt/format.h>

#include "analyzer/metrics/host/host_op_totals.h"
#include "reports/html/bars.h"
#include "reports/html/escape.h"
#include "reports/html/page.h"
#include "reports/html/table.h"
#include "reports/words/language.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

/// Host operations in the table, the ones with most idle time.
constexpr size_t kHostOpRows = 40;

Cell host_op_cell(analyzer::HostOpTotal const& sum) {
  if (sum.name) return name_cell(*sum.name);
  return text_cell(
      tr(sum.names > 0 ? "further operations together" : "no operation, or not the cause"));
}

}  // namespace

std::string unhidden_block(Page const& page) {
  analyzer::UnhiddenTotals const sums = analyzer::unhidden_totals(page.analysis);
  if (sums.all_ns <= 0 || sums.exposed_ns <= 0) return {};

  Table table("unhidden-table",
              "Exposed communication and copies that compute would have hidden, "
              "by what the host did");
  table.text("What the host did").number("Time", "Sum over the devices");
  table.number("Share of all exposed time", "Share of exposed communication and copies");

  auto const of_exposed = [&](int64_t ns) {
    return static_cast<double>(ns) / static_cast<double>(sums.exposed_ns);
  };
  for (size_t i = 0; i < sums.by_cause.size(); ++i) {
    int64_t const ns = sums.by_cause[i];
    if (ns <= 0) continue;
    Part const& words = part(3 + static_cast<int>(i));
    table.row({part_cell(words), ns_cell(ns), meter_cell(words.key, of_exposed(ns))});
  }

  std::string const text =
      tr("Beyond idle time, compute would have hidden {} of exposed communication and copies "
         "({} of it communication) if the host had launched that compute in time: "
         "{} of all exposed time.",
         base::format_duration(sums.all_ns), base::format_duration(sums.comm_ns),
         base::format_share(of_exposed(sums.all_ns)));

  return subheading("Cost of launch-bound time beyond idle time") +
         fmt::format("<p>{}</p>\n", escape(with_joined_units(text), 2000)) + table.html() +
         how_computed(
             "Exposed communication and copies while a compute operation waited only for its "
             "launch: all work before it was over, and the launch call had not ended. "
             "The causes are those of idle time: what the launching thread did. "
             "This time is part of the exposed time, not of the idle time above. "
             "It is 0 if the recording does not show what streams waited for.");
}

std::string host_ops_block(Page const& page) {
  std::vector<analyzer::HostOpTotal> const sums = analyzer::host_op_totals(page.analysis);
  bool const any_named =
      std::any_of(sums.begin(), sums.end(),
                  [](analyzer::HostOpTotal const& sum) { return sum.name.has_value(); });
  if (!any_named) return {};

  Table table("host-ops-table",
              "What the launching threads did while devices idled, over all devices");
  table.text("Host operation", "The innermost range or call of the thread during most of the gap")
      .text("Cause");
  table.number("Idle", "Sum over the devices")
      .number("Share of idle time")
      .number("Gaps", "Or parts of gaps");
  if (page.analysis.devices.size() > 1) table.number("Devices");

  for (analyzer::HostOpTotal const& sum : sums) {
    if (table.size() == kHostOpRows) break;
    Part const& words = part(3 + static_cast<int>(sum.cause));
    std::vector<Cell> cells = {host_op_cell(sum), part_cell(words), ns_cell(sum.idle_ns),
                               meter_cell(words.key, sum.share), count_cell(sum.gaps)};

    if (page.analysis.devices.size() > 1) cells.push_back(count_cell(sum.devices));
    table.row(std::move(cells));
  }

  return folded(tr("What the host did meanwhile ({})", sums.size()),
                table.html() + and_more(table.size(), sums.size(), "row"));
}

}  // namespace stepscope::reports
