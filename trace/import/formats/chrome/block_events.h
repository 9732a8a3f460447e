// The events of one block of a trace, decoded as far as a block alone allows: rows by track, with
// names of its own. Blocks are decoded at the same time; merged_events.h puts them together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <xxhash.h>

#include "trace/import/formats/chrome/categories.h"
#include "trace/import/formats/chrome/chrome_events.h"
#include "trace/import/formats/chrome/kineto_arguments.h"
#include "trace/model/api_calls.h"
#include "trace/model/event_batch.h"
#include "trace/model/trace.h"

namespace stepscope::import {

/// Which track: threads and counters by what the trace calls process and thread (or the counter's
/// name), streams by device and number.
struct TrackKey {
  enum class Kind : uint8_t { kThread, kStream, kCounter, kDeviceRanges, kAsync };
  Kind kind = Kind::kThread;
  std::string process, thread;  ///< as the trace has them
  int32_t device = -1;          ///< of a stream, and of annotations of a stream
  int64_t stream = 0;

  friend bool operator==(TrackKey const&, TrackKey const&) = default;
};
struct TrackKeyHash {
  size_t operator()(TrackKey const& key) const {
    uint64_t const process = XXH3_64bits(key.process.data(), key.process.size());
    uint64_t const thread = XXH3_64bits_withSeed(key.thread.data(), key.thread.size(), process);
    int64_t const numbers[] = {key.stream, key.device, static_cast<int64_t>(key.kind)};
    return XXH3_64bits_withSeed(numbers, sizeof numbers, thread);
  }
};
/// No machine has more threads and streams; what a damaged trace has beyond is put on one track of
/// its kind.
inline constexpr size_t kMostTracks = size_t{1} << 16U;
inline TrackKey key_of_others(TrackKey::Kind kind) { return {kind, "", "others", -1, -1}; }

/// The most processes that a file of several processes' traces is checked for.
inline constexpr size_t kMostDeviceUsers = 256;

/// "4242(Python)", "4242(C++)" → "4242": PaddlePaddle shows the two languages of a thread as two.
inline std::string_view thread_of(std::string_view text) {
  for (std::string_view const language : {"(Python)", "(C++)"})
    if (text.ends_with(language)) text.remove_suffix(language.size());
  return text;
}

/// Chrome's older letters for begins and ends of asynchronous ranges are S and F.
inline char phase_of_async(char phase) {
  if (phase == 'S') return 'b';
  return phase == 'F' ? 'e' : phase;
}

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

/// What an event says of device work beyond its name and times.
struct DeviceOp {
  model::EventKind kind = model::EventKind::kKernel;
  uint32_t track = 0;  ///< of the stream
  uint64_t correlation = 0;
  model::KernelDetail kernel;
  model::CopyDetail copy;
  model::CollectiveDetail collective;
  void add_to(model::EventBatch& rows, int64_t start_ns, int64_t dur_ns,
              model::StringId name) const;
};

struct BlockEvents {
  /// The begin or end of a range whose other end may be in another block.
  struct Bracket {
    uint32_t track;
    int64_t time_ns;
    uint32_t name;
    char phase;           ///< B, E, b, e
    std::string_view id;  ///< of b and e
    uint32_t op;          ///< place + 1 in `ops` of the device work that it begins, 0 = none
  };
  struct Metadata {
    std::string_view what, process, thread, value;  ///< "thread_name", …, as they stand
  };

  /// Where an arrow ends, and at what. Traces of roctracer tell by nothing else which call launched
  /// an op: it stands behind the op.
  struct Arrow {
    std::string_view process, thread;  ///< as they stand
    int64_t time_ns = 0;
    uint64_t id = 0;     ///< the call's correlation; of an op that waits for its arrow 0
    uint32_t track = 0;  ///< of such an op, its last row
    [[nodiscard]] bool ends_at(Arrow const& op) const {
      return process == op.process && thread == op.thread && time_ns == op.time_ns;
    }
  };

  /// What the trace calls the process that made calls of a device's runtime (device −1), or that an
  /// op of a device is of.
  struct DeviceUser {
    int32_t device;
    std::string_view process;
  };

  /// A process group whose collectives do not say the rank that they are of.
  struct Group {
    uint64_t communicator;
    GroupMembers members;  ///< as it stands
  };

  RawTexts names;
  std::vector<TrackKey> tracks;
  std::vector<model::EventBatch>
      rows;  ///< by track; names are ids of `names`, times ns on the trace's own clock
  /// What events of no known category say: whether they are device work is known once their process
  /// and thread have names.
  struct Saying {
    uint32_t track, row;
    DeviceOp op;
    int64_t step;    ///< −1 = none
    bool is_op;      ///< says which stream, and a launch shape or bytes
    bool is_placed;  ///< says its device, its stream and its correlation
    int32_t device;  ///< −1 = the event names none
  };
  /// A row of no known category that says in which step it is.
  struct Part {
    uint32_t track, row;
    int64_t step;
    int64_t sequence, model_chunk;  ///< as KinetoArguments; −1 = none
  };
  std::vector<uint32_t> undecided;  ///< by track, rows of no known category
  std::vector<Saying> sayings;      ///< in their order
  std::vector<Part> parts;          ///< in their order
  std::vector<Bracket> brackets;
  std::vector<DeviceOp> ops;  ///< that brackets begin
  std::vector<Metadata> metadata;
  std::vector<Group> groups;         ///< each once
  std::vector<DeviceUser> users;     ///< the first ones, each once
  std::optional<Arrow> first_arrow;  ///< when the first event is one
  std::optional<Arrow> last_op;      ///< when the last event is an op whose arrow may follow
  EventsEnd end;
  bool is_kineto = false;  ///< has device ops or calls that only Kineto writes
  uint64_t untimed = 0;    ///< events without a time that can be read
  uint64_t unvalued = 0;   ///< values of counters that are no finite numbers
  uint64_t unknown = 0;    ///< events of phases that are not modelled
};

/// Decodes a block; the result holds views of its text. `is_lost`: see read_events().
BlockEvents read_block(std::string_view text, bool is_lost = false);

}  // namespace stepscope::import
