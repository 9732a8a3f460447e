// Reads a Perfetto trace with protobuf's own library, and checks on the way what readers rely on.
// The writer interns names before it uses them, and describes each track once, before its events.
// The times of a track go forward; begins and ends nest.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stepscope::exporting::testing {

struct ReadEvent {
  std::string category, name;
  int64_t start = 0, dur = 0;  ///< as in the file
  uint32_t sequence = 0;
  std::map<std::string, std::string> details;  ///< numbers as their digits
  std::vector<uint64_t> flows;
};

struct ReadTrack {
  std::string name;
  uint64_t parent = 0;
  std::optional<int32_t> pid, tid;
  bool is_counter = false;
  uint32_t unit = 0;
  std::vector<std::string> labels;
  std::vector<ReadEvent> slices, instants;
  std::vector<std::pair<int64_t, double>> samples;
};

struct ReadTrace {
  std::map<uint64_t, ReadTrack> tracks;
  std::map<uint32_t, int64_t> clocks;  ///< by id
  uint64_t packets = 0;

  /// "rank 0 / device 0 / stream 7": of lanes that are drawn as one, the same.
  [[nodiscard]] std::string path_of(uint64_t uuid) const;
};

/// Fails the test where something is wrong.
ReadTrace read_perfetto(std::string const& path);

}  // namespace stepscope::exporting::testing
