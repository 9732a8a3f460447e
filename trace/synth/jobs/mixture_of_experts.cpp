#include <span>

#include <fmt/format.h>

#include "trace/synth/jobs/patterns.h"
#include "trace/synth/process/kernels.h"
#include "trace/synth/process/program_builder.h"

namespace stepscope::synth {
namespace {

constexpr uint32_t kLayers = 8;
constexpr uint32_t kLayersPerBucket = 2;
constexpr uint64_t kTokenBytes = 64U << 20;  // what a rank sends in an all-to-all
constexpr uint64_t kExpertBucketBytes = 48U << 20;
constexpr uint64_t kExpertActivationBytes = 160U << 20;
constexpr uint64_t kExpertParameterBytes = 900U << 20;
constexpr uint64_t kExpertCommunicator = kWorldCommunicator + 1;

/// Ranks that exchange tokens with each other: all, or four of a tuned job's eight and more.
struct Group {
  uint32_t number, count;
  int32_t ranks;
  int32_t rank;  ///< within it; −1 = the process's own
};
Group group_of(Job const& job, int32_t rank) {
  bool const has_groups =
      job.is_tuned() && job.ranks > kExpertGroup && job.ranks % kExpertGroup == 0;
  if (!has_groups) return {0, 1, job.ranks, -1};
  return {static_cast<uint32_t>(rank / kExpertGroup),
          static_cast<uint32_t>(job.ranks / kExpertGroup), kExpertGroup, rank % kExpertGroup};
}

/// `meanwhile`: what is computed while the tokens travel; may be empty.
void all_to_all(ProgramBuilder& program, Group const& group,
                std::span<KernelSpec const> meanwhile) {
  CollectiveSpec spec;
  spec.stream = program.comm_stream("all-to-all");
  spec.kind = model::CollectiveOp::kAllToAll;
  spec.bytes = kTokenBytes;
  spec.communicator = kExpertCommunicator + group.number;
  spec.participants = static_cast<uint32_t>(group.ranks);
  spec.rank = group.rank;
  spec.is_slow_part = group.number + 1 == group.count;

  program.collective_of_group(spec, group.number, group.count);
  program.kernels(meanwhile);
  program.await(spec.stream);
}

void all_reduce_bucket(ProgramBuilder& program, int32_t ranks) {
  CollectiveSpec spec;
  spec.stream = program.comm_stream("all-reduce");
  spec.bytes = kExpertBucketBytes;
  spec.communicator = kWorldCommunicator;
  spec.participants = static_cast<uint32_t>(ranks);
  program.collective(spec);
}

/// In a tuned job: what the expert that all tokens pass computes while they travel. The first
/// product and the activation run on the way to the other experts, the second product on the way
/// back.
struct SharedExpert {
  std::span<KernelSpec const> first, second, second_backward, first_backward;
};
SharedExpert shared_expert(Job const& job) {
  if (!job.is_tuned()) return {};
  constexpr size_t kSecond = 3,
                   kSecondBackward = 2;  // where it begins among the kernels of a perceptron
  return {mlp_forward().first(kSecond), mlp_forward().subspan(kSecond),
          mlp_backward().first(kSecondBackward), mlp_backward().subspan(kSecondBackward)};
}

void forward_layer(ProgramBuilder& program, Job const& job, Group const& group, uint32_t layer) {
  SharedExpert const shared = shared_expert(job);
  program.begin_layer(fmt::format("layers.{}", layer));
  program.kernels(attention_forward());
  program.kernels(router_forward());
  all_to_all(program, group, shared.first);
  program.kernels(experts_forward(), 1000, static_cast<int32_t>(layer));
  all_to_all(program, group, shared.second);
  program.end_layer();
}

void backward_layer(ProgramBuilder& program, Job const& job, Group const& group, uint32_t layer) {
  SharedExpert const shared = shared_expert(job);
  program.begin_layer(fmt::format("layers.{} backward", layer));
  all_to_all(program, group, shared.second_backward);
  program.kernels(experts_backward(), 1000, static_cast<int32_t>(layer));
  all_to_all(program, group, shared.first_backward);
  program.kernels(router_backward());
  program.kernels(attention_backward());
  program.end_layer();
}

ProgramBuilder program_of(Job const& job, int32_t rank, model::StringTable& strings) {
  Group const group = group_of(job, rank);
  ProgramBuilder program(job, kFastLink, strings);
  std::vector<uint32_t> activations;

  program.begin_step(true);
  program.begin_phase("forward");
  for (uint32_t layer = 0; layer < kLayers; ++layer) {
    activations.push_back(
        program.allocate(kExpertActivationBytes, model::MemoryPurpose::kActivations));
    forward_layer(program, job, group, layer);
  }
  program.kernels(loss_kernels());
  program.end_phase();

  program.begin_phase("backward");
  for (uint32_t layer = kLayers; layer-- > 0;) {
    backward_layer(program, job, group, layer);
    program.free_block(activations[layer]);
    if (layer % kLayersPerBucket == 0) all_reduce_bucket(program, job.ranks);
  }
  program.end_phase();
  program.end_step(program.joins());
  return program;
}

}  // namespace

Schedule mixture_of_experts(Job const& job, model::StringTable& strings) {
  // With several groups, the ranks' programs differ only in the number of the group.
  int32_t const programs = group_of(job, 0).count > 1 ? job.ranks : 1;
  Schedule schedule;
  for (int32_t rank = 0; rank < programs; ++rank) {
    ProgramBuilder program = program_of(job, rank, strings);
    schedule.joins = program.joins();
    schedule.programs.push_back(std::move(program).finish(kExpertParameterBytes));
  }
  return schedule;
}

}  // namespace stepscope::synth
