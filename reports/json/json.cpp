#include "reports/json/json.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "reports/json/critical_path_json.h"
#include "reports/json/device_state_json.h"
#include "reports/json/host_json.h"
#include "reports/json/json_document.h"
#include "reports/json/wait_json.h"
#include "reports/json/work_json.h"
#include "reports/words/labels.h"
#include "reports/words/summary.h"
#include "reports/words/wording.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(std::optional<T> const& value) {
  return value ? Json(*value) : Json(nullptr);
}
/// JSON has no NaN and no infinity: a number that does not exist is null.
Json number(std::optional<double> value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

/// Names in the page of a person or a script: whole, but valid UTF-8.
Json text(std::string_view value) { return base::printable(value); }

// What the trace does not say of a collective.
Json communicator_json(uint64_t communicator) {
  return communicator == 0 ? Json(nullptr) : Json(communicator);
}
Json operation_json(model::CollectiveOp op) {
  return op == model::CollectiveOp::kUnknown ? Json(nullptr) : Json(model::to_string(op));
}
Json message_bytes_json(analyzer::CollectiveStats const& collective) {
  bool const is_unknown = !model::is_message_size_known(collective.op, collective.bytes);
  return is_unknown ? Json(nullptr) : Json(collective.bytes);
}

Json idle_json(analyzer::IdleSplit const& split) {
  Json idle = Json::object();
  for (int i = 0; i < analyzer::kIdleCauseCount; ++i)
    idle[analyzer::to_string(static_cast<analyzer::IdleCause>(i))] = split[static_cast<size_t>(i)];
  return idle;
}

Json layers_json(analyzer::Analysis const& analysis) {
  if (!analysis.layers) return nullptr;
  analyzer::RepeatedLayers const& layers = *analysis.layers;
  return {{"name", text(layers.name)},     {"first", text(layers.first)},
          {"last", text(layers.last)},     {"count", layers.count},
          {"period_ns", layers.period_ns}, {"confidence", number(layers.confidence)}};
}

Json step_source_json(analyzer::StepSource source) {
  switch (source) {
    case analyzer::StepSource::kNone:
      return nullptr;
    case analyzer::StepSource::kAnnotation:
      return "annotation";
    case analyzer::StepSource::kNvtxPattern:
      return "nvtx_pattern";
    case analyzer::StepSource::kDetected:
      break;
  }
  return "detected";
}

Json run_json(model::Run const& run, analyzer::Analysis const& analysis) {
  std::set<std::string> hosts;
  for (model::RankTrace const& rank : run.ranks)
    hosts.insert(base::printable(rank.trace.info().host));

  Json notes = Json::array();
  for (std::string const& note : run.notes) notes.push_back(text(note));
  model::Interval const range = run_range(run);

  return {{"name", text(run.name)},
          {"ranks", count_ranks(run)},
          {"hosts", hosts.size()},
          {"host_names", hosts},
          {"begin_ns", range.begin},
          {"end_ns", range.end},
          {"clock",
           {{"method", text(run.clock.method)},
            {"residual_median_ns", or_null(run.clock.residual_median_ns)},
            {"residual_p95_ns", or_null(run.clock.residual_p95_ns)},
            {"collectives", run.clock.collectives}}},
          {"step_source", step_source_json(analysis.step_source)},
          {"step_confidence", number(analysis.step_confidence)},
          {"layers", layers_json(analysis)},
          {"ops_outside_steps", analysis.ops_outside_steps},
          {"notes", notes}};
}

Json device_json(analyzer::DeviceStats const& device) {
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
          {"unexplained",
           {{"first_ns", device.unexplained.first_ns},
            {"queued_ns", device.unexplained.queued_ns},
            {"other_ns", device.unexplained.other_ns},
            {"queued_ops", device.unexplained.queued_ops}}},
          {"unhidden_by_cause_ns", idle_json(time.unhidden_by_cause)},
          {"unhidden_comm_ns", time.unhidden_comm_ns},
          {"kernels", device.kernels},
          {"copies", device.copies},
          {"collectives", device.collectives},
          {"launches", device.launches},
          {"launch", launch_json(device.launch)},
          {"slow_ns", slow_json(device.slow)},
          {"memory", memory_json(device.memory)},
          {"health", device_telemetry_json(device.telemetry)}};
}

