#include "reports/json/host_json.h"

#include "reports/words/labels.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

using HostJson = nlohmann::ordered_json;

HostJson ns_or_null(std::optional<int64_t> const& ns) {
  return ns ? HostJson(*ns) : HostJson(nullptr);
}

HostJson slow_steps_json(std::optional<analyzer::SlowSteps> const& slow) {
  if (!slow) return nullptr;

  return {
      {"outliers", slow->count},
      {"mean_ns", slow->mean_ns},
      {"usual_ns", slow->steady_ns},
      {"slowest_step", slow->worst},
      {"begin_ns", slow->when.begin},
      {"dur_ns", slow->when.length()},
      {"differs", slow->differs ? HostJson(base::printable(*slow->differs)) : HostJson(nullptr)},
      {"differs_ns", slow->differs_ns}};
}

HostJson host_steps_json(model::Trace const& trace, analyzer::HostStats const& host) {
  HostJson rows = HostJson::array();

  for (analyzer::HostStepStats const& step : host.steps)
    rows.push_back({{"thread", base::printable(trace.tracks()[step.track].name)},
                    {"step", step.step},
                    {"begin_ns", step.range.begin},
                    {"dur_ns", step.range.length()},
                    {"period_begin_ns", step.period.begin},
                    {"period_ns", step.period.length()},
                    {"input_ns", step.input_ns},
                    {"warmup", step.warmup},
                    {"outlier", step.outlier}});

  return rows;
}

HostJson host_ranges_json(analyzer::HostStats const& host) {
  HostJson rows = HostJson::array();

  for (analyzer::HostRangeStats const& range : host.ranges)
    rows.push_back(
        {{"name", range.names == 1 ? HostJson(base::printable(range.name)) : HostJson(nullptr)},
         {"kind", analyzer::to_string(range.kind)},
         {"names", range.names},
         {"count", range.count},
         {"inclusive_ns", range.inclusive_ns},
         {"exclusive_ns", range.exclusive_ns},
         {"longest_ns", range.longest_ns},
         {"step_inclusive_ns", ns_or_null(range.step_inclusive_ns)},
         {"step_exclusive_ns", ns_or_null(range.step_exclusive_ns)}});

  return rows;
}

HostJson host_threads_json(analyzer::HostStats const& host) {
  HostJson rows = HostJson::array();
  for (analyzer::HostThreadStats const& thread : host.threads)
    rows.push_back({{"thread", base::printable(thread.name)},
                    {"events", thread.events},
                    {"steps", thread.steps},
                    {"busy_ns", thread.busy_ns},
                    {"input_ns", thread.input_ns}});
  return rows;
}

}  // namespace

nlohmann::ordered_json phases_json(model::Run const& run, analyzer::Analysis const& analysis) {
  HostJson phases = HostJson::array();

  for (analyzer::PhaseStats const& phase : analysis.phases)
    phases.push_back(
        {{"rank", rank_of(run, phase.ref)},
         {"device", phase.ref.device},
         {"name", phase.busy_ns ? HostJson(base::printable(phase.name)) : HostJson(nullptr)},
         {"names", phase.names},
         {"count", phase.count},
         {"host_ns", phase.host_ns},
         {"ops", phase.ops},
         {"busy_ns", ns_or_null(phase.busy_ns)},
         {"compute_ns", ns_or_null(phase.compute_ns)},
         {"exposed_comm_ns", ns_or_null(phase.exposed_comm_ns)},
         {"median_ns", ns_or_null(phase.median_ns)},
         {"p95_ns", ns_or_null(phase.p95_ns)}});

  return phases;
}

nlohmann::ordered_json host_ops_json(model::Run const& run, analyzer::Analysis const& analysis) {
  HostJson rows = HostJson::array();

  for (analyzer::HostOpStats const& row : analysis.host_ops)
    rows.push_back(
        {{"rank", rank_of(run, row.ref)},
         {"device", row.ref.device},
         {"cause", analyzer::to_string(row.cause)},
         {"host_op", row.host_op ? HostJson(base::printable(*row.host_op)) : HostJson(nullptr)},
         {"names", row.names},
         {"gaps", row.gaps},
         {"idle_ns", row.idle_ns}});

  return rows;
}

nlohmann::ordered_json hosts_json(model::Run const& run, analyzer::Analysis const& analysis) {
  HostJson hosts = HostJson::array();
  for (analyzer::HostStats const& host : analysis.hosts) {
    model::Trace const& trace = run.ranks[static_cast<size_t>(host.rank_index)].trace;

    hosts.push_back({{"rank", rank_of(run, {host.rank_index, analyzer::kHostDevice})},
                     {"window_begin_ns", host.window.begin},
                     {"window_ns", host.window.length()},
                     {"counted_steps", host.counted_steps},
                     {"step_mean_ns", ns_or_null(host.mean_ns)},
                     {"step_median_ns", ns_or_null(host.median_ns)},
                     {"step_p95_ns", ns_or_null(host.p95_ns)},
                     {"step_input_ns", ns_or_null(host.input_ns)},
                     {"slow_steps", slow_steps_json(host.slow)},
                     {"steps", host_steps_json(trace, host)},
                     {"ranges", host_ranges_json(host)},
                     {"threads", host_threads_json(host)}});
  }

  return hosts;
}

nlohmann::ordered_json negotiations_json(model::Run const& run,
                                         analyzer::Analysis const& analysis) {
  HostJson rows = HostJson::array();
  for (analyzer::NegotiationStats const& facts : analysis.negotiations) {
    HostJson ranks = HostJson::array();

    for (analyzer::NegotiationStats::Rank const& rank : facts.ranks)
      ranks.push_back({{"rank", rank.rank},
                       {"last", rank.last},
                       {"late_ns", rank.late_ns},
                       {"mean_late_ns", rank.mean_ns},
                       {"longest_late_ns", rank.longest_ns},
                       {"moments", rank.moments}});

    rows.push_back({{"recorded_by", rank_of(run, {facts.rank_index, analyzer::kHostDevice})},
                    {"count", facts.count},
                    {"incomplete", facts.incomplete},
                    {"ranks", ranks}});
  }

  return rows;
}

}  // namespace stepscope::reports
