#include "analyzer/gate/budget.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analyzer/compare/run_sample.h"
#include "trace/base/check.h"

namespace stepscope::analyzer {
namespace {

/// Keys that differ by more letters than this are not misspellings of each other.
constexpr size_t kMostTypos = 4;
constexpr double kNsPerMillisecond = 1e6;

std::vector<BudgetFact> make_budget_facts() {
  std::vector<BudgetFact> facts;

  auto const add_time = [&](std::string const& name, FactSource source,
                            StepPart part = StepPart::kCompute) {
    facts.push_back({name + "_ms", source, part, FactUnit::kMilliseconds});
    facts.push_back({name + "_share", source, part, FactUnit::kShare});
  };

  facts.push_back({"step_time_ms", FactSource::kStep, StepPart::kCompute, FactUnit::kMilliseconds});
  facts.push_back(
      {"step_p95_ms", FactSource::kStepP95, StepPart::kCompute, FactUnit::kMilliseconds});

  add_time("compute", FactSource::kPart, StepPart::kCompute);
  add_time("exposed_comm", FactSource::kExposedComm);
  add_time("exposed_late", FactSource::kPart, StepPart::kWaiting);
  add_time("exposed_copy", FactSource::kPart, StepPart::kCopies);
  add_time("idle", FactSource::kIdle);
  for (size_t c = 0; c < kIdleCauseCount; ++c) {
    auto const cause = static_cast<IdleCause>(c);
    add_time(std::string("idle_") + to_string(cause), FactSource::kPart, idle_part(cause));
  }

  facts.push_back(
      {"peak_memory_gb", FactSource::kAllocated, StepPart::kCompute, FactUnit::kGigabytes});
  facts.push_back(
      {"peak_memory_gib", FactSource::kAllocated, StepPart::kCompute, FactUnit::kGibibytes});
  facts.push_back(
      {"peak_reserved_gb", FactSource::kReserved, StepPart::kCompute, FactUnit::kGigabytes});
  facts.push_back(
      {"peak_reserved_gib", FactSource::kReserved, StepPart::kCompute, FactUnit::kGibibytes});

  facts.push_back({"kernel_calls", FactSource::kKernelCalls, StepPart::kCompute, FactUnit::kCount});
  facts.push_back({"quality", FactSource::kTraceIntegrity, StepPart::kCompute, FactUnit::kCount});

  return facts;
}

/// Letters to change, add or take away from one text to the other (Levenshtein).
size_t typos_between(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});

  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t const changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }

  return row[b.size()];
}

void add_to(std::vector<double>& sum, std::vector<double> const& values) {
  for (size_t s = 0; s < sum.size(); ++s) sum[s] += values[s];
}

/// Time of the source in each step, ns.
std::vector<double> times_of(BudgetFact const& fact, RunMeasurements const& run) {
  std::vector<double> times(run.steps.size(), 0);
  auto const add = [&](StepPart part) { add_to(times, run.parts_ns[static_cast<size_t>(part)]); };

  switch (fact.source) {
    case FactSource::kPart:
      add(fact.part);
      break;
    case FactSource::kExposedComm:
      add(StepPart::kCommunication);
      add(StepPart::kWaiting);
      break;
    case FactSource::kIdle:
      for (size_t c = 0; c < kIdleCauseCount; ++c) add(idle_part(static_cast<IdleCause>(c)));
      break;
    default:
      return run.step_ns;
  }

  return times;
}

/// Programs without a device have only these times; the others are no 0 of theirs.
bool has_part(RunMeasurements const& run, BudgetFact const& fact) {
  if (!run.of_hosts || fact.source == FactSource::kStep || fact.source == FactSource::kIdle)
    return true;
  return fact.source == FactSource::kPart &&
         (fact.part == StepPart::kCompute || fact.part == idle_part(IdleCause::kInput));
}

/// In the unit of the fact. A share is of the run's mean step, so that its mean is that of the
/// whole run.
std::vector<double> values_of(BudgetFact const& fact, RunMeasurements const& run) {
  if (!has_part(run, fact)) return {};
  std::vector<double> values = times_of(fact, run);
  double unit = kNsPerMillisecond;
  if (fact.unit == FactUnit::kShare)
    unit = std::accumulate(run.step_ns.begin(), run.step_ns.end(), 0.0) /
           static_cast<double>(run.step_ns.size());
  if (unit <= 0) return {};
  for (double& value : values) value /= unit;
  return values;
}

