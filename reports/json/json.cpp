#include "reports/json/json.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <nlohmann/json.hpp>

#include "reports/labels.h"
#include "reports/summary.h"
#include "reports/wording.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(std::optional<T> const& value) {
  return value ? Json(*value) : Json(nullptr);
}
/// JSON has no NaN and no infinity: a number that does not exist is null.
Json number(std::optional<double> value) { return value && std::isfinite(*value) ? Json(*value) : Json(nullptr); }

/// Names in the page of a person or a script: whole, but valid UTF-8.
Json text(std::string_view value) { return base::printable(value); }

// What the trace does not say of a collective.
Json communicator_json(uint64_t communicator) { return communicator == 0 ? Json(nullptr) : Json(communicator); }
Json operation_json(model::CollectiveOp op) {
  return op == model::CollectiveOp::kUnknown ? Json(nullptr) : Json(model::to_string(op));
}
Json message_bytes_json(analyzer::CollectiveFacts const& collective) {
  bool const is_unknown = collective.bytes == 0 && collective.op != model::CollectiveOp::kBarrier;
  return is_unknown ? Json(nullptr) : Json(collective.bytes);
}

Json idle_json(analyzer::IdleSplit const& split) {
  Json idle = Json::object();
  for (int i = 0; i < analyzer::kIdleCauseCount; ++i)
    idle[analyzer::to_string(static_cast<analyzer::IdleCause>(i))] = split[static_cast<size_t>(i)];
  return idle;
}

Json purposes_json(std::array<uint64_t, 7> const& bytes) {
  Json purposes = Json::object();
  for (size_t i = 0; i < bytes.size(); ++i) purposes[model::to_string(static_cast<model::MemoryPurpose>(i))] = bytes[i];
  return purposes;
}

Json run_json(model::Run const& run, analyzer::Analysis const& analysis) {
  std::set<std::string> hosts;
  for (model::RankTrace const& rank : run.ranks) hosts.insert(base::printable(rank.trace.info().host));
  Json notes = Json::array();
  for (std::string const& note : run.notes) notes.push_back(text(note));
  model::Interval const range = run_range(run);
  return {{"name", text(run.name)},
          {"ranks", run.ranks.size()},
          {"hosts", hosts.size()},
          {"host_names", hosts},
          {"begin_ns", range.begin},
          {"end_ns", range.end},
          {"clock",
           {{"method", text(run.clock.method)},
            {"residual_median_ns", or_null(run.clock.residual_median_ns)},
            {"residual_p95_ns", or_null(run.clock.residual_p95_ns)},
            {"collectives", run.clock.collectives}}},
          {"step_source", analysis.step_source == analyzer::StepSource::kNone
                              ? Json(nullptr)
                              : Json(analysis.step_source == analyzer::StepSource::kAnnotation    ? "annotation"
                                     : analysis.step_source == analyzer::StepSource::kNvtxPattern ? "nvtx_pattern"
                                                                                                  : "detected")},
          {"ops_outside_steps", analysis.ops_outside_steps},
          {"notes", notes}};
}

Json memory_json(analyzer::MemoryFacts const& memory) {
  return {{"capacity_bytes", or_null(memory.capacity_bytes)},
          {"peak_allocated_bytes", or_null(memory.peak_allocated_bytes)},
          {"peak_reserved_bytes", or_null(memory.peak_reserved_bytes)},
          {"fragmentation", number(memory.fragmentation)},
          {"floor_growth_bytes_per_step", number(memory.floor_growth_bytes_per_step)},
          {"peak_by_purpose_bytes", memory.peak_allocated_bytes ? purposes_json(memory.by_purpose_at_peak) : Json(nullptr)}};
}

Json device_json(analyzer::DeviceFacts const& device) {
  analyzer::TimeSplit const& time = device.time;
  return {{"device", device.ref.device},
          {"name", text(device.name)},
          {"begin_ns", device.window.begin},
          {"window_ns", time.window_ns},
          {"busy_ns", time.busy_ns},
          {"idle_ns", time.idle_ns},
          {"compute_ns", time.compute_ns},
          {"comm_ns", time.comm_ns},
          {"copy_ns", time.copy_ns},
          {"exposed_comm_ns", time.exposed_comm_ns},
          {"exposed_copy_ns", time.exposed_copy_ns},
          {"exposed_wait_ns", time.exposed_wait_ns},
          {"overlap", number(time.overlap())},
          {"utilization", number(time.utilization())},
          {"idle_by_cause_ns", idle_json(time.idle_by_cause)},
          {"kernels", device.kernels},
          {"copies", device.copies},
          {"collectives", device.collectives},
          {"launches", device.launches},
          {"memory", memory_json(device.memory)}};
}

