#include "analyzer/compare/comparison.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analyzer/compare/change_parts.h"
#include "analyzer/compare/differences.h"

namespace stepscope::analyzer {
namespace {

using Runs = std::vector<RunMeasurements>;
using Values = std::vector<std::vector<double>>;  ///< [run][step]

/// A change of a part of the step matters from this share of the step's least change on, however
/// large it is for the part.
constexpr double kPartOfLeast = 0.25;
/// GPUs tell times in steps of 32 ns.
constexpr double kClockStepNs = 32;
/// With fewer runs in all Student's t demands a change of about six standard errors and more.
constexpr size_t kFewRuns = 8;
/// As many degrees of freedom.
constexpr size_t kFewPairs = 7;
/// With a smaller share of kernel time in kernels that both sides have, changes of single kernels
/// are not reliable.
constexpr double kLeastCommonShare = 0.5;
/// A recording that scores less has lost events.
constexpr int32_t kLeastQuality = 90;

/// Makes the metrics of a comparison, family after family.
class MetricMaker {
 public:
  /// `paired`: as many runs on both sides.
  MetricMaker(Runs const& base, Runs const& candidate, bool paired, Comparison& to)
      : base_(base), candidate_(candidate), paired_(paired), to_(to) {}

  void add_all() {
    add(MetricFamily::kStep, "step", [](RunMeasurements const& run) { return run.step_ns; });
    step_ns_ = to_.metrics.front().change.base_mean;
    to_.metrics.front().least = to_.least_share * step_ns_;

    add_parts();
    add(MetricFamily::kMemory, "allocated",
        [](RunMeasurements const& run) { return run.allocated_bytes; });
    add(MetricFamily::kMemory, "reserved",
        [](RunMeasurements const& run) { return run.reserved_bytes; });

    add_kernels();
    add_collectives();

    correct();
  }

 private:
  template <class OfRun>
  static Values values_of(Runs const& runs, OfRun const& of_run) {
    Values values;
    for (RunMeasurements const& run : runs) values.push_back(of_run(run));
    return values;
  }
  static bool are_there(Values const& values) {
    return std::any_of(values.begin(), values.end(), [](auto const& run) { return !run.empty(); });
  }
  static bool is_any_pair_there(Values const& base, Values const& candidate) {
    for (size_t i = 0; i < base.size(); ++i)
      if (!base[i].empty() && !candidate[i].empty()) return true;
    return false;
  }
  static bool are_zero(Values const& values) {
    return std::all_of(values.begin(), values.end(), [](auto const& run) {
      return std::all_of(run.begin(), run.end(), [](double value) { return value == 0; });
    });
  }

  static Change only_means(Change const& change) {
    Change means;
    means.unit = CompareUnit::kRun;
    means.base_values = means.candidate_values = 1;
    means.base_mean = change.base_mean;
    means.candidate_mean = change.candidate_mean;
    means.shift.estimate = means.shift.low = means.shift.high =
        means.candidate_mean - means.base_mean;
    return means;
  }

  /// The fastest steps of a run are no sample of it: of one run a side no more is known than the
  /// means. But where all pairs are farther apart than equal programs are, by their fastest steps
  /// and by all, the step has changed.
  void change_in_turn(Values const& base, Values const& candidate, Metric& metric) const {
    bool const is_one = base_.size() == 1 && candidate_.size() == 1;
    Change const measured = metric.change;
    if (is_one) metric.change = only_means(measured);
    bool const are_few_pairs = (is_one || paired_) && base_.size() < kFewPairs;
    if (metric.family != MetricFamily::kStep || !are_few_pairs) return;
    if (!is_one && judge(measured, measured.p, metric.least) != Verdict::kUnclear) return;
    std::optional<Change> apart = measure_far_apart(base, candidate);
    if (!apart || judge(*apart, apart->p, metric.least) == Verdict::kUnclear ||
        !do_all_steps_agree(*apart))
      return;

    apart->unit = CompareUnit::kPair;
    apart->base_values = apart->candidate_values = base_.size();
    apart->base_mean = measured.base_mean;
    apart->candidate_mean = measured.candidate_mean;
    apart->shift.estimate = measured.candidate_mean - measured.base_mean;
    apart->agreement = measure_pairs(base, candidate).agreement;
    metric.change = *apart;
  }

