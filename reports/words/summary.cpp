#include "reports/words/summary.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "analyzer/metrics/steps/measured_steps.h"
#include "analyzer/rules/benchmark.h"
#include "reports/words/host_words.h"
#include "reports/words/language.h"
#include "reports/words/wording.h"
#include "trace/base/check.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

/// A loss below this share of the step is not worth a look; the verdict then says that no loss
/// stands out.
constexpr double kLossWorthNaming = 0.03;

void add(Summary& summary, analyzer::TimeSplit const& split) {
  for (int i = 0; i < kPartCount; ++i) summary.parts_ns[static_cast<size_t>(i)] += static_cast<double>(part_ns(split, i));
}

void add_steps(Summary& summary, analyzer::Analysis const& analysis) {
  std::vector<int64_t> lengths;
  std::set<int64_t> counted, warmup, unusual;
  size_t steady = 0;
  for (StepPeriod const& period : step_periods(analysis)) {
    (period.step->warmup ? warmup : counted).insert(period.step->step);
    if (!period.is_measured) continue;
    summary.mean_of_all_ns += static_cast<double>(period.when.length());
    lengths.push_back(period.when.length());
    if (!period.is_steady) unusual.insert(period.step->step);
    if (!period.is_steady) continue;
    for (size_t i = 0; i < period.parts_ns.size(); ++i) summary.parts_ns[i] += static_cast<double>(period.parts_ns[i]);
    ++steady;
  }

  summary.steps = counted.size();
  summary.warmup_steps = warmup.size();
  summary.unusual_steps = unusual.size();
  if (steady == 0) return;
  summary.has_steps = true;
  for (double& ns : summary.parts_ns) ns /= static_cast<double>(steady);
  summary.mean_of_all_ns /= static_cast<double>(lengths.size());
  std::sort(lengths.begin(), lengths.end());
  summary.median_ns = quantile(lengths, 0.5);
  summary.p95_ns = quantile(lengths, 0.95);
}

void add_devices(Summary& summary, analyzer::Analysis const& analysis) {
  int64_t window = 0, busy = 0, comm = 0, exposed = 0;
  for (analyzer::DeviceStats const& device : analysis.devices) {
    window += device.time.window_ns;
    busy += device.time.busy_ns;
    comm += device.time.comm_ns;
    exposed += device.time.exposed_comm_ns;
    if (device.memory.peak_reserved_bytes)
      summary.peak_reserved_bytes = std::max(summary.peak_reserved_bytes.value_or(0), *device.memory.peak_reserved_bytes);
    if (!summary.has_steps) add(summary, device.time);
  }
  if (!summary.has_steps && !analysis.devices.empty())
    for (double& ns : summary.parts_ns) ns /= static_cast<double>(analysis.devices.size());
  if (window > 0) summary.utilization = static_cast<double>(busy) / static_cast<double>(window);
  if (comm > 0) summary.overlap = static_cast<double>(comm - exposed) / static_cast<double>(comm);
}

/// The first finding that is more than a note, as a sentence.
std::string first_finding(model::Run const& run, analyzer::Analysis const& analysis) {
  auto const first = std::find_if(analysis.findings.begin(), analysis.findings.end(),
                                  [](analyzer::Finding const& finding) { return finding.severity != analyzer::Severity::kInfo; });
  return first == analysis.findings.end() ? "" : tr(" Look first at: {}.", words_of(run, analysis, *first).title);
}

std::string rounded_duration(double ns) { return base::format_duration(std::llround(ns)); }

/// How long a usual step is, and how much of it is compute.
std::string steps_sentence(Summary const& summary) {
  std::string const step = rounded_duration(summary.mean_ns), compute = base::format_share(summary.share(0));
  if (summary.steps == 1) return tr("The only measured step takes {}; the devices compute for {} of it.", step, compute);
  if (summary.unusual_steps == 0) return tr("A step takes {} on average; the devices compute for {} of it.", step, compute);
  std::string const all = rounded_duration(summary.mean_of_all_ns), count = base::format_count(summary.steps);
  if (summary.unusual_steps == 1)
    return tr(
        "A step takes {} on average. One of {} steps is much longer and left out below: "
        "a steady step takes {}, and the devices compute for {} of it.",
        all, count, step, compute);
  return tr(
      "A step takes {} on average. {} of {} steps are much longer and left out below: "
      "a steady step takes {}, and the devices compute for {} of it.",
      all, base::format_count(summary.unusual_steps), count, step, compute);
}