Json ranks_json(model::Run const& run, analyzer::Analysis const& analysis) {
  Json ranks = Json::array();
  for (size_t i = 0; i < run.ranks.size(); ++i) {
    model::TraceInfo const& info = run.ranks[i].trace.info();
    Json devices = Json::array();
    for (analyzer::DeviceFacts const& device : analysis.devices)
      if (static_cast<size_t>(device.ref.rank_index) == i) devices.push_back(device_json(device));
    ranks.push_back({{"rank", info.rank},
                     {"host", info.host.empty() ? Json(nullptr) : text(info.host)},
                     {"process", info.process_id},
                     {"offset_ns", run.ranks[i].offset_ns},
                     {"drift_ppb", std::round(run.ranks[i].drift * 1e9)},
                     {"devices", devices}});
  }
  return ranks;
}

Json steps_json(model::Run const& run, analyzer::Analysis const& analysis) {
  Json steps = Json::array();
  for (StepPeriod const& period : step_periods(analysis)) {
    analyzer::StepFacts const& step = *period.step;
    analyzer::IdleSplit idle{};
    std::copy(period.parts_ns.begin() + 3, period.parts_ns.end(), idle.begin());
    steps.push_back({{"rank", rank_of(run, step.ref)},
                     {"device", step.ref.device},
                     {"step", step.step},
                     {"begin_ns", step.window.begin},
                     {"dur_ns", step.time.window_ns},
                     {"compute_ns", step.time.compute_ns},
                     {"exposed_comm_ns", step.time.exposed_comm_ns},
                     {"exposed_copy_ns", step.time.exposed_copy_ns},
                     {"idle_ns", idle_json(step.time.idle_by_cause)},
                     {"host_begin_ns", step.host_window.begin},
                     {"host_dur_ns", step.host_window.length()},
                     {"warmup", step.warmup},
                     {"period_begin_ns", period.when.begin},
                     {"period_ns", period.when.length()},
                     {"period_idle_ns", idle_json(idle)}});
  }
  return steps;
}

/// The participant's number in its communicator, else its process's rank.
int32_t communicator_rank(model::Run const& run, analyzer::CollectiveFacts::Participant const& participant) {
  auto const index = static_cast<size_t>(participant.ref.rank_index);
  if (index < run.ranks.size()) {
    model::Trace const& trace = run.ranks[index].trace;
    if (participant.row < trace.event_count() && trace.kind(participant.row) == model::EventKind::kCollective) {
      int32_t const rank = trace.detail<model::CollectiveDetail>(participant.row).rank;
      if (rank >= 0) return rank;
    }
  }
  return rank_of(run, participant.ref);
}

Json collectives_json(model::Run const& run, analyzer::Analysis const& analysis) {
  Json collectives = Json::array();
  for (analyzer::CollectiveFacts const& collective : analysis.collectives) {
    Json ranks = Json::array(), waits = Json::array(), participants = Json::array();
    for (auto const& participant : collective.participants) {
      ranks.push_back(communicator_rank(run, participant));
      waits.push_back(participant.wait_ns);
      participants.push_back({{"rank", rank_of(run, participant.ref)},
                              {"device", participant.ref.device},
                              {"begin_ns", participant.when.begin},
                              {"dur_ns", participant.when.length()}});
    }
    auto const last = static_cast<size_t>(collective.last_participant);
    bool const has_last = collective.last_participant >= 0 && last < collective.participants.size();
    collectives.push_back(
        {{"comm", communicator_json(collective.communicator)},
         {"seq", collective.sequence},
         {"op", operation_json(collective.op)},
         {"bytes", message_bytes_json(collective)},
         {"ranks", ranks},
         {"transfer_ns", collective.transfer_ns},
         {"wait_ns", waits},
         {"busbw_gbps", number(collective.busbw_gbps)},
         {"last_rank", has_last ? ranks[last] : Json(nullptr)},
         {"skew_ns", collective.skew_ns},
         {"expected_ranks", collective.expected_participants == 0 ? Json(nullptr) : Json(collective.expected_participants)},
         {"participants", participants}});
  }
  return collectives;
}

