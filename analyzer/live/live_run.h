// A run whose steps are streamed (trace/stream), while it grows: how each rank does now, which one
// the others wait for, and what would be worth recording (docs/reference/DEFINITIONS.md,
// "Streams"). Knows the last few hundred steps of each device and nothing of files.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trace/model/trace.h"
#include "trace/stream/step_record.h"

namespace stepscope::analyzer {

/// A device of a process, or a process without one. Two processes may claim one rank.
struct LiveKey {
  int32_t rank = 0;
  int64_t process_id = 0;
  int32_t device = -1;
  auto operator<=>(LiveKey const&) const = default;
};

/// Means a step, ns, over some records.
struct LiveMeans {
  int64_t typical_ns = 0;                           ///< median length of a step
  int64_t spread_ns = 0;                            ///< median distance from it
  std::array<int64_t, stream::kTimeParts> parts{};  ///< sum to the mean length
  int64_t comm_ns = 0, input_ns = 0;
  [[nodiscard]] int64_t length_ns() const;
};

/// What a device does now.
struct LiveLine {
  LiveKey key;
  std::string host, device_name;
  int64_t step = 0;             ///< the last one that ended
  int64_t ended_epoch_ns = 0;   ///< when; 0 = unknown
  LiveMeans now;                ///< of the last steps
  int64_t late_ns = 0;          ///< a step, by how much the other ranks wait for this one
  int64_t peak_bytes = -1;      ///< of the last step
  uint64_t capacity_bytes = 0;  ///< 0 = unknown
  int64_t power_mw = -1;
  uint64_t dropped = 0;    ///< events that were lost, ever
  bool has_ended = false;  ///< its process
  int64_t silent_ns = 0;   ///< it has written nothing for so long
};

enum class WorthKind : uint8_t {
  kSlower,       ///< steps take longer than they did
  kSlowStep,     ///< a step took far longer than those around it
  kLateRank,     ///< one rank is late in most steps, or each step another one
  kInput,        ///< devices wait for data
  kIdle,         ///< devices wait for the host
  kAllocation,   ///< devices wait for allocations
  kCopies,       ///< devices only copy
  kMemoryGrows,  ///< each step leaves memory behind
  kMemoryFull,   ///< the device has hardly any left
  kFragmented,   ///< much more is held from the system than is in use, and it grows
  kLost          ///< events could not be recorded
};
/// The JSON value: "slower", "slow_step", …
char const* to_string(WorthKind kind);

/// Something that a recording of some steps would explain.
struct Worth {
  WorthKind kind{};
  std::optional<LiveKey> line;  ///< the device that it is about; nothing: all of them
  int64_t first_step = 0, last_step = 0;
  int64_t ns = 0;                        ///< what it costs a step; of a slow step, in all
  int64_t typical_ns = 0;                ///< length of a typical step
  std::optional<stream::TimePart> part;  ///< it has more of this
  int64_t bytes = 0;                     ///< of memory: what it is about
  uint64_t count = 1;                    ///< such slow steps, or lost events
};

class LiveRun {
 public:
  /// So many records of each device are needed to say all; earlier ones are for the typical length.
  static constexpr size_t kKept = 256;

  /// A process whose records follow. It may be named again.
  void add_process(model::TraceInfo const& info);
  void add_device(int32_t rank, int64_t process_id, model::Device const& device);
  /// It has ended, and said so.
  void end_process(int32_t rank, int64_t process_id) {
    processes_[{rank, process_id}].has_ended = true;
  }
  /// It is started again.
  void forget_rank(int32_t rank);
  /// The process has written nothing for so long.
  void set_silence(int32_t rank, int64_t process_id, int64_t ns) {
    processes_[{rank, process_id}].silent_ns = ns;
  }
  /// Some records of earlier times that follow one another, before the first add(): what the steps
  /// of now are compared with.
  void add_earlier(int32_t rank, int64_t process_id,
                   std::vector<stream::StepRecord> const& records);
  /// The next record of a process.
  void add(int32_t rank, int64_t process_id, stream::StepRecord const& record);

  [[nodiscard]] std::vector<LiveLine> lines() const;
  /// What just happened can be asked for.
  [[nodiscard]] bool keeps_ring() const;
  /// What is so now, then the slow steps, the latest first.
  [[nodiscard]] std::vector<Worth> worth() const;
  /// Length of the last steps that most lines have, at most `most`, in their order: the longest of
  /// all lines.
  struct StripStep {
    int64_t step, length_ns;
  };
  [[nodiscard]] std::vector<StripStep> strip(size_t most) const;

 private:
  struct Line {
    std::deque<stream::StepRecord> recent;
    uint64_t records = 0;
    std::deque<stream::StepRecord> block;  ///< being filled
    std::optional<LiveMeans> best;         ///< of the block of shortest steps
    struct Block {
      int64_t last_step, typical_ns;
    };
    std::deque<Block> blocks;  ///< the latest kBlocks, and some of those before
    uint64_t dropped = 0;
  };
  struct Process {
    model::TraceInfo info;
    std::map<int32_t, model::Device> devices;
    bool has_ended = false;
    int64_t silent_ns = 0;
  };

  void add_block(Line& line, std::deque<stream::StepRecord> const& records);
  [[nodiscard]] int64_t newest_step() const;
  [[nodiscard]] size_t lines_that_go_on() const;
  [[nodiscard]] bool goes_on(Line const& line, int64_t newest_step) const;
  void look_for_slow_step(LiveKey const& key, Line const& line, stream::StepRecord const& record);
  /// Who is last in most of the last steps, and by how much.
  struct Late {
    size_t steps = 0;        ///< that were looked at
    int64_t typical_ns = 0;  ///< by which the last rank of a step, whichever, is late
    std::map<LiveKey, int64_t> ns;
  };
  [[nodiscard]] Late late() const;
  static int64_t slower_since(Line const& line);
  void add_slower(std::vector<Worth>& worth) const;
  void add_late(std::vector<Worth>& worth) const;
  void add_parts(std::vector<Worth>& worth) const;
  void add_memory(std::vector<Worth>& worth) const;
  void add_slow_steps(std::vector<Worth>& worth) const;

  std::map<std::pair<int32_t, int64_t>, Process> processes_;
  std::map<LiveKey, Line> lines_;
  /// A step that took long, and what each device has more of in it than before.
  struct SlowStep {
    int64_t longer_ns = 0, typical_ns = 0;
    std::map<LiveKey, std::array<int64_t, stream::kTimeParts>> more;
  };
  std::map<int64_t, SlowStep> slow_steps_;
  std::deque<int64_t> slow_steps_seen_;  ///< keys of slow_steps_, as they came
};

}  // namespace stepscope::analyzer
