#include <array>
#include <optional>

#include <fmt/format.h>

#include "trace/synth/jobs/patterns.h"
#include "trace/synth/process/kernels.h"
#include "trace/synth/process/program_builder.h"

namespace stepscope::synth {
namespace {

constexpr uint32_t kBlocks = 16;
constexpr uint32_t kBlocksPerBucket = 4;
constexpr uint64_t kBucketBytes = 25U << 20;
constexpr uint64_t kActivationBytes = 48U << 20;

std::string block_name(uint32_t block) {
  return fmt::format("layer{}.{}", block / 4 + 1, block % 4);
}
/// Later stages have smaller images and more channels: their blocks take somewhat longer.
int32_t permille_of(uint32_t block) { return static_cast<int32_t>(800 + block / 4 * 120); }

void all_reduce_bucket(ProgramBuilder& program, int32_t ranks, uint32_t bucket) {
  CollectiveSpec spec;
  spec.stream = program.comm_stream("all-reduce");
  // The first layers have fewer parameters: two sizes, so that latency and bandwidth can be told
  // apart.
  spec.bytes = bucket == 0 ? kBucketBytes / 4 : kBucketBytes;
  spec.communicator = kWorldCommunicator;
  spec.participants = static_cast<uint32_t>(ranks);
  program.collective(spec);
}

/// A block's gradients in a tuned job, by its stage of the network: as ResNet-50's grow, four
/// blocks a stage.
uint64_t gradients_of(Job const& job, uint32_t block) {
  constexpr std::array<uint64_t, 4> kBytes = {220'000, 1'200'000, 7'000'000, 15'000'000};
  double const times = job.amount(FaultType::kNoOverlap, 1);
  return static_cast<uint64_t>(static_cast<double>(kBytes[block / kBlocksPerBucket]) * times);
}

}  // namespace

Schedule data_parallel(Job const& job, model::StringTable& strings) {
  ProgramBuilder program(job, job.is_tuned() ? kNetworkLink : kFastLink, strings);
  auto const forward = job.is_tuned() ? mixed_convolution_forward() : convolution_forward();
  auto const backward = job.is_tuned() ? mixed_convolution_backward() : convolution_backward();
  std::vector<uint32_t> activations;

  program.begin_step(true);
  program.begin_phase("forward");
  for (uint32_t block = 0; block < kBlocks; ++block) {
    program.begin_layer(block_name(block));
    activations.push_back(program.allocate(kActivationBytes, model::MemoryPurpose::kActivations));
    program.kernels(forward, permille_of(block));
    program.end_layer();
  }
  program.kernels(loss_kernels());
  program.end_phase();

  program.begin_phase("backward");
  for (uint32_t block = kBlocks; block-- > 0;) {
    program.begin_layer(block_name(block) + " backward");
    program.kernels(backward, permille_of(block));
    program.free_block(activations[block]);
    program.end_layer();
    if (job.is_tuned()) {
      program.gradients(gradients_of(job, block));
    } else if (block % kBlocksPerBucket == 0) {
      all_reduce_bucket(program, job.ranks, block / kBlocksPerBucket);
    }
  }
  program.end_backward();
  program.end_phase();
  // Summed gradients are the same everywhere: a tuned job has their norm without asking.
  program.end_step(job.is_tuned() ? std::nullopt : std::optional(program.joins()));

  Schedule schedule;
  schedule.joins = program.joins();
  schedule.programs.push_back(std::move(program).finish(kBucketBytes * 4));
  return schedule;
}

}  // namespace stepscope::synth
