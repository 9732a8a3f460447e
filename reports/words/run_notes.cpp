#include "reports/words/run_notes.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "analyzer/metrics/telemetry/trace_integrity.h"
#include "reports/words/labels.h"
#include "reports/words/language.h"
#include "trace/base/files/run_folder.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

/// Where no trace says it.
std::string how_job_size_is_known(analyzer::JobSize const& size) {
  switch (size.source) {
    case analyzer::JobSize::Source::kWorldSize:
      return {};
    case analyzer::JobSize::Source::kCollectives:
      return tr(" (collectives have {} participants)", size.ranks);
    case analyzer::JobSize::Source::kHighestRank:
      return tr(" (at least: rank {} is present)", size.ranks - 1);
  }
  return {};
}

std::string missing_ranks(model::Run const& run, analyzer::TraceIntegrity const& integrity) {
  analyzer::JobSize const size = analyzer::job_size(run);
  std::vector<int64_t> const missing(integrity.missing_ranks.begin(),
                                     integrity.missing_ranks.end());
  std::string const known = how_job_size_is_known(size);

  std::string text =
      missing.size() == 1
          ? tr("Rank {} of {} is not in this run{}.", number_list(missing), size.ranks, known)
          : tr("Ranks {} of {} are not in this run{}.", number_list(missing), size.ranks, known);

  text +=
      tr(" The time split, idle causes and memory of the other ranks are reliable. "
         "Late ranks, waiting and bandwidth may be wrong: a missing rank may be the cause.");
  return text;
}

/// Steps of each rank, and the ranks that have just these.
std::map<std::vector<int64_t>, std::set<int64_t>> ranks_by_steps(
    model::Run const& run, analyzer::Analysis const& analysis) {
  std::map<int32_t, std::vector<int64_t>> steps_of;
  for (analyzer::StepStats const& step : analysis.steps)
    steps_of[step.ref.rank_index].push_back(step.step);

  std::map<std::vector<int64_t>, std::set<int64_t>> ranks;
  for (auto& [index, steps] : steps_of) {
    std::sort(steps.begin(), steps.end());
    steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
    ranks[std::move(steps)].insert(run.ranks[static_cast<size_t>(index)].trace.info().rank);
  }

  return ranks;
}

std::string different_steps(std::map<std::vector<int64_t>, std::set<int64_t>> const& ranks_of) {
  constexpr size_t kMostGroups = 4;
  std::string text(tr("The ranks recorded different steps: "));
  size_t listed = 0;

  for (auto const& [steps, ranks] : ranks_of) {
    if (listed == kMostGroups) {
      text += tr("; and {} more groups", ranks_of.size() - listed);
      break;
    }
    text +=
        fmt::format("{}{} {} {}", listed == 0 ? "" : "; ", tr(ranks.size() == 1 ? "rank" : "ranks"),
                    number_list({ranks.begin(), ranks.end()}), number_list(steps));
    ++listed;
  }

  text +=
      tr(". Numbers per step use each rank's own steps. "
         "To compare ranks, choose steps that all of them recorded (--steps).");
  return text;
}

std::string clocks(model::Run const& run) {
  model::ClockFit const& clock = run.clock;
  if (clock.residual_median_ns && clock.residual_p95_ns)
    return tr(
        "Clocks were {}: {} end within {} (median), {} (95 %) of each other. "
        "Times of different hosts are no more exact than that.",
        tr(clock.method == "epoch" ? "used as recorded" : "aligned by the ends of collectives"),
        counted(clock.collectives, "collective"), base::format_duration(*clock.residual_median_ns),
        base::format_duration(*clock.residual_p95_ns));

  std::set<std::string> hosts;
  for (model::RankTrace const& rank : run.ranks) hosts.insert(rank.trace.info().host);
  if (clock.method != "epoch" || (hosts.size() < 2 && !hosts.contains(""))) return {};

  return std::string(
      tr("Clocks of different hosts were used as recorded, since no collective connects them: "
         "their times may be off by milliseconds. Waiting is exact: it needs no common clock."));
}

/// "4", "4, 5", "4–7".
std::string range_text(int64_t first, int64_t last) {
  if (last == first) return fmt::format("{}", first);
  if (last == first + 1) return fmt::format("{}, {}", first, last);
  return fmt::format("{}–{}", first, last);
}

}  // namespace

std::vector<std::string> run_notes(model::Run const& run, analyzer::Analysis const& analysis) {
  std::vector<std::string> notes;
  if (!analysis.integrity.missing_ranks.empty())
    notes.push_back(missing_ranks(run, analysis.integrity));
  if (auto const ranks = ranks_by_steps(run, analysis); ranks.size() > 1)
    notes.push_back(different_steps(ranks));
  if (std::string text = clocks(run); !text.empty()) notes.push_back(std::move(text));
  return notes;
}

std::string why_written(model::Run const& run) {
  constexpr size_t kLongestReason = 400;
  std::map<std::string, int> reasons;
  for (model::RankTrace const& rank : run.ranks)
    for (auto const& [key, value] : rank.trace.info().facts)
      if (key == base::kWrittenBecauseFact) ++reasons[value];
  if (reasons.empty()) return {};

  auto const rarest =
      std::min_element(reasons.begin(), reasons.end(),
                       [](auto const& a, auto const& b) { return a.second < b.second; });
  return tr("Written because {}.", shown(rarest->first, kLongestReason));
}

std::string number_list(std::vector<int64_t> const& numbers, size_t most) {
  std::vector<std::string> parts;
  for (size_t first = 0; first < numbers.size();) {
    size_t last = first;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    parts.push_back(range_text(numbers[first], numbers[last]));
    first = last + 1;
  }

  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i == most) return text + tr(" and {} more", parts.size() - i);
    if (i > 0) text += i + 1 == parts.size() ? tr(" and ") : ", ";
    text += parts[i];
  }
  return text;
}

}  // namespace stepscope::reports