/// The devices work in a small part of the recording: their windows say little of how the program spent its time.
bool is_mostly_outside_windows(model::Run const& run, Summary const& summary) {
  constexpr double kMostly = 0.5;
  return !summary.has_steps && summary.mean_ns < kMostly * static_cast<double>(run_range(run).length());
}

std::string windows_sentence(model::Run const& run, analyzer::Analysis const& analysis, Summary const& summary) {
  std::string const window = rounded_duration(summary.mean_ns), compute = base::format_share(summary.share(0));
  if (analysis.layers)
    return tr(
        "No whole step was recorded: one layer of the model ({}) repeats every {}. Over {} of recorded device time the "
        "devices compute for {}.",
        analysis.layers->name, base::format_duration(analysis.layers->period_ns), window, compute);
  if (!is_mostly_outside_windows(run, summary))
    return tr("No steps were found; over {} of recorded device time the devices compute for {}.", window, compute);
  auto const recorded = static_cast<double>(run_range(run).length());
  return tr(
      "No steps were found. "
      "A device works for {} of the {} that were recorded ({}), "
      "from its first to its last operation, and computes for {} of that time. "
      "Outside of it the device has no events.",
      window, rounded_duration(recorded), base::format_share(summary.mean_ns / recorded), compute);
}

std::string verdict_without_device(model::Run const& run, analyzer::Analysis const& analysis) {
  auto const is_of = [&](std::string_view tool) {
    return std::any_of(run.ranks.begin(), run.ranks.end(),
                       [&](model::RankTrace const& rank) { return rank.trace.info().tool.starts_with(tool); });
  };
  if (is_of("PyTorch flight recorder"))
    return std::string(tr("The run consists of dumps of PyTorch's flight recorder, "
                          "which have calls of collectives but no device work.")) +
           first_finding(run, analysis);
  std::string text = host_verdict(analysis);
  bool const is_judged = summarize_hosts(analysis).mean_ns || !analysis.negotiations.empty();
  if (text.empty()) text = tr("No device activity was recorded, so there is nothing to analyze.");
  uint64_t const launches = analysis.integrity.unmatched_launches;
  if (launches > 0)
    text += launches == 1
                ? std::string(tr(" One launch of device work was recorded, but not what it launched."))
                : tr(" {} launches of device work were recorded, but not what they launched.", base::format_count(launches));
  else if (is_of("PyTorch profiler"))
    text += tr(" The profiler records device work if its activities include ProfilerActivity.CUDA.");
  if (is_of("Chrome trace") && !is_judged)
    text +=
        tr(" In Chrome traces, events of the categories kernel, "
           "gpu_memcpy and gpu_memset are device work.");
  return text + first_finding(run, analysis);
}

}  // namespace

std::vector<StepPeriod> step_periods(analyzer::Analysis const& analysis) {
  std::vector<std::vector<analyzer::MeasuredPeriod>> const measured = analyzer::measured_periods(analysis);
  std::vector<StepPeriod> periods;
  periods.reserve(analysis.steps.size());
  size_t device = 0, next = 0;  // of its periods
  for (analyzer::StepStats const& step : analysis.steps) {
    StepPeriod& period = periods.emplace_back(StepPeriod{&step, step.window, {}});
    for (int i = 0; i < kPartCount; ++i) period.parts_ns[static_cast<size_t>(i)] = part_ns(step.time, i);
    for (; device < measured.size() && analysis.devices[device].ref < step.ref; ++device) next = 0;
    if (step.warmup || device == measured.size() || analysis.devices[device].ref != step.ref) continue;
    // A period ends where its step's window does; steps that go back in time have none.
    if (next >= measured[device].size() || measured[device][next].when.end != step.window.end) continue;
    analyzer::MeasuredPeriod const& own = measured[device][next++];
    period.when = own.when;
    period.is_measured = true;
    period.is_steady = own.is_steady;
    for (size_t cause = 0; cause < own.lead.size(); ++cause) period.parts_ns[3 + cause] += own.lead[cause];
  }
  return periods;
}

