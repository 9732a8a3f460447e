#include "analyzer/metrics/steps/step_detection.h"

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>

#include "analyzer/metrics/core/quantile.h"
#include "analyzer/metrics/core/saturate.h"
#include "analyzer/metrics/steps/kernel_sequence.h"
#include "analyzer/metrics/steps/repeated_layers.h"

namespace stepscope::analyzer {
namespace {

/// Forward, loss, backward, update: a loop of fewer kernels is no training step.
constexpr size_t kFewestKernels = 4;
/// Two stretches that are alike may be chance, or the halves of one step.
constexpr size_t kFewestRepeats = 3;
/// More than half of the kernels repeat in one usual step only; below that, what does not repeat
/// prevails.
constexpr double kLeastAlike = 0.5;
/// Share of all kernels of the run. Three equal steps, one of them cut in two by the recording, are
/// as sure as this; below it too much is unexplained to call the rest the steps.
constexpr double kLeastConfidence = 0.6;
/// At this share what is left is the warm-up and the step that was cut off at the end: looking
/// closer finds nothing better.
constexpr double kSureEnough = 0.9;
/// How many kernels are looked at to tell places apart. Where 16 names in a row occur several times
/// in a step, they do because its layers are equal, and something else of the step tells them
/// apart.
constexpr std::array<size_t, 5> kContexts = {1, 2, 4, 8, 16};
/// Searched, from the middle: enough for three steps of 150,000 kernels.
constexpr size_t kMostKernels = size_t{1} << 19;
/// Periods that are compared with each other; those that cover most.
constexpr size_t kMostPeriods = 32;
/// Share of what repeats within a step from which kernels of other names are a part of the step.
/// The log lines and metrics of every tenth step take less, a weights' update takes more.
constexpr double kLeastNewWork = 0.05;
/// Steps by which the usual idle time before each kernel is known; more change a median little.
constexpr size_t kStepsForIdle = 15;

/// Tried before a device is searched: more kinds of stages or roles are rare.
constexpr size_t kMostKnownPatterns = 8;

/// Stretches [begin, begin + length) of kernels that hold the same.
struct KernelPeriod {
  size_t length = 0;
  std::vector<uint32_t> begins;
  [[nodiscard]] size_t covered() const { return length * begins.size(); }
};

/// Numbers the places of a sequence by the names of `context` kernels from there on.
class PeriodContexts {
 public:
  PeriodContexts(std::span<uint32_t const> names, uint32_t kinds)
      : ids_(names.begin(), names.end()), kinds_(kinds) {}
  /// `context` doubles.
  void widen() {
    std::vector<std::pair<uint64_t, uint32_t>> pairs;
    pairs.reserve(ids_.size());
    for (uint32_t i = 0; i < ids_.size(); ++i) {
      size_t const other = i + context_;
      uint64_t const second = other < ids_.size() ? uint64_t{ids_[other]} + 1 : 0;
      pairs.emplace_back(uint64_t{ids_[i]} << 32 | second, i);
    }

    std::sort(pairs.begin(), pairs.end());
    kinds_ = 0;
    for (size_t i = 0; i < pairs.size(); ++i) {
      if (i > 0 && pairs[i].first != pairs[i - 1].first) ++kinds_;
      ids_[pairs[i].second] = kinds_;
    }

    ++kinds_;
    context_ *= 2;
  }
  [[nodiscard]] std::vector<uint32_t> const& ids() const { return ids_; }
  [[nodiscard]] uint32_t kinds() const { return kinds_; }

 private:
  std::vector<uint32_t> ids_;
  uint32_t kinds_;
  size_t context_ = 1;
};

/// Finds the period of kernels [first, last) of a sequence.
class PeriodSearch {
 public:
  PeriodSearch(DeviceOps const& device, KernelSequence const& sequence,
               SequenceHashes const& hashes, size_t first, size_t last)
      : device_(device), sequence_(sequence), hashes_(hashes), first_(first), last_(last) {}

