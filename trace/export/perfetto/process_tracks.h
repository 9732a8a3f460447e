// The tracks of one process in a Perfetto trace: threads, below each device its streams and
// counters, and tracks that an event needs first.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "trace/export/perfetto/packets.h"
#include "trace/model/trace.h"

namespace stepscope::exporting {

/// Functions that name a track write its descriptor the first time.
class ProcessTracks {
 public:
  /// `sequence`: of the packets, and the number of the process.
  ProcessTracks(model::Trace const& trace, PacketFile& file, uint32_t sequence)
      : trace_(trace), file_(file), sequence_(sequence), process_(file.new_uuid()) {}
  /// Describes the process and the trace's tracks; comes before all else.
  void describe();

  [[nodiscard]] uint64_t process() const { return process_; }
  /// Where slices and instants of a track are; see Lanes.
  uint64_t lane(uint32_t track, uint32_t lane);
  /// Where samples of a track are.
  uint64_t counter(uint32_t track);
  /// The counter of a device's memory.
  uint64_t allocated_bytes(int32_t device) {
    return memory(allocated_, device, "memory allocated");
  }
  uint64_t reserved_bytes(int32_t device) { return memory(reserved_, device, "memory reserved"); }

 private:
  struct Target {
    uint64_t parent = 0;
    std::string name;
    std::vector<uint64_t> lanes;
    uint64_t counter = 0;  ///< 0 = none yet
    bool is_thread = false;
    uint32_t number = 0;  ///< of the trace's track, from 1
  };
  enum class Form : uint8_t { kPlain, kCounter, kBytes };
  void describe_process();
  void add_track(model::Track const& track);
  void describe_thread(model::Track const& track, Target& target);
  /// Tracks of equal names are drawn as one.
  std::string unique_name(uint64_t parent, std::string name);
  /// `number`: of the trace's track, from 1; 0 = a track that the trace does not have.
  uint64_t describe(uint64_t parent, std::string const& name, Form form, uint32_t number = 0);
  uint64_t device(int32_t id);
  uint64_t memory(std::map<int32_t, uint64_t>& tracks, int32_t device, char const* name);

  model::Trace const& trace_;
  PacketFile& file_;
  uint32_t sequence_;
  uint64_t process_;
  int32_t rank_in_parent_ = 0;
  std::vector<Target> targets_;  ///< by track
  std::map<int32_t, uint64_t> devices_, allocated_, reserved_;
  std::set<int64_t> thread_ids_;
  std::map<std::pair<uint64_t, std::string>, int>
      names_;  ///< by parent: so many were made of this one
};

}  // namespace stepscope::exporting
