// Which collectives on different devices are one (DEFINITIONS, "Communication"). They have the same
// communicator and sequence number. Without a number, the n-th ones of the same communicator, op
// and bytes match, counted from where both devices record. A send is matched with its receive:
// without a number, the n-th from one rank to another with the n-th that this one receives from it.
// A kernel that a recording knows by its name alone is matched with none: nothing tells its group.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/model/details.h"
#include "trace/model/intervals.h"

namespace stepscope::model {

/// One of a device's collectives.
struct DeviceCollective {
  uint32_t device = 0;  ///< any number, another one for each device of the run
  CollectiveDetail const* detail = nullptr;
  int64_t end_ns = 0;  ///< run time, by clocks as they are known so far
};

/// The details that identify a collective.
struct CollectiveIdentity {
  uint64_t bytes = 0, communicator = 0, sequence = 0;
  uint32_t participants = 0;
  int32_t rank = -1, peer = -1;
  CollectiveOp op = CollectiveOp::kUnknown;
  bool is_known_by_name = false;  ///< model::is_known_by_name()
  friend bool operator==(CollectiveIdentity const&, CollectiveIdentity const&) = default;
};
CollectiveIdentity identity_of(CollectiveDetail const& detail);

/// A collective of a device, without the rest of its details.
struct RecordedCollective {
  CollectiveIdentity identity;
  int64_t end_ns = 0;  ///< as DeviceCollective's
  friend bool operator==(RecordedCollective const&, RecordedCollective const&) = default;
};

/// From where a device's process records: it may have begun later than others.
struct DeviceRecording {
  uint32_t clock = 0;                 ///< devices of one clock have comparable times
  int64_t first_step = 0, steps = 0;  ///< lowest index of its annotated steps, and how many there
                                      ///< are; 0 steps: not annotated
  uint32_t window =
      0;  ///< below 2^20; collectives without number are matched within one window alone

  /// Takes the indices of all its steps; an index may occur several times.
  void set_steps(std::vector<int64_t> indices);
};

/// When a device was recorded, run time, and which it is.
struct RecordedSpan {
  Interval when;
  int32_t rank = -1, device = 0;
};
/// Numbers the windows of a profiler that recorded one device several times in a row. If all
/// devices have as many, the n-th of each device is window n. Else windows that overlap are one.
/// All 0 where no device has several. `spans` has one entry for each of `recordings`.
void set_windows(std::span<DeviceRecording> recordings, std::span<RecordedSpan const> spans);

struct CollectiveMatch {
  uint64_t number = 0;  ///< the recorded sequence number; without one, the place among its kind
  uint32_t collective =
      0;  ///< the same for all participants; from 0, in the order in which they are first seen
  bool is_unsure = false;  ///< it is alone because devices have different numbers of them, and
                           ///< nothing tells which are one
};

/// One match for each of `collectives`, which are ordered by device, then by start. `recordings` is
/// indexed by device; empty: nothing is known, all began at once. What cannot be matched is alone.
/// This holds for a send or receive without number whose ranks are unknown, for a kernel that is
/// known by its name alone, and for is_unsure. It
/// also holds for a collective of an unknown communicator with fewer participants than devices,
/// since there must be several communicators. O(n log n).
std::vector<CollectiveMatch> match_collectives(std::span<DeviceCollective const> collectives,
                                               std::span<DeviceRecording const> recordings = {});
/// The same of those of each device, by its number: beside all of them, device by device.
std::vector<CollectiveMatch> match_collectives(
    std::span<std::vector<RecordedCollective> const> devices,
    std::span<DeviceRecording const> recordings = {});

}  // namespace stepscope::model