  std::optional<KernelPeriod> find() {
    std::span<uint32_t const> const names =
        std::span(sequence_.names).subspan(first_, last_ - first_);
    PeriodContexts contexts(names, static_cast<uint32_t>(sequence_.name_hashes.size()));

    std::optional<KernelPeriod> best;
    for (size_t const context : kContexts) {
      if (context > 1) contexts.widen();
      try_places(contexts);
      best = choose();
      if (best &&
          static_cast<double>(best->covered()) >= kSureEnough * static_cast<double>(last_ - first_))
        break;
    }

    return best;
  }

 private:
  struct Stretch {
    uint64_t kernels;
    uint32_t begin, length;
  };

  /// Splits the sequence at the places of each kind, one kind after the other.
  void try_places(PeriodContexts const& contexts) {
    std::vector<uint32_t> place_of_kind(contexts.kinds() + 1, 0);
    for (uint32_t const id : contexts.ids()) ++place_of_kind[id + 1];
    for (size_t k = 1; k < place_of_kind.size(); ++k) place_of_kind[k] += place_of_kind[k - 1];
    std::vector<uint32_t> places(contexts.ids().size()),
        next(place_of_kind.begin(), place_of_kind.end() - 1);
    for (uint32_t i = 0; i < places.size(); ++i) places[next[contexts.ids()[i]]++] = i;
    for (size_t k = 0; k + 1 < place_of_kind.size(); ++k)
      split_at(
          std::span(places).subspan(place_of_kind[k], place_of_kind[k + 1] - place_of_kind[k]));
  }

  void split_at(std::span<uint32_t const> places) {
    size_t const total = last_ - first_;
    if (places.size() < kFewestRepeats || places.size() > total / kFewestKernels) return;

    stretches_.clear();
    for (size_t i = 0; i < places.size(); ++i) {
      size_t const begin = first_ + places[i],
                   end = i + 1 < places.size() ? first_ + places[i + 1] : last_;
      stretches_.push_back({hashes_.unordered(begin, end), static_cast<uint32_t>(begin),
                            static_cast<uint32_t>(end - begin)});
    }

    std::sort(stretches_.begin(), stretches_.end(), [](Stretch const& a, Stretch const& b) {
      return a.kernels != b.kernels ? a.kernels < b.kernels : a.begin < b.begin;
    });

    for (size_t begin = 0, end = 0; begin < stretches_.size(); begin = end) {
      while (end < stretches_.size() && stretches_[end].kernels == stretches_[begin].kernels) ++end;
      offer(std::span(stretches_).subspan(begin, end - begin));
    }
  }

  /// Keeps stretches that hold the same (by begin), if they are a period. Only where one follows
  /// the other directly: the pieces left and right of what a place's names occur in many times are
  /// all the same, too, but nothing repeats there.
  void offer(std::span<Stretch const> alike) {
    size_t const length = alike.front().length;
    if (alike.size() < kFewestRepeats || length < kFewestKernels) return;

    begins_.clear();
    for (size_t i = 0; i < alike.size(); ++i) {
      bool const follows = i > 0 && alike[i - 1].begin + length == alike[i].begin;
      bool const is_followed =
          i + 1 < alike.size() && alike[i].begin + length == alike[i + 1].begin;
      if (follows || is_followed) begins_.push_back(alike[i].begin);
    }

    size_t const covered = begins_.size() * length;
    if (begins_.size() < kFewestRepeats ||
        static_cast<double>(covered) < kLeastAlike * static_cast<double>(last_ - first_))
      return;

    KernelPeriod& period = periods_[length];
    if (covered > period.covered()) period = {length, begins_};
  }

  /// How often a usual stretch has each name, and how long its kernels take.
  struct Content {
    std::vector<uint32_t> count;
    std::vector<int64_t> time_ns;
    uint64_t updates = 0;
    int64_t total_ns = 0;
  };
  Content content(KernelPeriod const& period) const {
    Content result;
    result.count.resize(sequence_.name_hashes.size());
    result.time_ns.resize(sequence_.name_hashes.size());

    size_t const begin = period.begins[period.begins.size() / 2];
    for (size_t i = begin; i < begin + period.length; ++i) {
      uint32_t const name = sequence_.names[i];
      int64_t const dur = device_.trace().columns().dur[sequence_.rows[i]];
      ++result.count[name];
      add_saturated(result.time_ns[name], dur);
      add_saturated(result.total_ns, dur);
      result.updates += sequence_.is_update[name] ? 1 : 0;
    }

    return result;
  }

