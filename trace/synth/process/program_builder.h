// Writes a Program action by action, and what every pattern's step has in common: input at its
// begin, gradient norm, optimizer and loss at its end. What is wrong with the job's programs is put
// into them here, so that patterns need not know of it.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "trace/model/string_table.h"
#include "trace/synth/process/job.h"
#include "trace/synth/process/program.h"

namespace stepscope::synth {

/// Times of collectives are alpha + bytes / beta.
struct Link {
  int64_t alpha_ns = 22'000;
  uint64_t bytes_per_ns = 180;
};
/// As of eight devices behind NVLink switches.
inline constexpr Link kFastLink;
/// As of devices that meet over PCIe and a network.
inline constexpr Link kNetworkLink{30'000, 40};

class ProgramBuilder {
 public:
  ProgramBuilder(Job const& job, Link link, model::StringTable& strings);

  void begin_phase(std::string_view name) { begin(name, model::EventKind::kPhase); }
  void end_phase() { act(EndRange{}); }
  void begin_layer(std::string_view name);
  void end_layer();
  /// `permille` of each kernel's usual duration; `expert` as in RunKernel.
  void kernels(std::span<KernelSpec const> specs, int32_t permille = 1000, int32_t expert = -1);

  /// The stream of that name, added when it is new.
  uint32_t comm_stream(std::string_view name) {
    return stream(name, model::StreamKind::kCommunication);
  }
  /// `spec` without names, join number, place in its communicator and time, which are set here.
  /// Left out where a rank is alone.
  void collective(CollectiveSpec spec);
  /// The same where every one of the groups has its own.
  void collective_of_group(CollectiveSpec spec, uint32_t group, uint32_t groups);
  /// As above, but the pattern chose which calls join.
  void meet(CollectiveSpec spec, uint32_t join);
  /// The compute stream goes on after the last collective of the stream, if there was one.
  void await(uint32_t stream);

  /// A layer's gradients are there: they are summed over the ranks when there are enough for a
  /// bucket.
  void gradients(uint64_t bytes);
  /// The last bucket.
  void end_backward();

  /// A block that lives from here to free_block(number).
  uint32_t allocate(uint64_t bytes, model::MemoryPurpose purpose);
  void free_block(uint32_t number) { act(Free{number}); }

  /// Input, the host's faults, the batch's copy to the device. Without `reads_input` only the
  /// faults.
  void begin_step(bool reads_input);
  /// Gradient norm, optimizer, the loss to the host. `norm_join`: of the all-reduce of the norm;
  /// none where every rank has the whole norm.
  void end_step(std::optional<uint32_t> norm_join);

  [[nodiscard]] uint32_t joins() const { return next_join_; }
  Program finish(uint64_t parameter_bytes) &&;

 private:
  void begin(std::string_view name, model::EventKind kind) {
    act(BeginRange{strings_.intern(name), kind});
  }
  void act(Action action) { program_.step.push_back(action); }
  uint32_t stream(std::string_view name, model::StreamKind kind);
  void kernel(KernelSpec const& spec, int64_t dur_ns, int32_t expert, uint32_t stream);
  void copy_batch();
  void all_reduce(uint64_t bytes);
  void norm_over_ranks(uint32_t join);
  [[nodiscard]] int64_t transfer_ns(CollectiveSpec const& spec) const;
  void branch();
  void add_memory_fault();
  void fill_memory();

  Job const& job_;
  Link link_;
  model::StringTable& strings_;
  Program program_;
  uint32_t next_join_ = 0;
  uint32_t layers_ = 0;
  bool in_layer_ = false;
  uint64_t bucket_bytes_ = 0;
  std::vector<uint64_t> late_buckets_;  ///< all-reduced after the backward pass
};

/// The communicator of all ranks.
inline constexpr uint64_t kWorldCommunicator = 0x5157'4F52'4C44;

}  // namespace stepscope::synth
