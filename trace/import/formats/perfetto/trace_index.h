// What the packets of a trace say of tracks, clocks and writers, gathered before any event is read:
// descriptors may follow the events that they describe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/base/hash_number.h"
#include "trace/import/formats/perfetto/clocks.h"
#include "trace/import/formats/perfetto/packets.h"

namespace stepscope::import::perfetto {

struct TrackDescription {
  uint64_t uuid = 0, parent = 0;  ///< parent 0: none
  uint64_t sequence = 0;          ///< that described it first
  std::string name;
  std::vector<std::string> labels;  ///< of a process
  std::string command;              ///< of a process
  bool is_process = false, is_thread = false, is_counter = false;
  int64_t pid = 0, tid = 0;
  bool is_in_bytes = false, is_incremental = false;  ///< of a counter
  int64_t unit_multiplier = 1;                       ///< of a counter
  uint32_t own_track = 0;  ///< of our own export: number of the track, from 1
};

struct TraceIndex {
  Clocks clocks;
  std::vector<TrackDescription> tracks;  ///< in the order in which they were described first
  std::unordered_map<uint64_t, uint32_t, base::HashNumber> by_uuid;
  std::map<uint64_t, uint64_t>
      default_threads;  ///< of old traces: by sequence, the track of all its events
  std::unordered_map<uint64_t, std::vector<uint32_t>, base::HashNumber>
      by_sequence;  ///< tracks that it described first
  std::unordered_map<int64_t, uint32_t, base::HashNumber>
      processes;                              ///< tracks of processes, by pid
  std::set<uint64_t> own;                     ///< sequences that our own export wrote
  std::map<uint32_t, uint64_t> not_modelled;  ///< messages by their number
  uint64_t events = 0;                        ///< packets with something that can become an event

  [[nodiscard]] TrackDescription const* find(uint64_t uuid) const {
    auto const found = by_uuid.find(uuid);
    return found == by_uuid.end() ? nullptr : &tracks[found->second];
  }
  /// Empty: not known.
  [[nodiscard]] std::string process_name(int64_t pid) const {
    auto const found = processes.find(pid);
    return found == processes.end() ? std::string() : tracks[found->second].name;
  }
  /// More are no ranks of a job.
  static constexpr size_t kMostOwn = 4096;
  void add(Packet const& packet);

 private:
  TrackDescription& track(uint64_t uuid, uint64_t sequence);
  void add_track(std::string_view descriptor, uint64_t sequence);
  void add_old_thread(std::string_view thread, uint64_t sequence);
};

/// Number of a track that stands for a thread of a trace without descriptors of tracks.
uint64_t uuid_of_thread(int64_t pid, int64_t tid);
/// "ftrace events", …
std::string name_of_message(uint32_t number);

}  // namespace stepscope::import::perfetto
