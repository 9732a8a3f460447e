// Communication: what collectives cost. Who waits in them is in waits.cpp.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "analyzer/metrics/communication/bandwidth_by_size.h"
#include "reports/html/page.h"
#include "reports/html/table.h"
#include "reports/words/language.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

std::string communicator_label(uint64_t communicator) {
  return communicator == 0 ? std::string(tr("unknown")) : fmt::format("{:#x}", communicator);
}

std::string collectives_table(Page const& page) {
  Table table("collectives-table", "Collectives by communicator, operation and size");
  table.text("Operation")
      .number("Size", "Message bytes")
      .number("Count")
      .number("Ranks")
      .number("Transfer", "Median over the group of the shortest participant's duration");
  table.number("Bus bandwidth", "Median; GB = 1e9 bytes")
      .number("Wait", "Mean per participant: its duration − transfer");
  table.number("Skew", "Median of last start − first start; needs aligned clocks")
      .text("Communicator");

  for (analyzer::CollectiveGroup const& group : analyzer::collective_groups(page.analysis)) {
    if (table.size() == kMaxTableRows) break;
    bool const is_size_known = model::is_message_size_known(group.op, group.bytes);
    table.row(
        {text_cell(model::to_string(group.op)),
         bytes_cell(is_size_known ? std::optional(group.bytes) : std::nullopt),
         count_cell(group.count),
         number_cell(base::format_significant(group.participants, 3), group.participants),
         duration_cell(static_cast<double>(group.transfer_median_ns)),
         group.bandwidth_median ? number_cell(base::format_bandwidth(*group.bandwidth_median * 1e9),
                                              *group.bandwidth_median)
                                : none_cell(),
         duration_cell(group.wait_ns), duration_cell(static_cast<double>(group.skew_median_ns)),
         text_cell(communicator_label(group.communicator))});
  }
  return table.html();
}

std::string links_table(Page const& page) {
  if (page.analysis.links.empty()) return {};

  Table table("links-table", "Cost of a message: t = α + bytes / β");
  table.text("Operation")
      .number("α", "Fixed cost")
      .number("β", "Bandwidth of a long message, bytes / time");
  table.number("Half of β at", "Message size").number("Samples").text("Communicator");

  for (analyzer::LinkFit const& link : page.analysis.links)
    table.row({text_cell(model::to_string(link.op)), duration_cell(link.alpha_us * 1e3),
               number_cell(base::format_bandwidth(link.beta_gbps * 1e9), link.beta_gbps),
               std::isfinite(link.half_bandwidth_bytes) && link.half_bandwidth_bytes >= 0
                   ? bytes_cell(static_cast<uint64_t>(std::min(link.half_bandwidth_bytes, 1e18)))
                   : none_cell(),
               count_cell(link.samples), text_cell(communicator_label(link.communicator))});

  return table.html();
}

/// Why the section has no table.
std::string_view no_collective_text(size_t devices) {
  if (devices == 0) return "No device operation was recorded.";
  if (devices == 1) return "The run has one device and no collective.";
  return "No collective was recorded, although the run has several devices.";
}

}  // namespace

SectionHtml communication_section(Page const& page) {
  if (is_about_host(page)) return {};
  if (page.analysis.collectives.empty())
    return lacks(no_collective_text(page.analysis.devices.size()));

  std::string body = collectives_table(page);
  body += how_computed(
      "Stepscope matches a collective over its ranks by communicator and sequence number. "
      "Transfer is the shortest participant's duration; "
      "the extra time of another participant is its wait, which needs no common clock. "
      "Bus bandwidth is bytes / transfer, times 2(n−1)/n for all-reduce and (n−1)/n for "
      "reduce-scatter, all-gather and all-to-all.");

  bool const is_bandwidth_known =
      std::any_of(page.analysis.collectives.begin(), page.analysis.collectives.end(),
                  [](auto const& collective) {
                    return collective.busbw_gbps && std::isfinite(*collective.busbw_gbps) &&
                           collective.bytes > 0 && collective.transfer_ns > 0;
                  });

  if (!is_bandwidth_known)
    return section(
        "communication", "Communication",
        body +
            empty_note("No bandwidth is known: every collective lacks a participant or its size."));

  body += chart("bandwidth", "Bus bandwidth by message size",
                "Each point is one collective. "
                "The line is the fit t = α + bytes / β over all collectives of one kind, "
                "shown as bus bandwidth.");
  body += folded(
      "Data as a table",
      links_table(page) + empty_note("Each group's median is in the table of collectives above."));

  return section("communication", "Communication", body);
}

}  // namespace stepscope::reports
