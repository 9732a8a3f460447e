// Device ops of several processes in one file. Tools that merge the traces of ranks leave each its
// device 0: such devices are told apart. A tool may also spread one device's streams over several
// processes: these are put together.
#include <algorithm>
#include <array>
#include <unordered_set>

#include "trace/import/common/numbers.h"
#include "trace/import/common/rank_from_name.h"
#include "trace/import/formats/chrome/merged_events.h"
#include "trace/model/intervals.h"

namespace stepscope::import {
namespace {

using model::EventBatch;
using model::Interval;

bool natural_order(std::string const& a, std::string const& b) { return natural_less(a, b); }

/// "[TP00-DP01] 1000" → 0, 1: what the text says of ranks.
std::vector<uint64_t> places_in(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::vector<uint64_t> places;
  for (NameNumber const& number : numbers_in(text))
    if (number.counts == NameCounts::kRank || number.counts == NameCounts::kPlace ||
        number.counts == NameCounts::kNode)
      places.push_back(number.value);
  return places;
}

void add_correlation(EventBatch& rows, uint64_t more) {
  auto const add = [more](uint64_t& correlation) {
    if (correlation != 0) correlation += more;
  };
  std::for_each(rows.correlation.begin(), rows.correlation.end(), add);
  for (auto& detail : std::get<model::DetailColumn<model::StreamWaitDetail>>(rows.details))
    add(detail.source_correlation);
  for (auto& detail : std::get<model::DetailColumn<model::SyncDetail>>(rows.details))
    add(detail.source_correlation);
}

}  // namespace

model::IntervalSet MergedEvents::busy_of(std::vector<size_t> const& tracks, int64_t stream) const {
  std::vector<Interval> busy;

  for (size_t const t : tracks) {
    if (tracks_[t].key.stream != stream) continue;
    for (EventBatch const& rows : tracks_[t].batches)
      for (size_t row = 0; row < rows.size(); ++row) {
        int64_t const begin = std::clamp(rows.start[row], -model::kMaxTime, model::kMaxTime);
        if (rows.dur[row] > 0)
          busy.push_back({begin, begin + std::min(rows.dur[row], model::kMaxTime)});
      }
  }

  return model::unite(std::move(busy));
}

/// Whether processes that use a device of one number use several devices. Then their names state
/// different ranks, or their ops on a stream of one number overlap, as those of one stream cannot.
bool MergedEvents::are_apart(TracksOfProcesses const& processes) const {
  std::set<std::vector<uint64_t>> places;
  for (auto const& [process, tracks] : processes) places.insert(places_in(process));
  if (places.size() == processes.size() && !places.contains({})) return true;

  constexpr int64_t kLeastShare = 20;  // clocks of one device that are off overlap by less
  std::set<int64_t> streams;
  for (auto const& [process, tracks] : processes)
    for (size_t const t : tracks) streams.insert(tracks_[t].key.stream);
  for (int64_t const stream : streams) {
    model::IntervalSet all;
    for (auto const& [process, tracks] : processes) {
      model::IntervalSet const own = busy_of(tracks, stream);
      int64_t const shared = model::measure(model::intersect(all, own));
      if (shared > 0 && shared >= std::min(model::measure(own), model::measure(all)) / kLeastShare)
        return true;
      all = model::unite(all, own);
    }
  }
  return false;
}

void MergedEvents::join_tracks(TracksOfProcesses const& processes, std::vector<bool>& is_joined) {
  std::map<int64_t, size_t> first_of;  // by stream
  std::vector<size_t> in_order;
  for (auto const& [process, tracks] : processes)
    in_order.insert(in_order.end(), tracks.begin(), tracks.end());
  std::sort(in_order.begin(), in_order.end());

  for (size_t const t : in_order) {
    auto const [place, is_first] = first_of.try_emplace(tracks_[t].key.stream, t);
    if (is_first) continue;

    MergedTrack &to = tracks_[place->second], &from = tracks_[t];
    std::move(from.batches.begin(), from.batches.end(), std::back_inserter(to.batches));
    to.events += from.events;
    to.copies += from.copies;
    to.collectives += from.collectives;
    is_joined[t] = true;
  }
}

/// Gives the device of each process but the first a number that no other has.
void MergedEvents::part_device(int32_t device, TracksOfProcesses const& processes,
                               std::set<int32_t>& used) {
  std::vector<std::string> in_order;
  for (auto const& [process, tracks] : processes) in_order.push_back(process);
  std::sort(in_order.begin(), in_order.end(), natural_order);

  int32_t next = 0;
  for (size_t place = 0; place < in_order.size(); ++place) {
    std::string const& process = in_order[place];
    while (place > 0 && used.contains(next)) ++next;
    int32_t const number = place == 0 ? device : next;
    used.insert(number);

    parted_devices_[number] = {device, process};
    device_users_[device].erase(process);
    device_users_[number].insert(process);
    for (size_t const t : processes.at(process)) {
      tracks_[t].key.device = number;
      parts_.emplace_back(t, place);
    }
  }
}

/// Ranks number their launches alike: the first to have a number would get the ops of all.
void MergedEvents::part_correlations() {
  constexpr uint64_t kPerPart = uint64_t{1} << 48U;
  std::map<size_t, std::unordered_set<uint64_t>> of_parts;
  for (auto const& [track, part] : parts_)
    for (EventBatch const& rows : tracks_[track].batches)
      of_parts[part].insert(rows.correlation.begin(), rows.correlation.end());
  bool do_collide = false;
  std::unordered_set<uint64_t> seen;
  for (auto const& [part, correlations] : of_parts)
    for (uint64_t const correlation : correlations)
      do_collide = (correlation != 0 && !seen.insert(correlation).second) || do_collide;

  std::vector<std::string> callers;
  if (auto const found = device_users_.find(-1); found != device_users_.end())
    callers.assign(found->second.begin(), found->second.end());
  if (!do_collide || callers.size() != of_parts.size()) return;
  std::sort(callers.begin(), callers.end(), natural_order);
  for (size_t t = 0; t < tracks_.size(); ++t) {
    if (tracks_[t].key.kind != TrackKey::Kind::kThread) continue;
    auto const caller = std::find(callers.begin(), callers.end(), tracks_[t].key.process);
    if (caller != callers.end())
      parts_.emplace_back(t, static_cast<size_t>(caller - callers.begin()));
  }
  for (auto const& [track, part] : parts_)
    for (EventBatch& rows : tracks_[track].batches) add_correlation(rows, part * kPerPart);
}

void MergedEvents::part_devices() {
  std::map<int32_t, TracksOfProcesses> of_devices;
  std::set<int32_t> used;
  for (size_t t = 0; t < tracks_.size(); ++t) {
    if (tracks_[t].key.kind != TrackKey::Kind::kStream) continue;
    of_devices[tracks_[t].key.device][tracks_[t].key.process].push_back(t);
    used.insert(tracks_[t].key.device);
  }
  std::vector<bool> is_joined(tracks_.size(), false);
  for (auto const& [device, processes] : of_devices) {
    if (processes.size() < 2) continue;
    if (device >= 0 && are_apart(processes))
      part_device(device, processes, used);
    else
      join_tracks(processes, is_joined);
  }
  part_correlations();

  size_t kept = 0;
  for (size_t t = 0; t < tracks_.size(); ++t)
    if (!is_joined[t] && kept++ != t) tracks_[kept - 1] = std::move(tracks_[t]);
  tracks_.resize(kept);
}

}  // namespace stepscope::import
