// straggler: one device keeps the others waiting in collectives. The late device of a collective is the one that waited least
// (needs no common clock). Cost: exposed waiting per step of the device that waits most; where = the straggler. Why it is late is
// known from what it did more of than the others (facts/wait_attribution.h).
#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {
namespace {

/// Below, the waiting has no single culprit; evenly spread over 2 devices each would have half.
constexpr double kLeastBlame = 0.7;
/// A straggler is late in nearly every step. Noise makes now one device late and now another: of two devices that are equally
/// often late, one leads in 8 of 10 steps once in 20 runs.
constexpr double kLeastStepsLate = 0.8;

/// A stage of a pipeline waits for the one before it by design: of messages, the late side is a straggler only when it computes
/// so much longer.
constexpr double kLongerStage = 1.2;

struct Blame {
  std::map<DeviceRef, double> by_device;  ///< longest wait of each collective, ns, by who came last
  double total = 0;
  double of_messages = 0;  ///< the part of `total` that is waiting for a send or a receive
  void add(CollectiveFacts const& collective, DeviceRef late, double wait) {
    by_device[late] += wait;
    total += wait;
    if (collective.op == model::CollectiveOp::kSend || collective.op == model::CollectiveOp::kReceive) of_messages += wait;
  }
  [[nodiscard]] std::pair<DeviceRef, double> most() const {
    return *std::max_element(by_device.begin(), by_device.end(),
                             [](auto const& a, auto const& b) { return a.second < b.second; });
  }
};

auto last_arriver(CollectiveFacts const& collective) {
  return std::min_element(collective.participants.begin(), collective.participants.end(),
                          [](auto const& a, auto const& b) { return a.wait_ns < b.wait_ns; });
}

int64_t longest_wait(CollectiveFacts const& collective) {
  int64_t longest = 0;
  for (auto const& participant : collective.participants) longest = std::max(longest, participant.wait_ns);
  return longest;
}

/// Of all measured collectives of the victim, and of those of each of its periods.
struct Blames {
  Blame all;
  std::vector<Blame> by_period;
};

Blames blame(RuleInput const& input, MeasuredDevice const& victim) {
  Blames result;
  result.by_period.resize(victim.periods.size());
  for (CollectiveFacts const& collective : input.facts.collectives) {
    auto const own = std::find_if(collective.participants.begin(), collective.participants.end(),
                                  [&](auto const& participant) { return participant.ref == victim.ref; });
    if (collective.participants.size() < 2 || own == collective.participants.end()) continue;
    auto const period = std::partition_point(victim.periods.begin(), victim.periods.end(),
                                             [&](Interval const& p) { return p.end <= own->when.begin; });
    if (period == victim.periods.end() || own->when.begin < period->begin) continue;
    DeviceRef const late = last_arriver(collective)->ref;
    auto const wait = static_cast<double>(longest_wait(collective));
    result.all.add(collective, late, wait);
    result.by_period[static_cast<size_t>(period - victim.periods.begin())].add(collective, late, wait);
  }
  return result;
}

/// The share of the periods with collectives in which the device is to blame for most of the waiting.
double share_of_steps(std::vector<Blame> const& by_period, DeviceRef device) {
  double late = 0, all = 0;
  for (Blame const& period : by_period) {
    if (period.by_device.empty()) continue;
    all += 1;
    if (period.most().first == device) late += 1;
  }
  return all > 0 ? late / all : 0;
}

/// Compute time per step over the median of the other devices'; none when they have none.
std::optional<double> compute_ratio(RuleInput const& input, DeviceRef straggler) {
  std::vector<double> others;
  double own = 0;
  for (MeasuredDevice const& device : input.measured)
    if (device.ref == straggler) {
      own = device.per_step(device.compute_ns);
    } else {
      others.push_back(device.per_step(device.compute_ns));
    }
  if (others.empty()) return std::nullopt;
  auto const middle = others.begin() + static_cast<ptrdiff_t>(others.size() / 2);
  std::nth_element(others.begin(), middle, others.end());
  return *middle > 0 ? std::optional(own / *middle) : std::nullopt;
}

/// What can make a device late, as the finding says it.
enum StragglerCause : size_t { kByCompute, kByHost, kByInput, kByCommunication, kByCopy, kByNothingKnown, kStragglerCauses };
constexpr std::array<char const*, kStragglerCauses> kStragglerCauseNames = {"compute",       "host", "input",
                                                                            "communication", "copy", ""};

StragglerCause cause_of_late(WaitFacts const& waits) {
  switch (waits.cause) {
    case WaitCause::kCompute:
      return kByCompute;
    case WaitCause::kCommunication:
      return kByCommunication;
    case WaitCause::kCopy:
      return kByCopy;
    case WaitCause::kIdle:
      break;
    case WaitCause::kUnknown:
      return kByNothingKnown;
  }
  switch (waits.idle) {
    case IdleCause::kInput:
      return kByInput;
    case IdleCause::kProfiler:
    case IdleCause::kAllocation:
    case IdleCause::kSync:
    case IdleCause::kLaunchStarved:
    case IdleCause::kLaunchLatency:
      return kByHost;
    case IdleCause::kPeer:
      return kByCommunication;
    case IdleCause::kDependency:
    case IdleCause::kGraph:
    case IdleCause::kUnexplained:
      break;
  }
  return kByNothingKnown;
}

/// Adds the subjects "cause" and, where it is the host's, "host_op", and the metric "cause_share": of the waiting that the
/// straggler causes.
void add_cause(Finding& finding, std::vector<WaitFacts> const& waits, DeviceRef straggler) {
  std::array<double, kStragglerCauses> by_cause{};
  for (WaitFacts const& row : waits)
    if (row.ref == straggler) by_cause[cause_of_late(row)] += static_cast<double>(row.exposed_ns);
  auto const most = static_cast<size_t>(std::max_element(by_cause.begin(), by_cause.end()) - by_cause.begin());
  if (most == kByNothingKnown || by_cause[most] == 0) return;
  double const total = std::accumulate(by_cause.begin(), by_cause.end(), 0.0);
  finding.metrics.emplace_back("cause_share", by_cause[most] / total);
  finding.subjects.emplace_back("cause", kStragglerCauseNames[most]);
  if (most != kByHost && most != kByInput) return;
  for (WaitFacts const& row : waits) {  // the row that costs most comes first
    if (row.ref != straggler || cause_of_late(row) != most || row.host_op.empty()) continue;
    finding.subjects.emplace_back("host_op", row.host_op);
    return;
  }
}

}  // namespace

