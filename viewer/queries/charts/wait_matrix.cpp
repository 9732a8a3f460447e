#include "viewer/queries/charts/wait_matrix.h"

#include <algorithm>
#include <map>

namespace stepscope::viewer {
namespace {

using analyzer::CollectiveStats;

/// View time of the first participant's begin.
double first_begin(Scene const& scene, CollectiveStats const& facts) {
  int64_t begin = facts.participants.front().when.begin;
  for (auto const& participant : facts.participants)
    begin = std::min(begin, participant.when.begin);
  return static_cast<double>(scene.to_view(begin));
}

/// Indexes of the collectives of the range in which anybody can wait, in order.
std::vector<uint32_t> collectives_in(Scene const& scene, TimeWindow range) {
  std::vector<uint32_t> chosen;
  auto const& all = scene.analysis.collectives;
  for (uint32_t i = 0; i < all.size(); ++i) {
    if (all[i].participants.size() < 2) continue;
    double const begin = first_begin(scene, all[i]);
    if (begin >= range.begin && begin < range.end) chosen.push_back(i);
  }
  return chosen;
}

/// The row of every device; devices that take part in no collective of the range have none.
std::vector<uint32_t> place_rows(Scene const& scene, std::vector<uint32_t> const& chosen,
                                 uint32_t most_rows, WaitMatrix& grid,
                                 std::map<analyzer::DeviceRef, uint32_t> const& devices) {
  std::vector<char> used(scene.analysis.devices.size());
  for (uint32_t const index : chosen)
    for (auto const& participant : scene.analysis.collectives[index].participants)
      if (auto const device = devices.find(participant.ref); device != devices.end())
        used[device->second] = 1;

  auto const count = static_cast<uint32_t>(std::count(used.begin(), used.end(), 1));
  uint32_t const rows = std::min(count, std::max(most_rows, 1U));

  std::vector<uint32_t> row_of(used.size(), WaitMatrix::kNone);
  uint32_t seen = 0;
  for (uint32_t device = 0; device < used.size(); ++device) {
    if (used[device] == 0) continue;
    auto const row = static_cast<uint32_t>(uint64_t{seen++} * rows / count);
    if (row == grid.rows.size()) grid.rows.push_back({device, device, 0, 0});
    grid.rows[row].last_device = device + 1;
    row_of[device] = row;
  }
  return row_of;
}

}  // namespace

WaitMatrix wait_matrix(Scene const& scene, WaitMatrixKey const& key, std::stop_token const& stop) {
  WaitMatrix grid;
  std::map<analyzer::DeviceRef, uint32_t> devices;
  for (uint32_t i = 0; i < scene.analysis.devices.size(); ++i)
    devices.emplace(scene.analysis.devices[i].ref, i);

  std::vector<uint32_t> const chosen = collectives_in(scene, key.range);
  std::vector<uint32_t> const row_of = place_rows(scene, chosen, key.most_rows, grid, devices);

  grid.collectives = chosen.size();
  grid.columns =
      static_cast<uint32_t>(std::min<size_t>(chosen.size(), std::max(key.most_columns, 1U)));
  grid.cells.resize(grid.rows.size() * grid.columns);

  for (size_t i = 0; i < chosen.size() && !stop.stop_requested(); ++i) {
    auto const column = static_cast<uint32_t>(i * grid.columns / chosen.size());
    CollectiveStats const& facts = scene.analysis.collectives[chosen[i]];
    for (uint32_t p = 0; p < facts.participants.size(); ++p) {
      auto const& participant = facts.participants[p];
      auto const device = devices.find(participant.ref);
      if (device == devices.end()) continue;
      uint32_t const row = row_of[device->second];

      WaitMatrix::Cell& cell = grid.cells[size_t{row} * grid.columns + column];
      ++cell.count;
      if (cell.collective == WaitMatrix::kNone || participant.wait_ns > cell.wait_ns) {
        cell.collective = chosen[i];
        cell.participant = p;
        cell.wait_ns = participant.wait_ns;
      }

      grid.rows[row].wait_ns = add(grid.rows[row].wait_ns, participant.wait_ns);
      grid.longest_ns = std::max(grid.longest_ns, participant.wait_ns);

      if (static_cast<int32_t>(p) != facts.last_participant) continue;
      ++cell.last;
      ++grid.rows[row].last;
    }
  }
  return grid;
}

}  // namespace stepscope::viewer
