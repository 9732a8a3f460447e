#include "reports/words/wording.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "reports/words/findings/advice.h"
#include "reports/words/findings/communication_words.h"
#include "reports/words/findings/finding_context.h"
#include "reports/words/findings/memory_words.h"
#include "reports/words/findings/step_variation_words.h"
#include "reports/words/findings/trace_integrity_words.h"
#include "reports/words/host_words.h"
#include "reports/words/labels.h"
#include "reports/words/language.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

/// Whether the other finding says how long others wait for this device because of what is described
/// here: the same host operation.
bool is_lateness_by(FindingContext const& seen, analyzer::Finding const& other) {
  if (seen.finding.rule == "unexplained-idle" || other.rule != "straggler" ||
      other.where != seen.finding.where || !other.cost_ns_per_step)
    return false;

  auto const host_op = [](analyzer::Finding const& finding) {
    for (auto const& [role, name] : finding.subjects)
      if (role == "host_op") return std::string_view(name);
    return std::string_view();
  };
  std::string_view const cause = seen.finding.rule == "input-bound" ? "input" : "host";
  return FindingContext{seen.run, seen.analysis, other}.has_subject("cause", cause) &&
         !host_op(other).empty() && host_op(other) == host_op(seen.finding);
}

std::string describe_idle(FindingContext const& seen) {
  std::string const loss = loss_of(seen);
  std::string text = loss.empty() ? "" : tr(" {} loses {}", with_capital(seen.where()), loss);

  auto const devices = seen.metric("devices");
  if (!text.empty() && devices && *devices > 1)
    text += tr("; {} devices are affected", seen.text("devices"));
  if (!text.empty()) text += tr(".");

  std::string const op = seen.subject("host_op"), caller = seen.subject("caller");
  if (!op.empty() && caller.empty()) text += tr(" Meanwhile the host spent most time in {}.", op);
  if (!op.empty() && !caller.empty())
    text += tr(" Meanwhile the host spent most time in {}, called by {}.", op, caller);
  if (seen.metric("other_host_op_ns_per_step"))
    text += tr(" A further {} of it went to {}.", seen.text("other_host_op_ns_per_step"),
               seen.subject("other_host_op"));
  if (seen.metric("long_gaps_ns_per_step"))
    text +=
        tr(" Gaps longer than a millisecond make up {} of it.", seen.text("long_gaps_ns_per_step"));
  if (seen.has_subject("gaps", "compilation"))
    text += tr(" Most of that time the host compiles or loads code.");
  if (seen.metric("before_first_op_ns_per_step"))
    text +=
        tr(" {} of it come before the first recorded operation. "
           "The trace has nothing from before, so no gain includes it.",
           seen.text("before_first_op_ns_per_step"));
  for (analyzer::Finding const& other : seen.analysis.findings)
    if (is_lateness_by(seen, other))
      text += tr(" This makes it late: “{}” has what the others lose by it.",
                 words_of(seen.run, seen.analysis, other).title);

  return text;
}

std::string describe_input(FindingContext const& seen) {
  std::string text = describe_idle(seen);
  if (seen.has_subject("loader", "training_thread"))
    text += tr(" The loader runs in the training thread (num_workers=0).");
  return text;
}

/// What is known of time that nothing explains.
std::string describe_unexplained(FindingContext const& seen) {
  std::string text = describe_idle(seen);
  if (!seen.metric("queued_ns_per_step")) return text;

  if (seen.metric("queued_ops") == 1.0)
    text +=
        tr(" During {} of it a launched operation is queued: "
           "the device waits for, or does, something that is not in this trace.",
           seen.text("queued_ns_per_step"));
  else if (seen.metric("queued_ops"))
    text +=
        tr(" During {} of it launched operations are queued, up to {}: "
           "the device waits for, or does, something that is not in this trace.",
           seen.text("queued_ns_per_step"), seen.text("queued_ops"));

  return text;
}

std::string describe_launching(FindingContext const& seen) {
  std::string text = describe_idle(seen);
  if (seen.metric("kernel_median_ns"))
    text += tr(" The median kernel takes {}", seen.text("kernel_median_ns"));
  if (seen.metric("kernel_median_ns") && seen.metric("call_median_ns"))
    text += tr(", the median launch call {}", seen.text("call_median_ns"));
  return seen.metric("kernel_median_ns") ? text.append(tr(".")) : text;
}

std::string describe_exposed_copies(FindingContext const& seen) {
  std::string text = describe_cost(seen);
  if (seen.has_subject("copies", "within_device"))
    text += tr(" They copy within the device's memory.");
  return text;
}