Json links_json(analyzer::Analysis const& analysis) {
  Json links = Json::array();
  for (analyzer::LinkFit const& link : analysis.links)
    links.push_back({{"comm", communicator_json(link.communicator)},
                     {"op", operation_json(link.op)},
                     {"alpha_us", number(link.alpha_us)},
                     {"beta_gbps", number(link.beta_gbps)},
                     {"half_bandwidth_bytes", number(link.half_bandwidth_bytes)},
                     {"samples", link.samples}});
  return links;
}

Json kernels_json(model::Run const& run, analyzer::Analysis const& analysis) {
  Json kernels = Json::array();
  for (analyzer::KernelFacts const& kernel : analysis.kernels)
    kernels.push_back({{"rank", rank_of(run, kernel.ref)},
                       {"device", kernel.ref.device},
                       {"name", text(kernel.name)},
                       {"kind", model::kind_info(kernel.kind).name},
                       {"count", kernel.count},
                       {"total_ns", kernel.total_ns},
                       {"median_ns", kernel.median_ns},
                       {"p95_ns", kernel.p95_ns},
                       {"min_ns", kernel.min_ns},
                       {"max_ns", kernel.max_ns},
                       {"share", number(kernel.share)},
                       {"flops_per_second", number(kernel.flops_rate)}});
  return kernels;
}

Json evidence_json(model::Run const& run, analyzer::Finding::Evidence const& evidence) {
  Json track = nullptr;
  auto const index = static_cast<size_t>(evidence.ref.rank_index);
  if (evidence.track && index < run.ranks.size() && *evidence.track < run.ranks[index].trace.tracks().size())
    track = text(run.ranks[index].trace.tracks()[*evidence.track].name);
  return {{"begin_ns", evidence.when.begin},
          {"end_ns", evidence.when.end},
          {"track", track},
          {"rank", rank_of(run, evidence.ref)},
          {"device", evidence.ref.device}};
}

Json findings_json(model::Run const& run, analyzer::Analysis const& analysis) {
  Json findings = Json::array();
  for (analyzer::Finding const& finding : analysis.findings) {
    FindingWords const words = words_of(run, analysis, finding);
    Json metrics = Json::object(), subjects = Json::object(), evidence = Json::array();
    for (auto const& [key, value] : finding.metrics) metrics[base::printable(key)] = number(value);
    for (auto const& [key, value] : finding.subjects) subjects[base::printable(key)] = text(value);
    for (auto const& place : finding.evidence) evidence.push_back(evidence_json(run, place));
    findings.push_back({{"rule", text(finding.rule)},
                        {"severity", analyzer::to_string(finding.severity)},
                        {"title", words.title},
                        {"rank", finding.where ? Json(rank_of(run, *finding.where)) : Json(nullptr)},
                        {"device", finding.where ? Json(finding.where->device) : Json(nullptr)},
                        {"cost_ns_per_step", or_null(finding.cost_ns_per_step)},
                        {"gain_ceiling", number(finding.gain_ceiling)},
                        {"metrics", metrics},
                        {"subjects", subjects},
                        {"evidence", evidence},
                        {"explanation", words.explanation},
                        {"advice", words.advice}});
  }
  return findings;
}

Json quality_json(analyzer::Quality const& quality) {
  Json notes = Json::array();
  for (std::string const& note : quality.notes) notes.push_back(text(note));
  return {{"dropped", quality.dropped},
          {"unmatched_launches", quality.unmatched_launches},
          {"negative_latencies", quality.negative_latencies},
          {"overlapping_slices", quality.overlapping_slices},
          {"truncated", quality.truncated},
          {"missing_ranks", quality.missing_ranks},
          {"score", quality.score},
          {"lost_blocks", quality.lost_blocks},
          {"notes", notes}};
}

}  // namespace

std::string analysis_json(model::Run const& run, analyzer::Analysis const& analysis) {
  Json const document = {{"schema", 1},
                         {"run", run_json(run, analysis)},
                         {"ranks", ranks_json(run, analysis)},
                         {"steps", steps_json(run, analysis)},
                         {"collectives", collectives_json(run, analysis)},
                         {"links", links_json(analysis)},
                         {"kernels", kernels_json(run, analysis)},
                         {"findings", findings_json(run, analysis)},
                         {"quality", quality_json(analysis.quality)}};
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace stepscope::reports
