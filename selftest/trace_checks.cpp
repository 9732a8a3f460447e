#include "selftest/trace_checks.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analyzer/analyze.h"
#include "analyzer/results/analysis.h"
#include "trace/base/format.h"

namespace stepscope::selftest {
namespace {

using model::EventKind;
using nlohmann::json;

Check verdict(char const* name, bool is_good, std::string found, char const* fix = "") {
  return {name, is_good ? Verdict::kGood : Verdict::kFailure, std::move(found), is_good ? "" : fix};
}

constexpr char const* kReport =
    "this is a fault of Stepscope or of CUPTI: please report it with stepscope doctor --json";

uint64_t number(json const& summary, char const* key) { return summary.value(key, uint64_t{0}); }

std::map<EventKind, uint64_t> count_kinds(model::Run const& run) {
  std::map<EventKind, uint64_t> counts;
  for (model::RankTrace const& rank : run.ranks)
    for (EventKind const kind : rank.trace.columns().kind) ++counts[kind];
  return counts;
}

bool is_on_host(json const& summary) { return summary.value("device", "").starts_with("host"); }

/// Host devices do one op a launch. A GPU's libraries launch as many kernels as they like for an op
/// of the network, at least one.
Check check_launches(model::Run const& run, json const& summary) {
  auto counts = count_kinds(run);
  uint64_t const launches = counts[EventKind::kLaunch];
  uint64_t const copies = counts[EventKind::kMemcpy];
  uint64_t const collectives = counts[EventKind::kCollective];

  uint64_t const ops =
      counts[EventKind::kKernel] + copies + counts[EventKind::kMemset] + collectives;

  uint64_t const asked = number(summary, "launches");
  bool const is_exact = launches == asked && copies == number(summary, "copies") &&
                        collectives == number(summary, "collectives");
  bool const is_good = launches == ops && (is_on_host(summary) ? is_exact : launches >= asked);

  return verdict(
      "launches", is_good,
      fmt::format(
          "{} launches and {} device ops ({} copies, {} collectives) of {}{} asked for ({}, {})",
          base::format_count(launches), base::format_count(ops), base::format_count(copies),
          base::format_count(collectives), is_on_host(summary) ? "" : "at least ",
          base::format_count(asked), base::format_count(number(summary, "copies")),
          base::format_count(number(summary, "collectives"))),
      kReport);
}

Check check_correlation(model::Run const& run, json const& summary) {
  return judge("correlation", run, "", "100 %, nothing dropped",
               is_on_host(summary) ? 0 : kGpuClockToleranceNs);
}

Check check_copies(model::Run const& run, json const& summary) {
  uint64_t to_device = 0;
  uint64_t to_host = 0;

  for (model::RankTrace const& rank : run.ranks)
    for (model::CopyDetail const& copy : rank.trace.details<model::CopyDetail>()) {
      to_device += copy.direction == model::CopyDirection::kHostToDevice ? copy.bytes : 0;
      to_host += copy.direction == model::CopyDirection::kDeviceToHost ? copy.bytes : 0;
    }

  uint64_t const asked_to_device = number(summary, "host_to_device_bytes");
  uint64_t const asked_to_host = number(summary, "device_to_host_bytes");

  return verdict("bytes copied", to_device == asked_to_device && to_host == asked_to_host,
                 fmt::format("{} of {} to the devices, {} of {} back",
                             base::format_count(to_device), base::format_count(asked_to_device),
                             base::format_count(to_host), base::format_count(asked_to_host)),
                 kReport);
}

Check check_all_reduces(analyzer::Analysis const& analysis, json const& summary) {
  size_t const devices = summary.at("devices").size();
  uint64_t bytes = 0;
  bool are_whole = true;

  for (analyzer::CollectiveStats const& collective : analysis.collectives) {
    bytes += collective.bytes;
    are_whole = are_whole && collective.participants.size() == devices;
  }

  uint64_t const asked = number(summary, "all_reduces");

  return verdict(
      "all-reduces",
      are_whole && analysis.collectives.size() == asked &&
          bytes == number(summary, "all_reduce_bytes"),
      fmt::format(
          "{} of {}, {} of {} bytes, {}", analysis.collectives.size(), asked,
          base::format_count(bytes), base::format_count(number(summary, "all_reduce_bytes")),
          are_whole ? "each matched over all devices" : "some not matched over all devices"),
      kReport);
}

/// Only for host devices, whose ops have the layers' names: a GPU's libraries may use any number of
/// kernels.
Check check_ops(model::Run const& run, json const& summary) {
  auto const steps = number(summary, "steps");

  std::map<std::pair<int32_t, std::string_view>, uint64_t> counts;
  for (model::RankTrace const& rank : run.ranks)
    for (uint32_t row = 0; row < rank.trace.event_count(); ++row)
      if (rank.trace.kind(row) == EventKind::kKernel)
        ++counts[{rank.trace.track(row).device, rank.trace.name(row)}];

  for (auto const& [op, count] : counts)
    if (count != steps)
      return verdict("ops of the network", false,
                     fmt::format("{} ran {} times in {} steps on device {}", op.second, count,
                                 steps, op.first),
                     kReport);

  size_t const devices = std::max<size_t>(1, summary.at("devices").size());
  return verdict("ops of the network", !counts.empty() && counts.size() % devices == 0,
                 fmt::format("{} ops once in each of {} steps on each of {} devices",
                             counts.size() / devices, steps, devices),
                 kReport);
}

/// Both clocks end with the device's work. A thread may lose its core between the two, so that it
/// is the median that counts.
Check check_step_lengths(analyzer::Analysis const& analysis, json const& summary) {
  constexpr double kShareTolerance = 0.01;
  std::vector<double> differences;

  for (analyzer::StepStats const& step : analysis.steps) {
    auto const& own = summary.at("devices").at(static_cast<size_t>(step.ref.device)).at("step_ns");
    if (step.step < 0 || static_cast<size_t>(step.step) >= own.size()) continue;
    auto const own_ns = own.at(static_cast<size_t>(step.step)).get<double>();
    differences.push_back(std::fabs(static_cast<double>(step.window.length()) / own_ns - 1));
  }

  if (differences.empty()) return verdict("step lengths", false, "no steps in the trace", kReport);
  auto const middle = differences.begin() + static_cast<std::ptrdiff_t>(differences.size() / 2);
  std::nth_element(differences.begin(), middle, differences.end());

  return verdict(
      "step lengths", *middle <= kShareTolerance,
      fmt::format("of {} steps, median difference between the trace and the program's own clock {}",
                  differences.size(), base::format_share(*middle)),
      "let nothing else run on this machine and try again");
}

/// Largest time by which a device op of any rank begins before its launch call.
int64_t largest_lead_ns(model::Run const& run) {
  int64_t largest = 0;
  for (model::RankTrace const& rank : run.ranks) {
    model::Trace::Columns const& columns = rank.trace.columns();
    for (uint32_t row = 0; row < rank.trace.event_count(); ++row)
      if (model::is_device_op(columns.kind[row]) && columns.link[row].valid())
        largest = std::max(largest, columns.start[columns.link[row].value] - columns.start[row]);
  }
  return largest;
}

/// The sum over all ranks.
model::ImportLog log_of(model::Run const& run) {
  model::ImportLog sum;

  for (model::RankTrace const& rank : run.ranks) {
    model::ImportLog const& log = rank.trace.log();
    sum.dropped += log.dropped;
    sum.unmatched_launches += log.unmatched_launches;
    sum.unmatched_ops += log.unmatched_ops;
    sum.negative_latencies += log.negative_latencies;
    sum.negative_durations += log.negative_durations;
    sum.impossible_times += log.impossible_times;
    sum.lost_blocks += log.lost_blocks;
  }

  return sum;
}

/// What the capture says of itself: its facts about CUDA and its notes, each once.
std::string words_of_capture(model::Run const& run) {
  std::set<std::string> words;
  for (model::RankTrace const& rank : run.ranks) {
    for (auto const& [key, value] : rank.trace.info().facts)
      if (key.starts_with("cuda ")) words.insert(fmt::format("{}: {}", key, value));
    words.insert(rank.trace.log().notes.begin(), rank.trace.log().notes.end());
  }
  std::string text;
  for (std::string const& word : words) text += (text.empty() ? "" : "; ") + word;
  return text;
}

}  // namespace

std::string faults_of(model::Run const& run, int64_t clock_tolerance_ns) {
  model::ImportLog const sum = log_of(run);
  std::string text;

  auto const add = [&](uint64_t count, std::string_view what) {
    if (count > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", base::format_count(count), what);
  };

  add(sum.dropped, "events dropped");
  add(sum.unmatched_launches, "launches without their device op");
  add(sum.unmatched_ops, "device ops without their launch");

  if (int64_t const lead_ns = largest_lead_ns(run); lead_ns > clock_tolerance_ns)
    add(sum.negative_latencies,
        fmt::format("device ops that begin before their launch, by up to {}",
                    base::format_duration(lead_ns)));
  add(sum.negative_durations, "events of negative duration");
  add(sum.impossible_times, "events with impossible times");
  add(sum.lost_blocks, "damaged blocks");

  return text;
}

Check judge(std::string name, model::Run const& run, std::string const& wrong, std::string found,
            int64_t clock_tolerance_ns) {
  uint64_t const early_ops = log_of(run).negative_latencies;
  int64_t const early_ns = largest_lead_ns(run);

  std::map<std::string, double> numbers = {
      {"ops_before_launch", static_cast<double>(early_ops)},
      {"device_clock_early_ns", static_cast<double>(early_ns)}};

  std::string const faults = faults_of(run, clock_tolerance_ns);
  std::string const all =
      fmt::format("{}{}{}", wrong, wrong.empty() || faults.empty() ? "" : ", ", faults);

  if (!all.empty()) {
    std::string const words = words_of_capture(run);
    return {std::move(name), Verdict::kFailure,
            words.empty() ? all : fmt::format("{} [{}]", all, words), kReport, std::move(numbers)};
  }

  if (early_ops == 0)
    return {std::move(name), Verdict::kGood, found + ", no negative latency", "",
            std::move(numbers)};
  return {std::move(name), Verdict::kWarning,
          fmt::format("{}; device clock up to {} early ({} ops)", found,
                      base::format_duration(early_ns), base::format_count(early_ops)),
          "latencies of launches are too short by that much: CUPTI's conversion of the GPU's clock",
          std::move(numbers)};
}

std::vector<Check> check_trace(model::Run const& run, json const& summary) {
  analyzer::Analysis const analysis = analyzer::analyze(run);
  std::vector<Check> checks = {check_launches(run, summary), check_correlation(run, summary),
                               check_copies(run, summary)};
  if (summary.at("devices").size() > 1) checks.push_back(check_all_reduces(analysis, summary));
  if (is_on_host(summary)) checks.push_back(check_ops(run, summary));
  checks.push_back(check_step_lengths(analysis, summary));
  return checks;
}

}  // namespace stepscope::selftest
