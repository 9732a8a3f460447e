#include "reports/words/wording.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "reports/words/advice.h"
#include "reports/words/finding_context.h"
#include "reports/words/host_words.h"
#include "reports/words/labels.h"
#include "reports/words/language.h"
#include "reports/words/memory_words.h"
#include "reports/words/quality_words.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

std::string describe_idle(FindingContext const& seen) {
  std::string const loss = loss_of(seen);
  std::string text = loss.empty() ? "" : tr(" {} loses {}", with_capital(seen.where()), loss);

  auto const devices = seen.metric("devices");
  if (!text.empty() && devices && *devices > 1)
    text += tr("; {} devices are affected", seen.text("devices"));
  if (!text.empty()) text += tr(".");

  std::string const op = seen.subject("host_op");
  if (!op.empty()) text += tr(" Meanwhile the host spent most time in {}.", op);
  if (seen.metric("other_host_op_ns_per_step"))
    text += tr(" A further {} of it went to {}.", seen.text("other_host_op_ns_per_step"),
               seen.subject("other_host_op"));
  if (seen.metric("long_gaps_ns_per_step"))
    text +=
        tr(" Gaps longer than a millisecond make up {} of it.", seen.text("long_gaps_ns_per_step"));
  if (seen.metric("before_first_op_ns_per_step"))
    text +=
        tr(" {} of it come before the first recorded operation. "
           "The trace has nothing from before, so no gain includes it.",
           seen.text("before_first_op_ns_per_step"));

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

std::string describe_cost(FindingContext const& seen) {
  std::string const cost = loss_of(seen);
  return cost.empty() ? "" : tr(" {} loses {}.", with_capital(seen.where()), cost);
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

std::string describe_communication(FindingContext const& seen) {
  std::string text = describe_cost(seen);

  constexpr double kShownAsNone = 0.0005;
  if (auto const overlap = seen.metric("overlap"))
    text += *overlap < kShownAsNone
                ? std::string(tr(" No communication is hidden."))
                : tr(" Only {} of all communication is hidden.", seen.text("overlap"));

  auto const waiting = seen.metric("waiting_ns_per_step");
  if (waiting && *waiting > 0)
    text += tr(" Waiting for late peers, another {} a step, is not included.",
               seen.text("waiting_ns_per_step"));

  return text;
}

/// The subject "cause" of a straggler as a sentence; empty when it is not known.
std::string describe_why_late(FindingContext const& seen) {
  std::string const op = seen.subject("host_op");

  for (auto const& [role, cause] : seen.finding.subjects) {
    if (role != "cause") continue;
    if (cause == "compute") return std::string(tr(" Its compute takes longer."));

    if (cause == "host")
      return op.empty() ? std::string(tr(" It is launch-bound."))
                        : tr(" It is launch-bound: its host spends most time in {}.", op);
    if (cause == "input")
      return op.empty() ? std::string(tr(" It waits for its data."))
                        : tr(" It waits for its data, in {}.", op);

    if (cause == "communication") return std::string(tr(" Other communication delays it."));
    if (cause == "copy") return std::string(tr(" Its copies take longer."));
    if (cause == "late_start")
      return std::string(tr(" Its steps begin later than on the other devices."));
    if (cause == "before_recording")
      return std::string(
          tr(" It was already late when the recording began: the trace does not show why."));
  }

  return {};
}

std::string describe_straggler(FindingContext const& seen) {
  std::string text = tr(" {} is late", with_capital(seen.where()));
  if (seen.metric("share_of_waits"))
    text += tr(": it causes {} of the exposed waiting", seen.text("share_of_waits"));
  text += tr(".");

  auto const ratio = seen.metric("compute_ratio");
  if (ratio && *ratio > 0)
    text += tr(" Its compute time is {:.2f} × the median of the others.", *ratio);
  text += describe_why_late(seen);

  std::string const cost = cost_of(seen);
  if (cost.empty()) return text;

  bool const is_stage = !seen.metric("share_of_waits");
  return text + (is_stage ? tr(" All other devices have to wait for it and lose {}.", cost)
                          : tr(" The device that waits most loses {}.", cost));
}

std::string describe_imbalance(FindingContext const& seen) {
  std::string const cost = cost_of(seen);
  std::string text =
      cost.empty() ? ""
                   : tr(" On average a device waits {} for devices that compute longer.", cost);
  if (auto const balance = seen.metric("load_balance"))
    text += tr(" The load balance is {} (mean compute time of the devices / longest).",
               base::format_share(*balance));
  return text;
}

std::string describe_bubble(FindingContext const& seen) {
  std::string text;

  if (seen.metric("stages") && seen.metric("micro_batches"))
    text =
        tr(" {} stages, {} micro-batches a step.", seen.text("stages"), seen.text("micro_batches"));

  std::string const cost = cost_of(seen);
  if (!cost.empty()) text += tr(" On average a stage waits {}.", cost);
  if (seen.metric("ideal_share") && seen.metric("doubled_share"))
    text += tr(" Equal stages would wait {} of the step; with twice the micro-batches {}.",
               seen.text("ideal_share"), seen.text("doubled_share"));
  if (seen.metric("slowest_stage") && seen.metric("stage_imbalance"))
    text += tr(" {} computes {} × the mean of the stages, and the others wait for it.",
               with_capital(seen.where()), seen.text("stage_imbalance"));

  return text;
}

std::string describe_link(FindingContext const& seen) {
  std::string text;

  std::string const op = seen.subject("op"), ranks = seen.subject("ranks"),
                    devices = seen.subject("devices");
  std::string const link = !ranks.empty()     ? tr("ranks {}", ranks)
                           : !devices.empty() ? tr("devices {}", devices)
                                              : tr("communicator {}", seen.subject("communicator"));

  if (!op.empty() && seen.metric("median_ns"))
    text =
        tr(" On the link of {}, {} of {} takes {} (median) instead of the usual {}; "
           "{} of the messages take clearly longer.",
           link, op, seen.text("bytes"), seen.text("median_ns"), seen.text("reference_ns"),
           seen.text("slow_share"));
  return text + describe_cost(seen);
}

std::string describe_buckets(FindingContext const& seen) {
  std::string const cost = cost_of(seen);

  if (!seen.metric("half_bandwidth_bytes"))
    return tr(
        " {} collectives a step of {} on average; "
        "they take about equally long regardless of size. "
        "Merging them into one would save up to {}.",
        seen.text("collectives_per_step"), seen.text("mean_bytes"), cost);

  return tr(
      " {} collectives a step of {} on average; "
      "a message needs {} to reach half of the link's bandwidth. "
      "Merging them into one would save up to {}.",
      seen.text("collectives_per_step"), seen.text("mean_bytes"), seen.text("half_bandwidth_bytes"),
      cost);
}

std::string describe_allocation(FindingContext const& seen) {
  std::string text = describe_idle(seen);
  if (seen.metric("pinning_calls_per_step"))
    text += tr(" {} calls a step page-lock or release host memory.",
               seen.text("pinning_calls_per_step"));
  return text;
}

std::string limit_words(std::string_view limit) {
  if (limit == "power_cap") return std::string(tr("its power limit"));
  if (limit == "thermal") return std::string(tr("heat"));
  if (limit == "power_brake") return std::string(tr("the machine's power supply"));
  if (limit == "sync_boost")
    return std::string(tr("another GPU whose clock it has to match (sync boost)"));
  return limit == "hardware" ? std::string(tr("a hardware limit")) : "";
}

std::string describe_throttling(FindingContext const& seen) {
  std::string text = describe_cost(seen);

  if (seen.metric("kernel_slowdown"))
    text += seen.metric("clock_to_peers")
                ? tr(" The same kernels take {} × as long as on the other devices.",
                     seen.text("kernel_slowdown"))
                : tr(" The same kernels take {} × as long while its clock is low.",
                     seen.text("kernel_slowdown"));

  auto const clock = seen.metric("clock_mhz"), sustained = seen.metric("sustained_clock_mhz");
  if (clock && seen.metric("clock_to_peers"))
    text += tr(" Its clock is {:.0f} MHz, {} × that of the others.", *clock,
               seen.text("clock_to_peers"));

  if (auto const lowest = seen.metric("lowest_clock_mhz"); lowest && sustained)
    text += tr(" The clock drops from {:.0f} to {:.0f} MHz.", *sustained, *lowest);
  for (auto const& [role, name] : seen.finding.subjects)
    if (std::string const limit = role == "limit" ? limit_words(name) : ""; !limit.empty())
      text += tr(" The driver names {} as the reason.", limit);

  if (auto const highest = seen.metric("highest_temperature_c"))
    text += tr(" It reaches {:.0f} °C.", *highest);

  return text;
}

/// "; what grows is idle time, late host, while the host is longest in “x”".
std::string grown_part_words(FindingContext const& seen) {
  std::string text;
  for (auto const& [role, name] : seen.finding.subjects)
    for (int i = 0; role == "part" && i < kPartCount; ++i)
      if (part(i).key == name)
        text += tr("; the time that grows is {}{}", part(i).idle ? tr("idle time, ") : "",
                   part(i).label);
  if (std::string const op = seen.subject("host_op"); !op.empty())
    text += tr(", while the host spends most time in {}", op);
  return text;
}

std::string describe_warmup(FindingContext const& seen) {
  std::string text =
      seen.metric("slow_steps") == 1.0
          ? tr(" The first of {} measured steps takes over 1.5 × the median of {} of the later "
               "ones",
               seen.text("steps"), seen.text("median_step_ns"))
          : tr(" The first {} of {} measured steps take over 1.5 × the median of {} of the later "
               "ones",
               seen.text("slow_steps"), seen.text("steps"), seen.text("median_step_ns"));

  text += grown_part_words(seen).append(tr("."));
  if (std::string const cost = cost_of(seen); !cost.empty())
    text += tr(" They add {} to the mean.", cost);

  if (seen.metric("steps_to_leave_out") == 1.0)
    return text + std::string(tr(" Leave out the first step of the run."));
  return text + tr(" Leave out the first {} steps of the run.", seen.text("steps_to_leave_out"));
}

std::string describe_outliers(FindingContext const& seen) {
  std::string text =
      seen.metric("outliers") == 1.0
          ? tr(" One of {} steps takes over 1.5 × the median of {}", seen.text("steps"),
               seen.text("median_step_ns"))
          : tr(" {} of {} steps take over 1.5 × the median of {}", seen.text("outliers"),
               seen.text("steps"), seen.text("median_step_ns"));

  text += grown_part_words(seen);
  if (!seen.finding.cost_ns_per_step || !seen.metric("step_ns")) return text.append(tr("."));

  return text + tr(". Averaged over all steps this costs {} a step ({} of their mean of {}).",
                   base::format_duration(*seen.finding.cost_ns_per_step), seen.text("share"),
                   seen.text("step_ns"));
}

std::string describe_oversubscribed(FindingContext const& seen) {
  std::string const host = seen.subject("host");
  if (seen.metric("share")) {
    std::string const text = describe_idle(seen);
    if (!seen.metric("cores")) return text;
    return text + tr(" The machine has {} cores for their {} threads.", seen.text("cores"),
                     seen.text("threads"));
  }
  return tr(" {} threads of {} devices share {} cores{}.", seen.text("threads"),
            seen.text("devices"), seen.text("cores"), host.empty() ? "" : tr(" on {}", host));
}

/// "rank 3", "ranks 0, 1"; empty if no rank has the role.
std::string ranks_in_role(FindingContext const& seen, std::string_view role) {
  for (auto const& [key, ranks] : seen.finding.subjects)
    if (key == role && !ranks.empty())
      return ranks.find(',') == std::string::npos ? tr("rank {}", shown(ranks, 120))
                                                  : tr("ranks {}", shown(ranks, 120));
  return {};
}

std::string describe_hung(FindingContext const& seen) {
  std::string const op = seen.subject("op");
  if (op.empty()) return {};
  std::string text =
      tr(" It is {} number {} ({})", op, seen.text("sequence"), seen.subject("calls"));

  std::string const waiting = ranks_in_role(seen, "waiting"),
                    completed = ranks_in_role(seen, "completed");
  if (!waiting.empty()) text += tr("; waiting: {}", waiting);
  if (!completed.empty()) text += tr("; done: {}", completed);
  text += tr(".");

  std::string const missing = ranks_in_role(seen, "missing"),
                    unrecorded = ranks_in_role(seen, "unrecorded");
  std::string const held = seen.subject("held"), circle = seen.subject("circle");
  std::string const not_started = ranks_in_role(seen, "not_started"),
                    odd = ranks_in_role(seen, "odd");

  if (!missing.empty()) text += tr(" {} did not call it.", with_capital(missing));
  if (!held.empty()) text += tr(" Ranks that wait elsewhere did not reach it, either: {}.", held);
  if (!not_started.empty())
    text += tr(" {} called it, but the stream of that call never reached it.",
               with_capital(not_started));

  if (missing.empty() && held.empty() && !completed.empty() && !waiting.empty())
    text += tr(" It is still running on {}; the other ranks have completed it.", waiting);
  if (!unrecorded.empty()) text += tr(" The run has no recording of {} of the group.", unrecorded);
  if (std::string const different = seen.subject("different"); !different.empty())
    text += tr(" The ranks call different operations: {}.", different);
  if (!odd.empty()) text += tr(" The call of {} differs from that of most ranks.", odd);

  if (!circle.empty())
    text +=
        tr(" Ranks wait for each other because they call these in different orders: {}.", circle);
  if (missing.empty() && held.empty() && unrecorded.empty() && completed.empty() &&
      seen.subject("different").empty())
    text += tr(" All recorded ranks called it.");
  for (auto const& [key, groups] : seen.finding.subjects)
    if (key == "other_groups") text += tr(" Others hang, too: calls of {}.", shown(groups, 600));

  return text;
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
              "and look at what the host does in the ranges below."},
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
  if (found->numbers == nullptr) return quality_words(analysis, finding);

  return {std::string(tr(found->title)),
          fmt::format("{}{}{}", tr(found->meaning), found->numbers(seen), reservations(seen)),
          advice_about(run, analysis, finding, found->advice)};
}

}  // namespace stepscope::reports