  /// Whether the longer period is the step and the shorter one a part of it.
  bool is_step_of(KernelPeriod const& longer, KernelPeriod const& shorter) const {
    Content const whole = content(longer), part = content(shorter);
    uint64_t times = std::numeric_limits<uint64_t>::max();
    int64_t new_ns = 0;

    for (size_t name = 0; name < part.count.size(); ++name) {
      if (part.count[name] > 0)
        times = std::min<uint64_t>(times, whole.count[name] / part.count[name]);
      if (part.count[name] == 0) add_saturated(new_ns, whole.time_ns[name]);
    }

    // It does not hold the shorter one several times: they are two views of the same.
    if (times < 2) return longer.covered() >= shorter.covered();
    if (part.updates > 0) return 2 * (whole.updates - times * part.updates) >= part.updates;
    if (whole.updates > 0) return true;
    return static_cast<double>(new_ns) >= kLeastNewWork * static_cast<double>(part.total_ns);
  }

  std::optional<KernelPeriod> choose() const {
    std::vector<KernelPeriod const*> all;
    for (auto const& [length, period] : periods_) all.push_back(&period);
    auto const covers_more = [](KernelPeriod const* a, KernelPeriod const* b) {
      return a->covered() != b->covered() ? a->covered() > b->covered() : a->length < b->length;
    };

    std::sort(all.begin(), all.end(), covers_more);
    if (all.size() > kMostPeriods) all.resize(kMostPeriods);
    std::sort(all.begin(), all.end(),
              [](KernelPeriod const* a, KernelPeriod const* b) { return a->length < b->length; });

    KernelPeriod const* best = nullptr;
    for (KernelPeriod const* period : all)
      if (best == nullptr || is_step_of(*period, *best)) best = period;
    return best == nullptr ? std::nullopt : std::optional(*best);
  }