  /// Each pair's mean of all steps changed in the direction of the interval, too, and by more than
  /// equal programs differ.
  [[nodiscard]] bool do_all_steps_agree(Change const& apart) const {
    double const sign = apart.shift.low > 0 ? 1 : -1;
    for (size_t i = 0; i < base_.size(); ++i) {
      double const change = candidate_[i].all_steps_ns - base_[i].all_steps_ns;
      if (sign * change <= kPairSpread * base_[i].all_steps_ns) return false;
    }
    return true;
  }

  /// Nothing where a side has no value.
  template <class OfRun>
  Metric* add(MetricFamily family, std::string name, OfRun const& of_run) {
    Values const base = values_of(base_, of_run), candidate = values_of(candidate_, of_run);
    if (paired_ ? !is_any_pair_there(base, candidate) : !are_there(base) || !are_there(candidate))
      return nullptr;
    if (family == MetricFamily::kPart && are_zero(base) && are_zero(candidate)) return nullptr;

    Metric& metric = to_.metrics.emplace_back();
    metric.family = family;
    metric.name = std::move(name);
    metric.change =
        paired_ ? measure_pairs(base, candidate) : measure_change(base, candidate, sums_);
    metric.least = to_.least_share * metric.change.base_mean;

    if (base_.front().steps_in_turn > 0) change_in_turn(base, candidate, metric);
    return &metric;
  }

  [[nodiscard]] char const* part_name(StepPart part) const {
    if (!to_.of_hosts) return to_string(part);
    return to_string(part == StepPart::kCompute ? ChangePart::kHostWork : ChangePart::kHostInput);
  }

  void add_parts() {
    for (size_t p = 0; p < kStepPartCount; ++p) {
      Metric* const metric = add(MetricFamily::kPart, part_name(static_cast<StepPart>(p)),
                                 [p](RunMeasurements const& run) { return run.parts_ns[p]; });
      if (metric != nullptr)
        metric->least = std::max(metric->least, kPartOfLeast * to_.least_share * step_ns_);
    }
  }

  /// How long a call takes, for each kernel that every run reports by name, in steps that have one.
  void add_kernels() {
    auto const find = [](RunMeasurements const& run, std::string const& name) {
      return std::find_if(run.kernels.begin(), run.kernels.end(),
                          [&](auto const& kernel) { return kernel.name == name; });
    };
    auto const all_report = [&](Runs const& runs, std::string const& name) {
      return std::all_of(runs.begin(), runs.end(), [&](RunMeasurements const& run) {
        return find(run, name) != run.kernels.end();
      });
    };

    for (RunMeasurements::Kernel const& kernel : base_.front().kernels) {
      std::string const& name = kernel.name;
      if (name.empty() || !all_report(base_, name) || !all_report(candidate_, name)) continue;
      Metric* const metric = add(MetricFamily::kKernel, name, [&](RunMeasurements const& run) {
        auto const found = find(run, name);
        std::vector<double> each;
        for (size_t s = 0; s < found->ns.size(); ++s)
          if (found->calls[s] > 0) each.push_back(found->ns[s] / found->calls[s]);
        return each;
      });
      if (metric != nullptr) metric->least = std::max(metric->least, kClockStepNs);
    }
  }

  void add_collectives() {
    for (RunMeasurements::Collective const& collective : base_.front().collectives) {
      Metric* const metric =
          add(MetricFamily::kCollective, model::to_string(collective.op),
              [&](RunMeasurements const& run) {
                for (RunMeasurements::Collective const& of_run : run.collectives)
                  if (of_run.op == collective.op && of_run.bytes == collective.bytes)
                    return of_run.transfer_ns;
                return std::vector<double>();
              });

      if (metric == nullptr) continue;
      metric->bytes = collective.bytes;
      metric->least = std::max(metric->least, kClockStepNs);
    }
  }

  /// Holm within each family; metrics of a family are in succession. Metrics without a test do not
  /// count.
  void correct() {
    for (size_t first = 0, last = 0; first < to_.metrics.size(); first = last) {
      std::vector<size_t> tested;
      std::vector<double> p;
      for (; last < to_.metrics.size() && to_.metrics[last].family == to_.metrics[first].family;
           ++last) {
        if (to_.metrics[last].change.method == CompareMethod::kNone) continue;
        tested.push_back(last);
        p.push_back(to_.metrics[last].change.p);
      }

      std::vector<double> const adjusted = holm(p);
      for (size_t i = 0; i < tested.size(); ++i) to_.metrics[tested[i]].adjusted_p = adjusted[i];
    }

    for (Metric& metric : to_.metrics)
      metric.verdict = judge(metric.change, metric.adjusted_p, metric.least);
  }

