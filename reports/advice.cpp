#include "reports/advice.h"

#include <algorithm>
#include <array>

#include "reports/language.h"

namespace stepscope::reports {
namespace {

bool has_subject(analyzer::Finding const& finding, std::string_view key, std::string_view name) {
  return std::any_of(finding.subjects.begin(), finding.subjects.end(),
                     [&](auto const& subject) { return subject.first == key && subject.second == name; });
}

/// XLA launches what it has compiled: a program changes what it hands over, not how kernels are launched.
bool is_of_xla(model::Run const& run) {
  return std::any_of(run.ranks.begin(), run.ranks.end(),
                     [](model::RankTrace const& rank) { return rank.trace.info().tool.starts_with("XLA profiler"); });
}

/// A trace may call its devices "GPU 2" and tell by its calls alone whose they are.
bool launches_by_hip(model::RankTrace const& rank) {
  constexpr std::array<std::string_view, 3> kCalls = {"hipLaunchKernel", "hipModuleLaunchKernel", "hipExtModuleLaunchKernel"};
  return std::any_of(kCalls.begin(), kCalls.end(),
                     [&](std::string_view call) { return rank.trace.strings().find(call).valid(); });
}

bool is_amd(model::Run const& run, analyzer::Analysis const& analysis) {
  if (std::any_of(run.ranks.begin(), run.ranks.end(), launches_by_hip)) return true;
  constexpr std::array<std::string_view, 4> kNames = {"AMD", "Instinct", "Radeon", "gfx"};
  return std::any_of(analysis.devices.begin(), analysis.devices.end(), [&](analyzer::DeviceFacts const& device) {
    return std::any_of(kNames.begin(), kNames.end(),
                       [&](std::string_view name) { return device.name.find(name) != std::string::npos; });
  });
}

/// Empty where the rule's own advice fits.
std::string_view better_advice(model::Run const& run, analyzer::Finding const& finding) {
  if (finding.rule == "host-bound-launches" && has_subject(finding, "gaps", "long"))
    return "Take this work off the thread that launches: prepare the next batch in worker processes or a prefetching thread "
           "while "
           "the device computes, do the work less often, or make it faster. Cheaper launches would not help.";
  if ((finding.rule == "host-bound-launches" || finding.rule == "launch-latency") && is_of_xla(run))
    return "Make the host cheaper per launch: put the whole step into one compiled function (jax.jit, tf.function with XLA), run "
           "several steps in one call (jax.lax.scan, steps_per_execution), take logging and bookkeeping out of the loop, raise "
           "the "
           "batch size.";
  if (finding.rule == "serialized-copies" && has_subject(finding, "copies", "within_device"))
    return "Do without these copies: keep tensors in the layout that the next operation needs, write results in place, let a "
           "compiler fuse the copy with its neighbours; or run them on a stream of their own.";
  bool const is_pinned = has_subject(finding, "memory", "pinned");
  if (finding.rule == "serialized-copies" && is_pinned)
    return "The host's memory is page-locked already: use an own copy stream, and prefetch the next batch while this one "
           "computes.";
  if (finding.rule == "pageable-copies" && is_pinned)
    return "The host's memory is page-locked already: copy asynchronously on a stream of its own while the step before computes.";
  return {};
}

/// The same with what AMD calls it, in any language.
std::string for_amd(std::string advice) {
  struct Name {
    std::string_view cuda, hip;
  };
  constexpr std::array kNames = {Name{"(nvidia-smi -q -d PERFORMANCE,POWER,TEMPERATURE)", "(amd-smi metric)"},
                                 Name{"cudaHostAlloc", "hipHostMalloc"}, Name{"cudaStreamNonBlocking", "hipStreamNonBlocking"},
                                 Name{"CUDA", "HIP"}};
  for (Name const& name : kNames)
    for (size_t at = advice.find(name.cuda); at != std::string::npos; at = advice.find(name.cuda, at + name.hip.size()))
      advice.replace(at, name.cuda.size(), name.hip);
  return advice;
}

}  // namespace

std::string advice_about(model::Run const& run, analyzer::Analysis const& analysis, analyzer::Finding const& finding,
                         std::string_view usual) {
  std::string_view const better = better_advice(run, finding);
  std::string advice(tr(better.empty() ? usual : better));
  return is_amd(run, analysis) ? for_amd(std::move(advice)) : advice;
}

}  // namespace stepscope::reports
