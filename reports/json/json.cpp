#include "reports/json/json.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <nlohmann/json.hpp>

#include "reports/json/critical_path_json.h"
#include "reports/json/device_state_json.h"
#include "reports/json/host_json.h"
#include "reports/json/wait_json.h"
#include "reports/json/work_json.h"
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
          {"step_confidence", number(analysis.step_confidence)},
          {"ops_outside_steps", analysis.ops_outside_steps},
          {"notes", notes}};
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
          {"exposed_late_ns", time.exposed_late_ns},
          {"blocking_comm_ns", or_null(time.blocking_comm_ns)},
          {"overlap", number(time.overlap())},
          {"utilization", number(time.utilization())},
          {"idle_by_cause_ns", idle_json(time.idle_by_cause)},
          {"unhidden_by_cause_ns", idle_json(time.unhidden_by_cause)},
          {"unhidden_comm_ns", time.unhidden_comm_ns},
          {"kernels", device.kernels},
          {"copies", device.copies},
          {"collectives", device.collectives},
          {"launches", device.launches},
          {"launch", launch_json(device.launch)},
          {"slow_ns", slow_json(device.slow)},
          {"memory", memory_json(device.memory)},
          {"health", health_json(device.health)}};
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
                     {"blocking_comm_ns", or_null(step.time.blocking_comm_ns)},
                     {"idle_ns", idle_json(step.time.idle_by_cause)},
                     {"host_begin_ns", step.host_window.begin},
                     {"host_dur_ns", step.host_window.length()},
                     {"slow_ns", slow_json(step.slow)},
                     {"warmup", step.warmup},
                     {"period_begin_ns", period.when.begin},
                     {"period_ns", period.when.length()},
                     {"period_idle_ns", idle_json(idle)}});
  }
  return steps;
}

/// The participant's number in its communicator, else its process's rank.
int32_t communicator_rank(model::Run const& run, analyzer::CollectiveFacts::Participant const& participant) {
  if (participant.rank >= 0) return participant.rank;
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
                         {"waits", waits_json(run, analysis)},
                         {"pipelines", pipelines_json(run, analysis)},
                         {"links", links_json(analysis)},
                         {"kernels", kernels_json(run, analysis)},
                         {"ops", ops_json(run, analysis)},
                         {"phases", phases_json(run, analysis)},
                         {"host_ops", host_ops_json(run, analysis)},
                         {"graphs", graphs_json(run, analysis)},
                         {"copies", copies_json(run, analysis)},
                         {"critical_path", critical_path_json(run, analysis)},
                         {"findings", findings_json(run, analysis)},
                         {"quality", quality_json(analysis.quality)}};
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace stepscope::reports
