// Keeps the truth of one device while it is simulated: why each of its ops could not begin earlier
// is known here at first hand, not read back from events.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/model/kinds.h"
#include "trace/synth/process/truth.h"

namespace stepscope::synth {

/// A device op and what it needed to begin.
struct OpRecord {
  model::Interval when;
  model::OpClass op_class = model::OpClass::kCompute;
  int64_t launch_end = 0;      ///< the host has handed it over
  int64_t peers_launched = 0;  ///< a collective: the last of the others was launched; else 0
};

class DeviceAccount {
 public:
  explicit DeviceAccount(size_t streams) : streams_(streams) {}

  /// Ops and holds of a stream come in order of time, none before the step's begin; so do the
  /// host's calls.
  void add_op(uint32_t stream, OpRecord const& op) { streams_[stream].ops.push_back(op); }
  /// An event of this device keeps the stream from going on.
  void add_hold(uint32_t stream, model::Interval when) { streams_[stream].holds.push_back(when); }
  /// Of a collective: from its begin to the arrival of the last.
  void add_wait(model::Interval when) { waits_.push_back(when); }
  void add_allocation(model::Interval when) { allocations_.push_back(when); }
  void add_sync(model::Interval when) { syncs_.push_back(when); }
  void add_input(model::Interval when) { inputs_.push_back(when); }

  /// How the device spent the step that the host began at `begin`; every op so far belongs to it.
  /// Begins the next step.
  TimeTruth finish_step(int64_t begin);
  /// From the first op to the last of all steps so far.
  [[nodiscard]] TimeTruth const& total() const { return total_; }

 private:
  struct Stream {
    std::vector<OpRecord> ops;
    model::IntervalSet holds;
    size_t next_op = 0, next_hold = 0;  // of the first that the gaps have not passed
  };
  /// The op that ends a gap, and its stream.
  struct NextOp {
    OpRecord const* op = nullptr;
    Stream const* stream = nullptr;
  };
  TimeTruth split(model::Interval window, model::IntervalSet& busy) const;
  [[nodiscard]] model::IntervalSet unite_ops(model::OpClass op_class) const;
  NextOp op_at(int64_t instant);
  void explain(model::Interval gap, TimeTruth& step);
  /// Whether nothing but the device's own start latency can fill the gap.
  bool is_start_latency(model::Interval gap, NextOp const& next) const;
  /// Gives what is left of set ∩ bound to the cause.
  void take(IdleCause cause, model::IntervalSet const& set, model::Interval bound, TimeTruth& step);
  void add_idle(IdleCause cause, model::IntervalSet const& when, TimeTruth& step);
  void forget_step();

  std::vector<Stream> streams_;
  model::IntervalSet waits_, allocations_, syncs_, inputs_;
  model::IntervalSet rest_;  // of the gap that is being explained
  size_t next_allocation_ = 0;
  int64_t covered_until_ = 0;  // end of the last step's last op
  bool is_first_step_ = true;
  TimeTruth total_;
};

}  // namespace stepscope::synth
