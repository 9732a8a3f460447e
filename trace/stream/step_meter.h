// Makes a record of each training step from the events of one process, as they come. It holds the
// events of a few seconds: those of a device come later than the step that launched them.
//
// A step lasts here from the end of the step before to its own end, on the host. Device work counts
// in the step in which it runs, whatever launched it: launches need not be recorded.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "trace/model/intervals.h"
#include "trace/model/trace.h"
#include "trace/stream/step_record.h"

namespace stepscope::stream {

class StepMeter {
 public:
  /// Rows of one track that have ended, in the order of their starts. `id` is the track's for good.
  void add(model::TrackId id, model::Track const& track, model::EventView const& rows);
  /// Events that the process has lost so far.
  void set_dropped(uint64_t dropped) { dropped_ = dropped; }

  /// Records of the steps that ended before `settled_ns`, by device within a step. All that
  /// happened before that moment has been added, or is late. Each step once.
  std::vector<StepRecord> take(int64_t settled_ns);
  /// The records of all other steps that have ended.
  std::vector<StepRecord> take_rest();

 private:
  struct Began {
    int64_t ns;
    uint64_t bytes;
  };
  struct Level {
    int64_t ns, value;
  };
  /// Intervals by their begins; they may overlap.
  class Work {
   public:
    void add(model::Interval when) { all_.push_back(when); }
    struct Taken {
      model::IntervalSet when;
      size_t began = 0;  ///< intervals that no earlier call gave a part of
    };
    /// What lies before `end`, and takes it away.
    Taken take_before(int64_t end);
    [[nodiscard]] size_t size() const { return all_.size() - first_; }

   private:
    void sort();

    std::vector<model::Interval> all_;
    size_t first_ = 0;    ///< those before were taken
    size_t sorted_ = 0;   ///< those before are in order
    size_t carried_ = 0;  ///< the first ones are what was left of longer ones
  };
  struct OfDevice {
    std::array<Work, 3> work;  ///< what computes, communicates, copies
    std::vector<Began> collectives, copies_in;
    std::vector<Level> allocated, reserved, power;
    int64_t last_allocated = -1, last_reserved = -1, last_power = -1;
    int64_t late_ns = 0;
    int64_t power_sum = 0, power_samples = 0;  ///< of the step that has not ended
    StepRecord sums;                           ///< of that step
    std::optional<StepRecord> shared;          ///< of short steps, until their record ends
    int64_t steps_of_record = 1;               ///< of that
  };
  struct Ended {
    int64_t step, start_ns, end_ns;
  };
  struct OfTrack {
    int64_t usual_ns = 0;  ///< mean of the last steps
    int64_t last_end_ns = 0, steps = 0;
  };

  void see_step(model::TrackId id, Ended const& step);
  void see_op(int32_t device, model::OpClass op_class, model::Interval when);
  void see_memory(model::MemoryDetail const& call, model::Interval when);
  [[nodiscard]] bool leads(uint32_t track, int64_t now_ns);
  [[nodiscard]] size_t waiting() const;
  void advance(int64_t end_ns);
  void measure(OfDevice& device, model::Interval window, model::IntervalSet const& input,
               model::IntervalSet const& allocation);
  void settle_before(int64_t ns, std::vector<StepRecord>& records);
  void settle(Ended const& step, std::vector<StepRecord>& records);
  StepRecord take_step(Ended const& step, int32_t id, OfDevice& device, int64_t end_ns);
  void share(StepRecord const& step, OfDevice& device, std::vector<StepRecord>& records);

  std::map<int32_t, OfDevice> devices_;
  std::map<uint32_t, OfTrack> step_tracks_;
  std::optional<uint32_t> leading_;  ///< key of step_tracks_ whose steps are the process's
  std::deque<Ended> ended_;          ///< and not settled, in their order
  std::map<uint32_t, Work> input_;   ///< by track
  Work allocation_;
  bool has_begun_ = false;                  ///< a step was settled
  int64_t measured_ns_ = -model::kMaxTime;  ///< until here sums are made
  int64_t step_begin_ns_ = 0;               ///< of the step that is not settled
  int64_t last_end_ns_ = -model::kMaxTime;  ///< of the process's steps, as they ended
  uint64_t dropped_ = 0, reported_dropped_ = 0;
};

}  // namespace stepscope::stream
