// The data of a Chrome trace besides its events: devices, rank, clock, and facts for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/import/common/json/cursor.h"
#include "trace/model/trace.h"

namespace stepscope::import {

struct TraceHeader {
  std::vector<model::Device> devices;
  std::optional<int32_t> rank, world_size;
  std::optional<int32_t>
      other_rank;       ///< a second rank in the file: traces of several processes were merged
  int64_t base_ns = 0;  ///< ns since the Unix epoch that times of events count from; 0 = they count
                        ///< from the epoch, or from anything
  std::string host;
  std::vector<std::pair<std::string, std::string>> facts;
  bool is_kineto = false;  ///< has members that only Kineto writes

  /// A member of the outer object. What cannot be understood is left out.
  void add(std::string_view key, std::string_view value);
};

enum class HeaderEnd : uint8_t {
  kEvents,  ///< the cursor is behind the "[" of the events
  kOver,    ///< the object has ended
  kMore,    ///< the text has
  kNoTrace  ///< this is no trace
};
/// From the begin of the text, or from behind the events (`is_first` false): members up to the
/// events or the end.
HeaderEnd read_header(JsonCursor& cursor, bool is_first, TraceHeader& header);

}  // namespace stepscope::import
