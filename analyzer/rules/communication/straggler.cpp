// straggler: one device keeps the others waiting in collectives. The late device of a collective is
// the one that waited least (needs no common clock). Cost: exposed communication that its lateness
// causes, per step of the device that loses most; where = the straggler. Why it is late is known
// from what it did more of than the others (metrics/communication/wait_attribution.h). The stages
// of a pipeline wait for each other by design, and for no single one: there a stage that computes
// much longer than the others is the straggler. Cost: what it computes longer, for all stages go at
// its pace.
#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>

#include "analyzer/metrics/core/quantile.h"
#include "analyzer/rules/host/host_costs.h"
#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {
namespace {

/// Below, the waiting has no single culprit; evenly spread over 2 devices each would have half.
constexpr double kLeastBlame = 0.7;
/// A straggler is late in nearly every step. Noise makes now one device late and now another: of
/// two devices that are equally often late, one leads in 8 of 10 steps once in 20 runs.
constexpr double kLeastStepsLate = 0.8;

/// A stage of a pipeline waits for the one before it by design: of messages, the late side is a
/// straggler only when it computes so much longer.
constexpr double kLongerStage = 1.2;

struct Blame {
  std::map<DeviceRef, double> by_device;  ///< longest wait of each collective, ns, by who came last
  double total = 0;
  double of_messages = 0;  ///< the part of `total` that is waiting for a send or a receive
  void add(CollectiveStats const& collective, DeviceRef late, double wait) {
    by_device[late] += wait;
    total += wait;
    if (model::is_point_to_point(collective.op)) of_messages += wait;
  }
  [[nodiscard]] std::pair<DeviceRef, double> most() const {
    return *std::max_element(by_device.begin(), by_device.end(),
                             [](auto const& a, auto const& b) { return a.second < b.second; });
  }
};

auto last_arriver(CollectiveStats const& collective) {
  return std::min_element(collective.participants.begin(), collective.participants.end(),
                          [](auto const& a, auto const& b) { return a.wait_ns < b.wait_ns; });
}

int64_t longest_wait(CollectiveStats const& collective) {
  int64_t longest = 0;
  for (auto const& participant : collective.participants)
    longest = std::max(longest, participant.wait_ns);
  return longest;
}

/// Waits of the victim in its measured collectives: in all, and in each of its periods.
struct Blames {
  Blame all;
  std::vector<Blame> by_period;
};

Blames blame(RuleInput const& input, MeasuredDevice const& victim) {
  Blames result;
  result.by_period.resize(victim.periods.size());

  for (CollectiveStats const& collective : input.facts.collectives) {
    auto const own =
        std::find_if(collective.participants.begin(), collective.participants.end(),
                     [&](auto const& participant) { return participant.ref == victim.ref; });
    if (collective.participants.size() < 2 || own == collective.participants.end()) continue;

    auto const period =
        std::partition_point(victim.periods.begin(), victim.periods.end(),
                             [&](Interval const& p) { return p.end <= own->when.begin; });
    if (period == victim.periods.end() || own->when.begin < period->begin) continue;

    DeviceRef const late = last_arriver(collective)->ref;
    auto const wait = static_cast<double>(longest_wait(collective));
    result.all.add(collective, late, wait);
    result.by_period[static_cast<size_t>(period - victim.periods.begin())].add(collective, late,
                                                                               wait);
  }

  return result;
}

/// The share of the periods with collectives in which the device is to blame for most of the
/// waiting.
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
  double const median = lower_median(others);
  return median > 0 ? std::optional(own / median) : std::nullopt;
}

/// What can make a device late, as the finding says it.
enum StragglerCause : size_t {
  kByCompute,
  kByHost,
  kByInput,
  kByCommunication,
  kByCopy,
  kByLateStart,
  kByLateRecording,
  kByNothingKnown,
  kStragglerCauses
};
constexpr std::array<char const*, kStragglerCauses> kStragglerCauseNames = {
    "compute", "host", "input", "communication", "copy", "late_start", "before_recording", ""};

