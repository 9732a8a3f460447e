#include "analyzer/metrics/critical_path/path_part.h"

#include <algorithm>
#include <limits>
#include <optional>

#include <tbb/parallel_for.h>

#include "analyzer/metrics/communication/collectives.h"

namespace stepscope::analyzer {
namespace {

constexpr auto kIsBeforeRow = [](auto const& device, DeviceRef ref) { return device.ref < ref; };

/// The middle steps by number, first and last; none without steps.
std::optional<std::pair<int64_t, int64_t>> middle_steps(Analysis const& facts, double part) {
  std::vector<int64_t> numbers;
  for (StepStats const& step : facts.steps) numbers.push_back(step.step);
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  if (numbers.empty()) return std::nullopt;
  size_t const count = std::clamp<size_t>(
      static_cast<size_t>(part * static_cast<double>(numbers.size())), 1, numbers.size());
  size_t const first = (numbers.size() - count) / 2;
  return std::pair(numbers[first], numbers[first + count - 1]);
}

}  // namespace

DeviceStats facts_for_path(DeviceStats const& device, Interval window) {
  DeviceStats facts;
  facts.ref = device.ref;
  facts.window = window;
  facts.launch.latency_limit_ns = device.launch.latency_limit_ns;
  return facts;
}

std::vector<bool> chosen_for_path(model::Run const& skeleton, Analysis const& facts) {
  std::vector<bool> is_chosen(skeleton.ranks.size());
  for (DeviceStats const& device : facts.devices)
    is_chosen[static_cast<size_t>(device.ref.rank_index)] = true;
  return is_chosen;
}

uint64_t chosen_events(model::Run const& skeleton, std::vector<bool> const& is_chosen) {
  uint64_t events = 0;
  for (size_t r = 0; r < is_chosen.size(); ++r)
    if (is_chosen[r]) events += skeleton.ranks[r].trace.whole_event_count();
  return events;
}

double part_of_path(model::Run const& skeleton, std::vector<bool> const& is_chosen) {
  uint64_t const events = chosen_events(skeleton, is_chosen);
  return events <= kMostWholePathEvents
             ? 1
             : static_cast<double>(kMostPathEvents) / static_cast<double>(events);
}

PathPart choose_part(Analysis const& facts, double part) {
  PathPart chosen;
  chosen.is_all = part >= 1;

  auto const middle = middle_steps(facts, part);
  for (StepStats const& step : facts.steps)
    if (middle && step.step >= middle->first && step.step <= middle->second)
      chosen.steps.push_back(step);

  for (DeviceStats const& device : facts.devices) {
    DeviceStats of_part = facts_for_path(device, device.window);

    int64_t begin = std::numeric_limits<int64_t>::max(), end = std::numeric_limits<int64_t>::min();
    for (auto step = std::partition_point(chosen.steps.begin(), chosen.steps.end(),
                                          [&](StepStats const& s) { return s.ref < device.ref; });
         step != chosen.steps.end() && step->ref == device.ref; ++step) {
      begin = std::min(begin, step->window.begin);
      end = std::max(end, step->window.end);
    }

    if (part >= 1) {
      chosen.devices.push_back(std::move(of_part));
      continue;
    }
    if (!middle) {
      auto const length = static_cast<int64_t>(part * static_cast<double>(device.window.length()));
      begin = device.window.begin + (device.window.length() - length) / 2;
      end = begin + length;
    }

    if (begin >= end) continue;
    of_part.window = {begin, end};
    chosen.devices.push_back(std::move(of_part));
  }
  return chosen;
}

Interval range_of(PathPart const& part) {
  Interval range = part.devices.front().window;
  auto const add = [&](Interval when) {
    range = {std::min(range.begin, when.begin), std::max(range.end, when.end)};
  };
  for (DeviceStats const& device : part.devices) add(device.window);

  int64_t longest = 0;
  for (StepStats const& step : part.steps) {
    add(step.host_window);
    longest = std::max({longest, step.host_window.length(), step.window.length()});
  }

  range.begin -= longest;
  return range;
}

base::Expected<model::Run> read_range(StreamedRun const& run, std::vector<bool> const& is_chosen,
                                      Interval range, std::stop_token const& stop) {
  model::Run read{run.skeleton.name, {}, run.skeleton.clock, {}};
  read.ranks.resize(run.skeleton.ranks.size());
  std::vector<size_t> chosen;
  for (size_t r = 0; r < is_chosen.size(); ++r)
    if (is_chosen[r]) chosen.push_back(r);

  std::vector<base::Expected<model::RankTrace>> ranks;
  if (run.read_windows) {
    ranks = run.read_windows(chosen, range);
  } else {
    ranks.resize(chosen.size());
    tbb::parallel_for(size_t{0}, chosen.size(), [&](size_t i) {
      if (!stop.stop_requested()) ranks[i] = run.read_window(chosen[i], range);
    });
  }

  for (size_t i = 0; i < chosen.size(); ++i) {
    if (!ranks[i]) return base::fail_with(ranks[i]);
    read.ranks[chosen[i]] = std::move(*ranks[i]);
  }
  return read;
}

base::Expected<model::Run> read_range(StreamedRun const& run, std::vector<bool> const& is_chosen,
                                      Interval range, ReadRange const& before) {
  bool const has_all =
      before.run && before.range.begin <= range.begin && range.end <= before.range.end;
  if (has_all)
    return read_range(streamed_in_memory(*before.run), is_chosen, range, std::stop_token());
  return read_range(run, is_chosen, range, std::stop_token());
}

std::vector<CollectiveStats> collectives_in_range(std::vector<CollectiveStats> const& all,
                                                  std::vector<DeviceOps> const& devices,
                                                  std::vector<bool> const& is_read,
                                                  Interval range) {
  std::vector<CollectiveStats> result;

  auto const row_of = [&](CollectiveStats::Participant const& own) -> std::optional<uint32_t> {
    auto const device = std::lower_bound(devices.begin(), devices.end(), own.ref, kIsBeforeRow);
    if (device == devices.end() || device->ref != own.ref) return std::nullopt;
    auto op = std::partition_point(device->ops.begin(), device->ops.end(), [&](uint32_t row) {
      return device->start(row) < own.when.begin;
    });
    for (; op != device->ops.end() && device->start(*op) == own.when.begin; ++op)
      if (device->trace().kind(*op) == model::EventKind::kCollective &&
          device->trace().columns().track[*op] == own.track && device->end(*op) == own.when.end)
        return *op;
    return std::nullopt;
  };

  for (CollectiveStats const& collective : all) {
    auto const touches = [&](auto const& own) {
      return own.when.begin < range.end && own.when.end > range.begin;
    };
    if (std::none_of(collective.participants.begin(), collective.participants.end(), touches))
      continue;

    CollectiveStats kept = collective;
    std::erase_if(kept.participants, [&](CollectiveStats::Participant& own) {
      if (!is_read[static_cast<size_t>(own.ref.rank_index)]) return false;
      auto const row = row_of(own);
      if (row) own.row = *row;
      return !row;
    });
    if (!kept.participants.empty()) result.push_back(std::move(kept));
  }
  return result;
}

bool is_path_of_all(model::Run const& skeleton, Analysis const& facts) {
  return part_of_path(skeleton, chosen_for_path(skeleton, facts)) >= 1;
}

std::vector<CollectiveStats> collectives_of_whole(std::vector<CollectiveStats> collectives,
                                                  std::vector<DeviceOps> const& skeletons,
                                                  std::vector<DeviceOps> const& devices) {
  struct DeviceRows {
    DeviceRef ref;
    std::vector<std::pair<uint32_t, uint32_t>> rows;  ///< in the skeleton, as read
  };
  std::vector<DeviceRows> read(skeletons.size());
  tbb::parallel_for(size_t{0}, skeletons.size(), [&](size_t d) {
    read[d].ref = skeletons[d].ref;
    auto const whole =
        std::lower_bound(devices.begin(), devices.end(), skeletons[d].ref, kIsBeforeRow);
    if (whole != devices.end() && whole->ref == skeletons[d].ref)
      read[d].rows = rows_in_whole(skeletons[d], *whole);
  });

  tbb::parallel_for(size_t{0}, collectives.size(), [&](size_t c) {
    for (CollectiveStats::Participant& own : collectives[c].participants) {
      auto const device = std::lower_bound(read.begin(), read.end(), own.ref, kIsBeforeRow);
      auto const row = std::lower_bound(device->rows.begin(), device->rows.end(),
                                        std::pair(own.row, uint32_t{0}));
      if (row != device->rows.end()) own.row = row->second;
    }
  });
  return collectives;
}

}  // namespace stepscope::analyzer
