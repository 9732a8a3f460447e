#include "analyzer/rules/host/host_costs.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <utility>

#include "analyzer/metrics/core/saturate.h"

namespace stepscope::analyzer {
namespace {

/// One rank is named when it came last to so many of the negotiations, three or more.
constexpr double kMostlyLast = 0.5;
constexpr uint64_t kFewestNegotiations = 3;

/// Threads with equal work differ by a percent or two; so much more than the median is other work.
/// With fewer threads there is no telling which is the usual one.
constexpr double kBusyExcess = 1.2;
constexpr size_t kFewestPeers = 4;

/// Means of the steps that a rule judges.
struct MeanStep {
  int64_t step_ns = 0, input_ns = 0;
  uint64_t steps = 0;
};

/// Without warm-up and outliers: what those lose counts for step-outliers alone.
MeanStep steady_step(HostStats const& host) {
  MeanStep mean;
  for (HostStepStats const& step : host.steps) {
    if (step.warmup || step.outlier) continue;
    add_saturated(mean.step_ns, step.period.length());
    add_saturated(mean.input_ns, step.input_ns);
    ++mean.steps;
  }

  if (mean.steps == 0) return mean;
  mean.step_ns /= static_cast<int64_t>(mean.steps);
  mean.input_ns /= static_cast<int64_t>(mean.steps);
  return mean;
}

Finding make_host_finding(char const* rule, HostStats const& host, MeanStep const& mean,
                          int64_t cost_ns) {
  Finding finding;
  finding.rule = rule;
  finding.where = DeviceRef{host.rank_index, kHostDevice};
  finding.cost_ns_per_step = cost_ns;

  auto const step = static_cast<double>(mean.step_ns);
  auto const cost = static_cast<double>(cost_ns);
  if (cost < step) finding.gain_ceiling = step / (step - cost) - 1;
  double const share = step > 0 ? cost / step : 0;
  finding.severity = severity_of_share(share);

  finding.metrics = {
      {"share", share}, {"step_ns", step}, {"steps", static_cast<double>(mean.steps)}};
  return finding;
}

/// The range with most time in steps among the ranges that wait for data.
HostRangeStats const* longest_wait(HostStats const& host) {
  HostRangeStats const* longest = nullptr;
  for (HostRangeStats const& range : host.ranges) {
    if (range.kind != HostRangeKind::kInput || range.names != 1) continue;
    if (longest == nullptr ||
        range.step_inclusive_ns.value_or(0) > longest->step_inclusive_ns.value_or(0))
      longest = &range;
  }
  return longest;
}

/// What threads of one role have in common: the name but for numbers, and how much they ran.
using Role = std::pair<std::string, uint64_t>;
struct RankThread {
  HostStats const* host;
  HostThreadStats const* thread;
};

/// The name with '#' for each number, in small letters; empty where it does not say that the thread
/// computes for a rank: "PP rank 3, TP rank 0, compute". Busy time of other threads may be waiting.
std::string role_of(std::string_view name) {
  std::string role;
  for (char const c : name) {
    auto const byte = static_cast<unsigned char>(c);
    if (std::isdigit(byte) == 0)
      role += static_cast<char>(std::tolower(byte));
    else if (role.empty() || role.back() != '#')
      role += '#';
  }

  bool const is_of_rank =
      role.find("rank #") != std::string::npos || role.find("rank#") != std::string::npos;
  return is_of_rank && role.find("compute") != std::string::npos ? role : std::string();
}

std::map<Role, std::vector<RankThread>> computing_threads(std::vector<HostStats> const& hosts) {
  std::map<Role, std::vector<RankThread>> roles;
  for (HostStats const& host : hosts)
    for (HostThreadStats const& thread : host.threads)
      if (std::string role = role_of(thread.name); !role.empty())
        roles[{std::move(role), thread.events}].push_back({&host, &thread});

  for (auto& [role, threads] : roles)
    std::stable_sort(threads.begin(), threads.end(), [](RankThread const& a, RankThread const& b) {
      return a.thread->busy_ns > b.thread->busy_ns;
    });

  return roles;
}

}  // namespace

void find_host_input(RuleInput const& input, std::vector<Finding>& findings) {
  HostStats const* worst = nullptr;
  MeanStep of_worst;
  for (HostStats const& host : input.facts.hosts) {
    MeanStep const mean = steady_step(host);
    if (mean.step_ns <= 0 ||
        static_cast<double>(mean.input_ns) < kWarningShare * static_cast<double>(mean.step_ns))
      continue;
    if (worst != nullptr && mean.input_ns <= of_worst.input_ns) continue;
    worst = &host;
    of_worst = mean;
  }
  if (worst == nullptr) return;

  Finding finding = make_host_finding("input-bound", *worst, of_worst, of_worst.input_ns);
  if (HostRangeStats const* wait = longest_wait(*worst))
    finding.subjects.emplace_back("host_op", wait->name);
  for (HostStepStats const& step : worst->steps)
    if (!step.warmup && !step.outlier && step.input_ns > 0)
      finding.evidence.push_back({*finding.where, step.period, step.track});
  keep_longest(finding.evidence);
  findings.push_back(std::move(finding));
}

void find_host_outliers(RuleInput const& input, std::vector<Finding>& findings) {
  HostStats const* worst = nullptr;
  auto const lost = [](HostStats const& host) {
    double const excess = static_cast<double>(host.slow->mean_ns - host.slow->steady_ns) *
                          static_cast<double>(host.slow->count);
    return static_cast<int64_t>(excess / static_cast<double>(host.counted_steps));
  };
  for (HostStats const& host : input.facts.hosts) {
    if (!host.slow || host.slow->count == 0) continue;
    if (worst == nullptr || lost(host) > lost(*worst)) worst = &host;
  }
  if (worst == nullptr) return;

  Finding finding = make_host_finding("step-outliers", *worst,
                                      {*worst->mean_ns, 0, worst->counted_steps}, lost(*worst));
  finding.metrics.emplace_back("outliers", static_cast<double>(worst->slow->count));
  finding.metrics.emplace_back("median_step_ns", static_cast<double>(*worst->median_ns));
  finding.metrics.emplace_back("growth_ns", static_cast<double>(worst->slow->differs_ns));
  if (worst->slow->differs) finding.subjects.emplace_back("host_op", *worst->slow->differs);
  for (HostStepStats const& step : worst->steps)
    if (step.outlier) finding.evidence.push_back({*finding.where, step.period, step.track});
  keep_longest(finding.evidence);
  findings.push_back(std::move(finding));
}

void find_late_rank(RuleInput const& input, std::vector<Finding>& findings) {
  for (NegotiationStats const& facts : input.facts.negotiations) {
    if (facts.count < kFewestNegotiations || facts.ranks.empty()) continue;
    NegotiationStats::Rank const& late = facts.ranks.front();
    bool const is_mostly_last =
        static_cast<double>(late.last) > kMostlyLast * static_cast<double>(facts.count);
    double const share = facts.window_ns > 0 ? static_cast<double>(late.late_ns) /
                                                   static_cast<double>(facts.window_ns)
                                             : 0;
    if (!is_mostly_last || share < kWarningShare) continue;

    Finding finding;
    finding.rule = "straggler";
    // Collectives of one moment are one piece of evidence, however many they are.
    finding.severity = late.moments > 1 ? severity_of_share(share) : Severity::kWarning;
    finding.metrics = {{"share_of_recording", share},
                       {"late_rank", static_cast<double>(late.rank)},
                       {"last", static_cast<double>(late.last)},
                       {"negotiations", static_cast<double>(facts.count)},
                       {"late_ns", static_cast<double>(late.late_ns)},
                       {"mean_late_ns", static_cast<double>(late.mean_ns)},
                       {"longest_late_ns", static_cast<double>(late.longest_ns)},
                       {"moments", static_cast<double>(late.moments)}};
    finding.evidence.push_back({{facts.rank_index, kHostDevice}, late.worst, late.track});
    findings.push_back(std::move(finding));
  }
}

void find_busy_rank(RuleInput const& input, std::vector<Finding>& findings) {
  for (auto const& [role, threads] : computing_threads(input.facts.hosts)) {
    if (threads.size() < kFewestPeers) continue;
    RankThread const& longest = threads.front();
    auto const busy = static_cast<double>(longest.thread->busy_ns);
    size_t const middle = threads.size() / 2;  // by busy time: the lower median
    auto const steady = static_cast<double>(threads[middle].thread->busy_ns);
    auto const window = static_cast<double>(longest.host->window.length());
    double const share = window > 0 ? (busy - steady) / window : 0;
    if (steady <= 0 || busy < kBusyExcess * steady || share < kWarningShare) continue;

    Finding finding;
    finding.rule = "load-imbalance";
    finding.severity = severity_of_share(share);
    finding.where = DeviceRef{longest.host->rank_index, kHostDevice};

    size_t busier = 0;
    for (RankThread const& rank : threads) {
      if (static_cast<double>(rank.thread->busy_ns) < kBusyExcess * steady) break;
      ++busier;
      if (finding.evidence.size() < kMaxEvidence)
        finding.evidence.push_back(
            {{rank.host->rank_index, kHostDevice}, rank.host->window, rank.thread->track});
    }

    finding.subjects.emplace_back("thread", longest.thread->name);
    finding.metrics = {{"share_of_recording", share},
                       {"busy_ns", busy},
                       {"usual_busy_ns", steady},
                       {"busy_ratio", busy / steady},
                       {"busier_threads", static_cast<double>(busier)},
                       {"threads", static_cast<double>(threads.size())}};
    findings.push_back(std::move(finding));
  }
}

}  // namespace stepscope::analyzer
