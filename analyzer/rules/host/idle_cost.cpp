#include "analyzer/rules/host/idle_cost.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <tbb/parallel_for.h>

#include "analyzer/rules/work/slow_cost.h"

namespace stepscope::analyzer {
namespace {

struct Loss {
  MeasuredDevice const* device = nullptr;
  std::vector<size_t> gaps;  ///< places in device->gaps
  int64_t total_ns = 0;
  [[nodiscard]] double share() const {
    return device == nullptr || device->total_ns == 0
               ? 0
               : static_cast<double>(total_ns) / static_cast<double>(device->total_ns);
  }
};

/// A device to which only copies were given waits for nothing: it has no work of its own.
bool has_copies_only(RuleInput const& input, MeasuredDevice const& device) {
  std::span<KernelStats const> const ops = kernels_of(input, device.ref);
  return !ops.empty() && std::all_of(ops.begin(), ops.end(), [](KernelStats const& op) {
    return op.kind == model::EventKind::kMemcpy;
  });
}

/// The idle time and, in proportion, what the same causes kept from being hidden.
int64_t lost_with(MeasuredDevice const& device, IdleSplit const& idle) {
  double lost = 0;
  for (size_t c = 0; c < idle.size(); ++c) {
    if (idle[c] == 0) continue;
    double const part = static_cast<double>(idle[c]) / static_cast<double>(device.idle[c]);
    lost += static_cast<double>(idle[c]) + part * static_cast<double>(device.unhidden[c]);
  }
  return std::llround(lost);
}

/// What the host did before the recording's first op may have been hidden behind ops that were not
/// recorded: no gain counts it.
void leave_out_lead_in(RuleInput const& input, Loss const& worst, Finding& finding) {
  MeasuredDevice const& device = *worst.device;
  auto const facts = std::find_if(input.facts.devices.begin(), input.facts.devices.end(),
                                  [&](DeviceStats const& d) { return d.ref == device.ref; });
  if (facts == input.facts.devices.end() || facts->all_ops.length() <= 0) return;
  int64_t const first = facts->all_ops.begin;
  auto const before = [&](Interval when) {
    return std::max<int64_t>(std::min(when.end, first) - when.begin, 0);
  };
  int64_t counted = 0;
  for (size_t const place : worst.gaps) counted += before(device.gaps.when(place));
  if (counted == 0) return;

  double const step = device.step_ns(), cost = device.per_step(worst.total_ns - counted);
  finding.gain_ceiling.reset();
  if (cost > 0 && cost < step) finding.gain_ceiling = step / (step - cost) - 1;
  finding.metrics.emplace_back("before_first_op_ns_per_step", device.per_step(counted));
}

Finding make_finding(char const* rule, RuleInput const& input, Loss const& worst, int devices) {
  MeasuredDevice const& device = *worst.device;
  Finding finding = make_cost_finding(rule, device, device.per_step(worst.total_ns));
  leave_out_lead_in(input, worst, finding);

  finding.metrics.emplace_back("gaps_per_step",
                               device.per_step(static_cast<int64_t>(worst.gaps.size())));
  finding.metrics.emplace_back("devices", devices);
  std::string const name = busiest_host_op(input, device, worst.gaps);
  if (!name.empty()) blame_host_op(input, device, worst.gaps, name, finding);

  for (size_t const place : worst.gaps) {
    IdleGap const gap = device.gaps[place];
    finding.evidence.push_back(
        {device.ref, gap.when,
         gap.host_track.valid() ? std::optional(gap.host_track.value) : std::nullopt});
  }

  keep_longest(finding.evidence);
  return finding;
}

}  // namespace

std::string busiest_host_op(RuleInput const& input, MeasuredDevice const& device,
                            std::vector<size_t> const& gaps) {
  model::Trace const& trace = input.run.ranks[static_cast<size_t>(device.ref.rank_index)].trace;
  std::map<model::StringId, int64_t> by_name;

  for (size_t const place : gaps) {
    IdleGap const gap = device.gaps[place];
    if (gap.host_name.valid()) by_name[gap.host_name] += gap.when.length();
  }

  auto const most =
      std::max_element(by_name.begin(), by_name.end(),
                       [](auto const& a, auto const& b) { return a.second < b.second; });
  return most == by_name.end() ? std::string() : std::string(trace.text(most->first));
}

void blame_host_op(RuleInput const& input, MeasuredDevice const& device,
                   std::vector<size_t> const& gaps, std::string const& name, Finding& finding) {
  std::erase_if(finding.subjects, [](auto const& subject) {
    return subject.first == "host_op" || subject.first == "caller";
  });
  finding.subjects.emplace_back("host_op", name);

  model::Trace const& trace = input.run.ranks[static_cast<size_t>(device.ref.rank_index)].trace;
  model::StringId blamed;  // a trace has a text once
  std::map<model::StringId, int64_t> by_caller;
  int64_t all = 0;
  for (size_t const place : gaps) {
    IdleGap const gap = device.gaps[place];
    if (!gap.host_name.valid()) continue;
    if (!blamed.valid() && trace.text(gap.host_name) == name) blamed = gap.host_name;
    if (gap.host_name != blamed) continue;
    all += gap.when.length();
    if (gap.caller.valid()) by_caller[gap.caller] += gap.when.length();
  }

  for (auto const& [caller, ns] : by_caller)
    if (2 * ns > all) finding.subjects.emplace_back("caller", trace.text(caller));
}

namespace {

using Counts = std::function<bool(MeasuredDevice const&, size_t)>;

/// `idle`: of a device's gaps those that count, by cause.
template <class Idle>
std::optional<Finding> judge_idle(char const* rule, RuleInput const& input, double least_share,
                                  Idle const& idle, Counts const& counts) {
  std::vector<Loss> losses(input.measured.size());
  tbb::parallel_for(size_t{0}, losses.size(), [&](size_t d) {
    MeasuredDevice const& device = input.measured[d];
    if (!has_copies_only(input, device)) losses[d] = {&device, {}, lost_with(device, idle(device))};
  });

  Loss worst;
  int devices = 0;
  for (Loss const& loss : losses) {
    if (loss.share() >= least_share) ++devices;
    if (loss.share() > worst.share()) worst = loss;
  }

  if (worst.device == nullptr || worst.share() < least_share) return std::nullopt;
  for (size_t i = 0; i < worst.device->gaps.size(); ++i)
    if (counts(*worst.device, i)) worst.gaps.push_back(i);
  return make_finding(rule, input, worst, devices);
}

}  // namespace

std::optional<Finding> find_idle_cost(char const* rule, RuleInput const& input, double least_share,
                                      std::initializer_list<IdleCause> causes,
                                      Counts const& counts) {
  auto const idle_of = [&](MeasuredDevice const& device) {
    IdleSplit most{}, idle{};
    for (IdleCause const cause : causes) most[static_cast<size_t>(cause)] = device.idle_of(cause);
    // Millions of gaps are only looked at where it can matter.
    if (Loss{&device, {}, lost_with(device, most)}.share() < least_share) return idle;
    for (size_t i = 0; i < device.gaps.size(); ++i)
      if (counts(device, i))
        idle[static_cast<size_t>(device.gaps.cause(i))] += device.gaps.when(i).length();
    return idle;
  };

  return judge_idle(rule, input, least_share, idle_of, counts);
}

std::optional<Finding> find_idle_cost(char const* rule, RuleInput const& input, double least_share,
                                      IdleCause cause) {
  auto const idle_of = [cause](MeasuredDevice const& device) {
    IdleSplit idle{};
    idle[static_cast<size_t>(cause)] = device.idle_of(cause);
    return idle;
  };

  return judge_idle(rule, input, least_share, idle_of,
                    [cause](MeasuredDevice const& device, size_t place) {
                      return device.gaps.cause(place) == cause;
                    });
}

bool is_way_from_sync(MeasuredDevice const& device, size_t place) {
  return device.gaps.is_way_from_sync(place);
}

}  // namespace stepscope::analyzer