int64_t quantile(std::vector<int64_t> const& sorted, double q) {
  STEPSCOPE_CHECK(!sorted.empty());
  auto const rank = static_cast<size_t>(std::ceil(q * static_cast<double>(sorted.size())));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

double Summary::share(int part_index) const { return mean_ns > 0 ? parts_ns[static_cast<size_t>(part_index)] / mean_ns : 0; }

Summary summarize(analyzer::Analysis const& analysis) {
  Summary summary;
  add_steps(summary, analysis);
  add_devices(summary, analysis);
  for (int i = 0; i < kPartCount; ++i) {
    double const ns = summary.parts_ns[static_cast<size_t>(i)];
    summary.mean_ns += ns;
    if (i > 0 && ns > 0 && (summary.largest_loss < 0 || ns > summary.parts_ns[static_cast<size_t>(summary.largest_loss)]))
      summary.largest_loss = i;
  }
  return summary;
}

double DeviceMean::idle_ns() const {
  double ns = 0;
  for (int i = 0; i < kPartCount; ++i) ns += part(i).idle ? parts_ns[static_cast<size_t>(i)] : 0;
  return ns;
}

std::vector<DeviceMean> device_means(analyzer::Analysis const& analysis) {
  std::vector<DeviceMean> means(analysis.devices.size());
  for (size_t d = 0; d < means.size(); ++d) means[d].ref = analysis.devices[d].ref;
  std::vector<double> comm(means.size()), exposed(means.size());
  size_t d = 0;
  for (StepPeriod const& period : step_periods(analysis)) {
    while (d < means.size() && means[d].ref < period.step->ref) ++d;
    if (d == means.size()) break;
    if (!period.is_steady || means[d].ref != period.step->ref) continue;
    DeviceMean& mean = means[d];
    ++mean.steps;
    mean.step_ns += static_cast<double>(period.when.length());
    for (size_t i = 0; i < mean.parts_ns.size(); ++i) mean.parts_ns[i] += static_cast<double>(period.parts_ns[i]);
    comm[d] += static_cast<double>(period.step->time.comm_ns);
    exposed[d] += static_cast<double>(period.step->time.exposed_comm_ns);
  }

  for (d = 0; d < means.size(); ++d) {
    if (means[d].steps == 0) continue;
    auto const steps = static_cast<double>(means[d].steps);
    means[d].step_ns /= steps;
    for (double& ns : means[d].parts_ns) ns /= steps;
    if (comm[d] > 0) means[d].overlap = 1 - exposed[d] / comm[d];
  }
  return means;
}

std::string verdict(model::Run const& run, analyzer::Analysis const& analysis, Summary const& summary) {
  if (!has_device_work(analysis)) return verdict_without_device(run, analysis);
  std::string text = summary.has_steps ? steps_sentence(summary) : windows_sentence(run, analysis, summary);
  if (analyzer::is_benchmark(run))
    return text.append(
        tr(" The program measures single operations: "
           "exposed communication and idle time between measurements are its purpose, "
           "not losses."));
  int const loss = summary.largest_loss;
  bool const is_small = loss < 0 || summary.share(loss) < kLossWorthNaming;
  if (is_small && !is_mostly_outside_windows(run, summary)) text += tr(" No single loss stands out.");
  if (is_small) return text + first_finding(run, analysis);
  text +=
      tr(" The largest loss is {}: {}{} ({}).", part(loss).label, rounded_duration(summary.parts_ns[static_cast<size_t>(loss)]),
         summary.has_steps ? tr(" a step") : "", base::format_share(summary.share(loss)));
  return text + first_finding(run, analysis);
}

}  // namespace stepscope::reports
