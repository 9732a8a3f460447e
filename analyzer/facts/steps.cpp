#include "analyzer/facts/steps.h"

#include <algorithm>
#include <unordered_map>

#include "analyzer/facts/step_names.h"
#include "analyzer/facts/turns.h"

namespace stepscope::analyzer {
namespace {

using model::EventKind;

/// step_number() of the strings of a trace, each parsed once.
class StepNumbers {
 public:
  explicit StepNumbers(model::Trace const& trace) : trace_(trace), known_(trace.strings().size(), kUnknown) {}
  std::optional<int64_t> of(uint32_t row) {
    int64_t& number = known_[trace_.columns().name[row].value];
    if (number == kUnknown) number = step_number(trace_.name(row)).value_or(kNoStep);
    return number == kNoStep ? std::nullopt : std::optional(number);
  }

 private:
  static constexpr int64_t kUnknown = -2, kNoStep = -1;
  model::Trace const& trace_;
  std::vector<int64_t> known_;
};

/// Whether a step can have this number: more than any job has are damage, and differences of what is possible do not overflow.
bool is_possible_number(int64_t number) {
  constexpr int64_t kMost = int64_t{1} << 53;
  return number >= -kMost && number <= kMost;
}

/// Rows come by start, so a step that begins before the last one ended lies inside it (or is damaged): left out.
void add_step(std::vector<HostStep>& steps, HostStep step) {
  if (!steps.empty() && step.when.begin < steps.back().when.end) return;
  steps.push_back(step);
}

bool find_steps(model::RankTrace const& rank, StepSource source, std::vector<std::vector<HostStep>>& threads) {
  model::Trace const& trace = rank.trace;
  auto const tracks = trace.tracks();
  threads.assign(tracks.size(), {});
  StepNumbers numbers(trace);
  bool const is_annotated = source == StepSource::kAnnotation;
  bool found = false;
  for (uint32_t t = 0; t < tracks.size(); ++t) {
    if (tracks[t].kind != model::TrackKind::kThread) continue;
    model::Trace::Rows const rows = trace.rows_of(model::TrackId{t});
    for (uint32_t row = rows.first; row < rows.last; ++row) {
      if (is_annotated ? trace.kind(row) != EventKind::kStep : !model::is_range(trace.kind(row))) continue;
      std::optional<int64_t> const index = is_annotated ? trace.detail<model::StepDetail>(row).index : numbers.of(row);
      if (index && is_possible_number(*index))
        add_step(threads[t], {{trace.start(row) + rank.offset_ns, trace.end(row) + rank.offset_ns}, *index});
    }
    found = found || !threads[t].empty();
  }
  return found;
}

/// Index into `steps` of the one that contains the instant, −1 = none.
int32_t step_at(std::vector<HostStep> const& steps, int64_t instant) {
  auto const after = std::partition_point(steps.begin(), steps.end(), [&](HostStep const& s) { return s.when.begin <= instant; });
  if (after == steps.begin() || std::prev(after)->when.end <= instant) return -1;
  return static_cast<int32_t>(after - steps.begin() - 1);
}

/// The same, where `guess` is the answer to most questions, or the one before.
int32_t step_at(std::vector<HostStep> const& steps, int64_t instant, int32_t guess) {
  for (int32_t const at : {guess, guess + 1}) {
    if (at < 0 || at >= std::ssize(steps)) continue;
    Interval const when = steps[static_cast<size_t>(at)].when;
    if (when.begin <= instant && instant < when.end) return at;
  }
  return step_at(steps, instant);
}

/// The thread whose steps stand in for launching threads without steps: see the header.
size_t default_thread(DeviceIndex const& device, std::vector<std::vector<HostStep>> const& threads) {
  auto const has_steps = [](std::vector<HostStep> const& steps) { return !steps.empty(); };
  std::vector<uint64_t> launches(threads.size());
  RowView const rows = device.rows();
  if (std::count_if(threads.begin(), threads.end(), has_steps) > 1)
    for (uint32_t const row : device.ops)
      if (model::EventId const launch = rows.link(row); launch.valid()) ++launches[rows.track(launch.value).value];
  size_t best = threads.size();
  for (size_t t = 0; t < threads.size(); ++t)
    if (!threads[t].empty() && (best == threads.size() || launches[t] > launches[best])) best = t;
  return best;
}

/// Marks the first steps of the run; in a part of a run they may not be there.
void mark_warmup(std::vector<StepFacts>& steps, model::WholeSteps const& whole, int32_t warmup_steps) {
  bool const is_part = whole.count > 0;
  size_t const count = is_part ? static_cast<size_t>(whole.count) : steps.size();
  if (count <= kFewestStepsForWarmup) return;
  for (size_t i = 0; i < steps.size(); ++i)
    steps[i].warmup = (is_part ? steps[i].step - whole.first : static_cast<int64_t>(i)) < warmup_steps;
}

void mark_held(std::vector<StepFacts>& steps, std::vector<std::vector<HostStep>> const& threads, model::TraceInfo const& info) {
  auto const turns = turns_of(info);
  if (!turns || steps.empty()) return;
  int64_t first = info.whole_steps.first;
  if (info.whole_steps.count == 0) {
    first = steps.front().step;
    for (std::vector<HostStep> const& thread : threads)
      if (!thread.empty()) first = std::min(first, thread.front().index);
  }
  for (StepFacts& step : steps) {
    step.held = turns->is_held(step.step - first);
    step.warmup = step.warmup || step.held;
  }
}

/// The steps in the device's own time, if it has some; else nullptr.
std::vector<HostStep> const* own_steps(DeviceIndex const& device, HostSteps const& steps) {
  auto const at = std::lower_bound(steps.detected.begin(), steps.detected.end(), device.ref,
                                   [](DeviceOwnSteps const& own, DeviceRef ref) { return own.ref < ref; });
  if (at != steps.detected.end() && at->ref == device.ref) return &at->steps;
  auto const& threads = steps.threads[static_cast<size_t>(device.ref.rank_index)];
  auto const tracks = device.trace().tracks();
  for (size_t t = 0; t < threads.size(); ++t)
    if (!threads[t].empty() && tracks[t].device == device.ref.device) return &threads[t];
  return nullptr;
}

/// Groups ops by host step: fills step_of_op with numbers of `steps`, which come out by host begin.
void group_ops(DeviceIndex const& device, HostSteps const& host_steps, DeviceSteps& result) {
  auto const& threads = host_steps.threads[static_cast<size_t>(device.ref.rank_index)];
  std::vector<HostStep> const* const own = own_steps(device, host_steps);
  size_t const fallback = own == nullptr ? default_thread(device, threads) : 0;
  if (own == nullptr && fallback == threads.size()) return;
  std::unordered_map<uint64_t, int32_t> numbers;  // (thread, step) → place in result.steps
  // Most ops are launched in the step of the one before them.
  std::optional<uint64_t> last_key;
  int32_t last_number = 0, last_at = -1;
  RowView const rows = device.rows();
  for (size_t i = 0; i < device.ops.size(); ++i) {
    model::EventId const launch = own != nullptr ? model::EventId{device.ops[i]} : rows.link(device.ops[i]);
    if (!launch.valid()) continue;
    size_t thread = own != nullptr ? 0 : rows.track(launch.value).value;
    if (own == nullptr && threads[thread].empty()) thread = fallback;
    std::vector<HostStep> const& of_thread = own != nullptr ? *own : threads[thread];
    int32_t const at = step_at(of_thread, rows.start(launch.value), last_at);
    if (at < 0) continue;
    last_at = at;
    HostStep const& host = of_thread[static_cast<size_t>(at)];
    uint64_t const key = (static_cast<uint64_t>(thread) << 32) | static_cast<uint32_t>(at);
    bool is_new = false;
    if (last_key != key) {
      auto const [found, is_first] = numbers.try_emplace(key, static_cast<int32_t>(result.steps.size()));
      is_new = is_first;
      last_key = key;
      last_number = found->second;
    }
    if (is_new) {
      StepFacts step;
      step.ref = device.ref;
      step.step = host.index;
      step.host_window = host.when;
      step.window = {host.when.begin, rows.end(device.ops[i])};
      result.steps.push_back(step);
    }
    StepFacts& step = result.steps[static_cast<size_t>(last_number)];
    step.window.end = std::max(step.window.end, rows.end(device.ops[i]));
    result.step_of_op[i] = last_number;
  }
}

void order_steps(DeviceSteps& result) {
  std::vector<int32_t> order(result.steps.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
  auto const step = [&](int32_t i) -> StepFacts const& { return result.steps[static_cast<size_t>(i)]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return step(a).host_window.begin < step(b).host_window.begin; });
  std::vector<StepFacts> sorted;
  std::vector<int32_t> place(order.size());
  for (int32_t const i : order) {
    place[static_cast<size_t>(i)] = static_cast<int32_t>(sorted.size());
    sorted.push_back(step(i));
  }
  result.steps = std::move(sorted);
  for (int32_t& number : result.step_of_op)
    if (number >= 0) number = place[static_cast<size_t>(number)];
}

}  // namespace

HostSteps find_host_steps(model::Run const& run) {
  HostSteps result;
  result.threads.resize(run.ranks.size());
  for (StepSource const source : {StepSource::kAnnotation, StepSource::kNvtxPattern}) {
    bool found = false;
    for (size_t r = 0; r < run.ranks.size(); ++r) found = find_steps(run.ranks[r], source, result.threads[r]) || found;
    if (!found) continue;
    result.source = source;
    break;
  }
  return result;
}

std::vector<model::ThreadSteps> steps_between(std::vector<std::vector<HostStep>> const& threads,
                                              std::pair<int64_t, int64_t> wanted, int64_t offset_ns) {
  std::vector<model::ThreadSteps> result;
  for (uint32_t thread = 0; thread < threads.size(); ++thread) {
    std::optional<Interval> when;
    for (HostStep const& step : threads[thread]) {
      if (step.index < wanted.first || step.index > wanted.second) continue;
      when = {when ? std::min(when->begin, step.when.begin) : step.when.begin,
              when ? std::max(when->end, step.when.end) : step.when.end};
    }
    if (when) result.push_back({model::TrackId{thread}, {when->begin - offset_ns, when->end - offset_ns}});
  }
  return result;
}

model::WholeSteps whole_steps(std::vector<std::vector<HostStep>> const& threads) {
  model::WholeSteps whole;
  for (std::vector<HostStep> const& steps : threads)
    if (std::ssize(steps) > whole.count) whole = {std::ssize(steps), steps.front().index};
  return whole;
}

DeviceSteps assign_steps(DeviceIndex const& device, HostSteps const& host, int32_t warmup_steps) {
  DeviceSteps result;
  result.step_of_op.assign(device.ops.size(), -1);
  group_ops(device, host, result);
  order_steps(result);
  for (size_t i = 0; i < result.steps.size(); ++i) {
    StepFacts& step = result.steps[i];
    if (i > 0) step.window.begin = std::max(step.window.begin, result.steps[i - 1].window.end);
    // Nothing is left of the window where all its ops ended before the last op of the step before, or, of clocks that disagree,
    // before its host began it.
    step.window.end = std::max(step.window.end, step.window.begin);
  }
  mark_warmup(result.steps, device.rank->trace.info().whole_steps, warmup_steps);
  mark_held(result.steps, host.threads[static_cast<size_t>(device.ref.rank_index)], device.rank->trace.info());
  return result;
}

}  // namespace stepscope::analyzer
