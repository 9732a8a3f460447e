// Communication: what collectives cost. Who waits in them is in section_waits.cpp.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "analyzer/metrics/core/quantile.h"
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
  struct Group {
    std::vector<int64_t> transfers, skews;
    std::vector<double> bandwidths;
    int64_t wait = 0;
    size_t participants = 0;
  };
  std::map<std::tuple<uint64_t, model::CollectiveOp, uint64_t>, Group> groups;
  for (analyzer::CollectiveStats const& collective : page.analysis.collectives) {
    Group& group = groups[{collective.communicator, collective.op, collective.bytes}];
    group.transfers.push_back(collective.transfer_ns);
    group.skews.push_back(collective.skew_ns);
    if (collective.busbw_gbps) group.bandwidths.push_back(*collective.busbw_gbps);
    for (auto const& participant : collective.participants) group.wait += participant.wait_ns;
    group.participants += collective.participants.size();
  }
  Table table("collectives-table", "Collectives by communicator, operation and size");
  table.text("Operation")
      .number("Size", "Message bytes")
      .number("Count")
      .number("Ranks")
      .number("Transfer", "Median over the group of the shortest participant's duration");
  table.number("Bus bandwidth", "Median; GB = 1e9 bytes").number("Wait", "Mean per participant: its duration − transfer");
  table.number("Skew", "Median of last start − first start; needs aligned clocks").text("Communicator");
  for (auto& [key, group] : groups) {
    if (table.size() == kMaxTableRows) break;
    auto const count = static_cast<double>(group.transfers.size());
    auto const participants = static_cast<double>(std::max<size_t>(group.participants, 1));
    double const bandwidth = group.bandwidths.empty() ? 0 : analyzer::lower_median(group.bandwidths);
    bool const is_size_known = std::get<2>(key) > 0 || std::get<1>(key) == model::CollectiveOp::kBarrier;
    table.row({text_cell(model::to_string(std::get<1>(key))),
               bytes_cell(is_size_known ? std::optional(std::get<2>(key)) : std::nullopt), count_cell(group.transfers.size()),
               number_cell(fmt::format("{:.3g}", participants / count), participants / count),
               duration_cell(static_cast<double>(analyzer::lower_median(group.transfers))),
               group.bandwidths.empty() ? none_cell() : number_cell(base::format_bandwidth(bandwidth * 1e9), bandwidth),
               duration_cell(static_cast<double>(group.wait) / participants),
               duration_cell(static_cast<double>(analyzer::lower_median(group.skews))),
               text_cell(communicator_label(std::get<0>(key)))});
  }
  return table.html();
}

std::string links_table(Page const& page) {
  if (page.analysis.links.empty()) return {};
  Table table("links-table", "Cost of a message: t = α + bytes / β");
  table.text("Operation").number("α", "Fixed cost").number("β", "Bandwidth of a long message, bytes / time");
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

}  // namespace

std::string communication_section(Page const& page) {
  if (is_about_host(page)) return {};
  if (page.analysis.collectives.empty())
    return section(
        "communication", "Communication",
        empty_note(page.analysis.devices.size() > 1    ? "No collective was recorded, although the run has several devices."
                   : page.analysis.devices.size() == 1 ? "The run has one device and no collective."
                                                       : "No device operation was recorded."));
  std::string body = collectives_table(page);
  body += how_computed(
      "Stepscope matches a collective over its ranks by communicator and sequence number. "
      "Transfer is the shortest participant's duration; "
      "the extra time of another participant is its wait, which needs no common clock. "
      "Bus bandwidth is bytes / transfer, times 2(n−1)/n for all-reduce and (n−1)/n for "
      "reduce-scatter, all-gather and all-to-all.");
  bool const is_bandwidth_known =
      std::any_of(page.analysis.collectives.begin(), page.analysis.collectives.end(), [](auto const& collective) {
        return collective.busbw_gbps && std::isfinite(*collective.busbw_gbps) && collective.bytes > 0 &&
               collective.transfer_ns > 0;
      });
  if (!is_bandwidth_known)
    return section("communication", "Communication",
                   body + empty_note("No bandwidth is known: every collective lacks a participant or its size."));
  body += chart("bandwidth", "Bus bandwidth by message size",
                "Each point is one collective. "
                "The line is the fit t = α + bytes / β over all collectives of one kind, "
                "shown as bus bandwidth.");
  body += folded("Data as a table", links_table(page) + empty_note("Each group's median is in the table of collectives above."));
  return section("communication", "Communication", body);
}

}  // namespace stepscope::reports