  DeviceOps const& device_;
  KernelSequence const& sequence_;
  SequenceHashes const& hashes_;
  size_t first_, last_;
  std::vector<Stretch> stretches_;  // reused, as the next
  std::vector<uint32_t> begins_;
  std::unordered_map<size_t, KernelPeriod> periods_;
};

/// Where in a usual stretch the longest run without updates begins: just after an update. None
/// without updates.
std::optional<size_t> after_updates(KernelSequence const& sequence, size_t begin, size_t length) {
  std::vector<size_t> updates;
  for (size_t i = 0; i < length; ++i)
    if (sequence.is_update[sequence.names[begin + i]]) updates.push_back(i);
  if (updates.empty() || length == 0) return std::nullopt;

  size_t best = 0, longest = 0;
  for (size_t i = 0; i < updates.size(); ++i) {
    size_t const next = i + 1 < updates.size() ? updates[i + 1] : updates[0] + length;
    if (next - updates[i] <= longest) continue;
    longest = next - updates[i];
    best = updates[i] + 1;
  }

  return best % length;
}

/// The place in a stretch before which the device is usually idle for longest.
size_t after_longest_idle(DeviceOps const& device, KernelSequence const& sequence,
                          KernelPeriod const& period) {
  size_t const first = period.begins.front(), last = period.begins.back() + period.length;
  std::vector<int64_t> const idle = idle_before(device, sequence, first, last);
  size_t const every = (period.begins.size() + kStepsForIdle - 1) / kStepsForIdle;

  size_t best = 0;
  int64_t longest = -1;
  std::vector<int64_t> of_steps;
  for (size_t i = 0; i < period.length; ++i) {
    of_steps.clear();
    for (size_t s = 0; s < period.begins.size(); s += every)
      of_steps.push_back(idle[period.begins[s] + i - first]);
    int64_t const steady = quantile(of_steps, 50);
    if (steady <= longest) continue;
    longest = steady;
    best = i;
  }

  return best;
}

/// A usual stretch as a cycle: its names twice, one after the other.
std::vector<uint32_t> cycle_of(KernelSequence const& sequence, size_t begin, size_t length) {
  std::vector<uint32_t> names;
  for (size_t i = 0; i < 2 * length; ++i) names.push_back(sequence.names[begin + i % length]);
  return names;
}

/// How many kernels before place `at` of a cycle tell it from all other places; 0 when the cycle
/// repeats within itself.
uint32_t context_of(SequenceHashes const& cycle, size_t length, size_t at) {
  for (size_t context = 1;; context = std::min(2 * context, length)) {
    uint64_t const wanted = cycle.ordered(at + length - context, at + length);
    size_t found = 0;
    for (size_t i = 0; i < length; ++i)
      found += cycle.ordered(i + length - context, i + length) == wanted ? 1 : 0;
    if (found == 1) return static_cast<uint32_t>(context);
    if (context == length) return 0;
  }
}

/// Places at which steps begin: where the boundary's names come before, and the begin if a usual
/// step is before the first.
std::vector<size_t> boundaries(KernelSequence const& sequence, SequenceHashes const& hashes,
                               StepPattern const& pattern) {
  std::vector<size_t> result;
  for (size_t i = pattern.context; i <= sequence.size(); ++i)
    if (hashes.ordered(i - pattern.context, i) == pattern.boundary) result.push_back(i);
  if (result.empty()) return result;
  if (result.front() == pattern.length && hashes.unordered(0, pattern.length) == pattern.kernels)
    result.insert(result.begin(), 0);
  return result;
}

uint64_t count_alike(SequenceHashes const& hashes, StepPattern const& pattern,
                     std::vector<size_t> const& places) {
  uint64_t alike = 0;
  for (size_t i = 0; i + 1 < places.size(); ++i)
    if (hashes.unordered(places[i], places[i + 1]) == pattern.kernels)
      alike += places[i + 1] - places[i];
  return alike;
}

/// The first place at which a step may begin that finds as many steps as the others do.
std::optional<StepPattern> pattern_of(DeviceOps const& device, KernelSequence const& sequence,
                                      SequenceHashes const& hashes, KernelPeriod const& period) {
  // A stretch from the middle: the first ones may be of the warm-up.
  size_t const begin = period.begins[period.begins.size() / 2], length = period.length;
  SequenceHashes const cycle(cycle_of(sequence, begin, length), sequence.name_hashes);

  std::vector<size_t> starts;
  auto const after_update = after_updates(sequence, begin, length);
  bool const has_updates = after_update.has_value();
  if (after_update) starts.push_back(*after_update);
  starts.push_back(after_longest_idle(device, sequence, period));
  starts.push_back((length - begin % length) %
                   length);  // as the recording begins: profilers are switched on between steps
  starts.push_back(0);

  std::optional<StepPattern> best;
  uint64_t most = 0;
  for (size_t const at : starts) {
    uint32_t const context = context_of(cycle, length, at);
    if (context == 0) return std::nullopt;
    StepPattern const pattern{cycle.ordered(at + length - context, at + length), context,
                              hashes.unordered(begin, begin + length), length, has_updates};
    uint64_t const alike = count_alike(hashes, pattern, boundaries(sequence, hashes, pattern));

    // A step more or less at the ends is no reason for the worse place, unless nothing is left
    // then.
    bool const is_better = alike >= most + 2 * length || (alike == sequence.size() && most < alike);
    if (best && !is_better) continue;
    best = pattern;
    most = alike;
  }

  return best;
}

/// Whether most of the steps copy to the host: give a loss or a token out. Copies from it alone are
/// no sign of a step: a batch may come in by them, and so may the weights of each layer.
bool most_copy_out(DeviceOps const& device, std::vector<HostStep> const& steps) {
  model::Trace const& trace = device.trace();
  size_t next = 0, copying = 0;
  for (uint32_t const row : device.ops) {
    if (trace.kind(row) != model::EventKind::kMemcpy) continue;
    if (trace.detail<model::CopyDetail>(row).direction != model::CopyDirection::kDeviceToHost)
      continue;

    int64_t const start = device.start(row);
    while (next < steps.size() && steps[next].when.end <= start) ++next;
    if (next == steps.size() || start < steps[next].when.begin) continue;
    ++copying;
    ++next;
  }

  return 2 * copying > steps.size();
}

/// Whether before the first step or after the last only kernels run that steps have, too: those of
/// a step that the recording cuts. Around the layers of a single step there are others on both
/// sides: the embedding, the loss.
bool is_cut_from_more(KernelSequence const& sequence, SequenceHashes const& hashes,
                      StepPattern const& pattern, std::vector<size_t> const& places) {
  std::vector<bool> known(sequence.name_hashes.size(), false);
  for (size_t i = 0; i + 1 < places.size(); ++i) {
    if (hashes.unordered(places[i], places[i + 1]) != pattern.kernels) continue;
    for (size_t k = places[i]; k < places[i + 1]; ++k) known[sequence.names[k]] = true;
    break;
  }

  auto const are_known = [&](size_t first, size_t last) {
    return std::all_of(sequence.names.begin() + static_cast<ptrdiff_t>(first),
                       sequence.names.begin() + static_cast<ptrdiff_t>(last),
                       [&](uint32_t name) { return known[name]; });
  };

  return are_known(0, places.front()) || are_known(places.back(), sequence.size());
}

DetectedSteps steps_at(DeviceOps const& device, KernelSequence const& sequence,
                       SequenceHashes const& hashes, StepPattern const& pattern) {
  DetectedSteps result;
  result.pattern = pattern;
  result.kernels = sequence.size();

  std::vector<size_t> const places = boundaries(sequence, hashes, pattern);
  if (places.size() < 2) return result;
  result.alike = count_alike(hashes, pattern, places);
  std::vector<int64_t> begins = work_begins(device, sequence, places);
  if (places.back() == sequence.size()) begins.push_back(op_window(device).end);

  for (size_t i = 0; i + 1 < begins.size(); ++i)
    result.steps.push_back({{begins[i], std::max(begins[i], begins[i + 1])},
                            static_cast<int64_t>(i),
                            static_cast<int64_t>(i)});

  result.is_loop = pattern.updates || most_copy_out(device, result.steps) ||
                   is_cut_from_more(sequence, hashes, pattern, places);
  return result;
}

/// Steps of a device that begin as others' do. What they hold may differ: libraries choose kernels
/// on each device for itself.
StepPattern with_boundary(std::optional<StepPattern> const& own, StepPattern const& others) {
  StepPattern pattern = own.value_or(others);
  pattern.boundary = others.boundary;
  pattern.context = others.context;
  return pattern;
}

/// What names of layers say of the stretches that were found: fills the steps from where their
/// numbers begin again, or says that they are layers. False where names tell nothing.
bool take_layers(std::vector<DeviceOps> const& devices, std::vector<DetectedSteps> const& found,
                 double confidence, HostSteps& steps) {
  std::optional<RepeatedLayers> layers;
  std::vector<DeviceOwnSteps> with_steps;
  size_t searched = 0, have_layers = 0;
  double in_steps = 1;
  for (size_t d = 0; d < devices.size(); ++d) {
    if (found[d].steps.empty()) continue;
    ++searched;
    std::optional<LayerRepeats> repeats = find_layers(devices[d], found[d].steps);
    if (!repeats) continue;
    ++have_layers;
    if (!layers) layers = repeats->layers;
    in_steps = std::min(in_steps, repeats->in_steps);
    if (!repeats->steps.empty()) with_steps.push_back({devices[d].ref, std::move(repeats->steps)});
  }
  // On one device a thread without names may launch; on most of them it does not.
  if (2 * have_layers <= searched) return false;

  double const of_steps = confidence * in_steps;
  if (with_steps.size() == have_layers) {
    steps.source = StepSource::kDetected;
    steps.confidence = of_steps;
    steps.detected = std::move(with_steps);
  } else {
    layers->confidence = confidence;
    steps.layers = std::move(layers);
  }
  return true;
}

}  // namespace

DetectedSteps find_device_steps(DeviceOps const& device, std::span<StepPattern const> known) {
  KernelSequence const sequence = kernel_sequence(device);
  DetectedSteps best;
  best.kernels = sequence.size();
  if (sequence.size() < kFewestKernels * kFewestRepeats) return best;

  SequenceHashes const hashes(sequence.names, sequence.name_hashes);
  for (StepPattern const& pattern : known) {
    DetectedSteps found = steps_at(device, sequence, hashes, pattern);
    if (found.alike > best.alike) best = std::move(found);
  }

  if (static_cast<double>(best.alike) >= kSureEnough * static_cast<double>(sequence.size()))
    return best;
  size_t const searched = std::min(sequence.size(), kMostKernels),
               first = (sequence.size() - searched) / 2;
  std::optional<KernelPeriod> const period =
      PeriodSearch(device, sequence, hashes, first, first + searched).find();
  if (!period) return best;

  if (auto const pattern = pattern_of(device, sequence, hashes, *period)) {
    DetectedSteps found = steps_at(device, sequence, hashes, *pattern);
    if (found.alike > best.alike) best = std::move(found);
  }
  return best;
}

DetectedSteps steps_by_pattern(DeviceOps const& device, StepPattern const& pattern) {
  KernelSequence const sequence = kernel_sequence(device);
  return steps_at(device, sequence, SequenceHashes(sequence.names, sequence.name_hashes), pattern);
}

std::optional<StepPattern> common_pattern(std::span<DetectedSteps const> devices) {
  std::unordered_map<uint64_t, size_t> counts;
  std::optional<StepPattern> best;
  auto const key = [](StepPattern const& pattern) { return pattern.boundary ^ pattern.kernels; };
  for (DetectedSteps const& device : devices)
    if (device.pattern) ++counts[key(*device.pattern)];
  for (DetectedSteps const& device : devices)
    if (device.pattern && (!best || counts[key(*device.pattern)] > counts[key(*best)]))
      best = device.pattern;
  return best;
}

void detect_steps(std::vector<DeviceOps> const& devices, HostSteps& steps) {
  std::vector<DetectedSteps> found;
  std::vector<StepPattern> known;
  for (DeviceOps const& device : devices) {
    found.push_back(find_device_steps(device, known));
    auto const& pattern = found.back().pattern;
    bool const is_new = pattern && std::find(known.begin(), known.end(), *pattern) == known.end();
    if (is_new && known.size() < kMostKnownPatterns) known.push_back(*pattern);
  }

  std::optional<StepPattern> const common = common_pattern(found);
  if (!common) return;

  uint64_t kernels = 0, alike = 0;
  bool is_loop = false;
  for (size_t d = 0; d < devices.size(); ++d) {
    if (found[d].pattern != common && found[d].kernels > 0) {
      DetectedSteps as_others =
          steps_by_pattern(devices[d], with_boundary(found[d].pattern, *common));
      if (as_others.alike > 0 && as_others.alike + 2 * common->length >= found[d].alike)
        found[d] = std::move(as_others);
    }
    kernels += found[d].kernels;
    alike += found[d].alike;
    is_loop = is_loop || found[d].is_loop;
  }

  double const confidence = static_cast<double>(alike) / static_cast<double>(kernels);
  if (confidence < kLeastConfidence) return;
  if (!common->updates && take_layers(devices, found, confidence, steps)) return;
  if (!is_loop) return;

  steps.source = StepSource::kDetected;
  steps.confidence = confidence;
  for (size_t d = 0; d < devices.size(); ++d)
    if (!found[d].steps.empty())
      steps.detected.push_back({devices[d].ref, std::move(found[d].steps)});
}

HostSteps find_steps(model::Run const& run, std::vector<DeviceOps> const& devices) {
  HostSteps steps = find_host_steps(run);
  if (steps.source == StepSource::kNone || !has_launches(devices)) detect_steps(devices, steps);
  return steps;
}

}  // namespace stepscope::analyzer
