#include <fmt/format.h>

#include "trace/synth/kernels.h"
#include "trace/synth/patterns.h"
#include "trace/synth/program_builder.h"

namespace stepscope::synth {
namespace {

constexpr uint32_t kBlocks = 16;
constexpr uint32_t kBlocksPerBucket = 4;
constexpr uint64_t kBucketBytes = 25U << 20;
constexpr uint64_t kActivationBytes = 48U << 20;

std::string block_name(uint32_t block) { return fmt::format("layer{}.{}", block / 4 + 1, block % 4); }
/// Later stages have smaller images and more channels: their blocks take somewhat longer.
int32_t permille_of(uint32_t block) { return static_cast<int32_t>(800 + block / 4 * 120); }

void all_reduce_bucket(ProgramBuilder& program, int32_t ranks, uint32_t bucket) {
  CollectiveSpec spec;
  spec.stream = program.comm_stream("all-reduce");
  // The first layers have fewer parameters: two sizes, so that latency and bandwidth can be told apart.
  spec.bytes = bucket == 0 ? kBucketBytes / 4 : kBucketBytes;
  spec.communicator = kWorldCommunicator;
  spec.participants = static_cast<uint32_t>(ranks);
  spec.transfer_ns = all_reduce_ns(spec.bytes, ranks);
  program.collective(spec);
}

}  // namespace

Schedule data_parallel(int32_t ranks, model::StringTable& strings) {
  ProgramBuilder program(ranks, strings);
  std::vector<uint32_t> activations;

  program.begin_step(true);
  program.begin_phase("forward");
  for (uint32_t block = 0; block < kBlocks; ++block) {
    program.begin_range(block_name(block));
    activations.push_back(program.allocate(kActivationBytes, model::MemoryPurpose::kActivations));
    program.kernels(convolution_forward(), permille_of(block));
    program.end();
  }
  program.kernels(loss_kernels());
  program.end();

  program.begin_phase("backward");
  for (uint32_t block = kBlocks; block-- > 0;) {
    program.begin_range(block_name(block) + " backward");
    program.kernels(convolution_backward(), permille_of(block));
    program.free_block(activations[block]);
    program.end();
    if (block % kBlocksPerBucket == 0) all_reduce_bucket(program, ranks, block / kBlocksPerBucket);
  }
  program.end();
  program.end_step(program.meetings());

  Schedule schedule;
  schedule.meetings = program.meetings();
  schedule.programs.push_back(std::move(program).finish(kBucketBytes * 4));
  return schedule;
}

}  // namespace stepscope::synth
