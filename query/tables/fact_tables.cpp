#include "query/tables/fact_tables.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "analyzer/metrics/steps/run_summary.h"
#include "query/tables/host_tables.h"
#include "reports/words/labels.h"
#include "reports/words/summary.h"
#include "reports/words/wording.h"
#include "trace/base/format.h"

namespace stepscope::query {
namespace {

using analyzer::Analysis;
using model::Cell;
using model::Run;
using enum model::ColumnType;

Cell integer(int64_t value) { return Cell::of(value); }
Cell count(uint64_t value) { return Cell::of(value); }
Cell real(std::optional<double> value) {
  return value && std::isfinite(*value) ? Cell::of(*value) : Cell{};
}
template <class T>
Cell or_nothing(std::optional<T> const& value) {
  return value ? Cell::of(*value) : Cell{};
}

void add_place(Run const& run, std::optional<analyzer::DeviceRef> const& where, Rows& rows) {
  rows.add(where ? integer(reports::rank_of(run, *where)) : Cell{});
  rows.add(where && where->device != analyzer::kHostDevice ? integer(where->device) : Cell{});
}

void add_interval(model::Interval when, Rows& rows) {
  rows.add(integer(when.begin));
  rows.add(integer(when.length()));
  rows.add(integer(when.end));
}

constexpr std::array<std::string_view, analyzer::kIdleCauseCount> kIdleColumns = {
    "idle_profiler_ns",       "idle_allocation_ns", "idle_sync_ns",  "idle_input_ns",
    "idle_dependency_ns",     "idle_peer_ns",       "idle_graph_ns", "idle_launch_starved_ns",
    "idle_launch_latency_ns", "idle_unexplained_ns"};

void append_idle(std::vector<FactColumn>& columns) {
  for (std::string_view const name : kIdleColumns)
    columns.push_back({name, kInteger, "idle_ns by cause (DEFINITIONS, Idle causes)"});
}
void add_idle(analyzer::IdleSplit const& split, Rows& rows) {
  for (int64_t const part : split) rows.add(integer(part));
}

constexpr std::string_view kWaitMeaning = "part of exposed_comm_ns: waiting in a collective itself";
constexpr std::string_view kLateMeaning =
    "waiting for peers, as analyze shows it: what would be hidden or absent if none were late";

// Device_time.

void fill_device_time(Run const& run, Analysis const& analysis, Rows& rows) {
  for (analyzer::DeviceStats const& device : analysis.devices) {
    analyzer::TimeSplit const& time = device.time;
    add_place(run, device.ref, rows);
    rows.add_text(base::printable(device.name));
    for (int64_t const ns : {device.window.begin, time.window_ns, time.busy_ns, time.idle_ns,
                             time.compute_ns, time.comm_ns, time.copy_ns, time.exposed_comm_ns,
                             time.exposed_copy_ns, time.exposed_wait_ns, time.exposed_late_ns})
      rows.add(integer(ns));

    rows.add(real(time.overlap()));
    rows.add(real(time.utilization()));
    for (uint64_t const number :
         {device.kernels, device.copies, device.collectives, device.launches})
      rows.add(count(number));

    rows.add(or_nothing(device.memory.capacity_bytes));
    rows.add(or_nothing(device.memory.peak_allocated_bytes));
    rows.add(or_nothing(device.memory.peak_reserved_bytes));
    rows.add(real(device.memory.floor_growth_bytes_per_step));
    add_idle(time.idle_by_cause, rows);
  }
}

FactTable device_time_table() {
  FactTable table{
      "device_time",
      "how each device spent its window, first start to last end of its ops",
      {{"rank", kInteger, "rank of the process in the job"},
       {"device", kInteger, "device number in the process"},
       {"name", kText, "of the device"},

       {"start_ns", kInteger, "begin of the window, run time"},
       {"window_ns", kInteger, "= compute + exposed_comm + exposed_copy + idle"},
       {"busy_ns", kInteger, "union of all ops over all streams"},
       {"idle_ns", kInteger, "the rest of the window"},
       {"compute_ns", kInteger, "union of compute"},
       {"comm_ns", kInteger, "union of communication"},
       {"copy_ns", kInteger, "union of copies"},
       {"exposed_comm_ns", kInteger, "communication that no compute hides"},
       {"exposed_copy_ns", kInteger, "copies that neither compute nor communication hides"},
       {"exposed_wait_ns", kInteger, kWaitMeaning},
       {"exposed_late_ns", kInteger, kLateMeaning},
       {"overlap", kReal, "share of communication that compute hides"},
       {"utilization", kReal, "busy / window"},

       {"kernels", kInteger, "ops but memcpys"},
       {"copies", kInteger, "memcpys"},
       {"collectives", kInteger, "of the kernels"},
       {"launches", kInteger, "launch calls of these ops"},
       {"capacity_bytes", kInteger, "memory of the device"},
       {"peak_allocated_bytes", kInteger, "most bytes allocated at once"},
       {"peak_reserved_bytes", kInteger, "most bytes reserved from the driver"},
       {"floor_growth_bytes_per_step", kReal,
        "slope of the minimum of allocated bytes in each step"}},
      fill_device_time};

  append_idle(table.columns);
  return table;
}

// Steps and gaps.

FactTable step_table() {
  FactTable table{
      "steps",
      "exact breakdown of every step on every device",
      {{"rank", kInteger, "rank of the process in the job"},
       {"device", kInteger, "device number in the process"},
       {"step", kInteger, "number of the step"},
       {"start_ns", kInteger, "begin of its device window, run time"},
       {"dur_ns", kInteger, "= compute + exposed_comm + exposed_copy + idle"},
       {"end_ns", kInteger, "start_ns + dur_ns"},
       {"compute_ns", kInteger, "union of compute"},
       {"exposed_comm_ns", kInteger, "communication that no compute hides"},
       {"exposed_copy_ns", kInteger, "copies that neither compute nor communication hides"},
       {"exposed_wait_ns", kInteger, kWaitMeaning},
       {"exposed_late_ns", kInteger, kLateMeaning},
       {"idle_ns", kInteger, "the rest"},
       {"host_start_ns", kInteger, "begin of the host's range, run time"},
       {"host_dur_ns", kInteger, "its length"},
       {"warmup", kInteger, "1 = left out of statistics and findings"},
       {"usual", kInteger, "1 = counts to the step time: no warm-up, slow start or outlier"},
       {"period_start_ns", kInteger, "begin of the window, including the idle time before it"},
       {"period_ns", kInteger, "its length: the step time"}},
      nullptr};

  append_idle(table.columns);
  table.fill = [](Run const& run, Analysis const& analysis, Rows& rows) {
    for (analyzer::StepPeriod const& period : analyzer::step_periods(analysis)) {
      analyzer::StepStats const& step = *period.step;
      add_place(run, step.ref, rows);
      rows.add(integer(step.step));

      add_interval({step.window.begin, step.window.begin + step.time.window_ns}, rows);
      for (int64_t const ns :
           {step.time.compute_ns, step.time.exposed_comm_ns, step.time.exposed_copy_ns,
            step.time.exposed_wait_ns, step.time.exposed_late_ns, step.time.idle_ns,
            step.host_window.begin, step.host_window.length(), int64_t{step.warmup},
            int64_t{period.is_steady}, period.when.begin, period.when.length()})
        rows.add(integer(ns));
      add_idle(step.time.idle_by_cause, rows);
    }
  };

  return table;
}

/// The analysis also explains what is before and after; of the window it is what device_time counts
/// as idle.
model::Interval part_in_window(Analysis const& analysis, analyzer::IdleGap const& gap) {
  auto const device = std::lower_bound(
      analysis.devices.begin(), analysis.devices.end(), gap.ref,
      [](analyzer::DeviceStats const& facts, analyzer::DeviceRef ref) { return facts.ref < ref; });
  if (device == analysis.devices.end() || device->ref != gap.ref) return {};
  return {std::max(gap.when.begin, device->window.begin),
          std::min(gap.when.end, device->window.end)};
}

FactTable gap_table() {
  return {"idle_gaps",
          "every gap in a device's window, or part of one, with its cause; their sum is idle_ns of "
          "device_time",
          {{"rank", kInteger, "rank of the process in the job"},
           {"device", kInteger, "device number in the process"},
           {"start_ns", kInteger, "begin, run time"},
           {"dur_ns", kInteger, "length"},
           {"end_ns", kInteger, "start_ns + dur_ns"},
           {"cause", kText, "'input', 'launch_starved', 'sync', … (DEFINITIONS, Idle causes)"},
           {"host_id", kInteger, "id of the host event that explains it", true},
           {"next_id", kInteger, "id of the device op that ends it", true}},

          [](Run const& run, Analysis const& analysis, Rows& rows) {
            for (analyzer::IdleGap const gap : analysis.gaps) {
              model::Interval const when = part_in_window(analysis, gap);
              if (when.begin >= when.end) continue;
              add_place(run, gap.ref, rows);
              add_interval(when, rows);
              rows.add(Cell::of(std::string_view(analyzer::to_string(gap.cause))));
              rows.add(gap.host_row.valid() ? count(gap.host_row.value) : Cell{});
              rows.add(gap.next_op_row.valid() ? count(gap.next_op_row.value) : Cell{});
            }
          }};
}

// Communication.

/// Rank of a participant in its communicator, if its event says it.
Cell communicator_rank(analyzer::CollectiveStats::Participant const& participant) {
  return participant.rank < 0 ? Cell{} : integer(participant.rank);
}

/// Columns of a collective or link. A value that the trace lacks is NULL, as in `collectives`.
Cell operation(model::CollectiveOp op) {
  return op == model::CollectiveOp::kUnknown ? Cell{}
                                             : Cell::of(std::string_view(model::to_string(op)));
}
Cell communicator_cell(uint64_t communicator) {
  return communicator == 0 ? Cell{} : Cell::address(communicator);
}
Cell message_bytes(analyzer::CollectiveStats const& collective) {
  bool const is_unknown = !model::is_message_size_known(collective.op, collective.bytes);
  return is_unknown ? Cell{} : count(collective.bytes);
}

void add_participants(Run const& run, analyzer::CollectiveStats const& collective, size_t number,
                      Rows& rows) {
  for (size_t i = 0; i < collective.participants.size(); ++i) {
    auto const& participant = collective.participants[i];
    rows.add(count(number));
    rows.add(communicator_cell(collective.communicator));
    rows.add(count(collective.sequence));
    rows.add(operation(collective.op));
    rows.add(message_bytes(collective));

    add_place(run, participant.ref, rows);
    rows.add(communicator_rank(participant));
    rows.add(count(participant.row));
    add_interval(participant.when, rows);

    rows.add(integer(collective.transfer_ns));
    rows.add(integer(participant.wait_ns));
    rows.add(integer(collective.skew_ns));
    rows.add(integer(static_cast<int64_t>(i) == collective.last_participant ? 1 : 0));

    rows.add(count(collective.participants.size()));
    rows.add(collective.expected_participants == 0 ? Cell{}
                                                   : count(collective.expected_participants));
    rows.add(real(collective.busbw_gbps));
  }
}

FactTable collective_table() {
  return {
      "matched_collectives",
      "collectives joined over all their participants, one row per participant",
      {{"collective", kInteger, "number of the collective in the run, by first start"},
       {"communicator", kText, "the same on every participant"},
       {"sequence", kInteger,
        "number in the communicator; "
        "if events have none, their order among events of the same kind, from 0"},
       {"op", kText, "'all_reduce', 'all_gather', …"},
       {"bytes", kInteger, "message bytes; NULL if unknown"},

       {"rank", kInteger, "of the participant's process in the job"},
       {"device", kInteger, "of the participant"},
       {"communicator_rank", kInteger, "of the participant in the communicator"},
       {"id", kInteger, "of the participant's event", true},
       {"start_ns", kInteger, "of the participant, run time"},
       {"dur_ns", kInteger, "of the participant"},
       {"end_ns", kInteger, "start_ns + dur_ns"},

       {"transfer_ns", kInteger, "the shortest participant's duration"},
       {"wait_ns", kInteger, "dur_ns − transfer_ns: waiting for the others, needs no common clock"},
       {"skew_ns", kInteger, "last start − first start, needs aligned clocks"},
       {"is_last", kInteger, "1 = it started last"},
       {"participants", kInteger, "that were found"},
       {"expected_participants", kInteger, "expected participants"},
       {"busbw_gbps", kReal, "bus bandwidth, 1e9 bytes per second"}},

      [](Run const& run, Analysis const& analysis, Rows& rows) {
        for (size_t i = 0; i < analysis.collectives.size(); ++i)
          add_participants(run, analysis.collectives[i], i, rows);
      }};
}

FactTable wait_table() {
  return {"waits",
          "which device made others wait in collectives, and why; in measured steps",
          {{"rank", kInteger, "of the late device's process in the job"},
           {"device", kInteger, "the late device"},
           {"cause", kText, "'compute', 'late_start', an idle cause, … (ANALYSIS_JSON, waits)"},
           {"host_op", kText, "host range or call meanwhile; NULL = the host is not the cause"},
           {"gpu_ns", kInteger, "device time that others waited for it"},
           {"exposed_ns", kInteger,
            "part of gpu_ns that no compute hides; what collectives behind it lose is in no row"},
           {"collectives", kInteger, "with this waiting"}},

          [](Run const& run, Analysis const& analysis, Rows& rows) {
            for (analyzer::WaitStats const& waits : analysis.waits) {
              add_place(run, waits.ref, rows);
              rows.add(Cell::of(std::string_view(analyzer::cause_of(waits))));
              if (waits.host_op.empty())
                rows.add(Cell{});
              else
                rows.add_text(base::printable(waits.host_op));
              rows.add(integer(waits.gpu_ns));
              rows.add(integer(waits.exposed_ns));
              rows.add(count(waits.collectives));
            }
          }};
}

FactTable link_table() {
  return {"links",
          "fits t = alpha + bytes / beta over the collectives of a communicator and operation",
          {{"communicator", kText, "what was fitted"},
           {"op", kText, "what was fitted"},
           {"alpha_us", kReal, "fixed cost of a message"},
           {"beta_gbps", kReal, "bandwidth of a long one"},
           {"half_bandwidth_bytes", kReal, "size at which half of beta is reached"},
           {"samples", kInteger, "collectives in the fit"}},

          [](Run const&, Analysis const& analysis, Rows& rows) {
            for (analyzer::LinkFit const& link : analysis.links) {
              rows.add(communicator_cell(link.communicator));
              rows.add(operation(link.op));
              for (double const number : {link.alpha_us, link.beta_gbps, link.half_bandwidth_bytes})
                rows.add(real(number));
              rows.add(count(link.samples));
            }
          }};
}

// Findings.

FactTable finding_table() {
  return {"findings",
          "findings of the rules, most severe first",
          {{"finding", kInteger, "its number, from 1"},
           {"rule", kText, "see FINDINGS.md"},
           {"severity", kText, "'critical', 'warning' or 'info'"},
           {"title", kText, "for people"},
           {"rank", kInteger, "place; NULL = the whole run"},
           {"device", kInteger, "place; NULL = the whole run"},
           {"cost_ns_per_step", kInteger, "its cost; do not add the costs of findings"},
           {"gain_ceiling", kReal, "largest gain if removed: T/(T−cost) − 1"},
           {"gain_alone", kReal, "gain of its fix by replay; NULL = no replay shows it"},
           {"gain_after_above", kReal, "the same, after the fixes of the findings above it"},
           {"explanation", kText, "for people"},
           {"advice", kText, "for people"}},

          [](Run const& run, Analysis const& analysis, Rows& rows) {
            for (size_t i = 0; i < analysis.findings.size(); ++i) {
              analyzer::Finding const& finding = analysis.findings[i];
              reports::FindingWords words = reports::words_of(run, analysis, finding);

              rows.add(count(i + 1));
              rows.add_text(base::printable(finding.rule));
              rows.add(Cell::of(std::string_view(analyzer::to_string(finding.severity))));
              rows.add_text(std::move(words.title));
              add_place(run, finding.where, rows);
              rows.add(or_nothing(finding.cost_ns_per_step));
              rows.add(real(finding.gain_ceiling));
              rows.add(real(finding.gain_alone));
              rows.add(real(finding.gain_after_above));
              rows.add_text(std::move(words.explanation));
              rows.add_text(std::move(words.advice));
            }
          }};
}

FactTable metric_table() {
  return {"finding_metrics",
          "the numbers of findings",
          {{"finding", kInteger, "number of the finding"},
           {"metric", kText, "its name, with the unit"},
           {"value", kReal, "its value"}},

          [](Run const&, Analysis const& analysis, Rows& rows) {
            for (size_t i = 0; i < analysis.findings.size(); ++i)
              for (auto const& [name, value] : analysis.findings[i].metrics) {
                rows.add(count(i + 1));
                rows.add_text(base::printable(name));
                rows.add(real(value));
              }
          }};
}

FactTable evidence_table() {
  return {"finding_evidence",
          "places to look at, most severe first",
          {{"finding", kInteger, "number of the finding"},
           {"rank", kInteger, "rank of the process in the job"},
           {"device", kInteger, "device number in the process"},
           {"track", kInteger, "number of the track in its process"},
           {"start_ns", kInteger, "begin, run time"},
           {"dur_ns", kInteger, "length"},
           {"end_ns", kInteger, "start_ns + dur_ns"}},

          [](Run const& run, Analysis const& analysis, Rows& rows) {
            for (size_t i = 0; i < analysis.findings.size(); ++i)
              for (analyzer::Finding::Evidence const& evidence : analysis.findings[i].evidence) {
                rows.add(count(i + 1));
                add_place(run, evidence.ref, rows);
                rows.add(evidence.track ? count(*evidence.track) : Cell{});
                add_interval(evidence.when, rows);
              }
          }};
}

}  // namespace

std::span<FactTable const> fact_tables() {
  static std::vector<FactTable> const tables = [] {
    std::vector<FactTable> all = {device_time_table(), step_table(), gap_table(),
                                  collective_table(),  wait_table(), link_table()};
    for (FactTable const& table : host_tables()) all.push_back(table);
    for (FactTable const& table : {finding_table(), metric_table(), evidence_table()})
      all.push_back(table);
    return all;
  }();
  return tables;
}

}  // namespace stepscope::query