/// What a run has one of.
std::optional<double> only_value(BudgetFact const& fact, RunMeasurements const& run) {
  std::optional<double> const bytes =
      fact.source == FactSource::kReserved ? run.peak_reserved_bytes : run.peak_allocated_bytes;

  switch (fact.source) {
    case FactSource::kAllocated:
    case FactSource::kReserved:
      if (!bytes) return std::nullopt;
      return *bytes / (fact.unit == FactUnit::kGigabytes ? 1e9 : 1024.0 * 1024 * 1024);
    case FactSource::kStepP95:
      if (!run.p95_ns) return std::nullopt;
      return *run.p95_ns / kNsPerMillisecond;
    case FactSource::kKernelCalls:
      if (run.kernels.empty()) return std::nullopt;
      return run.kernel_calls;
    default:
      return run.integrity;
  }
}

bool is_upper(Bound bound) { return bound == Bound::kAtMost || bound == Bound::kBelow; }

bool keeps(Budget const& budget, double value) {
  switch (budget.bound) {
    case Bound::kAtMost:
      return value <= budget.limit;
    case Bound::kBelow:
      return value < budget.limit;
    case Bound::kAtLeast:
      return value >= budget.limit;
    case Bound::kAbove:
      break;
  }
  return value > budget.limit;
}

void check_mean(BudgetFact const& fact, std::vector<RunMeasurements> const& runs,
                BudgetCheck& check) {
  std::vector<std::vector<double>> values;
  for (RunMeasurements const& run : runs) {
    values.push_back(values_of(fact, run));
    if (values.back().empty()) return;
  }

  MeanInterval interval = measure_mean(values);
  // Student's interval of few values that vary widely reaches below 0 and above a share of 1.
  interval.low = std::max(interval.low, 0.0);
  if (fact.unit == FactUnit::kShare)
    interval.high = std::min(interval.high, std::max(1.0, interval.mean));

  check.value = interval.mean;
  if (!interval.is_known) return;
  check.interval = interval;

  bool const low = keeps(check.budget, interval.low), high = keeps(check.budget, interval.high);
  if (low && high) check.verdict = GateVerdict::kPassed;
  if (!low && !high) check.verdict = GateVerdict::kFailed;
  if (check.verdict == GateVerdict::kUnclear)
    check.more = values_to_settle(interval, check.budget.limit);
}

void check_worst(BudgetFact const& fact, std::vector<RunMeasurements> const& runs,
                 BudgetCheck& check) {
  for (RunMeasurements const& run : runs) {
    std::optional<double> const value = only_value(fact, run);
    if (!value) {
      check.value.reset();
      return;
    }

    if (!check.value ||
        (is_upper(check.budget.bound) ? *value > *check.value : *value < *check.value))
      check.value = value;
  }

  if (check.value)
    check.verdict = keeps(check.budget, *check.value) ? GateVerdict::kPassed : GateVerdict::kFailed;
}

}  // namespace

char const* to_string(GateVerdict verdict) {
  switch (verdict) {
    case GateVerdict::kPassed:
      return "passed";
    case GateVerdict::kFailed:
      return "failed";
    case GateVerdict::kUnclear:
      break;
  }
  return "unclear";
}

char const* to_string(Bound bound) {
  constexpr std::array kSigns = {"<=", "<", ">=", ">"};
  return kSigns[static_cast<size_t>(bound)];
}

std::vector<BudgetFact> const& budget_facts() {
  static std::vector<BudgetFact> const facts = make_budget_facts();
  return facts;
}

BudgetFact const* find_budget_fact(std::string_view name) {
  for (BudgetFact const& fact : budget_facts())
    if (fact.name == name) return &fact;
  return nullptr;
}

std::string nearest_budget_fact(std::string_view name) {
  constexpr size_t kLongestKey =
      64;  // longer ones are no misspellings, and would take their square of time
  std::string nearest;
  size_t least = kMostTypos + 1;
  if (name.size() > kLongestKey) return nearest;

  for (BudgetFact const& fact : budget_facts()) {
    size_t const typos = typos_between(name, fact.name);
    if (typos >= std::min(least, fact.name.size())) continue;
    least = typos;
    nearest = fact.name;
  }

  return nearest;
}

BudgetCheck check_budget(Budget const& budget, std::vector<RunMeasurements> const& runs) {
  BudgetFact const* const fact = find_budget_fact(budget.fact);
  STEPSCOPE_CHECK(fact != nullptr);
  BudgetCheck check;
  check.budget = budget;

  bool const has_time_unit =
      fact->unit == FactUnit::kMilliseconds || fact->unit == FactUnit::kShare;
  if (has_time_unit && fact->source != FactSource::kStepP95)
    check_mean(*fact, runs, check);
  else
    check_worst(*fact, runs, check);

  return check;
}

}  // namespace stepscope::analyzer
