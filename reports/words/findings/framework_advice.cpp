#include "reports/words/findings/framework_advice.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

namespace stepscope::reports {
namespace {

struct AdviceOf {
  std::string_view rule, advice;
};

constexpr std::array kForPyTorch = {
    AdviceOf{
        "input-bound",
        "Raise num_workers of the DataLoader (4 to 8 per device) and its prefetch_factor, with "
        "pin_memory=True and persistent_workers=True, or move the augmentation to the device. "
        "Then check that the storage keeps up."},
    AdviceOf{"host-bound-launches",
             "Reduce the host time per launch: torch.compile(mode='reduce-overhead') fuses kernels "
             "and captures CUDA graphs, and optimizers have fused=True. "
             "Move logging and bookkeeping out of the loop, "
             "and reserve a core for the launching thread."},
    AdviceOf{"launch-latency",
             "Launch fewer and longer kernels: torch.compile(mode='reduce-overhead') fuses them "
             "and captures CUDA graphs, and optimizers have fused=True. "
             "Or raise the batch size."},
    AdviceOf{"tensor-cores-unused",
             "Allow TF32 (torch.set_float32_matmul_precision('high'), for convolutions "
             "torch.backends.cudnn.allow_tf32 = True) or train under torch.autocast with bfloat16, "
             "with sizes that are multiples of 8. "
             "Check the accuracy afterwards."},
    AdviceOf{"unfused-attention",
             "Use scaled_dot_product_attention in half precision (attn_implementation sdpa or "
             "flash_attention_2 in Transformers), FlashAttention or FlexAttention. "
             "Code that asks for the attention weights keeps it unfused."},
    AdviceOf{"elementwise-dominated",
             "Fuse them with torch.compile, use optimizers with fused=True and fused layers, or "
             "write a kernel of your own (Triton)."},
    AdviceOf{"blocking-sync",
             "Remove the synchronization or do it less often: .item(), .cpu(), printing a tensor, "
             "an if on its value and nonzero() wait for the device. "
             "torch.cuda.set_sync_debug_mode('warn') names the lines. "
             "Read losses and metrics every N steps."},
    AdviceOf{
        "pageable-copies",
        "Page-lock the host memory (pin_memory=True of the DataLoader, pin_memory() of a tensor) "
        "and "
        "copy with non_blocking=True on a stream of its own while the previous step computes."},
    AdviceOf{"serialized-copies",
             "Copy on a stream of its own (torch.cuda.Stream, non_blocking=True) with page-locked "
             "memory, "
             "the next batch while this one computes."},
    AdviceOf{"exposed-communication",
             "Overlap it with compute: in DDP gradients are summed during backward, in buckets of "
             "bucket_cap_mb; no_sync() leaves them out while gradients accumulate. "
             "In FSDP prefetch the next layers. "
             "Communicate in bfloat16, and check that the links reach their bandwidth."},
    AdviceOf{"small-buckets",
             "Merge them: raise bucket_cap_mb of DDP, or shard larger groups of layers in FSDP, to "
             "at least the size at which the link reaches half of its bandwidth."},
    AdviceOf{"allocation-in-step",
             "Leave allocation to PyTorch's caching allocator: take empty_cache() out of the loop, "
             "keep shapes constant, and allocate page-locked memory once before it."},
    AdviceOf{"memory-pressure",
             "Lower the batch size, recompute activations (torch.utils.checkpoint), shard the "
             "optimizer state (FSDP, ZeRO), "
             "or free tensors kept by mistake, before a longer sequence runs out of memory."},
    AdviceOf{"memory-leak",
             "Look for tensors kept across steps: lists of losses that keep their graphs (append "
             "loss.detach()), growing caches. torch.cuda.memory._record_memory_history() "
             "and _dump_snapshot() show who allocated them."},
    AdviceOf{"memory-fragmentation",
             "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or use few allocation sizes "
             "(pad to fixed shapes)."},
    AdviceOf{
        "step-outliers",
        "Open the slow steps in the timeline and compare them with a typical one: "
        "checkpoints, evaluation, Python's garbage collection (gc.disable(), then gc.collect() "
        "every N steps), recompilation (TORCH_LOGS=recompiles), a slow DataLoader."},
    AdviceOf{"warmup-in-measurement",
             "Compare runs without these steps (with PyTorch's profiler: wait and warmup of its "
             "schedule). "
             "Keep shapes fixed so that nothing is compiled again."},
};

/// Gradients are not the program's to bucket, nor copies its own: XLA makes both.
constexpr std::array kForXla = {
    AdviceOf{"input-bound",
             "Prepare batches ahead and in parallel: tf.data with num_parallel_calls=AUTOTUNE and "
             "prefetch(AUTOTUNE), or worker processes and a prefetching iterator around "
             "jax.device_put. Then check that the storage keeps up."},
    AdviceOf{"host-bound-launches",
             "Reduce the host time per launch: "
             "compile the whole step into one function (jax.jit, "
             "tf.function with XLA) or run several steps in one call (jax.lax.scan, "
             "steps_per_execution). Move logging and bookkeeping out of the loop; "
             "raise the batch size."},
    AdviceOf{"launch-latency",
             "Reduce the host time per launch: "
             "compile the whole step into one function (jax.jit, "
             "tf.function with XLA) or run several steps in one call (jax.lax.scan, "
             "steps_per_execution). Move logging and bookkeeping out of the loop; "
             "raise the batch size."},
    AdviceOf{"unfused-attention",
             "Use a fused attention kernel in half precision: jax.nn.dot_product_attention "
             "(implementation='cudnn' on NVIDIA GPUs), or one of Pallas."},
    AdviceOf{
        "elementwise-dominated",
        "Let XLA fuse them: compile the whole step into one function (jax.jit, tf.function with "
        "jit_compile=True), or write a kernel of your own (Pallas)."},
    AdviceOf{"blocking-sync",
             "Wait for results less often: float(loss), numpy(), printing and block_until_ready() "
             "wait for the device. Read losses and metrics of the step before, or every N steps."},
    AdviceOf{"exposed-communication",
             "Let XLA overlap it with compute "
             "(XLA_FLAGS=--xla_gpu_enable_latency_hiding_scheduler=true), "
             "choose shardings that move less data, communicate in bfloat16, "
             "and check that the links reach their bandwidth."},
    AdviceOf{
        "small-buckets",
        "Let XLA combine them: raise --xla_gpu_all_reduce_combine_threshold_bytes (likewise for "
        "all-gather and reduce-scatter) in XLA_FLAGS, or sum all gradients in one jax.lax.psum."},
    AdviceOf{
        "unbucketed-gradients",
        "Let XLA combine them: raise --xla_gpu_all_reduce_combine_threshold_bytes (likewise for "
        "all-gather and reduce-scatter) in XLA_FLAGS, or sum all gradients in one jax.lax.psum."},
    AdviceOf{"pageable-copies",
             "Put the next batch on the devices while this one computes (a prefetching iterator "
             "around jax.device_put, tf.data's prefetch to the device), and fetch results rarely."},
    AdviceOf{"serialized-copies",
             "Put the next batch on the devices while this one computes (a prefetching iterator "
             "around jax.device_put, tf.data's prefetch to the device), and fetch results rarely."},
    AdviceOf{
        "memory-pressure",
        "Lower the batch size, recompute activations (jax.checkpoint, "
        "tf.recompute_grad), let steps reuse their inputs' memory (donate_argnums of jax.jit), "
        "or shard the optimizer state."},
};

constexpr std::array kForInference = {
    AdviceOf{"exposed-communication",
             "Shorten it or overlap it with compute: "
             "a custom all-reduce for small messages, an all-reduce fused with the next "
             "operation, fewer tensor-parallel ranks, larger batches. "
             "Check that the links reach their bandwidth."},
    AdviceOf{"small-buckets",
             "Make them cheaper, since they cannot be merged across layers: "
             "a one-shot all-reduce for small messages, an all-reduce fused with the next "
             "operation, fewer tensor-parallel ranks, larger batches."},
    AdviceOf{"step-outliers",
             "Open the slow steps in the timeline and compare them with a typical one. "
             "Look for prefill among decode steps (split it into chunks), "
             "batch sizes that were not compiled or captured before, and preempted requests."},
    AdviceOf{"tensor-cores-unused",
             "Run the model in half precision or allow TF32, with sizes that are multiples of 8. "
             "Check the accuracy afterwards."},
};

std::string_view find_advice(std::span<AdviceOf const> list, std::string_view rule) {
  auto const found = std::find_if(list.begin(), list.end(),
                                  [&](AdviceOf const& advice) { return advice.rule == rule; });
  return found == list.end() ? std::string_view() : found->advice;
}

/// XLA launches what it has compiled: a program changes what it hands over, not how kernels are
/// launched. Traces of JAX and TensorFlow in Chrome's format are known by their derived rows.
bool is_of_xla(model::RankTrace const& rank) {
  auto const& tracks = rank.trace.tracks();
  return rank.trace.info().tool.starts_with("XLA profiler") ||
         std::any_of(tracks.begin(), tracks.end(), [](model::Track const& track) {
           return track.name.starts_with("XLA Ops") || track.name.starts_with("XLA Modules");
         });
}

bool has_profile_of_pytorch(model::RankTrace const& rank) {
  return rank.trace.info().tool.starts_with("PyTorch profiler");
}

/// Kernels of its own operators have its name space in theirs, whatever tool recorded them.
bool is_of_pytorch(analyzer::KernelStats const& kernel) {
  return kernel.name.find("at::native::") != std::string::npos;
}

}  // namespace

Framework framework_of(model::Run const& run, analyzer::Analysis const& analysis) {
  // One framework makes all of a job: the viewer asks in each frame, so not all of it is looked at.
  constexpr size_t kRanks = 16, kKernels = 512;
  auto const ranks = std::span(run.ranks).first(std::min(run.ranks.size(), kRanks));
  auto const kernels =
      std::span(analysis.kernels).first(std::min(analysis.kernels.size(), kKernels));

  if (std::any_of(ranks.begin(), ranks.end(), is_of_xla)) return Framework::kXla;
  bool const is_pytorch = std::any_of(ranks.begin(), ranks.end(), has_profile_of_pytorch) ||
                          std::any_of(kernels.begin(), kernels.end(), is_of_pytorch);
  return is_pytorch ? Framework::kPyTorch : Framework::kOther;
}

std::string_view framework_advice(Framework framework, std::string_view rule) {
  switch (framework) {
    case Framework::kPyTorch:
      return find_advice(kForPyTorch, rule);
    case Framework::kXla:
      return find_advice(kForXla, rule);
    case Framework::kOther:
      break;
  }
  return {};
}

std::string_view inference_advice(std::string_view rule) {
  return find_advice(kForInference, rule);
}

}  // namespace stepscope::reports
