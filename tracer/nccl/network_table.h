// What a network thread of NCCL is doing: its open operations (one a channel and direction) and
// their open steps (transfers), and how long they waited for what. Sums are made where the states
// change, so that an operation of thousands of steps takes two records. Fixed size, no allocation,
// no lock: one thread's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "tracer/nccl/record_layout.h"

namespace stepscope::tracer::nccl {

/// A place in the table and how often it was given out: a handle that outlives its operation is
/// told apart.
struct Slot {
  static constexpr unsigned kPlaceBits = 16, kUseBits = 28;  ///< what a handle has room for

  uint32_t place = 0;
  uint32_t use = 0;  ///< modulo 2^kUseBits
};
constexpr uint32_t next_use(uint32_t use) {
  return (use + 1) & ((uint32_t{1} << Slot::kUseBits) - 1);
}

class NetworkTable {
 public:
  /// 64 channels, both directions, several collectives at once; NCCL keeps at most eight steps of
  /// each in flight.
  static constexpr size_t kMaxOps = 1024;
  static constexpr size_t kMaxSteps = 4 * kMaxOps;

  struct EndedOp {
    uint64_t call = 0;
    WaitTicks waited{};
  };

  NetworkTable() {
    for (uint32_t i = 0; i < kMaxOps; ++i) free_ops_[i] = i;
    for (uint32_t i = 0; i < kMaxSteps; ++i) free_steps_[i] = i;
  }

  /// Nothing when all places are taken.
  std::optional<Slot> begin_op(uint64_t call) {
    if (free_op_count_ == 0) return {};
    uint32_t const place = free_ops_[--free_op_count_];
    Op& op = ops_[place];
    op = {call, {}, next_use(op.use), true};
    return Slot{place, op.use};
  }
  std::optional<Slot> begin_step(Slot op) {
    if (!is_open(op) || free_step_count_ == 0) return {};
    uint32_t const place = free_steps_[--free_step_count_];
    Step& step = steps_[place];
    step = {op, 0, next_use(step.use), Wait::kNothing, true};
    return Slot{place, step.use};
  }
  /// From now on the step waits for `wait`.
  void wait(Slot step, Wait wait, int64_t ticks) {
    if (!is_open_step(step)) return;
    Step& known = steps_[step.place];
    add_wait(known, ticks);
    known.wait = wait;
    known.since = ticks;
  }
  void end_step(Slot step, int64_t ticks) {
    if (!is_open_step(step)) return;
    Step& known = steps_[step.place];
    add_wait(known, ticks);
    known.open = false;
    free_steps_[free_step_count_++] = step.place;
  }
  /// Steps of it that are still open count for nothing from here on.
  std::optional<EndedOp> end_op(Slot op) {
    if (!is_open(op)) return {};
    Op& known = ops_[op.place];
    known.open = false;
    free_ops_[free_op_count_++] = op.place;
    return EndedOp{known.call, known.waited};
  }

 private:
  struct Op {
    uint64_t call = 0;
    WaitTicks waited{};
    uint32_t use = 0;
    bool open = false;
  };
  struct Step {
    Slot op;
    int64_t since = 0;
    uint32_t use = 0;
    Wait wait = Wait::kNothing;
    bool open = false;
  };
  [[nodiscard]] bool is_open(Slot op) const {
    return op.place < kMaxOps && ops_[op.place].open && ops_[op.place].use == op.use;
  }
  [[nodiscard]] bool is_open_step(Slot step) const {
    return step.place < kMaxSteps && steps_[step.place].open && steps_[step.place].use == step.use;
  }
  void add_wait(Step const& step, int64_t ticks) {
    if (step.wait == Wait::kNothing || !is_open(step.op) || ticks <= step.since) return;
    ops_[step.op.place].waited[static_cast<size_t>(step.wait) - 1] +=
        static_cast<uint64_t>(ticks - step.since);
  }

  std::array<Op, kMaxOps> ops_{};
  std::array<Step, kMaxSteps> steps_{};
  std::array<uint32_t, kMaxOps> free_ops_{};
  std::array<uint32_t, kMaxSteps> free_steps_{};
  size_t free_op_count_ = kMaxOps;
  size_t free_step_count_ = kMaxSteps;
};

}  // namespace stepscope::tracer::nccl
