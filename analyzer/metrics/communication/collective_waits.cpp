#include "analyzer/metrics/communication/collective_waits.h"

#include <algorithm>
#include <map>
#include <vector>

namespace stepscope::analyzer {
namespace {

using DeviceNumbers = std::map<DeviceRef, uint32_t>;

/// When its first participant began.
int64_t begin_of_collective(CollectiveStats const& collective) {
  int64_t begin = collective.participants.front().when.begin;
  for (auto const& participant : collective.participants)
    begin = std::min(begin, participant.when.begin);
  return begin;
}

/// Indexes of the collectives of the range in which a device can wait, in order.
std::vector<uint32_t> collectives_in(Analysis const& analysis, model::Interval range) {
  std::vector<uint32_t> chosen;
  for (uint32_t i = 0; i < analysis.collectives.size(); ++i) {
    CollectiveStats const& collective = analysis.collectives[i];
    if (collective.participants.size() < 2) continue;
    int64_t const begin = begin_of_collective(collective);
    if (begin >= range.begin && begin < range.end) chosen.push_back(i);
  }
  return chosen;
}

/// The row of every device; devices that take part in no collective of the range have none.
std::vector<uint32_t> place_device_rows(Analysis const& analysis,
                                        std::vector<uint32_t> const& chosen, uint32_t most_rows,
                                        DeviceNumbers const& devices,
                                        CollectiveWaitMatrix& matrix) {
  std::vector<char> used(analysis.devices.size());
  for (uint32_t const index : chosen)
    for (auto const& participant : analysis.collectives[index].participants)
      if (auto const device = devices.find(participant.ref); device != devices.end())
        used[device->second] = 1;

  auto const count = static_cast<uint32_t>(std::count(used.begin(), used.end(), 1));
  uint32_t const rows = std::min(count, std::max(most_rows, 1U));
  std::vector<uint32_t> row_of(used.size(), CollectiveWaitMatrix::kNone);
  uint32_t seen = 0;
  for (uint32_t device = 0; device < used.size(); ++device) {
    if (used[device] == 0) continue;
    auto const row = static_cast<uint32_t>(uint64_t{seen++} * rows / count);
    if (row == matrix.rows.size()) matrix.rows.push_back({device, device, 0, 0});
    matrix.rows[row].last_device = device + 1;
    row_of[device] = row;
  }
  return row_of;
}

/// Adds one participation to its cell and row.
void add_participation(CollectiveStats const& collective, uint32_t index, uint32_t participant,
                       CollectiveWaitMatrix::Row& row, CollectiveWaitMatrix::Cell& cell) {
  int64_t const wait_ns = collective.participants[participant].wait_ns;
  ++cell.count;
  row.wait_ns += wait_ns;
  if (cell.collective == CollectiveWaitMatrix::kNone || wait_ns > cell.wait_ns) {
    cell.collective = index;
    cell.participant = participant;
    cell.wait_ns = wait_ns;
  }

  if (static_cast<int32_t>(participant) != collective.last_participant) return;
  ++cell.last;
  ++row.last;
}

}  // namespace

CollectiveWaitMatrix collective_wait_matrix(Analysis const& analysis,
                                            CollectiveWaitsRange const& wanted,
                                            std::stop_token const& stop) {
  CollectiveWaitMatrix matrix;
  DeviceNumbers devices;
  for (uint32_t i = 0; i < analysis.devices.size(); ++i)
    devices.emplace(analysis.devices[i].ref, i);

  auto const chosen = collectives_in(analysis, wanted.range);
  auto const row_of = place_device_rows(analysis, chosen, wanted.most_rows, devices, matrix);
  matrix.collectives = chosen.size();
  matrix.columns =
      static_cast<uint32_t>(std::min<size_t>(chosen.size(), std::max(wanted.most_columns, 1U)));
  matrix.cells.resize(matrix.rows.size() * matrix.columns);

  for (size_t i = 0; i < chosen.size() && !stop.stop_requested(); ++i) {
    auto const column = static_cast<uint32_t>(i * matrix.columns / chosen.size());
    CollectiveStats const& collective = analysis.collectives[chosen[i]];
    for (uint32_t p = 0; p < collective.participants.size(); ++p) {
      auto const device = devices.find(collective.participants[p].ref);
      if (device == devices.end()) continue;

      uint32_t const row = row_of[device->second];
      add_participation(collective, chosen[i], p, matrix.rows[row],
                        matrix.cells[size_t{row} * matrix.columns + column]);
      matrix.longest_ns = std::max(matrix.longest_ns, collective.participants[p].wait_ns);
    }
  }
  return matrix;
}

}  // namespace stepscope::analyzer
