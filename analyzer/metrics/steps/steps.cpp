#include "analyzer/metrics/steps/steps.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <unordered_map>

#include "analyzer/metrics/steps/interleave.h"
#include "analyzer/metrics/steps/shared_steps.h"
#include "analyzer/metrics/steps/step_names.h"
#include "analyzer/metrics/steps/step_numbers.h"

namespace stepscope::analyzer {
namespace {

using model::EventKind;

/// step_name() of the strings of a trace, each parsed once.
class StepNames {
 public:
  explicit StepNames(model::Trace const& trace) : trace_(trace), known_(trace.strings().size()) {}

  /// Null when the row's name is not a step's.
  StepName const* of(uint32_t row) {
    auto& known = known_[trace_.columns().name[row].value];
    if (!known) known = step_name(trace_.name(row));
    return *known ? &**known : nullptr;
  }

 private:
  model::Trace const& trace_;
  std::vector<std::optional<std::optional<StepName>>> known_;
};

/// Whether a step can have this number: more than any job has are damage, and differences of what
/// is possible do not overflow.
bool is_possible_number(int64_t number) {
  constexpr int64_t kMost = int64_t{1} << 53;
  return number >= -kMost && number <= kMost;
}

/// Rows come by start, so a step that begins before the last one ended lies inside it (or is
/// damaged): left out.
void add_step(std::vector<HostStep>& steps, HostStep step) {
  if (!steps.empty() && step.when.begin < steps.back().when.end) return;
  steps.push_back(step);
}

/// Which ranges are taken for steps, the surest first.
enum class Marks : uint8_t { kAnnotations, kStepNames, kPossibleNames };

/// Ranges of one thread that may be steps, by what their names say but for numbers: no more kinds
/// than step_names knows.
using PossibleSteps = std::map<std::string, std::vector<HostStep>>;

std::string range_letters(std::string_view name) {
  std::string letters;
  for (char const c : name)
    if (std::isalpha(static_cast<unsigned char>(c)) != 0)
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return letters;
}

/// With fewer there is no telling that they follow one another.
constexpr size_t kFewestPossibleSteps = 3;
/// Steps fill at least so much of the time from the first to the last; an optimizer's "step" or a
/// loader's "batch" fills less.
constexpr double kLeastFilled = 0.5;

/// The ranges that fill most of the time; none where none fill enough of it.
std::vector<HostStep> choose_possible(PossibleSteps& kinds) {
  std::vector<HostStep> best;
  double most = kLeastFilled;
  for (auto& [letters, steps] : kinds) {
    if (steps.size() < kFewestPossibleSteps) continue;
    double filled = 0;
    for (HostStep const& step : steps) filled += static_cast<double>(step.when.length());
    double const share =
        filled / static_cast<double>(steps.back().when.end - steps.front().when.begin);
    if (!(share >= most)) continue;

    most = share;
    best = std::move(steps);
  }
  return best;
}

std::vector<HostStep> steps_of_thread(model::RankTrace const& rank, model::TrackId track,
                                      Marks marks, StepNames& names) {
  model::Trace const& trace = rank.trace;
  std::vector<HostStep> steps;
  PossibleSteps possible;
  model::Trace::Rows const rows = trace.rows_of(track);
  for (uint32_t row = rows.first; row < rows.last; ++row) {
    EventKind const kind = trace.kind(row);
    HostStep step{{trace.start(row) + rank.offset_ns, trace.end(row) + rank.offset_ns}};
    if (marks == Marks::kAnnotations) {
      if (kind != EventKind::kStep) continue;
      step.number = trace.detail<model::StepDetail>(row).index;
      if (is_possible_number(step.number)) add_step(steps, step);
      continue;
    }

    StepName const* const name = model::is_range(kind) ? names.of(row) : nullptr;
    if (name == nullptr || name->is_certain != (marks == Marks::kStepNames)) continue;
    step.number = name->number.value_or(0);
    if (is_possible_number(step.number))
      add_step(name->is_certain ? steps : possible[range_letters(trace.name(row))], step);
  }
  return marks == Marks::kPossibleNames ? choose_possible(possible) : steps;
}

bool find_steps(model::RankTrace const& rank, Marks marks,
                std::vector<std::vector<HostStep>>& threads) {
  auto const tracks = rank.trace.tracks();
  threads.assign(tracks.size(), {});

  StepNames names(rank.trace);
  bool found = false;
  for (uint32_t t = 0; t < tracks.size(); ++t) {
    if (tracks[t].kind != model::TrackKind::kThread) continue;
    threads[t] = steps_of_thread(rank, model::TrackId{t}, marks, names);
    found = found || !threads[t].empty();
  }
  return found;
}

/// Index into `steps` of the one that contains the instant, −1 = none.
int32_t step_at(std::vector<HostStep> const& steps, int64_t instant) {
  auto const after = std::partition_point(
      steps.begin(), steps.end(), [&](HostStep const& s) { return s.when.begin <= instant; });
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
size_t default_thread(DeviceOps const& device, std::vector<std::vector<HostStep>> const& threads) {
  auto const has_steps = [](std::vector<HostStep> const& steps) { return !steps.empty(); };
  std::vector<uint64_t> launches(threads.size());

  RowView const rows = device.rows();
  if (std::count_if(threads.begin(), threads.end(), has_steps) > 1)
    for (uint32_t const row : device.ops)
      if (model::EventId const launch = rows.link(row); launch.valid())
        ++launches[rows.track(launch.value).value];

  size_t best = threads.size();
  for (size_t t = 0; t < threads.size(); ++t)
    if (!threads[t].empty() && (best == threads.size() || launches[t] > launches[best])) best = t;
  return best;
}

/// Marks the first steps of the run, which may not be in a part of it, and those that a part has
/// for what led to its own.
void mark_warmup(std::vector<StepStats>& steps, model::WholeSteps const& whole,
                 int32_t warmup_steps) {
  for (StepStats& step : steps) step.warmup = whole.is_context(step.step);
  bool const is_part = whole.count > 0;
  size_t const count = is_part ? static_cast<size_t>(whole.count) : steps.size();
  if (count <= kFewestStepsForWarmup) return;

  for (size_t i = 0; i < steps.size(); ++i)
    steps[i].warmup = steps[i].warmup || (is_part ? steps[i].step - whole.first
                                                  : static_cast<int64_t>(i)) < warmup_steps;
}

void mark_after_pause(std::vector<StepStats>& steps,
                      std::vector<std::vector<HostStep>> const& threads,
                      model::TraceInfo const& info) {
  auto const turns = turns_of(info);
  if (!turns || steps.empty()) return;
  int64_t first = info.whole_steps.first;
  if (info.whole_steps.count == 0) {
    first = steps.front().step;
    for (std::vector<HostStep> const& thread : threads)
      if (!thread.empty()) first = std::min(first, thread.front().index);
  }

  for (StepStats& step : steps) {
    step.after_pause = turns->is_after_pause(step.step - first);
    step.warmup = step.warmup || step.after_pause;
  }
}

/// The steps in the device's own time, if it has some; else nullptr.
std::vector<HostStep> const* own_steps(DeviceOps const& device, HostSteps const& steps) {
  auto const at =
      std::lower_bound(steps.detected.begin(), steps.detected.end(), device.ref,
                       [](DeviceOwnSteps const& own, DeviceRef ref) { return own.ref < ref; });
  if (at != steps.detected.end() && at->ref == device.ref) return &at->steps;
  auto const& threads = steps.threads[static_cast<size_t>(device.ref.rank_index)];
  auto const tracks = device.trace().tracks();
  for (size_t t = 0; t < threads.size(); ++t)
    if (!threads[t].empty() && tracks[t].device == device.ref.device) return &threads[t];
  return nullptr;
}

/// Whether no launch of any op is known, and most ops begin in these steps: the host does not run
/// far ahead.
bool begins_in_steps(DeviceOps const& device, std::vector<HostStep> const& steps) {
  RowView const rows = device.rows();
  if (std::any_of(device.ops.begin(), device.ops.end(),
                  [&](uint32_t row) { return rows.link(row).valid(); }))
    return false;

  int32_t last = -1;
  auto const inside = std::count_if(device.ops.begin(), device.ops.end(), [&](uint32_t row) {
    int32_t const at = step_at(steps, rows.start(row), last);
    last = std::max(last, at);
    return at >= 0;
  });

  return 2 * static_cast<size_t>(inside) > device.ops.size();
}

/// Makes the steps of a device as its ops ask for them, by host begin of the first.
class StepCollector {
 public:
  /// `own`: the steps in the device's own time, else nullptr: then those of `threads` count.
  StepCollector(DeviceRef ref, std::vector<HostStep> const* own,
                std::vector<std::vector<HostStep>> const& threads, size_t lead, DeviceSteps& result)
      : ref_(ref),
        own_(own),
        threads_(threads),
        shared_(threads, own == nullptr ? lead : threads.size()),
        result_(result) {}

  [[nodiscard]] std::vector<HostStep> const& steps_of(size_t thread) const {
    return own_ != nullptr ? *own_ : threads_[thread];
  }

  /// The number of the step of an op that ends at `op_end`.
  int32_t add(SharedSteps::Place place, int64_t op_end) {
    // Most ops are launched in the step of the one before them.
    uint64_t const key = key_of(place);
    if (last_key_ != key) {
      last_number_ = number_of(place, op_end);
      last_key_ = key;
    }
    StepStats& step = result_.steps[static_cast<size_t>(last_number_)];
    step.window.end = std::max(step.window.end, op_end);
    return last_number_;
  }

 private:
  static uint64_t key_of(SharedSteps::Place place) {
    return (static_cast<uint64_t>(place.thread) << 32) | static_cast<uint32_t>(place.at);
  }
  [[nodiscard]] HostStep const& host_step(SharedSteps::Place place) const {
    return steps_of(place.thread)[static_cast<size_t>(place.at)];
  }

  int32_t number_of(SharedSteps::Place place, int64_t op_end) {
    auto const next = static_cast<int32_t>(result_.steps.size());
    auto const [own, is_first] = numbers_.try_emplace(key_of(place), next);
    if (!is_first) return own->second;
    SharedSteps::Place const common = shared_.common(place);
    int32_t const number = numbers_.try_emplace(key_of(common), next).first->second;
    numbers_[key_of(place)] = number;

    if (number == next) start_step(common, op_end);
    StepStats& step = result_.steps[static_cast<size_t>(number)];
    Interval const when = host_step(place).when;
    step.host_window = {std::min(step.host_window.begin, when.begin),
                        std::max(step.host_window.end, when.end)};
    step.window.begin = step.host_window.begin;
    return number;
  }

  void start_step(SharedSteps::Place place, int64_t op_end) {
    HostStep const& host = host_step(place);
    StepStats step;
    step.ref = ref_;
    step.step = host.index;
    step.number = host.number;
    step.host_window = host.when;
    step.window = {host.when.begin, op_end};
    result_.steps.push_back(step);

    result_.places.push_back(
        {&steps_of(place.thread),
         own_ != nullptr ? model::TrackId{} : model::TrackId{static_cast<uint32_t>(place.thread)},
         place.at});
  }

  DeviceRef ref_;
  std::vector<HostStep> const* own_;
  std::vector<std::vector<HostStep>> const& threads_;
  SharedSteps shared_;
  DeviceSteps& result_;
  std::unordered_map<uint64_t, int32_t> numbers_;  ///< by key_of()
  std::optional<uint64_t> last_key_;
  int32_t last_number_ = 0;
};

/// Groups ops by host step: fills step_of_op with numbers of `steps`.
void group_ops(DeviceOps const& device, HostSteps const& host_steps, DeviceSteps& result) {
  auto const& threads = host_steps.threads[static_cast<size_t>(device.ref.rank_index)];
  std::vector<HostStep> const* const own = own_steps(device, host_steps);
  size_t const fallback = own == nullptr ? default_thread(device, threads) : 0;
  if (own == nullptr && fallback == threads.size()) return;
  bool const is_of_host = own == nullptr && device.trace().tracks()[fallback].device < 0;
  result.are_by_time =
      is_of_host && !host_steps.layers && begins_in_steps(device, threads[fallback]);
  bool const by_op = own != nullptr || result.are_by_time;

  StepCollector groups(device.ref, own, threads, fallback, result);
  int32_t last_at = -1;
  RowView const rows = device.rows();
  for (size_t i = 0; i < device.ops.size(); ++i) {
    model::EventId const launch = by_op ? model::EventId{device.ops[i]} : rows.link(device.ops[i]);
    if (!launch.valid()) continue;
    size_t thread = by_op ? fallback : rows.track(launch.value).value;
    if (!by_op && threads[thread].empty()) thread = fallback;
    int32_t const at = step_at(groups.steps_of(thread), rows.start(launch.value), last_at);
    if (at < 0) continue;

    last_at = at;
    result.step_of_op[i] = groups.add({thread, at}, rows.end(device.ops[i]));
  }
}

void order_steps(DeviceSteps& result) {
  std::vector<int32_t> order(result.steps.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
  auto const step = [&](int32_t i) -> StepStats const& {
    return result.steps[static_cast<size_t>(i)];
  };
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return step(a).host_window.begin < step(b).host_window.begin;
  });

  std::vector<StepStats> sorted;
  std::vector<StepPlace> places;
  std::vector<int32_t> place(order.size());
  for (int32_t const i : order) {
    place[static_cast<size_t>(i)] = static_cast<int32_t>(sorted.size());
    sorted.push_back(step(i));
    places.push_back(result.places[static_cast<size_t>(i)]);
  }

  result.steps = std::move(sorted);
  result.places = std::move(places);
  for (int32_t& number : result.step_of_op)
    if (number >= 0) number = place[static_cast<size_t>(number)];
}

/// Whether the thread launched device ops in that time that are not in the recording.
bool has_lost_launches(model::RankTrace const& rank, model::TrackId thread, Interval time) {
  model::Trace const& trace = rank.trace;
  model::Trace::Rows const rows = trace.rows_of(thread);
  auto const& columns = trace.columns();

  auto const first =
      std::lower_bound(columns.start.begin() + rows.first, columns.start.begin() + rows.last,
                       time.begin - rank.offset_ns);
  for (auto row = static_cast<uint32_t>(first - columns.start.begin()); row < rows.last; ++row) {
    if (trace.start(row) + rank.offset_ns >= time.end) return false;
    if (columns.kind[row] == EventKind::kLaunch && !columns.link[row].valid()) return true;
  }
  return false;
}

/// What lies between two steps of a device. Steps without device ops may: it was idle then, unless
/// their launches were lost.
StepBefore step_before(DeviceOps const& device, StepPlace const& before, StepPlace const& at) {
  if (before.steps != at.steps || before.place >= at.place) return StepBefore::kByNumber;
  std::vector<HostStep> const& steps = *at.steps;
  for (auto i = static_cast<size_t>(before.place) + 1; i <= static_cast<size_t>(at.place); ++i) {
    bool const is_without_ops = i < static_cast<size_t>(at.place);
    bool const is_lost = is_without_ops && at.thread.valid() &&
                         has_lost_launches(*device.rank, at.thread, steps[i].when);
    if (steps[i].is_after_gap || is_lost) return StepBefore::kNotRecorded;
  }
  return StepBefore::kFollows;
}

/// Whether run time tells to within less than a step what ran at once: by collectives, or by the
/// clock of the only host.
bool have_good_clocks(model::Run const& run) {
  if (run.clock.method != "epoch") return true;
  std::string const& host = run.ranks.front().trace.info().host;
  return !host.empty() &&
         std::all_of(run.ranks.begin(), run.ranks.end(),
                     [&](model::RankTrace const& rank) { return rank.trace.info().host == host; });
}

}  // namespace

HostSteps find_host_steps(model::Run const& run) {
  HostSteps result;
  result.threads.resize(run.ranks.size());
  for (Marks const marks : {Marks::kAnnotations, Marks::kStepNames, Marks::kPossibleNames}) {
    bool found = false;
    for (size_t r = 0; r < run.ranks.size(); ++r)
      found = find_steps(run.ranks[r], marks, result.threads[r]) || found;
    if (!found) continue;

    result.source =
        marks == Marks::kAnnotations ? StepSource::kAnnotation : StepSource::kNvtxPattern;
    number_steps(result.threads, have_good_clocks(run));
    break;
  }
  return result;
}

std::vector<model::ThreadSteps> steps_between(std::vector<std::vector<HostStep>> const& threads,
                                              std::pair<int64_t, int64_t> wanted,
                                              int64_t offset_ns) {
  std::vector<model::ThreadSteps> result;
  for (uint32_t thread = 0; thread < threads.size(); ++thread) {
    std::optional<Interval> when;
    for (HostStep const& step : threads[thread]) {
      if (step.index < wanted.first || step.index > wanted.second) continue;
      when = {when ? std::min(when->begin, step.when.begin) : step.when.begin,
              when ? std::max(when->end, step.when.end) : step.when.end};
    }

    if (when)
      result.push_back({model::TrackId{thread}, {when->begin - offset_ns, when->end - offset_ns}});
  }
  return result;
}

std::optional<std::pair<int64_t, int64_t>> whole_steps_in(
    std::vector<std::vector<HostStep>> const& threads, Interval time,
    model::WholeSteps const& source) {
  std::map<int64_t, bool> is_whole;  // by the step
  for (std::vector<HostStep> const& steps : threads)
    for (HostStep const& step : steps) {
      bool& whole = is_whole.try_emplace(step.index, !source.is_context(step.index)).first->second;
      whole = whole && time.begin <= step.when.begin && step.when.end <= time.end;
    }

  std::erase_if(is_whole, [](auto const& step) { return !step.second; });
  if (is_whole.empty()) return std::nullopt;
  return std::pair(is_whole.begin()->first, is_whole.rbegin()->first);
}

model::WholeSteps whole_steps(std::vector<std::vector<HostStep>> const& threads, int64_t part_begin,
                              std::pair<int64_t, int64_t> chosen) {
  model::WholeSteps whole;
  int64_t shift = 0;
  for (std::vector<HostStep> const& steps : threads) {
    if (std::ssize(steps) <= whole.count) continue;
    whole = {std::ssize(steps), steps.front().index};
    shift = 0;

    auto const is_renumbered = [](HostStep const& step) { return step.index != step.number; };
    if (std::none_of(steps.begin(), steps.end(), is_renumbered)) continue;
    auto const first = std::find_if(steps.begin(), steps.end() - 1,
                                    [&](HostStep const& s) { return s.when.end > part_begin; });
    whole.first = first->number - (first - steps.begin());
    shift = first->index - first->number;
  }

  whole.chosen_first = chosen.first - shift;
  whole.chosen_last = chosen.second - shift;
  return whole;
}

DeviceSteps assign_steps(DeviceOps const& device, HostSteps const& host, int32_t warmup_steps) {
  DeviceSteps result;
  result.step_of_op.assign(device.ops.size(), -1);
  group_ops(device, host, result);
  order_steps(result);
  for (size_t i = 0; i < result.steps.size(); ++i) {
    StepStats& step = result.steps[i];
    if (i > 0) {
      step.before = step_before(device, result.places[i - 1], result.places[i]);
      step.window.begin = std::max(step.window.begin, result.steps[i - 1].window.end);
    }
    // The window is empty where all its ops ended before the last op of the step before. So it is
    // where clocks disagree and they ended before its host began it.
    step.window.end = std::max(step.window.end, step.window.begin);
  }

  mark_warmup(result.steps, device.rank->trace.info().whole_steps, warmup_steps);
  mark_after_pause(result.steps, host.threads[static_cast<size_t>(device.ref.rank_index)],
                   device.rank->trace.info());
  return result;
}

}  // namespace stepscope::analyzer
