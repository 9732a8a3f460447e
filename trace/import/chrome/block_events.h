// The events of one block of a trace, decoded as far as a block alone allows: rows by track, with names of its own. Blocks are
// decoded at the same time; merged_events.h puts them together.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/import/chrome/categories.h"
#include "trace/import/chrome/chrome_events.h"
#include "trace/import/chrome/kineto_arguments.h"
#include "trace/model/api_calls.h"
#include "trace/model/event_batch.h"
#include "trace/model/trace.h"

namespace stepscope::import {

/// Which track: threads and counters by what the trace calls process and thread (or the counter's name), streams by device and
/// number.
struct TrackKey {
  enum class Kind : uint8_t { kThread, kStream, kCounter, kDeviceRanges, kAsync };
  Kind kind = Kind::kThread;
  std::string process, thread;  ///< as the trace has them
  int32_t device = -1;          ///< of a stream, and of what stands beside one
  int64_t stream = 0;

  friend bool operator==(TrackKey const&, TrackKey const&) = default;
};
struct TrackKeyHash {
  size_t operator()(TrackKey const& key) const {
    size_t const text = std::hash<std::string>()(key.process) * 31 + std::hash<std::string>()(key.thread);
    return text * 31 + static_cast<size_t>(key.stream) * 7 + static_cast<size_t>(key.device) * 5 + static_cast<size_t>(key.kind);
  }
};

/// Ids of texts as they stand in the block: equal texts have equal ids. Views of the block.
class RawTexts {
 public:
  RawTexts() : slots_(kFirstSlots) {}
  uint32_t id_of(std::string_view text);
  [[nodiscard]] std::vector<std::string_view> const& texts() const { return texts_; }

 private:
  static constexpr size_t kFirstSlots = 1024;
  struct Slot {
    uint64_t hash = 0;
    uint32_t id_plus_1 = 0;  ///< 0 = empty
  };
  void grow();

  std::vector<Slot> slots_;  ///< a power of two; linear probing
  std::vector<std::string_view> texts_;
};

struct BlockEvents {
  /// The begin or end of a range whose other end may be in another block.
  struct Bracket {
    uint32_t track;
    int64_t time_ns;
    uint32_t name;
    char phase;           ///< B, E, b, e
    std::string_view id;  ///< of b and e
  };
  struct Metadata {
    std::string_view what, process, thread, value;  ///< "thread_name", …, as they stand
  };

  RawTexts names;
  std::vector<TrackKey> tracks;
  std::vector<model::EventBatch> rows;  ///< by track; names are ids of `names`, times ns on the trace's own clock
  std::vector<Bracket> brackets;
  std::vector<Metadata> metadata;
  EventsEnd end;
  bool is_kineto = false;  ///< has device ops or calls that only Kineto writes
  uint64_t untimed = 0;    ///< events without a time that can be read
  uint64_t unknown = 0;    ///< events of phases that are not modelled
};

/// Decodes a block; the result holds views of its text.
BlockEvents read_block(std::string_view text);

}  // namespace stepscope::import