Json ranks_json(model::Run const& run, analyzer::Analysis const& analysis) {
  Json ranks = Json::array();
  for (size_t i = 0; i < run.ranks.size(); ++i) {
    model::TraceInfo const& info = run.ranks[i].trace.info();
    Json devices = Json::array();
    for (analyzer::DeviceStats const& device : analysis.devices)
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

void write_idle(std::string_view key, analyzer::IdleSplit const& split, JsonLines& to) {
  to.key(key);
  to.begin_object();
  for (int i = 0; i < analyzer::kIdleCauseCount; ++i)
    to.put(analyzer::to_string(static_cast<analyzer::IdleCause>(i)), split[static_cast<size_t>(i)]);
  to.end_object();
}

/// As slow_json() says it.
void write_slow(std::string_view key, analyzer::SlowTime const& slow, JsonLines& to) {
  to.key(key);
  to.begin_object();
  to.put("simt_matrix", slow.simt_matrix_ns);
  to.put("small_grid", slow.small_grid_ns);
  to.put("small_grid_lost", slow.small_grid_lost_ns);
  to.put("serialized", slow.serialized_ns);
  to.put("slow_copy", slow.slow_copy_ns);
  to.put("device_copy", slow.device_copy_ns);
  to.end_object();
}

void write_step(model::Run const& run, StepPeriod const& period, JsonLines& to) {
  analyzer::StepStats const& step = *period.step;
  analyzer::IdleSplit idle{};
  std::copy(period.parts_ns.begin() + 3, period.parts_ns.end(), idle.begin());

  to.begin_object();
  to.put("rank", rank_of(run, step.ref));
  to.put("device", step.ref.device);
  to.put("step", step.step);
  to.put("number", step.number);
  to.put("begin_ns", step.window.begin);

  to.put("dur_ns", step.time.window_ns);
  to.put("compute_ns", step.time.compute_ns);
  to.put("exposed_comm_ns", step.time.exposed_comm_ns);
  to.put("exposed_copy_ns", step.time.exposed_copy_ns);
  to.put("blocking_comm_ns", step.time.blocking_comm_ns);
  write_idle("idle_ns", step.time.idle_by_cause, to);

  to.put("host_begin_ns", step.host_window.begin);
  to.put("host_dur_ns", step.host_window.length());
  write_slow("slow_ns", step.slow, to);
  to.put("warmup", step.warmup);

  to.put("usual", period.is_steady);
  to.put("period_begin_ns", period.when.begin);
  to.put("period_ns", period.when.length());
  write_idle("period_idle_ns", idle, to);

  to.end_object();
}

/// The participant's number in its communicator, else its process's rank.
int32_t communicator_rank(model::Run const& run,
                          analyzer::CollectiveStats::Participant const& participant) {
  if (participant.rank >= 0) return participant.rank;
  return rank_of(run, participant.ref);
}

void write_participants(model::Run const& run, analyzer::CollectiveStats const& collective,
                        JsonLines& to) {
  to.key("participants");
  to.begin_array();

  for (auto const& participant : collective.participants) {
    to.begin_object();
    to.put("rank", rank_of(run, participant.ref));
    to.put("device", participant.ref.device);
    to.put("begin_ns", participant.when.begin);
    to.put("dur_ns", participant.when.length());
    to.end_object();
  }

  to.end_array();
}

void write_collective(model::Run const& run, analyzer::CollectiveStats const& collective,
                      JsonLines& to) {
  auto const& participants = collective.participants;
  auto const last = static_cast<size_t>(collective.last_participant);
  bool const has_last = collective.last_participant >= 0 && last < participants.size();

  to.begin_object();
  to.put("comm", communicator_json(collective.communicator));
  to.put("seq", collective.sequence);
  to.put("op", operation_json(collective.op));
  to.put("bytes", message_bytes_json(collective));

  to.key("ranks");
  to.begin_array();
  for (auto const& participant : participants) to.value(communicator_rank(run, participant));
  to.end_array();

  to.put("transfer_ns", collective.transfer_ns);
  to.key("wait_ns");
  to.begin_array();
  for (auto const& participant : participants) to.value(participant.wait_ns);
  to.end_array();

  to.put("busbw_gbps", number(collective.busbw_gbps));
  to.put("last_rank", has_last ? Json(communicator_rank(run, participants[last])) : Json(nullptr));
  to.put("skew_ns", collective.skew_ns);
  to.put("expected_ranks", collective.expected_participants == 0
                               ? Json(nullptr)
                               : Json(collective.expected_participants));

  write_participants(run, collective, to);
  to.end_object();
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

/// Null: the host of the process.
Json device_json(analyzer::DeviceRef ref) {
  return ref.device == analyzer::kHostDevice ? Json(nullptr) : Json(ref.device);
}

Json evidence_json(model::Run const& run, analyzer::Finding::Evidence const& evidence) {
  Json track = nullptr;
  auto const index = static_cast<size_t>(evidence.ref.rank_index);
  if (evidence.track && index < run.ranks.size() &&
      *evidence.track < run.ranks[index].trace.tracks().size())
    track = text(run.ranks[index].trace.tracks()[*evidence.track].name);

  return {{"begin_ns", evidence.when.begin},
          {"end_ns", evidence.when.end},
          {"track", track},
          {"rank", rank_of(run, evidence.ref)},
          {"device", device_json(evidence.ref)}};
}

Json trace_integrity_json(analyzer::TraceIntegrity const& integrity) {
  Json notes = Json::array();
  for (std::string const& note : integrity.notes) notes.push_back(text(note));

  return {{"dropped", integrity.dropped},
          {"unmatched_launches", integrity.unmatched_launches},
          {"unmatched_ops", integrity.unmatched_ops},
          {"negative_latencies", integrity.negative_latencies},
          {"overlapping_slices", integrity.overlapping_slices},
          {"truncated", integrity.truncated},
          {"missing_ranks", integrity.missing_ranks},
          {"score", integrity.score},
          {"lost_blocks", integrity.lost_blocks},
          {"notes", notes}};
}

}  // namespace

Json summary_json(model::Run const& run, analyzer::Analysis const& analysis) {
  Summary const summary = summarize(analysis);
  auto const rounded = [](double ns) { return static_cast<int64_t>(std::llround(ns)); };

  Json idle = Json::object();
  for (int i = 3; i < kPartCount; ++i)
    idle[analyzer::to_string(static_cast<analyzer::IdleCause>(i - 3))] =
        rounded(summary.parts_ns[static_cast<size_t>(i)]);

  return {{"verdict", text(verdict(run, analysis, summary).text())},
          {"of", summary.has_steps ? "usual steps" : "windows"},
          {"steps", summary.steps},
          {"warmup_steps", summary.warmup_steps},
          {"unusual_steps", summary.unusual_steps},
          {"mean_ns", rounded(summary.mean_ns)},
          {"mean_of_all_steps_ns",
           summary.has_steps ? Json(rounded(summary.mean_of_all_ns)) : Json(nullptr)},
          {"compute_ns", rounded(summary.parts_ns[0])},
          {"exposed_comm_ns", rounded(summary.parts_ns[1])},
          {"exposed_copy_ns", rounded(summary.parts_ns[2])},
          {"idle_ns", idle}};
}

Json findings_json(model::Run const& run, analyzer::Analysis const& analysis) {
  Json findings = Json::array();
  for (analyzer::Finding const& finding : analysis.findings) {
    FindingWords const words = words_of(run, analysis, finding);
    Json metrics = Json::object(), subjects = Json::object(), evidence = Json::array();

    for (auto const& [key, value] : finding.metrics) metrics[base::printable(key)] = number(value);
    for (auto const& [key, value] : finding.subjects) subjects[base::printable(key)] = text(value);
    for (auto const& place : finding.evidence) evidence.push_back(evidence_json(run, place));

    findings.push_back(
        {{"rule", text(finding.rule)},
         {"severity", analyzer::to_string(finding.severity)},
         {"title", words.title},
         {"rank", finding.where ? Json(rank_of(run, *finding.where)) : Json(nullptr)},
         {"device", finding.where ? device_json(*finding.where) : Json(nullptr)},
         {"cost_ns_per_step", or_null(finding.cost_ns_per_step)},
         {"gain_ceiling", number(finding.gain_ceiling)},
         {"gain_if_hidden", number(finding.gain_if_hidden)},
         {"gain_alone", number(finding.gain_alone)},
         {"gain_after_above", number(finding.gain_after_above)},
         {"metrics", metrics},
         {"subjects", subjects},
         {"evidence", evidence},
         {"explanation", words.explanation},
         {"advice", words.advice}});
  }

  return findings;
}

std::string analysis_json(model::Run const& run, analyzer::Analysis const& analysis) {
  std::vector<StepPeriod> const periods = step_periods(analysis);
  auto const& collectives = analysis.collectives;
  JsonDocument document;

  document.put("schema", 1);
  document.put("run", run_json(run, analysis));
  document.put("summary", summary_json(run, analysis));
  document.put("ranks", ranks_json(run, analysis));

  document.put_rows("steps", periods.size(),
                    [&](size_t i, JsonLines& to) { write_step(run, periods[i], to); });
  document.put_rows("collectives", collectives.size(),
                    [&](size_t i, JsonLines& to) { write_collective(run, collectives[i], to); });

  document.put("waits", waits_json(run, analysis));
  document.put("pipelines", pipelines_json(run, analysis));
  document.put("slowdown", slowdown_json(run, analysis));
  document.put("links", links_json(analysis));
  document.put("kernels", kernels_json(run, analysis));
  document.put("ops", ops_json(run, analysis));
  document.put("phases", phases_json(run, analysis));
  document.put("host_ops", host_ops_json(run, analysis));
  document.put("hosts", hosts_json(run, analysis));

  document.put("negotiations", negotiations_json(run, analysis));
  document.put("graphs", graphs_json(run, analysis));
  document.put("copies", copies_json(run, analysis));
  document.put("critical_path", critical_path_json(run, analysis));
  document.put("findings", findings_json(run, analysis));
  document.put("quality", trace_integrity_json(analysis.integrity));

  return std::move(document).finish();
}

}  // namespace stepscope::reports
