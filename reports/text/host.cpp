#include "reports/text/host.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "analyzer/metrics/host/main_range.h"
#include "reports/words/host_words.h"
#include "reports/words/labels.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

/// Rows of a table; the JSON has all.
constexpr size_t kMostRangeLines = 12, kMostThreadLines = 6, kMostRankLines = 8;
/// Processes whose ranges and threads are shown.
constexpr size_t kMostProcesses = 4;
constexpr size_t kNameColumns = 48;

using Rows = std::vector<std::vector<std::string>>;

std::string share_text(int64_t part, int64_t whole) {
  return whole > 0 ? base::format_share(static_cast<double>(part) / static_cast<double>(whole))
                   : "–";
}

std::string and_more_lines(size_t shown_rows, size_t all, std::string_view what) {
  return shown_rows < all
             ? fmt::format("  … and {} more {} (--json has all)\n", all - shown_rows, what)
             : "";
}

std::string ranges_table(analyzer::HostStats const& host, Paint const& paint) {
  if (host.ranges.empty()) return {};
  bool const per_step = host.mean_ns.has_value();

  Rows rows = {{"range", "kind", "count", per_step ? "own, a step" : "own",
                per_step ? "of the step" : "of busy time",
                per_step ? "with inner, a step" : "with inner", "longest"}};
  int64_t const whole = per_step ? *host.mean_ns : analyzer::busy_time(host);

  for (analyzer::HostRangeStats const& range : host.ranges) {
    if (rows.size() > kMostRangeLines) break;
    if (range.inclusive_ns == 0) continue;  // instants
    int64_t const own = per_step ? range.step_exclusive_ns.value_or(0) : range.exclusive_ns;
    int64_t const all = per_step ? range.step_inclusive_ns.value_or(0) : range.inclusive_ns;

    std::string const name = range.names == 1 ? shown(range.name, kNameColumns)
                                              : base::format_count(range.names, "further name");
    rows.push_back({name, analyzer::to_string(range.kind), base::format_count(range.count),
                    base::format_duration(own), share_text(own, whole), base::format_duration(all),
                    base::format_duration(range.longest_ns)});
  }

  std::string const more = and_more_lines(rows.size() - 1, host.ranges.size(), "ranges");
  if (auto const unnamed = analyzer::unnamed_time(host))
    rows.push_back({"in no range", "-", "-", base::format_duration(*unnamed),
                    share_text(*unnamed, whole), "-", "-"});
  return aligned(rows, paint) + more;
}

std::string threads_table(analyzer::HostStats const& host, Paint const& paint) {
  Rows rows = {{"thread", "in ranges", "of the time", "waits for data", "events", "steps"}};
  for (analyzer::HostThreadStats const& thread : host.threads) {
    if (rows.size() > kMostThreadLines) break;
    rows.push_back({shown(thread.name, kNameColumns), base::format_duration(thread.busy_ns),
                    share_text(thread.busy_ns, host.window.length()),
                    base::format_duration(thread.input_ns), base::format_count(thread.events),
                    base::format_count(thread.steps)});
  }
  return aligned(rows, paint) + and_more_lines(rows.size() - 1, host.threads.size(), "threads");
}

std::string negotiations_table(analyzer::NegotiationStats const& facts, Paint const& paint) {
  Rows rows = {{"rank", "came last", "late on average", "at most", "others waited"}};
  for (analyzer::NegotiationStats::Rank const& rank : facts.ranks) {
    if (rows.size() > kMostRankLines) break;
    rows.push_back({fmt::format("rank {}", rank.rank),
                    fmt::format("{} of {}", rank.last, facts.count),
                    base::format_duration(rank.mean_ns), base::format_duration(rank.longest_ns),
                    base::format_duration(rank.late_ns)});
  }
  return aligned(rows, paint) + and_more_lines(rows.size() - 1, facts.ranks.size(), "ranks");
}

std::string host_text(model::Run const& run, analyzer::HostStats const& host, Paint const& paint,
                      int width) {
  std::string text;

  if (run.ranks.size() > 1)
    text += "\n" + paint.bold(device_label(run, {host.rank_index, analyzer::kHostDevice})) + "\n";

  if (host.mean_ns)
    text +=
        "\n" +
        wrapped(fmt::format(
                    "Step: mean {}, median {}, 95 % at most {}; {} of it waiting for data ({}).",
                    base::format_duration(*host.mean_ns), base::format_duration(*host.median_ns),
                    base::format_duration(*host.p95_ns), base::format_duration(*host.input_ns),
                    share_text(*host.input_ns, *host.mean_ns)),
                width, "  ", "  ");

  if (std::string const slow = slow_step_words(host); !slow.empty())
    text += wrapped(slow, width, "  ", "  ");
  if (std::string const ranges = ranges_table(host, paint); !ranges.empty()) text += "\n" + ranges;

  return text + "\n" + threads_table(host, paint);
}

}  // namespace

std::string hosts_text(model::Run const& run, analyzer::Analysis const& analysis,
                       Paint const& paint, int width) {
  // Where ranks hang, what their calls took before is not what one looks for.
  bool const is_hung = std::any_of(
      analysis.findings.begin(), analysis.findings.end(),
      [](analyzer::Finding const& finding) { return finding.rule == "hung-collective"; });
  if (is_hung) return {};

  std::string text;
  for (analyzer::NegotiationStats const& facts : analysis.negotiations)
    text += "\n" + negotiations_table(facts, paint);
  size_t const shown_hosts = std::min(analysis.hosts.size(), kMostProcesses);
  for (size_t i = 0; i < shown_hosts; ++i) text += host_text(run, analysis.hosts[i], paint, width);

  return text + and_more_lines(shown_hosts, analysis.hosts.size(), "processes");
}

}  // namespace stepscope::reports