/// What could be saved at most, and the kernel to begin with.
std::string describe_kernels(FindingContext const& seen) {
  std::string const loss = loss_of(seen);
  std::string text = loss.empty() ? "" : tr(" On {} up to {} could be saved.", seen.where(), loss);
  std::string const kernel = seen.subject("kernel");
  return kernel.empty() ? text : text + tr(" Most of that time is in {}.", kernel);
}

/// How much of the work kernels of one kind are, what they take, and the one to begin with.
std::string describe_share(FindingContext const& seen) {
  std::string text;
  if (seen.metric("op_share"))
    text = tr(" On {} such kernels are {} of the operations' time", seen.where(),
              seen.text("op_share"));

  if (!text.empty() && seen.metric("at_most_ns_per_step"))
    text +=
        tr(" and take {} a step; a part of that could be saved", seen.text("at_most_ns_per_step"));
  if (!text.empty()) text += tr(".");

  std::string const kernel = seen.subject("kernel");
  return kernel.empty() ? text : text + tr(" Most of that time is in {}.", kernel);
}

std::string describe_reductions(FindingContext const& seen) {
  if (!seen.metric("collectives_per_step")) return {};
  return tr(
      " {} starts {} all-reduces a step, half of them no longer than {}. "
      "The recording has no message sizes. "
      "The short ones take {} a step, the most that merging them could save on the device.",
      with_capital(seen.where()), seen.text("collectives_per_step"), seen.text("median_ns"),
      seen.text("at_most_ns_per_step"));
}

std::string describe_apparent(FindingContext const& seen) {
  if (!seen.metric("apparent_gbps")) return {};
  return tr(
      " On {} {} collectives of up to {} reach {} by their durations (median; {} at best). "
      "Some of their {} ranks were not recorded, and the durations include waiting for "
      "them. The links are at least this fast, perhaps much faster.",
      seen.where(), seen.text("messages"), seen.text("bytes"), seen.text("apparent_gbps"),
      seen.text("at_least_gbps"), seen.text("expected_ranks"));
}

std::string describe_error(FindingContext const& seen) {
  std::string text = tr(" The error is {}.", seen.subject("error"));
  if (auto const count = seen.metric("processes"); count && *count > 1)
    text += tr(" {} processes report one.", seen.text("processes"));
  return text;
}

std::string describe_recording(FindingContext const& seen) {
  if (!seen.metric("python_frames_per_step")) return {};
  std::string text =
      tr(" {} calls of Python functions were recorded a step; "
         "recording them takes {}, at about half a microsecond each.",
         seen.text("python_frames_per_step"), seen.text("recording_ns_per_step"));

  std::string const options = seen.subject("options");
  if (!options.empty()) text += tr(" The profiler's options were {}.", options);

  return text +
         tr(" {} waits for its host {} of the time; without the profiler it would wait less.",
            with_capital(seen.where()), seen.text("host_share"));
}

std::string describe_copies(FindingContext const& seen) {
  std::string text = describe_idle(seen);
  if (auto const count = seen.metric("pageable_copies"); count && *count > 0)
    text += *count == 1 ? std::string(tr(" One copy uses pageable memory."))
                        : tr(" {} copies use pageable memory.", seen.text("pageable_copies"));
  if (auto const count = seen.metric("blocking_copies"); count && *count > 0)
    text += *count == 1
                ? std::string(tr(" The host waits for one copy to finish."))
                : tr(" The host waits for {} copies to finish.", seen.text("blocking_copies"));
  return text;
}

std::string describe_allocation(FindingContext const& seen) {
  std::string text = describe_idle(seen);
  if (seen.metric("pinning_calls_per_step"))
    text += tr(" {} calls a step page-lock or release host memory.",
               seen.text("pinning_calls_per_step"));
  return text;
}

std::string describe_oversubscribed(FindingContext const& seen) {
  std::string const host = seen.subject("host");
  if (seen.metric("share")) {
    std::string const text = describe_idle(seen);
    if (!seen.metric("cores")) return text;

    if (seen.metric("threads").value_or(INFINITY) <= *seen.metric("cores"))
      return text + tr(" The machine has {} cores for their {} threads, so other threads use them, "
                       "too: of this program or of others.",
                       seen.text("cores"), seen.text("threads"));
    return text + tr(" The machine has {} cores for their {} threads.", seen.text("cores"),
                     seen.text("threads"));
  }
  return tr(" {} threads of {} devices share {} cores{}.", seen.text("threads"),
            seen.text("devices"), seen.text("cores"), host.empty() ? "" : tr(" on {}", host));
}

