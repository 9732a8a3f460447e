// Writes a Program action by action, and what every pattern's step has in common: input at its begin, gradient norm, optimizer
// and loss at its end.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "trace/model/string_table.h"
#include "trace/synth/program.h"

namespace stepscope::synth {

class ProgramBuilder {
 public:
  ProgramBuilder(int32_t ranks, model::StringTable& strings);

  void begin_phase(std::string_view name) { begin(name, model::EventKind::kPhase); }
  void begin_range(std::string_view name) { begin(name, model::EventKind::kRange); }
  void end() { act(EndRange{}); }
  /// `permille` of each kernel's usual duration; `expert` as in RunKernel.
  void kernels(std::span<KernelSpec const> specs, int32_t permille = 1000, int32_t expert = -1);

  /// The stream of that name, added when it is new.
  uint32_t comm_stream(std::string_view name);
  /// `spec` without names, meeting and place in its communicator: those are set here. Left out where a rank is alone.
  void collective(CollectiveSpec spec);
  /// As above, but the meeting was chosen by the pattern.
  void meet(CollectiveSpec spec, uint32_t meeting);
  /// The compute stream goes on after the last collective of the stream, if there was one.
  void await(uint32_t stream);

  /// A block that lives from here to free_block(number).
  uint32_t allocate(uint64_t bytes, model::MemoryPurpose purpose);
  void free_block(uint32_t number) { act(Free{number}); }

  /// Input, the host's faults, the batch's copy to the device. Without `reads_input` only the faults.
  void begin_step(bool reads_input);
  /// Gradient norm over all ranks, optimizer, the loss to the host. `norm_meeting`: of the all-reduce of the norm.
  void end_step(uint32_t norm_meeting);

  [[nodiscard]] uint32_t meetings() const { return next_meeting_; }
  Program finish(uint64_t parameter_bytes) &&;

 private:
  void begin(std::string_view name, model::EventKind kind) { act(BeginRange{strings_.intern(name), kind}); }
  void act(Action action) { program_.step.push_back(action); }

  int32_t ranks_;
  model::StringTable& strings_;
  Program program_;
  uint32_t next_meeting_ = 0;
};

/// An all-reduce over NVLink-class links: the time from the last arrival to the end, ns.
int64_t all_reduce_ns(uint64_t bytes, int32_t ranks);
/// The same of an all-to-all, and of a send.
int64_t all_to_all_ns(uint64_t bytes, int32_t ranks);
int64_t send_ns(uint64_t bytes);

/// The communicator of all ranks.
inline constexpr uint64_t kWorldCommunicator = 0x5157'4F52'4C44;

}  // namespace stepscope::synth
