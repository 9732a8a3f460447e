#include "analyzer/metrics/steps/repeated_layers.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>

#include <fmt/format.h>

#include "analyzer/metrics/core/quantile.h"
#include "analyzer/metrics/steps/layer_names.h"
#include "trace/base/check.h"

namespace stepscope::analyzer {
namespace {

using Numbers = std::vector<int64_t>;

/// With fewer numbers that follow one another they may do so by chance.
constexpr size_t kFewestChanges = 3;
/// Shares of all stretches and changes; the rest are those whose first kernel another place
/// launches (a warm-up, a branch).
constexpr double kMostOfThem = 0.8;

/// A range that names a layer, by its begin in trace time.
struct LayerRange {
  int64_t begin;
  Numbers const* numbers;
};

/// Per stem and thread the ranges of a process, by begin.
class LayerRanges {
 public:
  explicit LayerRanges(model::Trace const& trace) {
    std::vector<std::vector<LayerName>> names(trace.strings().size());
    bool any = false;
    for (uint32_t id = 0; id < names.size(); ++id) {
      names[id] = layer_names(trace.text(model::StringId{id}));
      any = any || !names[id].empty();
    }
    if (!any) return;

    names_ = std::move(names);
    auto const tracks = trace.tracks();
    for (uint32_t t = 0; t < tracks.size(); ++t) {
      if (tracks[t].kind != model::TrackKind::kThread) continue;
      model::Trace::Rows const rows = trace.rows_of(model::TrackId{t});
      for (uint32_t row = rows.first; row < rows.last; ++row) {
        if (!model::is_range(trace.kind(row))) continue;
        for (LayerName const& layer : names_[trace.columns().name[row].value])
          by_stem_[layer.stem][t].push_back({trace.start(row), &layer.numbers});
      }
    }
  }

  [[nodiscard]] std::map<std::string, std::map<uint32_t, std::vector<LayerRange>>> const& by_stem()
      const {
    return by_stem_;
  }

 private:
  std::vector<std::vector<LayerName>> names_;  ///< by string id, of the trace
  std::map<std::string, std::map<uint32_t, std::vector<LayerRange>>> by_stem_;
};

/// Where the first kernel of each stretch was launched: thread and trace time. None where no launch
/// is recorded.
using Launches = std::vector<std::optional<std::pair<uint32_t, int64_t>>>;

Launches first_launches(DeviceOps const& device, std::span<HostStep const> stretches) {
  model::Trace const& trace = device.trace();
  RowView const rows = device.rows();
  Launches launches(stretches.size());
  size_t at = 0;

  for (uint32_t const row : device.ops) {
    int64_t const start = rows.start(row);
    while (at < stretches.size() && stretches[at].when.end <= start) ++at;
    if (at == stretches.size()) break;

    if (start < stretches[at].when.begin || launches[at] ||
        trace.kind(row) != model::EventKind::kKernel)
      continue;
    if (model::EventId const launch = rows.link(row); launch.valid())
      launches[at] = {rows.track(launch.value).value, trace.start(launch.value)};
  }

  return launches;
}

/// One entry a launch: the numbers of the range of one stem that began last before its launch.
std::vector<Numbers const*> numbers_of(Launches const& launches,
                                       std::map<uint32_t, std::vector<LayerRange>> const& threads) {
  std::vector<Numbers const*> result(launches.size());
  for (size_t i = 0; i < launches.size(); ++i) {
    if (!launches[i]) continue;
    auto const thread = threads.find(launches[i]->first);
    if (thread == threads.end()) continue;

    auto const& ranges = thread->second;
    auto const after = std::partition_point(
        ranges.begin(), ranges.end(),
        [&](LayerRange const& range) { return range.begin <= launches[i]->second; });
    if (after != ranges.begin()) result[i] = std::prev(after)->numbers;
  }

  return result;
}

/// How much the layer's own number changes; none where it is the layer of another part.
std::optional<int64_t> difference(Numbers const& before, Numbers const& at) {
  if (before.size() != at.size() || !std::equal(before.begin(), before.end() - 1, at.begin()))
    return std::nullopt;
  return at.back() - before.back();
}

/// How numbers change from stretch to stretch.
struct Changes {
  size_t known = 0, pairs = 0, up = 0, down = 0, same = 0;
  std::vector<size_t> jumps_up, jumps_down;  ///< stretches before which they jump
  bool is_up() const { return up >= down; }
};

/// The step by which numbers change most often, without its sign; 1 where they do not.
int64_t steady_change(std::vector<Numbers const*> const& numbers) {
  std::map<int64_t, size_t> counts;
  for (size_t i = 1; i < numbers.size(); ++i)
    if (numbers[i - 1] != nullptr && numbers[i] != nullptr)
      if (auto const by = difference(*numbers[i - 1], *numbers[i]); by && *by != 0)
        ++counts[std::abs(*by)];
  auto const most =
      std::max_element(counts.begin(), counts.end(),
                       [](auto const& a, auto const& b) { return a.second < b.second; });
  return most == counts.end() ? 1 : most->first;
}

Changes changes_of(std::vector<Numbers const*> const& numbers) {
  Changes changes;
  int64_t const steady = steady_change(numbers);
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] == nullptr) continue;
    ++changes.known;
    if (i == 0 || numbers[i - 1] == nullptr) continue;
    ++changes.pairs;

