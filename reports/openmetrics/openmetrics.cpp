#include "reports/openmetrics/openmetrics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "analyzer/metrics/steps/step_lengths.h"
#include "reports/words/labels.h"
#include "reports/words/summary.h"

namespace stepscope::reports {
namespace {

constexpr double kNsPerSecond = 1e9;
constexpr size_t kMostMetricLabelBytes = 300;
/// Ranges, threads and ranks of a process: each is a time series in the database that collects
/// them.
constexpr size_t kMostHostRows = 32;

using Labels = std::vector<std::pair<std::string, std::string>>;

/// Families one after the other, each with its samples: the format forbids to mix them.
class Metrics {
 public:
  /// `unit`: also the name's end, or empty. `help`: plain text without line feeds.
  void family(std::string name, char const* type, std::string_view unit, std::string_view help) {
    name_ = std::move(name);
    text_ += fmt::format("# TYPE {} {}\n", name_, type);
    if (!unit.empty()) text_ += fmt::format("# UNIT {} {}\n", name_, unit);
    text_ += fmt::format("# HELP {} {}\n", name_, help);
  }
  void sample(Labels const& labels, double value, std::string_view suffix = {}) {
    if (!std::isfinite(value)) return;
    text_ += name_;
    text_ += suffix;
    for (size_t i = 0; i < labels.size(); ++i)
      text_ += fmt::format("{}{}={}", i == 0 ? '{' : ',', labels[i].first,
                           openmetrics_label(labels[i].second));
    text_ += fmt::format("{} {}\n", labels.empty() ? "" : "}", value);
  }
  void seconds(Labels const& labels, int64_t ns) {
    sample(labels, static_cast<double>(ns) / kNsPerSecond);
  }
  template <class Value>
  void if_known(Labels const& labels, std::optional<Value> const& value) {
    if (value) sample(labels, static_cast<double>(*value));
  }
  std::string finish() && { return std::move(text_) + "# EOF\n"; }

