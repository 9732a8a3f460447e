#include "reports/words/findings/advice.h"

#include <algorithm>
#include <array>
#include <optional>

#include "analyzer/metrics/work/gpu_generation.h"
#include "analyzer/metrics/work/kernels.h"
#include "reports/words/findings/framework_advice.h"
#include "reports/words/language.h"

namespace stepscope::reports {
namespace {

bool has_subject(analyzer::Finding const& finding, std::string_view key, std::string_view name) {
  return std::any_of(finding.subjects.begin(), finding.subjects.end(), [&](auto const& subject) {
    return subject.first == key && subject.second == name;
  });
}

/// A trace may call its devices "GPU 2" and tell by its calls alone whose they are.
bool launches_by_hip(model::RankTrace const& rank) {
  constexpr std::array<std::string_view, 3> kCalls = {"hipLaunchKernel", "hipModuleLaunchKernel",
                                                      "hipExtModuleLaunchKernel"};
  return std::any_of(kCalls.begin(), kCalls.end(), [&](std::string_view call) {
    return rank.trace.strings().find(call).valid();
  });
}

bool is_amd(model::Run const& run, analyzer::Analysis const& analysis) {
  if (std::any_of(run.ranks.begin(), run.ranks.end(), launches_by_hip)) return true;
  constexpr std::array<std::string_view, 4> kNames = {"AMD", "Instinct", "Radeon", "gfx"};
  return std::any_of(analysis.devices.begin(), analysis.devices.end(),
                     [&](analyzer::DeviceStats const& device) {
                       return std::any_of(kNames.begin(), kNames.end(), [&](std::string_view name) {
                         return device.name.find(name) != std::string::npos;
                       });
                     });
}

/// Whether the finding is about threads of the host that act as a device.
bool is_about_host_device(analyzer::Analysis const& analysis, analyzer::Finding const& finding) {
  return std::any_of(analysis.devices.begin(), analysis.devices.end(),
                     [&](analyzer::DeviceStats const& device) {
                       return device.ref == finding.where && analyzer::is_host_device(device.name);
                     });
}

bool has_role(analyzer::Finding const& finding, std::string_view role) {
  return std::any_of(finding.subjects.begin(), finding.subjects.end(), [&](auto const& subject) {
    return subject.first == role && !subject.second.empty();
  });
}

/// Devices have no more threads than the machine has cores: fewer of them is not the first cure.
bool has_cores_enough(analyzer::Finding const& finding) {
  std::optional<double> threads, cores;
  for (auto const& [name, value] : finding.metrics) {
    if (name == "threads") threads = value;
    if (name == "cores") cores = value;
  }
  return threads && cores && *threads <= *cores;
}

/// Advice that depends on what is known of the ranks.
std::string_view advice_on_hung(analyzer::Finding const& finding) {
  if (has_role(finding, "different") || has_role(finding, "circle"))
    return "Look for collectives that ranks call in different orders: "
           "from two threads, on groups in varying order, "
           "or in a branch that not all ranks take. "
           "TORCH_DISTRIBUTED_DEBUG=DETAIL names the call that differs.";

  if (has_role(finding, "not_started"))
    return "Look at what these ranks launched before it on the same streams and what may not "
           "have ended: another collective or a kernel that waits. "
           "Check the device for errors (dmesg, Xid).";

  if (has_role(finding, "missing"))
    return "Look at what the ranks that did not call it were doing (stacks, logs, last call), "
           "and look for a branch that not all ranks take.";

  if (has_role(finding, "unrecorded"))
    return "Check the ranks without a recording: "
           "whether their processes still run, their logs and their stacks. "
           "Then add their recordings to the run.";

  if (has_role(finding, "completed") && has_role(finding, "waiting"))
    return "Check the ranks that are still in it: "
           "errors of their GPUs (dmesg, Xid), work launched before it on their devices that "
           "may not have ended, and their network links.";

  return "All ranks called it, so check what carries it: "
         "the network and NVLink (NCCL_DEBUG=INFO, error counters) and the GPUs (dmesg, Xid). "
         "Compare sizes and types between ranks (TORCH_DISTRIBUTED_DEBUG=DETAIL), "
         "and look for earlier work on the devices that may not have ended.";
}

struct CauseAdvice {
  std::string_view cause, advice;
};
/// About a device that is late, by what it does meanwhile.
constexpr std::array kForLate = {
    CauseAdvice{
        "compute",
        "Check first whether it has more work: its share of the data, longer sequences, more "
        "layers. "
        "With equal work compare its clocks, power and temperature "
        "(nvidia-smi -q -d PERFORMANCE,POWER,TEMPERATURE), and look for other programs on it."},
    CauseAdvice{
        "host",
        "Take what only this rank does off the launching thread: logging, checkpoints, evaluation. "
        "If all ranks do the same, compare CPU cores, NUMA node and other programs of its "
        "machine."},
    CauseAdvice{"input",
                "Compare its input with that of the others: size and place of its data, loader "
                "workers, storage. "
                "Prefetch further ahead, so that a slow batch does not stop it."},
    CauseAdvice{
        "communication",
        "Look at the communication that delays it: a group or message that others do not have, "
        "or a slow link of its machine."},
    CauseAdvice{"copy",
                "Compare its copies with those of the others: "
                "page-locked memory, PCIe lanes and NUMA node of its machine, other traffic."},
    CauseAdvice{"late_start",
                "Look at what its program does between steps and others do not: "
                "evaluation, checkpoints, logging, a wait for storage."},
    CauseAdvice{
        "before_recording",
        "Record more steps, from an earlier one on, to see what made it late. "
        "Meanwhile compare CPU cores, clocks and temperature, and other programs of its machine."},
};

std::string_view advice_on_late(analyzer::Analysis const& analysis,
                                analyzer::Finding const& finding) {
  if (has_subject(finding, "cause", "compute") && is_about_host_device(analysis, finding))
    return "Check first whether it has more work: its share of the data, longer sequences, more "
           "layers. "
           "With equal work end other programs on the machine: they take cores of a host device. "
           "Record again, and see whether the same device is late.";

  auto const found = std::find_if(kForLate.begin(), kForLate.end(), [&](CauseAdvice const& advice) {
    return has_subject(finding, "cause", advice.cause);
  });
  return found == kForLate.end() ? std::string_view() : found->advice;
}

/// Whether the tensor cores of the finding's device multiply float16 alone.
bool takes_float16_alone(model::Run const& run, analyzer::Finding const& finding) {
  if (!finding.where || finding.where->rank_index < 0) return false;
  auto const rank = static_cast<size_t>(finding.where->rank_index);
  if (rank >= run.ranks.size()) return false;

  auto const& devices = run.ranks[rank].trace.devices();
  return std::any_of(devices.begin(), devices.end(), [&](model::Device const& device) {
    return device.id == finding.where->device && analyzer::lacks_tf32_and_bfloat16(device.name);
  });
}

/// Whether a recording with the calls of the host would tell more. XLA's own profile has them where
/// there are any.
bool lacks_host_calls(model::Run const& run, analyzer::Analysis const& analysis) {
  bool const is_xplane =
      std::any_of(run.ranks.begin(), run.ranks.end(), [](model::RankTrace const& rank) {
        return rank.trace.info().tool.starts_with("XLA profiler");
      });
  return !is_xplane &&
         std::all_of(analysis.devices.begin(), analysis.devices.end(),
                     [](analyzer::DeviceStats const& device) { return device.launches == 0; });
}

/// About a host that launches too late, by what its gaps are.
std::string_view advice_on_gaps(analyzer::Finding const& finding) {
  if (has_subject(finding, "gaps", "compilation"))
    return "Compile and load before you measure: run a few steps first, keep shapes fixed, "
           "and use a compilation cache (jax_compilation_cache_dir, TORCHINDUCTOR_FX_GRAPH_CACHE). "
           "Cheaper launches would not help.";

  if (has_subject(finding, "gaps", "long"))
    return "Move long work off the launching thread: "
           "prepare the next batch in worker processes or a prefetching thread while the device "
           "computes. Or do the work less often, or make it faster. "
           "Cheaper launches would not help.";

  if (has_subject(finding, "gaps", "before_first_op"))
    return "Record three steps or more, to see whether the host does this work in every step. "
           "If it does, prepare the next batch in worker processes or a prefetching thread "
           "while the device computes. Cheaper launches would not help.";
  return {};
}

/// What the finding itself knows more than its rule; empty where that is nothing.
std::string_view advice_by_subjects(model::Run const& run, analyzer::Analysis const& analysis,
                                    analyzer::Finding const& finding) {
  if (finding.rule == "hung-collective") return advice_on_hung(finding);
  if (finding.rule == "straggler") return advice_on_late(analysis, finding);
  if (finding.rule == "host-bound-launches") return advice_on_gaps(finding);
  if (finding.rule == "unequal-workers" && has_subject(finding, "cause", "stage"))
    return "Move layers from this stage to others; "
           "the last stage also computes the output layer and the loss.";
  if (finding.rule == "unequal-workers" && has_subject(finding, "cause", "worker"))
    return "Compare this worker's machine, clocks and input with those of the same stage.";
  if (finding.rule == "input-bound" && has_subject(finding, "loader", "training_thread"))
    return advice_on_workers();
  if (finding.rule == "oversubscribed-host" && has_cores_enough(finding))
    return "End other programs on the machine, or leave them a core by one device or thread less. "
           "Do not judge scaling by this run.";
  if (finding.rule == "unexplained-idle" && lacks_host_calls(run, analysis))
    return advice_on_host_calls();

  if (finding.rule == "serialized-copies" && has_subject(finding, "copies", "within_device"))
    return "Avoid these copies: "
           "keep tensors in the layout that the next operation needs, write results in place, "
           "or let a compiler fuse the copy with its neighbours. "
           "Otherwise run them on a separate stream.";

  if (finding.rule == "tensor-cores-unused" && takes_float16_alone(run, finding))
    return "Run in mixed precision with float16 (in training with a loss scaler, such as "
           "torch.amp.GradScaler), with sizes that are multiples of 8. This GPU's tensor cores "
           "have neither TF32 nor bfloat16. Check the accuracy afterwards.";
  return {};
}

/// Empty where the rule's own advice fits.
std::string_view better_advice(model::Run const& run, analyzer::Analysis const& analysis,
                               analyzer::Finding const& finding) {
  if (auto const known = advice_by_subjects(run, analysis, finding); !known.empty()) return known;
  // Options of a framework are for training.
  if (has_subject(finding, "program", "inference")) return inference_advice(finding.rule);

  Framework const framework = framework_of(run, analysis);
  bool const is_pinned = has_subject(finding, "memory", "pinned") && framework != Framework::kXla;
  if (finding.rule == "serialized-copies" && is_pinned)
    return "The host memory is already page-locked: "
           "use a separate copy stream and prefetch the next batch while this one computes.";
  if (finding.rule == "pageable-copies" && is_pinned)
    return "The host memory is already page-locked: "
           "copy asynchronously on a separate stream while the previous step computes.";

  return framework_advice(framework, finding.rule);
}

/// The same with what AMD calls it, in any language.
std::string for_amd(std::string advice) {
  struct Name {
    std::string_view cuda, hip;
  };
  constexpr std::array kNames = {
      Name{"(nvidia-smi -q -d PERFORMANCE,POWER,TEMPERATURE)", "(amd-smi metric)"},
      Name{"cudaHostAlloc", "hipHostMalloc"}, Name{"cudaStreamNonBlocking", "hipStreamNonBlocking"},
      Name{"CUDA", "HIP"}};

  for (Name const& name : kNames)
    for (size_t at = advice.find(name.cuda); at != std::string::npos;
         at = advice.find(name.cuda, at + name.hip.size()))
      advice.replace(at, name.cuda.size(), name.hip);

  return advice;
}

}  // namespace

std::string_view advice_on_workers() {
  return "Set num_workers (start with 4 to 8 per device) so that other processes load ahead, "
         "with pin_memory=True and persistent_workers=True. "
         "Then check that the storage keeps up.";
}

std::string_view advice_on_host_calls() {
  return "Record the host calls, too (PyTorch: ProfilerActivity.CPU; nsys: --trace=cuda; "
         "rocprofv3: --sys-trace), or open a file that has them "
         "(for JAX and TensorFlow the .xplane.pb).";
}

std::string advice_about(model::Run const& run, analyzer::Analysis const& analysis,
                         analyzer::Finding const& finding, std::string_view steady) {
  std::string_view const better = better_advice(run, analysis, finding);
  std::string advice(tr(better.empty() ? steady : better));
  return is_amd(run, analysis) ? for_amd(std::move(advice)) : advice;
}

}  // namespace stepscope::reports
