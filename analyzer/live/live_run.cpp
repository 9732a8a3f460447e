#include "analyzer/live/live_run.h"

#include <algorithm>
#include <utility>

#include "analyzer/live/live_means.h"
#include "analyzer/metrics/core/quantile.h"

namespace stepscope::analyzer {
namespace {

using stream::kTimeParts;
using stream::StepRecord;

/// More slow steps are not remembered.
constexpr size_t kMostSlowSteps = 256;
/// A slow step takes so many times the typical.
constexpr double kSlowStep = 1.5;
/// It costs this share of the time of the last steps: a millisecond now and then is noise.
constexpr double kSlowShare = 0.01;

}  // namespace

void LiveRun::add_process(model::TraceInfo const& info) {
  processes_[{info.rank, info.process_id}].info = info;
}

void LiveRun::add_device(int32_t rank, int64_t process_id, model::Device const& device) {
  processes_[{rank, process_id}].devices[device.id] = device;
}

void LiveRun::forget_rank(int32_t rank) {
  std::erase_if(processes_, [rank](auto const& one) { return one.first.first == rank; });
  std::erase_if(lines_, [rank](auto const& one) { return one.first.rank == rank; });
  newest_step_ = 0;
  for (auto const& [key, line] : lines_)
    newest_step_ = std::max(newest_step_, line.recent.back().step);
}

void LiveRun::add(int32_t rank, int64_t process_id, StepRecord const& record) {
  LiveKey const key = {rank, process_id, record.device};
  Line& line = lines_[key];
  look_for_slow_step(key, line, record);
  newest_step_ = std::max(newest_step_, record.step);

  line.recent.push_back(record);
  if (line.recent.size() > kKept) line.recent.pop_front();
  line.dropped += record.dropped;
  if (++line.records <= kLiveWarmup) return;

  line.block.push_back(record);
  if (line.block.size() < kLiveBlock) return;
  LiveMeans const block = means_of(line.block, kLiveBlock);
  if (!line.best || block.typical_ns < line.best->typical_ns) {
    line.best = block;
    line.best_step = record.step;
  }
  line.block.clear();
}

/// Against the steps before it: a step that is long is no part of what is typical.
void LiveRun::look_for_slow_step(LiveKey const& key, Line const& line, StepRecord const& record) {
  if (line.records < kLiveBlock) return;
  LiveMeans const before = means_of(line.recent, 2 * kLiveBlock);
  std::vector<int64_t> longest;
  int64_t passed_ns = 0;
  for (size_t i = line.recent.size() - std::min(2 * kLiveBlock, line.recent.size());
       i < line.recent.size(); ++i) {
    longest.push_back(line.recent[i].longest_ns);
    passed_ns += line.recent[i].length_ns;
  }
  Spread const typical = spread_of(longest);
  int64_t const longer = record.longest_ns - typical.median;
  bool const is_slow =
      static_cast<double>(record.longest_ns) > kSlowStep * static_cast<double>(typical.median) &&
      longer > 2 * kLiveSpreads * typical.distance && share_of(longer, passed_ns) > kSlowShare;
  if (!is_slow) return;

  SlowStep& slow = slow_steps_[record.step];
  if (longer > slow.longer_ns) {
    slow.longer_ns = longer;
    slow.typical_ns = typical.median;
  }
  PartsOfTime& more = slow.more[key];
  for (size_t i = 0; i < kTimeParts; ++i)
    more[i] = record.parts[i] - before.parts[i] * int64_t{record.steps};
  if (slow_steps_.size() > kMostSlowSteps) slow_steps_.erase(slow_steps_.begin());
}

/// In each step the rank that comes last communicates least: it never waits.
LiveRun::Late LiveRun::late() const {
  struct OfStep {
    std::vector<std::pair<int64_t, LiveKey>> comm;
    uint32_t steps = 1;
  };
  std::map<int64_t, OfStep> by_step;
  for (auto const& [key, line] : lines_) {
    size_t const count = std::min(2 * kLiveBlock, line.recent.size());
    for (auto record = line.recent.end() - static_cast<ptrdiff_t>(count);
         record != line.recent.end(); ++record)
      if (record->collectives > 0) {
        OfStep& step = by_step[record->step];
        step.comm.emplace_back(record->comm_ns, key);
        step.steps = record->steps;
      }
  }

  // Where there are two, it is what the other waits; else what most wait.
  Late late;
  std::map<LiveKey, std::vector<int64_t>> of_line;
  std::vector<int64_t> all;
  for (auto& [number, step] : by_step) {
    if (step.comm.size() < 2 || 2 * step.comm.size() < lines_.size()) continue;
    std::sort(step.comm.begin(), step.comm.end());
    int64_t const typical = step.comm[step.comm.size() / 2].first;
    int64_t const ns = (typical - step.comm.front().first) / step.steps;
    of_line[step.comm.front().second].push_back(ns);
    all.push_back(ns);
  }
  if (all.empty()) return late;

  late.steps = all.size();
  late.typical_ns = lower_median(all);
  for (auto& [key, values] : of_line)
    if (2 * values.size() > late.steps) late.ns[key] = lower_median(values);
  return late;
}

std::vector<LiveLine> LiveRun::lines() const {
  Late const late = this->late();
  std::vector<LiveLine> lines;
  for (auto const& [key, line] : lines_) {
    StepRecord const& last = line.recent.back();
    LiveLine shown;
    shown.key = key;
    shown.step = last.step + last.steps - 1;
    shown.now = means_of(line.recent, kLiveBlock);
    shown.peak_bytes = last.peak_bytes;
    shown.power_mw = last.power_mw;
    shown.dropped = line.dropped;
    if (auto const found = late.ns.find(key); found != late.ns.end()) shown.late_ns = found->second;

    auto const process = processes_.find({key.rank, key.process_id});
    if (process != processes_.end()) {
      model::TraceInfo const& info = process->second.info;
      shown.host = info.host;
      shown.has_ended = process->second.has_ended;
      if (info.origin_epoch_ns > 0) shown.ended_epoch_ns = info.origin_epoch_ns + last.end_ns();
      auto const device = process->second.devices.find(key.device);
      if (device != process->second.devices.end()) {
        shown.device_name = device->second.name;
        shown.capacity_bytes = device->second.capacity_bytes;
      }
    }
    lines.push_back(std::move(shown));
  }
  return lines;
}

std::vector<LiveRun::StripStep> LiveRun::strip(size_t most) const {
  std::map<int64_t, std::pair<size_t, int64_t>> by_step;
  for (auto const& [key, line] : lines_) {
    size_t const count = std::min(most, line.recent.size());
    for (auto record = line.recent.end() - static_cast<ptrdiff_t>(count);
         record != line.recent.end(); ++record) {
      auto& [lines, longest] = by_step[record->step];
      ++lines;
      longest = std::max(longest, record->longest_ns);
    }
  }

  std::vector<StripStep> strip;
  for (auto const& [step, seen] : by_step)
    if (2 * seen.first > lines_.size()) strip.push_back({step, seen.second});
  if (strip.size() > most) strip.erase(strip.begin(), strip.end() - static_cast<ptrdiff_t>(most));
  return strip;
}

/// A line whose steps have stopped tells nothing of now.
bool LiveRun::goes_on(Line const& line) const {
  StepRecord const& last = line.recent.back();
  return newest_step_ - last.step <= static_cast<int64_t>(kLiveBlock) * int64_t{last.steps};
}
}  // namespace stepscope::analyzer
