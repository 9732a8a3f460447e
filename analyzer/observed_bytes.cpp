#include "analyzer/observed_bytes.h"

#include <utility>

namespace stepscope::analyzer {

template <class Archive>
void pack_fields(Archive& at, StepStats& row) {
  auto& [ref, step, number, host_window, window, time, warmup, after_pause, slow, kernels,
         copied_in_bytes, before, frames, frames_before] = row;
  at(ref, step, number, host_window, window, time, warmup, after_pause, slow, kernels,
     copied_in_bytes, before, frames, frames_before);
}

template <class Archive>
void pack_fields(Archive& at, LaunchStats& row) {
  auto& [calls, calls_per_step, latency_median, latency_p95, latency_max, latency_limit,
         negative_latencies, call_median, kernel_median, queue, streams, graph_ops, graph_launches,
         graph_share] = row;
  at(calls, calls_per_step, latency_median, latency_p95, latency_max, latency_limit,
     negative_latencies, call_median, kernel_median, queue, streams, graph_ops, graph_launches,
     graph_share);
}

template <class Archive>
void pack_fields(Archive& at, MemoryOwners::Owner& owner) {
  auto& [name, bytes] = owner;
  at(name, bytes);
}

template <class Archive>
void pack_fields(Archive& at, MemoryOwners& row) {
  auto& [owners, other, before_recording] = row;
  at(owners, other, before_recording);
}

template <class Archive>
void pack_fields(Archive& at, MemoryStats& row) {
  auto& [capacity, peak_allocated, peak_reserved, fragmentation, worst_fragmentation, stranded,
         timeline, by_purpose, floor_growth, reserved_growth, floor_forecast, reserved_forecast,
         peak_owners, fragmented_growth, growths, retries, retries_at, batch_factor, pinning] = row;
  at(capacity, peak_allocated, peak_reserved, fragmentation, worst_fragmentation, stranded,
     timeline, by_purpose, floor_growth, reserved_growth, floor_forecast, reserved_forecast,
     peak_owners, fragmented_growth, growths, retries, retries_at, batch_factor, pinning);
}

template <class Archive>
void pack_fields(Archive& at, TelemetryStats& row) {
  auto& [sm_clock, memory_clock, power, temperature, utilization, busy_clock, sustained_clock,
         clock_to_peers, throttled_ns, limited, slowdown, slow_steps, throttled] = row;
  at(sm_clock, memory_clock, power, temperature, utilization, busy_clock, sustained_clock,
     clock_to_peers, throttled_ns, limited, slowdown, slow_steps, throttled);
}

template <class Archive>
void pack_fields(Archive& at, DeviceStats& row) {
  auto& [ref, name, window, all_ops, are_steps_by_time, time, unexplained, kernels, copies,
         collectives, launches, launch, slow, memory, telemetry, longest_copies, frames, softmax,
         other_work] = row;
  at(ref, name, window, all_ops, are_steps_by_time, time, unexplained, kernels, copies, collectives,
     launches, launch, slow, memory, telemetry, longest_copies, frames, softmax, other_work);
}

template <class Archive>
void pack_fields(Archive& at, HostOpStats& row) {
  auto& [ref, cause, host_op, names, gaps, idle_ns] = row;
  at(ref, cause, host_op, names, gaps, idle_ns);
}

template <class Archive>
void pack_fields(Archive& at, PhaseStats& row) {
  auto& [ref, name, names, count, host_ns, ops, busy, compute, exposed_comm, median, p95] = row;
  at(ref, name, names, count, host_ns, ops, busy, compute, exposed_comm, median, p95);
}

template <class Archive>
void pack_fields(Archive& at, HostRangeStats& row) {
  auto& [name, kind, names, count, inclusive, exclusive, longest, step_inclusive, step_exclusive,
         steady_exclusive] = row;
  at(name, kind, names, count, inclusive, exclusive, longest, step_inclusive, step_exclusive,
     steady_exclusive);
}

template <class Archive>
void pack_fields(Archive& at, HostThreadStats& row) {
  auto& [track, name, events, steps, busy, input] = row;
  at(track, name, events, steps, busy, input);
}

template <class Archive>
void pack_fields(Archive& at, SlowSteps& row) {
  auto& [count, mean, steady, worst, when, differs, differs_ns] = row;
  at(count, mean, steady, worst, when, differs, differs_ns);
}

template <class Archive>
void pack_fields(Archive& at, HostStats& row) {
  auto& [rank_index, window, steps, counted, mean, median, p95, input, slow, ranges, threads] = row;
  at(rank_index, window, steps, counted, mean, median, p95, input, slow, ranges, threads);
}

template <class Archive>
void pack_fields(Archive& at, NegotiationStats& row) {
  auto& [rank_index, count, incomplete, window, ranks] = row;
  at(rank_index, count, incomplete, window, ranks);
}

template <class Archive>
void pack_fields(Archive& at, KernelStats& row) {
  auto& [ref, name, kind, count, total, median, p95, least, most, share, flops_rate, mean,
         tensor_cores, occupancy, bytes_rate, flops_per_byte, peak_share, small_grid] = row;
  at(ref, name, kind, count, total, median, p95, least, most, share, flops_rate, mean, tensor_cores,
     occupancy, bytes_rate, flops_per_byte, peak_share, small_grid);
}

template <class Archive>
void pack_fields(Archive& at, OpStats& row) {
  auto& [ref, level, what, name, count, total, share] = row;
  at(ref, level, what, name, count, total, share);
}

template <class Archive>
void pack_fields(Archive& at, WorkerOps& worker) {
  auto& [ref, place, names, ops] = worker;
  at(ref, place, names, ops);
}

template <class Archive>
void pack_fields(Archive& at, DeviceDelays& delays) {
  auto& [exposed, differences, late, names] = delays;
  at(exposed, differences, late, names);
}

template <class Archive>
void pack_fields(Archive& at, DeviceWork& work) {
  auto& [ref, delays, bubble, worker] = work;
  at(ref, delays, bubble, worker);
}

template <class Archive>
void pack_fields(Archive& at, CollectivesOfDevice& collectives) {
  auto& [of] = collectives;
  at(of);
}

template <class Archive>
void pack_fields(Archive& at, KnownOfDevice& known) {
  auto& [peers, waits, collectives, pipeline_waits] = known;
  at(peers, waits, collectives, pipeline_waits);
}

template <class Archive>
void pack_fields(Archive& at, AnalyzeOptions& options) {
  auto& [steps, rank, launch_latency_limit, wants_gains, warmup_steps] = options;
  at(steps, rank, launch_latency_limit, wants_gains, warmup_steps);
}

template <class Archive>
void pack_fields(Archive& at, ProcessQuestion& question) {
  auto& [rank_index, has_devices, known, step_source, has_layers, threads, options] = question;
  at(rank_index, has_devices, known, step_source, has_layers, threads, options);
}

/// What observe_process() fills of it.
template <class Archive>
void pack_fields(Archive& at, ObservedProcess& observed) {
  Analysis& results = observed.results;
  at(observed.work, results.devices, results.steps, results.ops_outside_steps, results.gaps,
     results.host_ops, results.phases, results.hosts, results.negotiations);
  at(results.kernels, results.ops, results.graphs, results.copies);
}

std::string packed_question(ProcessQuestion const& question) {
  base::Packer at;
  at(question);
  return std::move(at).take();
}

std::optional<ProcessQuestion> unpacked_question(std::string_view bytes) {
  ProcessQuestion question;
  base::Unpacker at(bytes);
  at(question);
  return at.is_whole() ? std::optional(std::move(question)) : std::nullopt;
}

void pack_answer(base::Packer& at, ObservedProcess const& observed) { at(observed); }
void unpack_answer(base::Unpacker& at, ObservedProcess& observed) { at(observed); }

base::Expected<ObservedProcess> answer_question(ProcessQuestion question,
                                                model::RankTrace const& skeleton,
                                                model::RankTrace const& whole) {
  HostSteps steps;
  steps.source = question.step_source;
  if (question.has_layers) steps.layers.emplace();
  steps.threads.resize(static_cast<size_t>(question.rank_index) + 1);
  steps.threads.back() = std::move(question.threads);

  if (!question.has_devices) {
    ObservedProcess process;
    observe_host(whole, question.rank_index, steps, question.options, process.results);
    return process;
  }

  std::vector<DeviceOps> const devices = index_devices(skeleton, question.rank_index);
  if (devices.size() != question.known.size())
    return base::fail("{}: has changed while it was read", whole.file);
  return observe_process({whole, devices, std::move(question.known), steps}, question.options);
}

}  // namespace stepscope::analyzer
