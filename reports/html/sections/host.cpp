// Cost of launch-bound time: what the launching threads did while devices idled, and exposed time
// that compute would have hidden.
#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

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

/// Idle time of one cause during one host operation, over all devices.
struct HostOpSum {
  analyzer::IdleCause cause = analyzer::IdleCause::kUnexplained;
  std::optional<std::string_view> name;
  uint64_t names = 0, gaps = 0;
  int64_t idle_ns = 0;
  size_t devices = 0;
};

/// Order: rows with a name by idle time, descending; then the remaining names together; last the
/// time without an operation.
/// A row without a name stands for further names if names > 0, else for no operation.
std::string_view group_name(analyzer::HostOpStats const& row) {
  if (row.host_op) return *row.host_op;
  return row.names > 0 ? "*" : "";
}

std::vector<HostOpSum> host_op_sums(analyzer::Analysis const& analysis) {
  std::map<std::tuple<analyzer::IdleCause, bool, std::string_view>, HostOpSum> by_name;
  for (analyzer::HostOpStats const& row : analysis.host_ops) {
    std::string_view const name = group_name(row);
    HostOpSum& sum = by_name[{row.cause, row.host_op.has_value(), name}];
    sum.cause = row.cause;
    if (row.host_op) sum.name = name;
    sum.names = std::max(sum.names, row.names);
    sum.gaps += row.gaps;
    sum.idle_ns = saturated_sum(sum.idle_ns, row.idle_ns);
    ++sum.devices;
  }

  std::vector<HostOpSum> sums;
  for (auto const& [key, sum] : by_name) sums.push_back(sum);
  std::stable_sort(sums.begin(), sums.end(), [](HostOpSum const& a, HostOpSum const& b) {
    return a.name.has_value() != b.name.has_value() ? a.name.has_value() : a.idle_ns > b.idle_ns;
  });

  return sums;
}

}  // namespace

std::string unhidden_block(Page const& page) {
  analyzer::IdleSplit causes{};
  int64_t exposed = 0, comm = 0, all = 0;

  for (analyzer::DeviceStats const& device : page.analysis.devices) {
    for (size_t i = 0; i < causes.size(); ++i)
      causes[i] = saturated_sum(causes[i], device.time.unhidden_by_cause[i]);
    exposed = saturated_sum(
        exposed, saturated_sum(device.time.exposed_comm_ns, device.time.exposed_copy_ns));
    comm = saturated_sum(comm, device.time.unhidden_comm_ns);
  }
  for (int64_t const ns : causes) all = saturated_sum(all, ns);
  if (all <= 0 || exposed <= 0) return {};

  Table table("unhidden-table",
              "Exposed communication and copies that compute would have hidden, "
              "by what the host did");
  table.text("What the host did").number("Time", "Sum over the devices");
  table.number("Share of all exposed time", "Share of exposed communication and copies");

  for (size_t i = 0; i < causes.size(); ++i) {
    if (causes[i] <= 0) continue;
    Part const& words = part(3 + static_cast<int>(i));
    table.row(
        {part_cell(words), ns_cell(causes[i]),
         meter_cell(words.key, static_cast<double>(causes[i]) / static_cast<double>(exposed))});
  }

  std::string const text =
      tr("Beyond idle time, compute would have hidden {} of exposed communication and copies "
         "({} of it communication) if the host had launched that compute in time: "
         "{} of all exposed time.",
         base::format_duration(all), base::format_duration(comm),
         base::format_share(static_cast<double>(all) / static_cast<double>(exposed)));

  return subheading("Cost of launch-bound time beyond idle time") +
         fmt::format("<p>{}</p>\n", escape(with_joined_units(text), 2000)) + table.html() +
         how_computed(
             "Exposed communication and copies while a compute operation waited only for its "
             "launch: all work before it was over, and the launch call had not ended. "
             "The causes are those of idle time: what the launching thread did. "
             "This time is part of the exposed time, not of the idle time above. "
             "It is 0 if the recording does not show what streams waited for.");
}

Cell host_op_cell(HostOpSum const& sum) {
  if (sum.name) return name_cell(*sum.name);
  return text_cell(
      tr(sum.names > 0 ? "further operations together" : "no operation, or not the cause"));
}

std::string host_ops_block(Page const& page) {
  std::vector<HostOpSum> const sums = host_op_sums(page.analysis);
  bool const any_named = std::any_of(sums.begin(), sums.end(),
                                     [](HostOpSum const& sum) { return sum.name.has_value(); });
  if (!any_named) return {};

  int64_t all = 0;
  for (HostOpSum const& sum : sums) all = saturated_sum(all, sum.idle_ns);

  Table table("host-ops-table",
              "What the launching threads did while devices idled, over all devices");
  table.text("Host operation", "The innermost range or call of the thread during most of the gap")
      .text("Cause");
  table.number("Idle", "Sum over the devices")
      .number("Share of idle time")
      .number("Gaps", "Or parts of gaps");
  if (page.analysis.devices.size() > 1) table.number("Devices");

  for (HostOpSum const& sum : sums) {
    if (table.size() == kHostOpRows) break;
    Part const& words = part(3 + static_cast<int>(sum.cause));
    double const share = all > 0 ? static_cast<double>(sum.idle_ns) / static_cast<double>(all) : 0;
    std::vector<Cell> cells = {host_op_cell(sum), part_cell(words), ns_cell(sum.idle_ns),
                               meter_cell(words.key, share), count_cell(sum.gaps)};

    if (page.analysis.devices.size() > 1) cells.push_back(count_cell(sum.devices));
    table.row(std::move(cells));
  }

  return folded(tr("What the host did meanwhile ({})", sums.size()),
                table.html() + and_more(table.size(), sums.size(), "row"));
}

}  // namespace stepscope::reports
