// One rank of a synthetic run: a launching thread, a loader thread and a device with its streams.
// It plays its program step by step, writes the events and keeps the truth. Its caller decides what
// needs other ranks: when a collective begins and ends.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "trace/base/expected.h"
#include "trace/model/string_table.h"
#include "trace/synth/process/device_account.h"
#include "trace/synth/process/device_memory.h"
#include "trace/synth/process/faults.h"
#include "trace/synth/process/program.h"
#include "trace/synth/process/random.h"
#include "trace/synth/process/rank_file.h"

namespace stepscope::synth {

/// Names of events that are not in the program.
struct CommonNames {
  CommonNames(Job const& job, model::StringTable& strings);
  model::StringId step, launch_kernel, launch_copy, launch_collective, synchronize, event_wait,
      stream_wait, input_wait, allocate, free, cache_allocate, cache_free, load_batch, read, decode,
      augment, garbage, late, utilization, power;
  model::StringId elsewhere, checkpoint, compile,
      clock;  ///< of tuned jobs alone: others do not have them in their table
};

/// What a rank did in all, counted as the analyzer counts.
struct Counts {
  uint64_t kernels = 0;  ///< device ops but copies, collectives included
  uint64_t copies = 0, collectives = 0, launches = 0;
};

class Process {
 public:
  struct Setup {
    std::string folder;  ///< where rank-N.stepscope is made; empty = nothing is written
    int32_t rank = 0;
    Job const* job = nullptr;
    std::string_view pattern;
    Program const* program = nullptr;
    model::StringTable const* strings = nullptr;
    CommonNames const* names = nullptr;
    uint32_t joins = 0;     ///< in a step
    size_t block_rows = 0;  ///< as RankFile
  };
  /// A collective that has come to the head of its stream.
  struct Offer {
    CollectiveSpec const* spec;
    int64_t begin;       ///< when it could begin
    int64_t launch_end;  ///< when the host had handed it over
    bool rendezvous;     ///< it begins only once the others are launched
  };
  struct Outcome {
    int64_t begin, end;
    int64_t transfer_ns;     ///< the shortest participant's duration
    int64_t peers_launched;  ///< the last launch of the others
  };

  static base::Expected<Process> create(Setup const& setup);

  void begin_step(int64_t step, StepFaults const& faults);
  /// Plays on until the step's last action (true) or one that waits for a collective without an
  /// outcome (false).
  bool advance();
  /// The collective at the head of the stream, once; nothing while there is none or it was offered
  /// before.
  std::optional<Offer> offer(uint32_t stream);
  /// How the collective at the head of the stream went.
  void conclude(uint32_t stream, Outcome const& outcome);
  /// Writes what need not be held any longer.
  base::Expected<TimeTruth> end_step();
  base::Expected<void> finish();

  [[nodiscard]] std::string path() const { return path_of(setup_); }
  [[nodiscard]] uint32_t stream_count() const { return static_cast<uint32_t>(streams_.size()); }
  [[nodiscard]] uint64_t event_count() const { return file_.event_count(); }
  [[nodiscard]] Counts const& counts() const { return counts_; }
  [[nodiscard]] TimeTruth const& total() const { return account_.total(); }
  [[nodiscard]] uint64_t peak_allocated_bytes() const { return memory_.peak_allocated(); }
  /// Run time = trace time + this.
  [[nodiscard]] int64_t offset_ns() const { return offset_ns_; }

 private:
  struct LaunchCall {
    uint64_t correlation;
    int64_t end;
  };
  struct Copy {
    int64_t begin, dur;
    LaunchCall call;
  };
  struct QueuedCollective {
    CollectiveSpec const* spec;
    LaunchCall launch;
    int64_t ready;  ///< when the compute stream has done what was launched before
    bool offered;
  };
  struct Stream {
    int64_t end = 0;         ///< of its last op
    int64_t held_until = 0;  ///< by an event
    std::deque<QueuedCollective> queue;
  };
  Process(Setup const& setup, RankFile file);
  static std::string path_of(Setup const& setup);

  bool play(BeginRange const& action);
  bool play(EndRange const& action);
  bool play(RunKernel const& action);
  bool play(RunCopy const& action);
  bool play(AwaitCopy const& action);
  bool play(AwaitStream const& action);
  bool play(HostWork const& action);
  bool play(JoinCollective const& action);
  bool play(AwaitCollective const& action);
  bool play(Allocate const& action);
  bool play(Free const& action);
  bool play(CallDriver const& action);
  bool play(Churn const& action);
  bool play(Synchronize const& action);
  bool play(AwaitInput const& action);
  bool play(FaultPoint const& action);
  bool play(LateEntry const& action);

  // The host. Times are run time; the file's are offset_ns_ earlier.
  model::EventBatch& thread() { return file_.events(0); }
  [[nodiscard]] int64_t at(int64_t run_time) const { return run_time - offset_ns_; }
  void open(model::EventKind kind, model::StringId name);
  void close();
  void spend(model::EventKind kind, model::StringId name, int64_t dur_ns);
  LaunchCall launch(model::StringId name);
  /// Adds a launch call that lasts until `end`, or counts it as dropped.
  LaunchCall add_launch(model::StringId name, int64_t end);
  void synchronize(int64_t until,
                   model::SyncDetail const& detail = {model::SyncKind::kDevice, 0, -1});
  /// When everything that was launched is over; nothing while that is not known.
  [[nodiscard]] std::optional<int64_t> all_done() const;
  [[nodiscard]] model::StringId name_of(HostWorkKind work) const;
  /// Tells of what memory_ has just done.
  void memory_call(BlockSpec const& block, uint64_t address, model::MemoryOp op,
                   model::StringId name, int64_t dur_ns);
  void load_batch(int64_t until, bool late);
  Copy queued_copy(RunCopy const& action);
  Copy blocking_copy(RunCopy const& action);

  // The device.
  model::EventBatch& stream_events(uint32_t stream);
  /// When an op that was launched so may begin on the stream.
  [[nodiscard]] int64_t earliest(Stream const& stream, LaunchCall const& call);
  /// Nothing begins on the stream before `until`; `from`: when the device has come to the wait.
  void hold(uint32_t stream, int64_t from, int64_t until, uint32_t source_stream);
  void sample_counters(TimeTruth const& step);
  void sample_clock();

  Setup setup_;
  RankFile file_;
  DeviceAccount account_;
  Random random_;
  int64_t offset_ns_;
  int64_t now_;  ///< of the launching thread
  std::vector<Stream> streams_;

  int64_t step_ = 0, step_begin_ = 0;
  StepFaults faults_;
  size_t next_action_ = 0;
  std::vector<size_t> open_rows_;
  std::vector<int64_t> join_end_;  ///< of this step; −1 = not over

  uint64_t correlation_ = 0;
  DeviceMemory memory_;
  std::vector<uint64_t> block_address_;
  std::vector<std::pair<uint64_t, BlockSpec>> churned_;  ///< of the last step, with their addresses
  int64_t loader_free_ = 0;  ///< when the loader handed over its last batch
  Counts counts_;
  uint64_t dropped_launches_ = 0;
};

}  // namespace stepscope::synth
