// What is worth a window in a live run: THE list, one function each.
#include <algorithm>
#include <functional>
#include <utility>

#include "analyzer/live/live_means.h"
#include "analyzer/live/live_run.h"
#include "analyzer/metrics/core/quantile.h"

namespace stepscope::analyzer {
namespace {

using stream::kTimeParts;
using stream::StepRecord;

/// Steps so much longer than before are worth a look, beyond what they vary.
constexpr double kSlower = 1.03;
/// A device is the reason of a delay where it has so much of it more than before.
constexpr int64_t kReasonShare = 4;
constexpr int64_t kNeighbours = 4;  ///< slow steps that are no farther apart are one happening
/// Shares of a step from which on something is worth a look.
constexpr double kLateShare = 0.03, kTurnsShare = 0.05, kInputShare = 0.05, kIdleShare = 0.15,
                 kAllocationShare = 0.02, kCopyShare = 0.10;
/// The peak takes this share of a device's memory.
constexpr double kFullShare = 0.92;
/// Memory grows where the least and the most of each of these blocks are above those of the one
/// before, by this share of the first in all.
constexpr double kGrownShare = 0.05;
constexpr size_t kGrowingBlocks = 6, kFragmentingBlocks = 3;
constexpr double kFragmentedShare = 0.15;
constexpr auto kCommPlace = static_cast<size_t>(stream::TimePart::kCommunication);

/// Which device a delay comes from: one that itself has more of something than before, while the
/// others wait for it.
struct Reason {
  std::optional<LiveKey> line;
  std::optional<stream::TimePart> part;
};

stream::TimePart largest_but_comm(PartsOfTime const& parts) {
  size_t largest = 0;
  for (size_t i = 0; i < kTimeParts; ++i)
    if (i != kCommPlace && parts[i] > parts[largest]) largest = i;
  return static_cast<stream::TimePart>(largest);
}

/// `more`: what each device has more than it had. `ns`: by how much all are slower.
Reason reason_of(std::map<LiveKey, PartsOfTime> const& more, int64_t ns) {
  if (more.empty()) return {};
  auto const own = [](PartsOfTime const& parts) {
    int64_t sum = 0;
    for (size_t i = 0; i < kTimeParts; ++i) sum += i == kCommPlace ? 0 : parts[i];
    return sum;
  };

  std::vector<int64_t> all;
  auto most = more.begin();
  for (auto line = more.begin(); line != more.end(); ++line) {
    all.push_back(own(line->second));
    if (own(line->second) > own(most->second)) most = line;
  }

  // Without one that has it, they wait for what they exchange. Where most have it, it is of all.
  int64_t const largest = own(most->second);
  if (largest < ns / kReasonShare) return {std::nullopt, stream::TimePart::kCommunication};
  bool const is_of_all = more.size() == 1 || lower_median(all) >= largest / 2;
  return {is_of_all ? std::nullopt : std::optional(most->first), largest_but_comm(most->second)};
}
}  // namespace

char const* to_string(WorthKind kind) {
  switch (kind) {
    case WorthKind::kSlower:
      return "slower";
    case WorthKind::kSlowStep:
      return "slow_step";
    case WorthKind::kLateRank:
      return "late_rank";
    case WorthKind::kInput:
      return "input";
    case WorthKind::kIdle:
      return "idle";
    case WorthKind::kAllocation:
      return "allocation";
    case WorthKind::kCopies:
      return "copies";
    case WorthKind::kMemoryGrows:
      return "memory_grows";
    case WorthKind::kMemoryFull:
      return "memory_full";
    case WorthKind::kFragmented:
      return "fragmented";
    case WorthKind::kLost:
      return "lost";
  }
  return "";
}

/// The end of the last block whose steps were as short as the shortest.
int64_t LiveRun::slower_since(Line const& line) {
  for (auto block = line.blocks.rbegin(); block != line.blocks.rend(); ++block)
    if (static_cast<double>(block->typical_ns) <=
        kSlower * static_cast<double>(line.best->typical_ns))
      return block->last_step;
  return line.recent.front().step;
}

/// Ranks that train together are slow together: most of them must be.
void LiveRun::add_slower(std::vector<Worth>& worth) const {
  std::vector<int64_t> longer, typical;
  std::map<LiveKey, PartsOfTime> more;
  int64_t first_step = INT64_MAX, last_step = 0;
  size_t slower = 0;
  int64_t const newest = newest_step();
  for (auto const& [key, line] : lines_) {
    if (!line.best || line.recent.size() < kLiveBlock || !goes_on(line, newest)) continue;
    LiveMeans const now = means_of(line.recent, kLiveBlock);
    int64_t const difference = now.typical_ns - line.best->typical_ns;
    longer.push_back(difference);
    typical.push_back(line.best->typical_ns);
    for (size_t i = 0; i < kTimeParts; ++i) more[key][i] = now.parts[i] - line.best->parts[i];

    bool const is_slower =
        static_cast<double>(now.typical_ns) >
            kSlower * static_cast<double>(line.best->typical_ns) &&
        difference > kLiveSpreads * std::max(line.best->spread_ns, now.spread_ns);
    slower += static_cast<size_t>(is_slower);
    if (is_slower) first_step = std::min(first_step, slower_since(line));
    last_step = std::max(last_step, line.recent.back().step);
  }
  if (longer.empty() || 2 * slower <= longer.size()) return;

  Worth one{.kind = WorthKind::kSlower, .first_step = first_step, .last_step = last_step};
  one.ns = lower_median(longer);
  one.typical_ns = lower_median(typical);
  Reason const reason = reason_of(more, one.ns);
  one.line = reason.line;
  one.part = reason.part;
  worth.push_back(one);
}

/// The rank that the others wait for, and what it has more of than they. Or each step another one.
void LiveRun::add_late(std::vector<Worth>& worth) const {
  Late const late = this->late();
  if (late.steps < kLiveBlock) return;
  auto const known = std::find_if(lines_.begin(), lines_.end(), [](auto const& one) {
    return one.second.recent.size() >= kLiveBlock;
  });
  if (known == lines_.end()) return;
  Line const& any = known->second;
  LiveMeans const all = means_of(any.recent, 2 * kLiveBlock);
  Worth one{.kind = WorthKind::kLateRank,
            .first_step = any.recent[any.recent.size() - kLiveBlock].step,
            .last_step = any.recent.back().step,
            .ns = late.typical_ns,
            .typical_ns = all.typical_ns};
  if (late.ns.empty()) {
    if (share_of(late.typical_ns, all.typical_ns) >= kTurnsShare) worth.push_back(one);
    return;
  }

  auto const& [key, ns] = *late.ns.begin();  // more than half of the steps: only one can be
  if (share_of(ns, all.typical_ns) < kLateShare) return;
  PartsOfTime more{};
  for (size_t i = 0; i < kTimeParts; ++i) {
    auto const part = static_cast<stream::TimePart>(i);
    std::vector<int64_t> others;
    for (auto const& [other, line] : lines_)
      if (other != key && !line.recent.empty()) others.push_back(typical_part(line.recent, part));
    more[i] = typical_part(lines_.at(key).recent, part) - lower_median(others);
  }

  one.line = key;
  one.ns = ns;
  stream::TimePart const part = largest_but_comm(more);
  if (more[static_cast<size_t>(part)] >= ns / kReasonShare) one.part = part;
  worth.push_back(one);
}

/// PartsOfTime that a device should hardly have at all. The line that has most of one is named.
void LiveRun::add_parts(std::vector<Worth>& worth) const {
  struct Limit {
    stream::TimePart part;
    WorthKind kind;
    double share;
  };
  constexpr std::array<Limit, 4> kLimits = {
      {{stream::TimePart::kInput, WorthKind::kInput, kInputShare},
       {stream::TimePart::kIdle, WorthKind::kIdle, kIdleShare},
       {stream::TimePart::kAllocation, WorthKind::kAllocation, kAllocationShare},
       {stream::TimePart::kCopy, WorthKind::kCopies, kCopyShare}}};

  size_t const going_on = lines_that_go_on();
  for (Limit const& limit : kLimits) {
    std::optional<Worth> largest;
    size_t lines = 0;

    for (auto const& [key, line] : lines_) {
      if (line.records < kLiveWarmup + kLiveBlock || key.device < 0) continue;
      int64_t const typical_ns = means_of(line.recent, kLiveBlock).typical_ns;
      int64_t const ns = typical_part(line.recent, limit.part);
      if (share_of(ns, typical_ns) < limit.share) continue;
      ++lines;
      if (largest && largest->ns >= ns) continue;
      largest = Worth{.kind = limit.kind,
                      .line = key,
                      .first_step = line.recent[line.recent.size() - kLiveBlock].step,
                      .last_step = line.recent.back().step,
                      .ns = ns,
                      .typical_ns = typical_ns,
                      .part = limit.part};
    }
    if (!largest) continue;
    if (2 * lines > going_on && lines > 1) largest->line.reset();
    worth.push_back(*largest);
  }
}

void LiveRun::add_memory(std::vector<Worth>& worth) const {
  std::optional<Worth> grows, full, fragmented, lost;
  for (auto const& [key, line] : lines_) {
    if (line.recent.empty()) continue;
    StepRecord const& last = line.recent.back();
    Worth one{.line = key, .first_step = line.recent.front().step, .last_step = last.step};
    if (line.dropped > 0 && (!lost || lost->count < line.dropped)) {
      one.kind = WorthKind::kLost;
      one.count = line.dropped;
      lost = one;
    }
    if (last.peak_bytes < 0 || line.records < kLiveWarmup + 2 * kLiveBlock) continue;

    BlockPeaks const peaks = peaks_of(line.recent, &StepRecord::peak_bytes);
    BlockPeaks const reserved = peaks_of(line.recent, &StepRecord::reserved_bytes);
    size_t const first = peaks.most.size() - std::min(peaks.most.size(), kGrowingBlocks);
    int64_t const peak = peaks.most.back();
    one.bytes = peak - peaks.most[first];
    bool const grows_on = rises(peaks.most, kGrowingBlocks) && rises(peaks.least, kGrowingBlocks);
    if (grows_on && share_of(one.bytes, peaks.most[first]) > kGrownShare &&
        (!grows || grows->bytes < one.bytes)) {
      one.kind = WorthKind::kMemoryGrows;
      grows = one;
    }

    int64_t const unused = reserved.most.back() - peak;
    if (!grows_on && rises(reserved.most, kFragmentingBlocks) &&
        share_of(unused, reserved.most.back()) > kFragmentedShare &&
        (!fragmented || fragmented->bytes < unused)) {
      one.kind = WorthKind::kFragmented;
      one.bytes = unused;
      fragmented = one;
    }

    auto const process = processes_.find({key.rank, key.process_id});
    if (process == processes_.end()) continue;
    auto const device = process->second.devices.find(key.device);
    if (device == process->second.devices.end()) continue;
    auto const capacity =
        static_cast<int64_t>(std::min<uint64_t>(device->second.capacity_bytes, INT64_MAX));
    int64_t const left = capacity - peak;
    if (capacity > 0 && share_of(peak, capacity) > kFullShare && (!full || full->bytes > left)) {
      one.kind = WorthKind::kMemoryFull;
      one.bytes = std::max<int64_t>(left, 0);
      full = one;
    }
  }
  for (auto const& one : {grows, full, fragmented, lost})
    if (one) worth.push_back(*one);
}

/// Steps that follow one another are one happening. Where all steps have become slower, the first
/// of them are a part of that.
void LiveRun::add_slow_steps(std::vector<Worth>& worth) const {
  bool const has_become_slower = !worth.empty() && worth.front().kind == WorthKind::kSlower;
  int64_t const since = has_become_slower ? worth.front().first_step : INT64_MAX;
  std::vector<Worth> found;
  for (auto slow = slow_steps_.rbegin(); slow != slow_steps_.rend(); ++slow) {
    if (slow->first > since) continue;
    bool const goes_on = !found.empty() && found.back().first_step - slow->first <= kNeighbours;
    if (goes_on) {
      found.back().first_step = slow->first;
      found.back().ns += slow->second.longer_ns;
      ++found.back().count;
      continue;
    }

    Reason const reason = reason_of(slow->second.more, slow->second.longer_ns);
    found.push_back({.kind = WorthKind::kSlowStep,
                     .line = reason.line,
                     .first_step = slow->first,
                     .last_step = slow->first,
                     .ns = slow->second.longer_ns,
                     .typical_ns = slow->second.typical_ns,
                     .part = reason.part});
  }
  worth.insert(worth.end(), found.begin(), found.end());
}

std::vector<Worth> LiveRun::worth() const {
  std::vector<Worth> worth;
  add_slower(worth);
  add_late(worth);
  add_parts(worth);
  add_memory(worth);
  add_slow_steps(worth);
  return worth;
}

}  // namespace stepscope::analyzer