void find_straggler(RuleInput const& input, std::vector<Finding>& findings) {
  auto const victim =
      std::max_element(input.measured.begin(), input.measured.end(), [](MeasuredDevice const& a, MeasuredDevice const& b) {
        return a.per_step(a.exposed_wait_ns) < b.per_step(b.exposed_wait_ns);
      });
  if (victim == input.measured.end()) return;
  Finding finding = make_cost_finding("straggler", *victim, victim->per_step(victim->exposed_wait_ns));
  if (finding.severity == Severity::kInfo) return;
  Blames const blames = blame(input, *victim);
  if (blames.all.total == 0) return;
  auto const [culprit, wait] = blames.all.most();
  double const share_of_waits = wait / blames.all.total;
  double const steps_late = share_of_steps(blames.by_period, culprit);
  if (share_of_waits < kLeastBlame || steps_late < kLeastStepsLate) return;
  std::optional<double> const ratio = compute_ratio(input, culprit);
  if (2 * blames.all.of_messages > blames.all.total && ratio.value_or(1) < kLongerStage) return;
  finding.where = culprit;
  finding.metrics.emplace_back("share_of_waits", share_of_waits);
  finding.metrics.emplace_back("share_of_steps_late", steps_late);
  if (ratio) finding.metrics.emplace_back("compute_ratio", *ratio);
  add_cause(finding, input.facts.waits, culprit);
  for (CollectiveFacts const& collective : input.facts.collectives)
    for (auto const& participant : collective.participants)
      if (participant.ref == victim->ref && collective.participants.size() > 1 && last_arriver(collective)->ref == culprit)
        finding.evidence.push_back(
            {participant.ref, {participant.when.begin, participant.when.begin + participant.wait_ns}, std::nullopt});
  keep_longest(finding.evidence);
  findings.push_back(std::move(finding));
}

}  // namespace stepscope::analyzer