  Runs const& base_;
  Runs const& candidate_;
  bool paired_;
  Comparison& to_;
  RankSums sums_;
  double step_ns_ = 0;
};

SideStats side_facts(Runs const& runs) {
  SideStats facts;

  for (RunMeasurements const& run : runs) {
    facts.runs.push_back(run.name);
    facts.devices += run.devices;
    facts.steps += run.steps.size();
    facts.warmup_steps += run.warmup_steps;
    facts.slow_start_steps += run.slow_start_steps;
    facts.outlier_steps += run.outlier_steps;
    facts.incomplete_steps += run.incomplete_steps;
  }

  return facts;
}

void refuse(Runs const& base, Runs const& candidate, bool paired, Comparison& comparison) {
  if (base.empty() || candidate.empty()) {
    comparison.refusal = Refusal::kNoRun;
    return;
  }
  if (paired && base.size() != candidate.size()) {
    comparison.refusal = Refusal::kNotPaired;
    return;
  }

  bool const is_one_each = base.size() == 1 && candidate.size() == 1;
  for (auto const* side : {&base, &candidate})
    for (RunMeasurements const& run : *side) {
      if (run.steps.size() > (is_one_each ? 1U : 0U)) continue;
      comparison.refusal = run.steps.empty() ? Refusal::kNoSteps : Refusal::kOneStep;
      comparison.refused_run = run.name;
      return;
    }

  auto const is_in_turn = [](RunMeasurements const& run) { return run.steps_in_turn > 0; };
  auto const count = std::count_if(base.begin(), base.end(), is_in_turn) +
                     std::count_if(candidate.begin(), candidate.end(), is_in_turn);
  if (count != 0 && count != std::ssize(base) + std::ssize(candidate)) {
    comparison.refusal = Refusal::kOneSideInTurn;
    return;
  }

  if (common_kernel_share(base, candidate) == 0 ||
      base.front().of_hosts != candidate.front().of_hosts)
    comparison.refusal = Refusal::kNoCommonKernel;
}

double left_out_ns(Runs const& runs) {
  double sum = 0;
  for (RunMeasurements const& run : runs) sum += run.all_steps_ns - run.steady_steps_ns;
  return sum / static_cast<double>(runs.size());
}

/// The fastest steps of interleaved runs hide what slows only a few steps. If all steps are slower
/// beyond doubt, the comparison does not pass.
void add_all_steps(Runs const& base, Runs const& candidate, Comparison& comparison) {
  Values of_base, of_candidate;
  for (RunMeasurements const& run : base) of_base.push_back({run.all_steps_ns});
  for (RunMeasurements const& run : candidate) of_candidate.push_back({run.all_steps_ns});

  if (of_base.size() != of_candidate.size()) return;
  Change const all = measure_pairs(of_base, of_candidate);
  bool const is_one = of_base.size() == 1;
  double const change = all.candidate_mean - all.base_mean;
  comparison.caveats.push_back(
      {Caveat::kInTurn, change, is_one ? change : all.shift.low, is_one ? change : all.shift.high});

  bool const are_slower = !is_one && judge(all, all.p, comparison.step().least) == Verdict::kMore;
  if (are_slower && comparison.step().verdict != Verdict::kMore)
    comparison.verdict = Verdict::kUnclear;
}

void add_caveats(Runs const& base, Runs const& candidate, Comparison& comparison) {
  Metric const& step = comparison.step();
  auto const add = [&](Caveat caveat, double ns = 0) {
    comparison.caveats.push_back({caveat, ns, 0, 0, 0});
  };

  auto const any = [&](auto const& holds) {
    return std::any_of(base.begin(), base.end(), holds) ||
           std::any_of(candidate.begin(), candidate.end(), holds);
  };

  bool const in_turn = base.front().steps_in_turn > 0;
  if (in_turn) {
    add_all_steps(base, candidate, comparison);
  } else {
    double const outliers = left_out_ns(candidate) - left_out_ns(base);
    if (std::abs(outliers) > step.least) add(Caveat::kOutliers, outliers);
    if (outliers > step.least && step.verdict != Verdict::kMore)
      comparison.verdict = Verdict::kUnclear;
    if (step.change.method == CompareMethod::kNone) add(Caveat::kFewSteps);
  }

  if (step.change.drifts) add(Caveat::kDrift);
  if (common_kernel_share(base, candidate) < kLeastCommonShare) add(Caveat::kKernelNames);
  if (any([](RunMeasurements const& run) { return !run.missing_ranks.empty(); }))
    add(Caveat::kMissingRanks);
  if (any([](RunMeasurements const& run) { return run.integrity < kLeastQuality; }))
    add(Caveat::kTraceIntegrity);
  if (!comparison.of_hosts &&
      any([](RunMeasurements const& run) { return run.allocated_bytes.empty(); }))
    add(Caveat::kNoMemory);

  bool const are_pairs = step.change.unit == CompareUnit::kPair;
  bool const are_runs = are_pairs || step.change.unit == CompareUnit::kRun;
  if (!are_runs) add(Caveat::kOneRun);
  bool const are_few = are_runs && (are_pairs ? step.change.base_values < kFewPairs
                                              : base.size() + candidate.size() < kFewRuns);

  if (are_few && step.verdict == Verdict::kUnclear) {
    add(Caveat::kFewRuns);
    comparison.caveats.back().needed = needed_runs(step.change, step.least);
  }
}

}  // namespace

char const* to_string(MetricFamily family) {
  constexpr std::array kNames = {"step", "part", "memory", "kernel", "collective"};
  return kNames[static_cast<size_t>(family)];
}

char const* to_string(ChangePart part) {
  constexpr std::array kNames = {"kernel_speed",     "kernel_calls",   "new_kernels",
                                 "vanished_kernels", "kernel_overlap", "exposed_comm",
                                 "exposed_late",     "exposed_copy"};
  if (part == ChangePart::kHostWork) return "host_work";
  if (part == ChangePart::kHostInput) return "host_input";
  auto const index = static_cast<size_t>(part);
  return index < kNames.size() ? kNames[index]
                               : to_string(static_cast<IdleCause>(index - kNames.size()));
}

char const* to_string(Condition condition) {
  constexpr std::array kNames = {
      "device", "devices",   "processes",       "host",        "fact", "command",
      "tool",   "clock_mhz", "copied_in_bytes", "step_source", "steps"};
  return kNames[static_cast<size_t>(condition)];
}

char const* to_string(Caveat caveat) {
  constexpr std::array kNames = {"one_run",  "few_runs",     "few_steps",     "drift",
                                 "outliers", "kernel_names", "missing_ranks", "quality",
                                 "in_turn",  "no_memory"};
  return kNames[static_cast<size_t>(caveat)];
}

char const* to_string(Refusal refusal) {
  constexpr std::array kNames = {"no_run",           "no_steps",   "one_step",
                                 "no_common_kernel", "not_paired", "one_side_in_turn"};
  return kNames[static_cast<size_t>(refusal)];
}

Comparison compare_runs(std::vector<RunMeasurements> const& base,
                        std::vector<RunMeasurements> const& candidate,
                        CompareOptions const& options) {
  Comparison comparison;
  comparison.base = side_facts(base);
  comparison.candidate = side_facts(candidate);
  comparison.least_share = options.least_share;

  // One run a side is a pair that says nothing of others: its steps do.
  bool const paired = options.paired && base.size() > 1;
  refuse(base, candidate, options.paired, comparison);
  if (comparison.refusal) return comparison;

  comparison.of_hosts = base.front().of_hosts;
  MetricMaker(base, candidate, paired, comparison).add_all();

  comparison.base.mean_ns = std::llround(comparison.step().change.base_mean);
  comparison.candidate.mean_ns = std::llround(comparison.step().change.candidate_mean);

  comparison.differences = find_differences(base, candidate);
  explain_change(base, candidate, comparison);
  comparison.findings = compare_findings(base, candidate);

  comparison.verdict = comparison.step().verdict;
  add_caveats(base, candidate, comparison);
  return comparison;
}

}  // namespace stepscope::analyzer
