#include "analyzer/metrics/core/device_ops.h"

#include <algorithm>
#include <map>
#include <span>

#include <fmt/format.h>

#include "trace/model/kind_scan.h"

namespace stepscope::analyzer {
namespace {

/// Sorts rows that consist of sorted runs (one a stream, beginning at `run_begins`) by merging
/// neighbours, ties in run order.
void merge_runs(std::vector<uint32_t>& rows, std::vector<size_t> run_begins,
                std::span<int64_t const> start) {
  auto const before = [&](uint32_t a, uint32_t b) { return start[a] < start[b]; };
  std::vector<uint32_t> merged(rows.size());
  run_begins.push_back(rows.size());

  while (run_begins.size() > 2) {
    std::vector<size_t> next_begins;
    for (size_t i = 0; i + 1 < run_begins.size(); i += 2) {
      auto const at = [&](size_t run) {
        return rows.begin() +
               static_cast<ptrdiff_t>(run_begins[std::min(run, run_begins.size() - 1)]);
      };
      std::merge(at(i), at(i + 1), at(i + 1), at(i + 2),
                 merged.begin() + static_cast<ptrdiff_t>(run_begins[i]), before);
      next_begins.push_back(run_begins[i]);
    }

    next_begins.push_back(rows.size());
    rows.swap(merged);
    run_begins.swap(next_begins);
  }
}

void collect_ops(DeviceOps& device) {
  model::Trace const& trace = device.trace();
  std::vector<size_t> run_begins;
  size_t rows_of_streams = 0;
  for (model::TrackId const stream : device.streams)
    rows_of_streams += trace.rows_of(stream).size();
  device.ops.reserve(rows_of_streams);

  for (model::TrackId const stream : device.streams) {
    run_begins.push_back(device.ops.size());
    model::for_each_op_of(trace.columns(), trace.rows_of(stream),
                          [&](uint32_t row) { device.ops.push_back(row); });
  }
  merge_runs(device.ops, std::move(run_begins), trace.columns().start);
}

}  // namespace

std::vector<DeviceOps> index_devices(model::RankTrace const& rank, int32_t rank_index) {
  std::map<int32_t, DeviceOps> devices;
  auto const device_of = [&](int32_t id) -> DeviceOps& {
    DeviceOps& device = devices[id];
    device.ref = {rank_index, id};
    device.rank = &rank;
    if (device.name.empty()) device.name = fmt::format("device {}", id);
    return device;
  };

  for (model::Device const& described : rank.trace.devices()) {
    DeviceOps& device = device_of(described.id);
    if (!described.name.empty()) device.name = described.name;
    device.capacity_bytes = described.capacity_bytes;
  }

  auto const tracks = rank.trace.tracks();
  for (uint32_t t = 0; t < tracks.size(); ++t)
    if (tracks[t].kind == model::TrackKind::kStream)
      device_of(tracks[t].device).streams.push_back(model::TrackId{t});

  std::vector<DeviceOps> result;
  for (auto& [id, device] : devices) {
    collect_ops(device);
    result.push_back(std::move(device));
  }
  return result;
}

std::vector<DeviceOps> index_devices(model::Run const& run) {
  std::vector<DeviceOps> result;
  for (size_t r = 0; r < run.ranks.size(); ++r)
    for (DeviceOps& device : index_devices(run.ranks[r], static_cast<int32_t>(r)))
      result.push_back(std::move(device));
  return result;
}

Interval op_window(DeviceOps const& device) {
  if (device.ops.empty()) return {0, 0};
  RowView const view = device.rows();
  Interval window = view.when(device.ops.front());
  for (uint32_t const row : device.ops) window.end = std::max(window.end, view.end(row));
  return window;
}

bool has_launches(std::vector<DeviceOps> const& devices) {
  return std::any_of(devices.begin(), devices.end(), [](DeviceOps const& device) {
    RowView const rows = device.rows();
    auto const tracks = device.trace().tracks();
    bool const marks_steps =
        std::any_of(tracks.begin(), tracks.end(), [&](model::Track const& track) {
          return track.kind == model::TrackKind::kThread && track.device == device.ref.device;
        });

    return marks_steps || std::any_of(device.ops.begin(), device.ops.end(),
                                      [&](uint32_t row) { return rows.link(row).valid(); });
  });
}

}  // namespace stepscope::analyzer