StragglerCause cause_of_late(WaitStats const& waits) {
  switch (waits.cause) {
    case WaitCause::kCompute:
      return kByCompute;
    case WaitCause::kCommunication:
      return kByCommunication;
    case WaitCause::kCopy:
      return kByCopy;
    case WaitCause::kIdle:
      break;
    case WaitCause::kLateStart:
      return kByLateStart;
    case WaitCause::kBeforeRecording:
      return kByLateRecording;
    case WaitCause::kUnknown:
      return kByNothingKnown;
  }

  switch (waits.idle) {
    case IdleCause::kInput:
      return kByInput;
    case IdleCause::kProfiler:
    case IdleCause::kAllocation:
    case IdleCause::kSync:
    case IdleCause::kLaunchBound:
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

/// Adds the subjects "cause" and, where it is the host's, "host_op", and the metric "cause_share":
/// of the waiting that the straggler causes.
void add_cause(Finding& finding, std::vector<WaitStats> const& waits, DeviceRef straggler) {
  std::array<double, kStragglerCauses> by_cause{};
  for (WaitStats const& row : waits)
    if (row.ref == straggler) by_cause[cause_of_late(row)] += static_cast<double>(row.exposed_ns);

  auto const most =
      static_cast<size_t>(std::max_element(by_cause.begin(), by_cause.end()) - by_cause.begin());
  if (most == kByNothingKnown || by_cause[most] == 0) return;

  double const total = std::accumulate(by_cause.begin(), by_cause.end(), 0.0);
  finding.metrics.emplace_back("cause_share", by_cause[most] / total);
  finding.subjects.emplace_back("cause", kStragglerCauseNames[most]);

  if (most != kByHost && most != kByInput) return;
  for (WaitStats const& row : waits) {  // the row that costs most comes first
    if (row.ref != straggler || cause_of_late(row) != most || row.host_op.empty()) continue;
    finding.subjects.emplace_back("host_op", row.host_op);
    return;
  }
}

/// The device's part of all waiting that no compute hides: the same number as in the table of
/// waits. None where that is empty.
std::optional<double> share_of_waits(std::vector<WaitStats> const& waits, DeviceRef straggler) {
  double own = 0, all = 0;
  for (WaitStats const& row : waits) {
    all += static_cast<double>(row.exposed_ns);
    if (row.ref == straggler) own += static_cast<double>(row.exposed_ns);
  }
  return all > 0 ? std::optional(own / all) : std::nullopt;
}

/// What happened before the recording, which may have begun later itself, is nothing that a remedy
/// could give back.
void drop_gain_of_unrecorded(Finding& finding) {
  for (auto const& [role, name] : finding.subjects)
    if (role == "cause" && name == kStragglerCauseNames[kByLateRecording])
      finding.gain_ceiling.reset();
}

/// Where a device waits for another one: first where compute hides least of it, since a wait that
/// is hidden costs nothing there.
std::vector<Finding::Evidence> waits_for(RuleInput const& input, MeasuredDevice const& victim,
                                         DeviceRef culprit) {
  std::vector<std::pair<int64_t, Finding::Evidence>> places;  // by what is exposed, ns
  for (CollectiveStats const& collective : input.facts.collectives)
    for (auto const& participant : collective.participants)
      if (participant.ref == victim.ref && collective.participants.size() > 1 &&
          victim.is_measured(participant.when.begin) && last_arriver(collective)->ref == culprit)
        places.push_back({participant.exposed_late_ns,
                          {participant.ref,
                           {participant.when.begin, participant.when.begin + participant.wait_ns},
                           std::nullopt}});

  std::stable_sort(places.begin(), places.end(), [](auto const& a, auto const& b) {
    return std::pair(a.first, a.second.when.length()) > std::pair(b.first, b.second.when.length());
  });

  std::vector<Finding::Evidence> evidence;
  bool const is_any_exposed = !places.empty() && places.front().first > 0;
  for (auto const& [exposed_ns, place] : places)
    if (evidence.size() < kMaxEvidence && (exposed_ns > 0 || !is_any_exposed))
      evidence.push_back(place);
  return evidence;
}

/// The device for which the others wait in most collectives.
std::optional<Finding> find_late_device(RuleInput const& input) {
  auto const victim =
      std::max_element(input.measured.begin(), input.measured.end(),
                       [](MeasuredDevice const& a, MeasuredDevice const& b) {
                         return a.per_step(a.exposed_late_ns) < b.per_step(b.exposed_late_ns);
                       });
  if (victim == input.measured.end()) return std::nullopt;

  Finding finding =
      make_cost_finding("straggler", *victim, victim->per_step(victim->exposed_late_ns));
  if (finding.severity == Severity::kInfo) return std::nullopt;

  Blames const blames = blame(input, *victim);
  if (blames.all.total == 0) return std::nullopt;
  auto const [culprit, wait] = blames.all.most();
  // Only the late device was asked for: how long the others wait is not known.
  if (input.measured.size() == 1 && culprit == victim->ref) return std::nullopt;
  double const blamed = wait / blames.all.total;
  double const steps_late = share_of_steps(blames.by_period, culprit);
  if (blamed < kLeastBlame || steps_late < kLeastStepsLate) return std::nullopt;

  std::optional<double> const ratio = compute_ratio(input, culprit);
  if (2 * blames.all.of_messages > blames.all.total && ratio.value_or(1) < kLongerStage)
    return std::nullopt;

  finding.where = culprit;
  finding.metrics.emplace_back("share_of_waits",
                               share_of_waits(input.facts.waits, culprit).value_or(blamed));
  finding.metrics.emplace_back("share_of_steps_late", steps_late);
  if (ratio) finding.metrics.emplace_back("compute_ratio", *ratio);
  add_cause(finding, input.facts.waits, culprit);
  drop_gain_of_unrecorded(finding);

  finding.evidence = waits_for(input, *victim, culprit);
  return finding;
}

MeasuredDevice const* measured_device_of(RuleInput const& input, DeviceRef ref) {
  auto const at =
      std::lower_bound(input.measured.begin(), input.measured.end(), ref,
                       [](MeasuredDevice const& device, DeviceRef r) { return device.ref < r; });
  return at == input.measured.end() || at->ref != ref ? nullptr : &*at;
}

/// The stage of a pipeline that computes most, compared with the median of the others in the same
/// step.
struct LongStage {
  MeasuredDevice const* device = nullptr;
  double more_ns = 0, own_ns = 0, others_ns = 0;  ///< Σ over steps
  double steps = 0, longer = 0;                   ///< all, and those in which it is kLongerStage
};

/// Compute of a stage in a step.
struct StageLoad {
  int64_t step;
  size_t stage;
  int64_t compute_ns;
};

std::vector<StageLoad> stage_loads(RuleInput const& input, PipelineStats const& pipeline) {
  std::vector<StageLoad> loads;
  for (size_t s = 0; s < pipeline.stages.size(); ++s) {
    DeviceRef const ref = pipeline.stages[s].ref;
    MeasuredDevice const* const device = measured_device_of(input, ref);

    auto const& steps = input.facts.steps;
    auto step = std::partition_point(steps.begin(), steps.end(),
                                     [&](StepStats const& f) { return f.ref < ref; });
    for (; device != nullptr && step != steps.end() && step->ref == ref; ++step)
      if (!step->warmup && device->is_measured(step->window.begin))
        loads.push_back({step->step, s, step->time.compute_ns});
  }

  std::sort(loads.begin(), loads.end(), [](StageLoad const& a, StageLoad const& b) {
    return std::tie(a.step, a.stage) < std::tie(b.step, b.stage);
  });
  return loads;
}

LongStage long_stage(RuleInput const& input, PipelineStats const& pipeline) {
  LongStage result;
  auto const longest =
      std::max_element(pipeline.stages.begin(), pipeline.stages.end(),
                       [](auto const& a, auto const& b) { return a.compute_ns < b.compute_ns; });

  result.device = measured_device_of(input, longest->ref);
  auto const candidate = static_cast<size_t>(longest - pipeline.stages.begin());

  std::vector<StageLoad> const loads = stage_loads(input, pipeline);
  std::vector<int64_t> others;
  for (size_t first = 0, last = 0; first < loads.size(); first = last) {
    while (last < loads.size() && loads[last].step == loads[first].step) ++last;
    if (last - first != pipeline.stages.size()) continue;

    others.clear();
    for (size_t i = first; i < last; ++i)
      if (loads[i].stage != candidate) others.push_back(loads[i].compute_ns);
    if (others.size() + 1 != pipeline.stages.size()) continue;  // a step that is there twice

    auto const own = static_cast<double>(loads[first + candidate].compute_ns);
    auto const median = static_cast<double>(lower_median(others));
    result.own_ns += own;
    result.others_ns += median;
    result.more_ns += own - median;
    result.steps += 1;
    if (own >= kLongerStage * median) result.longer += 1;
  }
  return result;
}

/// The stage that all others of its pipeline have to wait for; of several pipelines that which
/// loses most.
std::optional<Finding> find_long_stage(RuleInput const& input) {
  LongStage worst;
  for (PipelineStats const& pipeline : input.facts.pipelines) {
    LongStage const stage = long_stage(input, pipeline);
    if (stage.device == nullptr || stage.steps == 0 || stage.longer < kLeastStepsLate * stage.steps)
      continue;
    if (worst.device == nullptr || stage.more_ns / stage.steps > worst.more_ns / worst.steps)
      worst = stage;
  }

  if (worst.device == nullptr) return std::nullopt;
  Finding finding = make_cost_finding("straggler", *worst.device, worst.more_ns / worst.steps);
  if (finding.severity == Severity::kInfo) return std::nullopt;

  finding.metrics.emplace_back("share_of_steps_late", worst.longer / worst.steps);
  if (worst.others_ns > 0)
    finding.metrics.emplace_back("compute_ratio", worst.own_ns / worst.others_ns);
  finding.subjects.emplace_back("cause", kStragglerCauseNames[kByCompute]);

  for (CollectiveStats const& collective : input.facts.collectives) {
    if (collective.participants.size() < 2 || last_arriver(collective)->ref != worst.device->ref)
      continue;
    for (auto const& participant : collective.participants) {
      MeasuredDevice const* const device = measured_device_of(input, participant.ref);
      if (participant.exposed_late_ns > 0 && device != nullptr &&
          device->is_measured(participant.when.begin))
        finding.evidence.push_back(
            {participant.ref,
             {participant.when.begin, participant.when.begin + participant.wait_ns},
             std::nullopt});
    }
  }

  keep_longest(finding.evidence);
  return finding;
}

}  // namespace

void find_straggler(RuleInput const& input, std::vector<Finding>& findings) {
  std::optional<Finding> finding = find_late_device(input);
  if (!finding) finding = find_long_stage(input);
  if (finding) findings.push_back(std::move(*finding));
  find_late_rank(input, findings);
}

}  // namespace stepscope::analyzer
