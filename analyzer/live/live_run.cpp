#include "analyzer/live/live_run.h"

#include <algorithm>
#include <utility>

#include "analyzer/live/live_means.h"
#include "analyzer/metrics/core/quantile.h"
#include "trace/base/files/run_folder.h"

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
/// Medians of blocks that are kept whole.
constexpr size_t kBlocks = 512;

/// Without overflow, where a record was made up.
int64_t times(int64_t ns, uint32_t count) {
  constexpr int64_t kMost = int64_t{1} << 52;
  return ns > kMost / int64_t{count} ? kMost : ns * int64_t{count};
}

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
}

void LiveRun::add(int32_t rank, int64_t process_id, StepRecord const& record) {
  LiveKey const key = {rank, process_id, record.device};
  // What a process did before it used a device.
  if (record.device >= 0) lines_.erase({rank, process_id, -1});
  Line& line = lines_[key];
  look_for_slow_step(key, line, record);

  line.recent.push_back(record);
  if (line.recent.size() > kKept) line.recent.pop_front();
  line.dropped += record.dropped;
  if (++line.records <= kLiveWarmup) return;

  line.block.push_back(record);
  if (line.block.size() < kLiveBlock) return;
  add_block(line, line.block);
  line.block.clear();
}

void LiveRun::add_block(Line& line, std::deque<StepRecord> const& records) {
  LiveMeans const block = means_of(records, kLiveBlock);
  if (!line.best || block.typical_ns < line.best->typical_ns) line.best = block;
  StepRecord const& last = records.back();
  line.blocks.push_back({last.step + last.steps - 1, block.typical_ns});

  // Every second one tells enough of long ago.
  if (line.blocks.size() < 2 * kBlocks) return;
  std::deque<Line::Block> kept;
  for (size_t i = 0; i < line.blocks.size(); ++i)
    if (i >= kBlocks || i % 2 == 0) kept.push_back(line.blocks[i]);
  line.blocks = std::move(kept);
}

void LiveRun::add_earlier(int32_t rank, int64_t process_id,
                          std::vector<StepRecord> const& records) {
  std::map<int32_t, std::deque<StepRecord>> of_device;
  for (StepRecord const& record : records) of_device[record.device].push_back(record);
  for (auto& [device, those] : of_device) {
    while (those.size() > kLiveBlock) those.pop_front();
    Line& line = lines_[{rank, process_id, device}];
    if (those.size() == kLiveBlock && line.recent.empty()) add_block(line, those);
  }
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

  auto const [place, is_new] = slow_steps_.try_emplace(record.step);
  SlowStep& slow = place->second;
  if (longer > slow.longer_ns) {
    slow.longer_ns = longer;
    slow.typical_ns = typical.median;
  }
  PartsOfTime& more = slow.more[key];
  for (size_t i = 0; i < kTimeParts; ++i)
    more[i] = record.parts[i] - times(before.parts[i], record.steps);

  if (is_new) slow_steps_seen_.push_back(record.step);
  if (slow_steps_seen_.size() <= kMostSlowSteps) return;
  slow_steps_.erase(slow_steps_seen_.front());
  slow_steps_seen_.pop_front();
}

/// In each step the rank that comes last communicates least: it never waits.
LiveRun::Late LiveRun::late() const {
  struct OfStep {
    std::vector<std::pair<int64_t, LiveKey>> comm;  ///< a step
  };
  std::map<int64_t, OfStep> by_step;
  for (auto const& [key, line] : lines_) {
    size_t const count = std::min(4 * kLiveBlock, line.recent.size());
    for (auto record = line.recent.end() - static_cast<ptrdiff_t>(count);
         record != line.recent.end(); ++record)
      if (record->collectives > 0) {
        OfStep& step = by_step[record->step];
        step.comm.emplace_back(record->comm_ns / record->steps, key);
      }
  }

  size_t const going_on = lines_that_go_on();
  // Where there are two, it is what the other waits; else what most wait.
  Late late;
  std::map<LiveKey, std::vector<int64_t>> of_line;
  std::vector<int64_t> all;
  for (auto& [number, step] : by_step) {
    if (step.comm.size() < 2 || 2 * step.comm.size() < going_on) continue;
    std::sort(step.comm.begin(), step.comm.end());
    int64_t const typical = step.comm[step.comm.size() / 2].first;
    int64_t const ns = typical - step.comm.front().first;
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
    if (line.recent.empty()) continue;
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
      shown.silent_ns = process->second.silent_ns;
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

bool LiveRun::keeps_ring() const {
  return std::any_of(processes_.begin(), processes_.end(), [](auto const& one) {
    auto const& facts = one.second.info.facts;
    return !one.second.has_ended && std::any_of(facts.begin(), facts.end(), [](auto const& fact) {
      return fact.first == base::kRingFact;
    });
  });
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

  size_t const going_on = lines_that_go_on();
  std::vector<StripStep> strip;
  for (auto const& [step, seen] : by_step)
    if (2 * seen.first > going_on) strip.push_back({step, seen.second});
  if (strip.size() > most) strip.erase(strip.begin(), strip.end() - static_cast<ptrdiff_t>(most));
  return strip;
}

int64_t LiveRun::newest_step() const {
  int64_t newest = 0;
  for (auto const& [key, line] : lines_)
    if (!line.recent.empty()) newest = std::max(newest, line.recent.back().step);
  return newest;
}

/// A line whose steps have stopped tells nothing of now.
bool LiveRun::goes_on(Line const& line, int64_t newest_step) const {
  if (line.recent.empty()) return false;
  StepRecord const& last = line.recent.back();
  return newest_step - last.step <= static_cast<int64_t>(kLiveBlock) * int64_t{last.steps};
}

size_t LiveRun::lines_that_go_on() const {
  int64_t const newest = newest_step();
  return static_cast<size_t>(std::count_if(
      lines_.begin(), lines_.end(), [&](auto const& one) { return goes_on(one.second, newest); }));
}

}  // namespace stepscope::analyzer