struct RuleWords {
  std::string_view rule, title;
  std::string_view meaning;                       ///< what the rule saw, in general
  std::string (*numbers)(FindingContext const&);  ///< null: of the finding's numbers depends more
                                                  ///< than a sentence, see words_of()
  std::string_view advice;
};

constexpr std::array kRules = {
    RuleWords{"hung-collective", "A collective did not end",
              "When the recording ended, ranks were still waiting in a collective.", describe_hung,
              "Look at what the ranks that did not call it were doing (stacks, logs, last call), "
              "and look for a branch that not all ranks take."},
    RuleWords{"input-bound", "The devices wait for input data",
              "The devices are idle because the thread that feeds them waits for the next batch.",
              describe_input,
              "Load and augment in more parallel workers, prefetch further ahead, "
              "or move the augmentation to the device. Then check that the storage keeps up."},
    RuleWords{"host-bound-launches", "Launch-bound: the host launches work too late",
              "The devices are idle because the host has not launched the next operation yet.",
              describe_idle,
              "Reduce the host time per launch: "
              "fuse small kernels or capture the step as a CUDA graph. "
              "Move logging and bookkeeping out of the loop, "
              "and reserve a core for the launching thread."},
    RuleWords{"launch-latency", "Kernels are shorter than their launches",
              "The devices wait between kernels that run for less time than it takes to launch "
              "them.",
              describe_launching,
              "Launch fewer and longer kernels: "
              "capture the step as a CUDA graph, let a compiler fuse element-wise operations "
              "(torch.compile, XLA), use fused optimizers, or raise the batch size."},
    RuleWords{"tensor-cores-unused", "Matrices are multiplied without tensor cores",
              "Matrix products and convolutions run in single precision on the plain cores of a "
              "GPU that has tensor cores.",
              describe_kernels,
              "Allow TF32 or train in mixed precision (bfloat16, float16), "
              "with sizes that are multiples of 8. Check the accuracy afterwards."},
    RuleWords{"unfused-attention", "Attention is not fused",
              "Attention runs as matrix products with a softmax kernel between them, so that all "
              "scores go to memory and back.",
              describe_share,
              "Use a fused attention kernel: scaled_dot_product_attention (attn_implementation "
              "sdpa or flash_attention_2 in Transformers), FlashAttention, or cuDNN's attention in "
              "JAX and TensorFlow."},
    RuleWords{"misaligned-matrices", "Matrix sizes do not fit the tensor cores",
              "Matrix products run in kernels for rows that are not aligned to 16 bytes; "
              "these load one or two elements at a time.",
              describe_share,
              "Pad the sizes to multiples of 8, better 16 or 64: "
              "hidden sizes, heads, sequence length, vocabulary, batch. "
              "A fused attention kernel avoids such products."},
    RuleWords{"elementwise-dominated", "Element-wise operations take most of the time",
              "Kernels that apply one operation to each element of a tensor take longer than all "
              "other kernels together.",
              describe_share,
              "Fuse them: torch.compile, XLA (jit_compile=True), fused layers and optimizers, or a "
              "kernel of your own."},
    RuleWords{"small-grids", "Kernels leave most of the GPU empty",
              "Kernels have fewer blocks than the GPU has SMs, "
              "and no other kernel runs at the same time.",
              describe_kernels,
              "Give each kernel more work (a larger batch, fused or batched operations), "
              "or run independent kernels concurrently on several streams or in a CUDA graph."},
    RuleWords{"serialized-streams", "The default stream keeps other streams waiting",
              "Kernels that could run concurrently run one after the other, "
              "because one of their streams is the default stream.",
              describe_cost,
              "Launch on streams created with cudaStreamNonBlocking, "
              "or compile with a per-thread default stream."},
    RuleWords{"pageable-copies", "Copies of pageable memory block the host",
              "The host waits for copies, usually because its memory is not page-locked, "
              "and the device does nothing else meanwhile.",
              describe_copies,
              "Page-lock the host memory (pin_memory, cudaHostAlloc) and copy asynchronously on a "
              "separate stream while the previous step computes."},
    RuleWords{"blocking-sync", "The host blocks on the device",
              "The devices run out of work while the host waits in a blocking synchronization.",
              describe_idle,
              "Remove the synchronization or do it less often: "
              "read losses and metrics every N steps, asynchronously, "
              "with pinned memory and an event."},
    RuleWords{"exposed-communication", "Communication is not hidden behind compute",
              "The devices exchange data while no kernel computes.", describe_communication,
              "Overlap it with compute on a separate stream: "
              "in training, start each bucket of gradients as soon as it is ready. "
              "Communicate in half precision, and check that the links reach their bandwidth."},
    RuleWords{"small-buckets", "Messages are too small for the link",
              "A small collective spends most of its time on its fixed cost.", describe_buckets,
              "Merge gradients into larger buckets: "
              "at least the size at which the link reaches half of its bandwidth."},
    RuleWords{"unbucketed-gradients", "Gradients are summed one by one",
              "Each step starts many short all-reduces, which spend most of their time on their "
              "fixed cost.",
              describe_reductions,
              "Sum gradients in buckets: DistributedDataParallel with its bucket_cap_mb, or pack "
              "them into one buffer before the all-reduce."},
    RuleWords{"apparent-bandwidth", "Links look slow, but ranks are missing",
              "Large collectives take long, and not all of their ranks were recorded: slow links "
              "and late ranks look alike.",
              describe_apparent,
              "Record all ranks and put their traces into one folder: "
              "then Stepscope can separate waiting from transfer. "
              "Or measure the links alone (all_reduce_perf)."},
    RuleWords{"straggler", "One device makes the others wait",
              "The same device arrives last at collectives, and all other devices wait for it.",
              describe_straggler,
              "Compare it with the others: "
              "share of the data, CPU cores and NUMA node, clocks and temperature, "
              "other programs on its machine."},
    RuleWords{"slow-link", "A link is slower than others of its kind",
              "Messages of the same operation and size take longer on one link than on others, "
              "always or occasionally.",
              describe_link,
              "Check that link: "
              "cables and error counters, PCIe lanes and switches, "
              "the network card that the library chose, other traffic. "
              "Or place ranks that communicate most where links are fast."},
    RuleWords{"unequal-workers", "A stage or worker of the pipeline is slower than the others",
              "In each step all other workers wait for it.", describe_workers,
              "A slow stage: move layers from it to other stages; the last stage also computes "
              "the output layer and the loss. A slow worker: compare its machine, clocks and "
              "input with those of the same stage."},
    RuleWords{"pipeline-bubble", "Stages of the pipeline wait for each other",
              "Stages wait while the pipeline fills and drains, or for a stage that has more work.",
              describe_bubble,
              "Use more micro-batches or an interleaved schedule, and cut the layers so that all "
              "stages take equally long."},
    RuleWords{"load-imbalance", "Compute is unevenly spread over the devices",
              "In each step another device may compute longest, and all others wait for it.",
              describe_imbalance,
              "Give every device the same work in every step: "
              "bucket or pack sequences by length, balance tokens over experts. "
              "If the work is equal, check clocks and other programs on the machines."},
    RuleWords{
        "allocation-in-step", "Device memory is allocated inside the step",
        "Allocating and freeing device memory stalls the launching thread, and often the device.",
        describe_allocation,
        "Allocate before the loop or through a caching allocator, "
        "and keep shapes constant so that it can reuse memory."},
    RuleWords{"memory-pressure", "Device memory is nearly exhausted",
              "Memory is nearly full, keeps growing, or the allocator has to release cached memory "
              "before it can reserve more.",
              describe_pressure,
              "Lower the batch size, recompute activations, shard the optimizer state, "
              "or free tensors kept by mistake, before a longer sequence runs out of memory."},
    RuleWords{"memory-leak", "Memory grows step after step",
              "The minimum of allocated memory within a step rises from step to step.",
              describe_leak,
              "Look for tensors kept across steps: "
              "lists of losses that keep their graph, growing caches, "
              "events or handles that are never freed."},
    RuleWords{"memory-fragmentation", "Device memory is fragmented",
              "The allocator reserves much more memory than is ever in use: "
              "the free memory lies in blocks that are too small.",
              describe_holes,
              "Use few allocation sizes (pad to fixed shapes), "
              "allocate long-lived tensors before short-lived ones, "
              "or use an allocator with expandable segments."},
    RuleWords{"device-error", "The program lost its GPU through an error",
              "A CUDA call returned an error after which the process cannot use the GPU. "
              "Nothing that was launched later ran, "
              "and kernels that were running are missing.",
              describe_error,
              "Run the program under compute-sanitizer, or with CUDA_LAUNCH_BLOCKING=1 "
              "so that the failing launch reports the error itself. "
              "This comes first: it says more than any time in this run."},
    RuleWords{"throttling", "A device's clock is throttled",
              "While the clock is low, kernels take longer.", describe_throttling,
              "Check cooling, power limit and application clocks of the device (nvidia-smi -q -d "
              "PERFORMANCE,POWER,TEMPERATURE), and other programs on it."},
    RuleWords{"unexplained-idle", "Idle time without a visible cause",
              "The devices are idle and the trace does not show why, "
              "so the other findings do not explain everything.",
              describe_unexplained,
              "Record more: "
              "annotate input waits and phases, enable tracing of host calls, "
              "and look at what the host does meanwhile."},
    RuleWords{"step-outliers", "Some steps take much longer than the others",
              "Most steps take about the same time, a few take much longer than the median.",
              describe_outliers,
              "Open the slow steps in the timeline and compare them with a typical one: "
              "checkpoints, evaluation, garbage collection, stalls of the input pipeline."},
    RuleWords{"warmup-in-measurement", "The first measured steps still warm up",
              "The first steps are much longer than all later ones, "
              "so every mean over the run is too high.",
              describe_warmup,
              "Compare runs without these steps. "
              "Compile, tune and allocate before the first measured step, "
              "and keep shapes fixed so that nothing is compiled again."},
    RuleWords{"profiler-overhead", "The profiler slows the host",
              "The recording has every call of a Python function; "
              "recording them makes the host slower.",
              describe_recording,
              "Record again without with_stack, with_modules, "
              "record_shapes and profile_memory before you judge the host. "
              "Use stacks only to find code."},
    RuleWords{"trace-quality", {}, {}, nullptr, {}},
    RuleWords{"oversubscribed-host", "Devices compete for the same cores",
              "Host devices compute on the machine's cores, "
              "and their threads wait for a free core: "
              "there are more threads than cores, or other programs use them.",
              describe_oversubscribed,
              "Use fewer devices or fewer threads per device, "
              "and end other programs on the machine. Do not judge scaling by this run."},
    RuleWords{"serialized-copies", "Copies are not hidden behind compute",
              "Copies run while the device does nothing else, "
              "although a second stream could hide them.",
              describe_exposed_copies,
              "Use pinned host memory and a separate copy stream, "
              "and prefetch the next batch while this one computes."},
};

