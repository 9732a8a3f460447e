#include "trace/import/open/device_collectives.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "trace/file/format.h"
#include "trace/model/build/column_spans.h"

namespace stepscope::import {
namespace {

using model::CollectiveDetail;
using model::EventKind;
using model::RecordedCollective;

constexpr uint64_t kCollectiveBit = file::kind_bit(EventKind::kCollective);
constexpr uint32_t kCollectiveTable = uint32_t{1}
                                      << static_cast<unsigned>(model::DetailTable::kCollectives);

bool has_kind(std::vector<uint64_t> const& kinds, EventKind kind) {
  return std::any_of(kinds.begin(), kinds.end(),
                     [&](uint64_t of_track) { return (of_track & file::kind_bit(kind)) != 0; });
}

/// The collectives of one device, on one or several tracks.
struct DeviceTracks {
  std::vector<RecordedCollective> collectives;
  std::vector<int64_t> starts;

  void add(int64_t start, int64_t end, CollectiveDetail const& detail) {
    starts.push_back(start);
    collectives.push_back({model::identity_of(detail), end});
  }
  std::vector<RecordedCollective> in_order() && {
    if (std::is_sorted(starts.begin(), starts.end())) return std::move(collectives);

    std::vector<uint32_t> order(starts.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return starts[a] < starts[b]; });
    std::vector<RecordedCollective> sorted;
    sorted.reserve(order.size());
    for (uint32_t const place : order) sorted.push_back(collectives[place]);
    return sorted;
  }
};

CollectivesOfDevices in_order(std::map<int32_t, DeviceTracks> devices) {
  CollectivesOfDevices result;
  for (auto& [device, tracks] : devices)
    if (!tracks.collectives.empty()) result.push_back(std::move(tracks).in_order());
  return result;
}

CollectivesOfDevices collectives_of(model::Trace const& trace) {
  std::map<int32_t, DeviceTracks> devices;
  for (uint32_t row = 0; row < trace.event_count(); ++row)
    if (trace.kind(row) == EventKind::kCollective)
      devices[trace.track(row).device].add(trace.start(row), trace.end(row),
                                           trace.detail<CollectiveDetail>(row));
  return in_order(std::move(devices));
}

/// Reads a file whose tracks are in order, as they are in all files that Stepscope writes.
class CollectiveBlocks {
 public:
  explicit CollectiveBlocks(file::TraceFile const& file) : file_(file) {
    columns_.name = columns_.correlation = columns_.depth = false;
    columns_.tables = kCollectiveTable;
  }

  /// Nothing where a track is not in order or a time is invalid: TraceSource::read() repairs both.
  std::optional<CollectivesOfDevices> read() {
    std::vector<file::IndexEntry> blocks;
    for (file::IndexEntry const& entry : file_.blocks())
      if (entry.header.type == static_cast<uint16_t>(file::BlockType::kEvents) &&
          (entry.header.kinds & kCollectiveBit) != 0 && entry.header.track < file_.tracks().size())
        blocks.push_back(entry);

    std::stable_sort(blocks.begin(), blocks.end(),
                     [](auto const& a, auto const& b) { return a.header.track < b.header.track; });
    for (file::IndexEntry const& block : blocks)
      if (!add(block)) return std::nullopt;
    return in_order(std::move(devices_));
  }

 private:
  bool add(file::IndexEntry const& block) {
    bool const is_damaged = !file_.decode_block(block, columns_, decoder_, batch_);
    if (is_damaged) return true;
    if (!model::are_in_order(batch_.start, batch_.dur) || !follows_last(block.header.track))
      return false;

    DeviceTracks& device = devices_[file_.tracks()[block.header.track].device];
    auto const& details = std::get<model::DetailColumn<CollectiveDetail>>(batch_.details);
    auto detail = details.begin();
    for (size_t row = 0; row < batch_.size(); ++row) {
      if (model::kind_info(batch_.kind[row]).table != model::DetailTable::kCollectives) continue;
      // The block's header claims that there are no calls, but a header may be wrong.
      if (batch_.kind[row] != EventKind::kCollective) return false;
      device.add(batch_.start[row], batch_.start[row] + batch_.dur[row], *detail++);
    }
    return true;
  }

  bool follows_last(uint32_t track) {
    if (batch_.empty()) return true;
    bool const follows =
        track != last_track_ ||
        model::may_follow(last_start_, last_dur_, batch_.start.front(), batch_.dur.front());
    last_track_ = track;
    last_start_ = batch_.start.back();
    last_dur_ = batch_.dur.back();
    return follows;
  }

  file::TraceFile const& file_;
  file::ColumnSelection columns_;
  file::EventDecoder decoder_;
  model::EventBatch batch_;
  std::map<int32_t, DeviceTracks> devices_;
  uint32_t last_track_ = UINT32_MAX;
  int64_t last_start_ = 0, last_dur_ = 0;
};

}  // namespace

base::Expected<CollectivesOfDevices> read_collectives(TraceSource const& source) {
  auto const kinds = source.kinds();
  if (!has_kind(kinds, EventKind::kCollective) && !has_kind(kinds, EventKind::kCollectiveCall))
    return CollectivesOfDevices();
  if (source.remote() != nullptr && source.drift().is_none()) return source.remote()->collectives();

  // Where there are calls, only they tell the sizes and partners of kernels (collective_merge.h).
  bool const is_merged = !has_kind(kinds, EventKind::kCollectiveCall);
  if (is_merged && source.file() != nullptr && source.drift().is_none())
    if (auto collectives = CollectiveBlocks(*source.file()).read()) return std::move(*collectives);

  file::Selection selection{.columns = {.depth = false}};
  if (is_merged) {
    selection.columns = {
        .name = false, .correlation = false, .depth = false, .tables = kCollectiveTable};
    selection.tracks.emplace();
    for (uint32_t track = 0; track < kinds.size(); ++track)
      if ((kinds[track] & kCollectiveBit) != 0) selection.tracks->push_back(model::TrackId{track});
  }

  auto const trace = source.read(selection);
  if (!trace) return base::fail_with(trace);
  return collectives_of(**trace);
}

}  // namespace stepscope::import