    auto const by = difference(*numbers[i - 1], *numbers[i]);
    bool const is_up = *numbers[i] > *numbers[i - 1];
    if (by == 0)
      ++changes.same;
    else if (by && std::abs(*by) != steady)
      (is_up ? changes.jumps_up : changes.jumps_down).push_back(i);
    else
      ++(is_up ? changes.up : changes.down);
  }
  return changes;
}

bool are_layers(Changes const& changes, size_t stretches) {
  size_t const on = changes.up + changes.down,
               jumps = changes.jumps_up.size() + changes.jumps_down.size();
  return on >= kFewestChanges &&
         static_cast<double>(changes.known) >= kMostOfThem * static_cast<double>(stretches) &&
         static_cast<double>(on + jumps) >= kMostOfThem * static_cast<double>(changes.pairs) &&
         2 * jumps <= on;
}

/// From where numbers begin again to where they do next; a recording that begins with the first
/// number, or ends with the last, has the whole step there. None where they go up and down, as in a
/// backward pass.
void add_steps(Changes const& changes, std::vector<Numbers const*> const& numbers,
               Numbers const& least, Numbers const& largest, std::span<HostStep const> stretches,
               LayerRepeats& result) {
  size_t const against = changes.is_up() ? changes.down : changes.up;
  std::vector<size_t> begins = changes.is_up() ? changes.jumps_down : changes.jumps_up;
  if (against > 0 || begins.empty()) return;
  auto const is = [](Numbers const* number, Numbers const& wanted) {
    return number != nullptr && *number == wanted;
  };
  if (is(numbers.front(), changes.is_up() ? least : largest)) begins.insert(begins.begin(), 0);
  if (is(numbers.back(), changes.is_up() ? largest : least)) begins.push_back(stretches.size());

  auto const begin_of = [&](size_t at) {
    return at < stretches.size() ? stretches[at].when.begin : stretches.back().when.end;
  };
  for (size_t i = 0; i + 1 < begins.size(); ++i) {
    auto const number = static_cast<int64_t>(i);
    result.steps.push_back({{begin_of(begins[i]), begin_of(begins[i + 1])}, number, number});
  }
  result.in_steps =
      static_cast<double>(begins.back() - begins.front()) / static_cast<double>(stretches.size());
}

std::string text_of(Numbers const& numbers) { return fmt::format("{}", fmt::join(numbers, ".")); }

LayerRepeats describe(std::string const& stem, std::vector<Numbers const*> const& numbers,
                      Changes const& changes, std::span<HostStep const> stretches) {
  LayerRepeats result;
  result.layers.name = stem;

  Numbers const *first = nullptr, *last = nullptr;
  std::vector<int64_t> lengths;

  for (size_t i = 0; i < numbers.size(); ++i) {
    lengths.push_back(stretches[i].when.length());
    if (numbers[i] == nullptr) continue;
    if (first == nullptr || *numbers[i] < *first) first = numbers[i];
    if (last == nullptr || *numbers[i] > *last) last = numbers[i];
  }

  STEPSCOPE_CHECK(first != nullptr && last != nullptr);
  result.layers.first = text_of(*first);
  result.layers.last = text_of(*last);
  result.layers.count = stretches.size();
  result.layers.period_ns = quantile(lengths, 50);

  add_steps(changes, numbers, *first, *last, stretches, result);
  return result;
}

}  // namespace

std::optional<LayerRepeats> find_layers(DeviceOps const& device,
                                        std::span<HostStep const> stretches) {
  LayerRanges const ranges(device.trace());
  if (ranges.by_stem().empty()) return std::nullopt;
  Launches const launches = first_launches(device, stretches);

  // The outermost layer that changes with each stretch: parts of it have numbers of their own.
  std::optional<LayerRepeats> best;
  for (auto const& [stem, threads] : ranges.by_stem()) {
    std::vector<Numbers const*> const numbers = numbers_of(launches, threads);
    Changes const changes = changes_of(numbers);
    if (!are_layers(changes, stretches.size()) || (best && best->layers.name.size() <= stem.size()))
      continue;
    best = describe(stem, numbers, changes, stretches);
  }
  return best;
}

}  // namespace stepscope::analyzer