constexpr std::array<std::string_view, kRules.size()> kRuleNames = [] {
  std::array<std::string_view, kRules.size()> names;
  for (size_t i = 0; i < kRules.size(); ++i) names[i] = kRules[i].rule;
  return names;
}();

/// What weakens a finding, or has to come before it.
std::string reservations(FindingContext const& seen) {
  std::string text;

  if (seen.metric("busy_share"))
    text +=
        tr(" The device is busy only {} of the time, so the gain for the whole program is not "
           "known.",
           seen.text("busy_share"));

  if (seen.has_subject("bottleneck", "host"))
    text += tr(" The host is the bottleneck: this pays off only once the host is faster.");
  if (seen.metric("steps") == 1.0 && seen.finding.severity != analyzer::Severity::kInfo)
    text += tr(" Only one step was measured, so the evidence is weak.");

  return text;
}

/// "blocking-sync" → "Blocking sync": the title of a rule that has no words yet.
std::string spelled_out(std::string_view rule) {
  std::string text = shown(rule);
  std::replace(text.begin(), text.end(), '-', ' ');
  return with_capital(std::move(text));
}

}  // namespace

std::span<std::string_view const> worded_rules() { return kRuleNames; }

FindingWords words_of(model::Run const& run, analyzer::Analysis const& analysis,
                      analyzer::Finding const& finding) {
  if (auto words = host_finding_words(run, finding)) return std::move(*words);
  auto const found = std::find_if(kRules.begin(), kRules.end(), [&](RuleWords const& words) {
    return words.rule == finding.rule;
  });

  FindingContext const seen{run, analysis, finding};
  if (found == kRules.end())
    return {spelled_out(finding.rule),
            tr("The rule “{}” applies.{}", shown(finding.rule), describe_cost(seen)),
            std::string(tr("Look at the ranges that it names."))};
  if (found->numbers == nullptr) return trace_integrity_words(analysis, finding);

  return {std::string(tr(found->title)),
          fmt::format("{}{}{}", tr(found->meaning), found->numbers(seen), reservations(seen)),
          advice_about(run, analysis, finding, found->advice)};
}

}  // namespace stepscope::reports