 private:
  std::string text_, name_;
};

/// A device's labels. If several files claim one rank, the process is a label, too, since no two
/// samples may have the same labels.
Labels place_of(model::Run const& run, analyzer::DeviceRef ref) {
  Labels labels{{"rank", std::to_string(rank_of(run, ref))},
                {"device", std::to_string(ref.device)}};
  auto const claims = std::count_if(
      run.ranks.begin(), run.ranks.end(),
      [&](model::RankTrace const& rank) { return rank.trace.info().rank == rank_of(run, ref); });
  if (claims > 1) labels.emplace_back("process", std::to_string(ref.rank_index));
  return labels;
}

Labels with(Labels labels, std::string name, std::string value) {
  labels.emplace_back(std::move(name), std::move(value));
  return labels;
}

void add_run(model::Run const& run, analyzer::Analysis const& analysis, Metrics& metrics) {
  std::set<std::string> hosts;
  for (model::RankTrace const& rank : run.ranks) hosts.insert(rank.trace.info().host);

  metrics.family("stepscope_run", "info", "", "The run that was analyzed.");
  metrics.sample({{"name", run.name},
                  {"ranks", std::to_string(count_ranks(run))},
                  {"hosts", std::to_string(hosts.size())}},
                 1, "_info");

  metrics.family("stepscope_quality_score", "gauge", "",
                 "How far to trust the recording: 100 = nothing wrong.");
  metrics.sample({}, analysis.integrity.score);
}

void add_steps(analyzer::Analysis const& analysis, Metrics& metrics) {
  Summary const summary = summarize(analysis);
  metrics.family("stepscope_step_seconds", "summary", "seconds",
                 "Steps of all devices, each with the idle time that leads to it; without steps of "
                 "devices those of host threads.");

  if (auto const lengths = analyzer::step_lengths(analysis)) {
    metrics.seconds({{"quantile", "0.5"}}, lengths->median_ns);
    metrics.seconds({{"quantile", "0.95"}}, lengths->p95_ns);
    metrics.sample({}, lengths->sum_ns / kNsPerSecond, "_sum");
    metrics.sample({}, static_cast<double>(lengths->count), "_count");
  }

  metrics.family("stepscope_step_part_seconds", "gauge", "seconds",
                 "Mean split of a usual step (no outliers), or of a device's window where there "
                 "are no steps; sums to it.");
  for (int i = 0; i < kPartCount; ++i)
    if (summary.mean_ns > 0)
      metrics.sample({{"part", std::string(part(i).key)}},
                     summary.parts_ns[static_cast<size_t>(i)] / kNsPerSecond);

  metrics.family("stepscope_overlap_ratio", "gauge", "ratio",
                 "Communication that runs while compute runs / all communication.");
  metrics.if_known({}, summary.overlap);
}

/// A gauge with a sample for each device, of type seconds.
template <class Time>
void add_device_time(model::Run const& run, analyzer::Analysis const& analysis, Metrics& metrics,
                     char const* name, char const* help, Time const& time) {
  metrics.family(name, "gauge", "seconds", help);
  for (analyzer::DeviceStats const& device : analysis.devices)
    metrics.seconds(place_of(run, device.ref), time(device.time));
}

void add_devices(model::Run const& run, analyzer::Analysis const& analysis, Metrics& metrics) {
  using Split = analyzer::TimeSplit;
  auto const add = [&](char const* name, char const* help, int64_t Split::*time) {
    add_device_time(run, analysis, metrics, name, help,
                    [time](Split const& split) { return split.*time; });
  };

  add("stepscope_device_window_seconds", "First start to last end of the device's operations.",
      &Split::window_ns);
  add("stepscope_device_busy_seconds", "Union of all operations.", &Split::busy_ns);
  add("stepscope_device_compute_seconds", "Union of what computes.", &Split::compute_ns);
  add("stepscope_device_exposed_communication_seconds", "Communication that no compute hides.",
      &Split::exposed_comm_ns);
  add("stepscope_device_exposed_wait_seconds",
      "Part of the exposed communication in which the device waits in a collective itself.",
      &Split::exposed_wait_ns);
  add("stepscope_device_exposed_late_seconds",
      "Part of the exposed communication that late peers cause: waiting for peers, as analyze "
      "prints it.",
      &Split::exposed_late_ns);
  add("stepscope_device_exposed_copy_seconds",
      "Copies that neither compute nor communication hides.", &Split::exposed_copy_ns);

  metrics.family("stepscope_device_idle_seconds", "gauge", "seconds", "Idle time by cause.");
  for (analyzer::DeviceStats const& device : analysis.devices)
    for (int i = 0; i < analyzer::kIdleCauseCount; ++i)
      metrics.seconds(with(place_of(run, device.ref), "cause",
                           analyzer::to_string(static_cast<analyzer::IdleCause>(i))),
                      device.time.idle_by_cause[static_cast<size_t>(i)]);

  metrics.family("stepscope_device_utilization_ratio", "gauge", "ratio", "Busy / window.");
  for (analyzer::DeviceStats const& device : analysis.devices)
    metrics.if_known(place_of(run, device.ref), device.time.utilization());
}

void add_memory(model::Run const& run, analyzer::Analysis const& analysis, Metrics& metrics) {
  metrics.family("stepscope_memory_peak_bytes", "gauge", "bytes",
                 "Most that was allocated, and reserved by the allocator.");

  for (analyzer::DeviceStats const& device : analysis.devices) {
    Labels const place = place_of(run, device.ref);
    metrics.if_known(with(place, "kind", "allocated"), device.memory.peak_allocated_bytes);
    metrics.if_known(with(place, "kind", "reserved"), device.memory.peak_reserved_bytes);
  }

  metrics.family("stepscope_memory_capacity_bytes", "gauge", "bytes", "The device's memory.");
  for (analyzer::DeviceStats const& device : analysis.devices)
    metrics.if_known(place_of(run, device.ref), device.memory.capacity_bytes);
}

/// A process's labels, and those of one of its rows.
Labels host_of(model::Run const& run, int32_t rank_index) {
  Labels labels = place_of(run, {rank_index, analyzer::kHostDevice});
  labels.erase(labels.begin() + 1);  // no device
  return labels;
}

/// Samples of one family must differ in their labels: rows of one name are one sample.
template <class Row>
void add_by_name(Metrics& metrics, Labels const& host, char const* label,
                 std::vector<Row> const& rows, size_t most) {
  std::map<std::string, int64_t> by_name;
  for (size_t i = 0; i < std::min(rows.size(), most); ++i)
    by_name[shown(rows[i].first, kMostMetricLabelBytes)] += rows[i].second;
  for (auto const& [name, ns] : by_name) metrics.seconds(with(host, label, name), ns);
}

void add_host_steps(model::Run const& run, analyzer::Analysis const& analysis, Metrics& metrics) {
  metrics.family("stepscope_host_step_seconds", "gauge", "seconds",
                 "Step of a process without a device, without warm-up.");

  for (analyzer::HostStats const& host : analysis.hosts) {
    Labels const place = host_of(run, host.rank_index);
    if (host.mean_ns) metrics.seconds(with(place, "statistic", "mean"), *host.mean_ns);
    if (host.median_ns) metrics.seconds(with(place, "statistic", "median"), *host.median_ns);
    if (host.p95_ns) metrics.seconds(with(place, "statistic", "p95"), *host.p95_ns);
  }

  metrics.family("stepscope_host_input_seconds", "gauge", "seconds",
                 "Mean of a step: the host waited for data.");
  for (analyzer::HostStats const& host : analysis.hosts)
    if (host.input_ns) metrics.seconds(host_of(run, host.rank_index), *host.input_ns);
}

void add_hosts(model::Run const& run, analyzer::Analysis const& analysis, Metrics& metrics) {
  if (analysis.hosts.empty()) return;
  add_host_steps(run, analysis, metrics);

  std::vector<std::pair<std::string, int64_t>> rows;
  metrics.family("stepscope_host_range_seconds", "gauge", "seconds",
                 "Own time of a range in the recording of a process without a device; the ranges "
                 "of most time.");
  for (analyzer::HostStats const& host : analysis.hosts) {
    rows.clear();
    for (analyzer::HostRangeStats const& range : host.ranges)
      if (range.names == 1) rows.emplace_back(range.name, range.exclusive_ns);
    add_by_name(metrics, host_of(run, host.rank_index), "range", rows, kMostHostRows);
  }

  metrics.family("stepscope_host_thread_busy_seconds", "gauge", "seconds",
                 "Union of a thread's events in a process without a device; the busiest threads, "
                 "equal names together.");
  for (analyzer::HostStats const& host : analysis.hosts) {
    rows.clear();
    for (analyzer::HostThreadStats const& thread : host.threads)
      rows.emplace_back(thread.name, thread.busy_ns);
    add_by_name(metrics, host_of(run, host.rank_index), "thread", rows, kMostHostRows);
  }
}

void add_negotiations(model::Run const& run, analyzer::Analysis const& analysis, Metrics& metrics) {
  if (analysis.negotiations.empty()) return;
  metrics.family("stepscope_negotiation_late_seconds", "gauge", "seconds",
                 "A rank was the last to be ready for collectives, from the last but one to it.");
  for (analyzer::NegotiationStats const& facts : analysis.negotiations) {
    Labels const recorder = host_of(run, facts.rank_index);
    for (size_t i = 0; i < std::min(facts.ranks.size(), kMostHostRows); ++i)
      metrics.seconds(with(recorder, "late_rank", std::to_string(facts.ranks[i].rank)),
                      facts.ranks[i].late_ns);
  }
}

void add_waits(model::Run const& run, analyzer::Analysis const& analysis, Metrics& metrics) {
  std::map<std::pair<analyzer::DeviceRef, std::string>, int64_t> by_cause;
  for (analyzer::WaitStats const& row : analysis.waits)
    by_cause[{row.ref, std::string(wait_part(row).key)}] += row.exposed_ns;

  metrics.family(
      "stepscope_late_seconds", "gauge", "seconds",
      "Device time that others waited for this one and did not compute, by what kept it.");
  for (auto const& [key, ns] : by_cause)
    metrics.seconds(with(place_of(run, key.first), "cause", key.second), ns);

  metrics.family("stepscope_link_bandwidth_bytes_per_second", "gauge", "",
                 "Bandwidth of a long message, by the fit t = alpha + bytes / beta.");
  for (analyzer::LinkFit const& link : analysis.links)
    metrics.sample({{"op", model::to_string(link.op)},
                    {"communicator", fmt::format("{:#x}", link.communicator)}},
                   link.beta_gbps * 1e9);
}

void add_findings(analyzer::Analysis const& analysis, Metrics& metrics) {
  std::map<std::pair<std::string, std::string>, std::pair<uint64_t, std::optional<int64_t>>>
      by_rule;

  for (analyzer::Finding const& finding : analysis.findings) {
    auto& [count, cost] = by_rule[{finding.rule, analyzer::to_string(finding.severity)}];
    ++count;
    if (finding.cost_ns_per_step) cost = std::max(cost.value_or(0), *finding.cost_ns_per_step);
  }

  metrics.family("stepscope_findings", "gauge", "", "Findings by rule and severity.");
  for (auto const& [key, value] : by_rule)
    metrics.sample({{"rule", key.first}, {"severity", key.second}},
                   static_cast<double>(value.first));

  metrics.family("stepscope_finding_cost_seconds", "gauge", "seconds",
                 "Cost of a rule's worst finding per step. Costs overlap: they must not be added.");
  for (auto const& [key, value] : by_rule)
    if (value.second)
      metrics.seconds({{"rule", key.first}, {"severity", key.second}}, *value.second);
}

}  // namespace

std::string openmetrics_label(std::string_view value) {
  std::string out = "\"";
  for (char const c : shown(value, kMostMetricLabelBytes)) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + "\"";
}

std::string openmetrics(model::Run const& run, analyzer::Analysis const& analysis) {
  Metrics metrics;

  add_run(run, analysis, metrics);
  add_steps(analysis, metrics);
  add_devices(run, analysis, metrics);
  add_memory(run, analysis, metrics);
  add_hosts(run, analysis, metrics);
  add_negotiations(run, analysis, metrics);
  add_waits(run, analysis, metrics);
  add_findings(analysis, metrics);

  return std::move(metrics).finish();
}

}  // namespace stepscope::reports
