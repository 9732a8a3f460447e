#include <fmt/format.h>

#include "trace/synth/kernels.h"
#include "trace/synth/patterns.h"
#include "trace/synth/program_builder.h"

namespace stepscope::synth {
namespace {

constexpr uint32_t kLayers = 8;
constexpr uint32_t kLayersPerBucket = 2;
constexpr uint64_t kTokenBytes = 64U << 20;  // what a rank sends in an all-to-all
constexpr uint64_t kExpertBucketBytes = 48U << 20;
constexpr uint64_t kExpertActivationBytes = 160U << 20;
constexpr uint64_t kExpertParameterBytes = 900U << 20;
constexpr uint64_t kExpertCommunicator = kWorldCommunicator + 1;

void all_to_all(ProgramBuilder& program, int32_t ranks) {
  CollectiveSpec spec;
  spec.stream = program.comm_stream("all-to-all");
  spec.kind = model::CollectiveOp::kAllToAll;
  spec.bytes = kTokenBytes;
  spec.communicator = kExpertCommunicator;
  spec.participants = static_cast<uint32_t>(ranks);
  spec.transfer_ns = all_to_all_ns(kTokenBytes, ranks);
  program.collective(spec);
  program.await(spec.stream);
}

void all_reduce_bucket(ProgramBuilder& program, int32_t ranks) {
  CollectiveSpec spec;
  spec.stream = program.comm_stream("all-reduce");
  spec.bytes = kExpertBucketBytes;
  spec.communicator = kWorldCommunicator;
  spec.participants = static_cast<uint32_t>(ranks);
  spec.transfer_ns = all_reduce_ns(spec.bytes, ranks);
  program.collective(spec);
}

void forward_layer(ProgramBuilder& program, int32_t ranks, uint32_t layer) {
  program.begin_range(fmt::format("layers.{}", layer));
  program.kernels(attention_forward());
  program.kernels(router_forward());
  all_to_all(program, ranks);
  program.kernels(experts_forward(), 1000, static_cast<int32_t>(layer));
  all_to_all(program, ranks);
  program.end();
}

void backward_layer(ProgramBuilder& program, int32_t ranks, uint32_t layer) {
  program.begin_range(fmt::format("layers.{} backward", layer));
  all_to_all(program, ranks);
  program.kernels(experts_backward(), 1000, static_cast<int32_t>(layer));
  all_to_all(program, ranks);
  program.kernels(router_backward());
  program.kernels(attention_backward());
  program.end();
}

}  // namespace

Schedule mixture_of_experts(int32_t ranks, model::StringTable& strings) {
  ProgramBuilder program(ranks, strings);
  std::vector<uint32_t> activations;

  program.begin_step(true);
  program.begin_phase("forward");
  for (uint32_t layer = 0; layer < kLayers; ++layer) {
    activations.push_back(program.allocate(kExpertActivationBytes, model::MemoryPurpose::kActivations));
    forward_layer(program, ranks, layer);
  }
  program.kernels(loss_kernels());
  program.end();

  program.begin_phase("backward");
  for (uint32_t layer = kLayers; layer-- > 0;) {
    backward_layer(program, ranks, layer);
    program.free_block(activations[layer]);
    if (layer % kLayersPerBucket == 0) all_reduce_bucket(program, ranks);
  }
  program.end();
  program.end_step(program.meetings());

  Schedule schedule;
  schedule.meetings = program.meetings();
  schedule.programs.push_back(std::move(program).finish(kExpertParameterBytes));
  return schedule;
}

}  // namespace stepscope::synth
