#include "reports/words/host_words.h"

#include <algorithm>

#include <fmt/format.h>

#include "analyzer/metrics/host/main_range.h"
#include "reports/words/findings/advice.h"
#include "reports/words/labels.h"
#include "reports/words/language.h"
#include "reports/words/summary.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

/// A smaller share of the step is not worth a sentence.
constexpr double kInputWorthNaming = 0.01;
/// Nor is a slowest step that takes so little longer than the others.
constexpr double kLongerWorthNaming = 0.02;

double share_of(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

std::string in_quotes(std::string_view name) { return fmt::format("“{}”", shown(name, 120)); }

std::optional<double> metric_of(analyzer::Finding const& finding, std::string_view key) {
  for (auto const& [name, value] : finding.metrics)
    if (name == key) return value;
  return std::nullopt;
}

std::string metric_text(analyzer::Finding const& finding, std::string_view key) {
  auto const value = metric_of(finding, key);
  return value ? metric_words(key, *value).value : "?";
}

std::string host_op_of(analyzer::Finding const& finding) {
  for (auto const& [role, name] : finding.subjects)
    if (role == "host_op") return in_quotes(name);
  return {};
}

std::string steps_verdict(analyzer::Analysis const& analysis, HostSummary const& summary) {
  std::string text =
      tr("No device work was recorded. A step takes {} on average (95 % of them at most {}).",
         base::format_duration(*summary.mean_ns), base::format_duration(*summary.p95_ns));

  double const input = share_of(*summary.input_ns, *summary.mean_ns);
  if (input >= kInputWorthNaming)
    text += tr(" The program waits for data for {} of it ({}).",
               base::format_duration(*summary.input_ns), base::format_share(input));

  analyzer::MainRange const main = analyzer::main_range(analysis, true);
  auto const unnamed =
      analysis.hosts.size() == 1 ? analyzer::unnamed_time(analysis.hosts.front()) : std::nullopt;
  if (main.range != nullptr && unnamed.value_or(0) > main.ns)
    text += tr(" Most other time is in no range: {} a step ({}). Mark what runs there.",
               base::format_duration(*unnamed),
               base::format_share(share_of(*unnamed, *summary.mean_ns)));
  else if (main.range != nullptr && main.ns > *summary.mean_ns)
    text += tr(" Most other time is in {}: {} a step, summed over threads.",
               in_quotes(main.range->name), base::format_duration(main.ns));
  else if (main.range != nullptr)
    text +=
        tr(" Most other time is in {}: {} a step ({}).", in_quotes(main.range->name),
           base::format_duration(main.ns), base::format_share(share_of(main.ns, *summary.mean_ns)));

  return text;
}

std::string ranges_verdict(analyzer::Analysis const& analysis) {
  size_t threads = 0;
  int64_t longest = 0;
  for (analyzer::HostStats const& host : analysis.hosts) {
    threads += host.threads.size();
    longest = std::max(longest, host.window.length());
  }

  std::string text =
      tr("No device work and no steps were recorded. {} recorded what the program did for {}.",
         counted(threads, "thread"), base::format_duration(longest));

  analyzer::MainRange const main = analyzer::main_range(analysis, false);
  if (main.range == nullptr) return text;
  return text + tr(" Most of their time is in {}: {}, summed over threads.",
                   in_quotes(main.range->name), base::format_duration(main.ns));
}

FindingWords late_rank_words(analyzer::Finding const& finding) {
  auto const rank = static_cast<int64_t>(metric_of(finding, "late_rank").value_or(-1));

  std::string text =
      tr("Before each collective the ranks report that they are ready. "
         "Rank {} was the last {} of {} times, on average {} after the last but one (at most "
         "{}).",
         rank, metric_text(finding, "last"), metric_text(finding, "negotiations"),
         metric_text(finding, "mean_late_ns"), metric_text(finding, "longest_late_ns"));
  text += tr(" All ranks waited for it for {} ({} of the recording).",
             metric_text(finding, "late_ns"), metric_text(finding, "share_of_recording"));

  if (metric_of(finding, "moments").value_or(0) <= 1)
    text +=
        tr(" All of it happened at one moment of the recording: "
           "record more steps before you act on it.");

  return {
      tr("Rank {} makes the others wait", rank), text,
      std::string(tr("Compare that rank's input, CPU cores and machine with those of the others. "
                     "Record it with stepscope record to see what it does before."))};
}

FindingWords input_words(model::Run const& run, analyzer::Finding const& finding) {
  std::string text =
      tr("A steady step of {} waits for data for {} of {} ({}).", device_label(run, *finding.where),
         base::format_duration(finding.cost_ns_per_step.value_or(0)),
         metric_text(finding, "step_ns"), metric_text(finding, "share"));
  if (std::string const op = host_op_of(finding); !op.empty()) text += tr(" It waits in {}.", op);

  bool const is_in_thread =
      std::any_of(finding.subjects.begin(), finding.subjects.end(),
                  [](auto const& subject) { return subject.first == "loader"; });
  if (is_in_thread) text += tr(" The loader runs in the training thread (num_workers=0).");

  std::string_view const advice = is_in_thread
                                      ? tr(advice_on_workers())
                                      : tr("Load and augment in more parallel workers and prefetch "
                                           "further ahead. Then check that the storage keeps up.");

  return {std::string(tr("Steps wait for their input data")), text, std::string(advice)};
}

FindingWords outlier_words(model::Run const& run, analyzer::Finding const& finding) {
  std::string text = tr("{} of {} steps of {} take over 1.5 × the median of {}.",
                        metric_text(finding, "outliers"), metric_text(finding, "steps"),
                        device_label(run, *finding.where), metric_text(finding, "median_step_ns"));

  std::string const op = host_op_of(finding);
  text += op.empty()
              ? tr(" The time outside of all ranges grows by {} a step.",
                   metric_text(finding, "growth_ns"))
              : tr(" The time in {} grows by {} a step.", op, metric_text(finding, "growth_ns"));

  if (finding.cost_ns_per_step)
    text += tr(" Averaged over all steps this costs {}.",
               base::format_duration(*finding.cost_ns_per_step));

  return {std::string(tr("Some steps take much longer than the others")), text,
          std::string(
              tr("Open the slow steps in the timeline and compare them with a typical one: "
                 "checkpoints, evaluation, garbage collection, stalls of the input pipeline."))};
}

FindingWords busy_rank_words(analyzer::Finding const& finding) {
  std::string thread;
  for (auto const& [role, name] : finding.subjects)
    if (role == "thread") thread = in_quotes(name);

  std::string text =
      tr("{} is busy for {}; the median of {} such threads with as many events is {}.", thread,
         metric_text(finding, "busy_ns"), metric_text(finding, "threads"),
         metric_text(finding, "usual_busy_ns"));

  auto const busier = static_cast<uint64_t>(metric_of(finding, "busier_threads").value_or(1));
  if (busier > 1)
    text += tr(" {} of them are busy for that much longer.", base::format_count(busier));
  text += tr(" Ranks that wait for each other lose up to {} of the recording.",
             metric_text(finding, "share_of_recording"));

  return {tr("One rank computes {} × as long as the others",
             fmt::format("{:.1f}", metric_of(finding, "busy_ratio").value_or(0))),
          text,
          std::string(tr("In a pipeline, give that stage fewer layers: "
                         "the last stage also computes the output layer and the loss. "
                         "If all ranks have equal work, compare that rank's machine, "
                         "clocks and input with those of the others."))};
}

}  // namespace

bool has_device_work(analyzer::Analysis const& analysis) {
  if (analysis.hosts.empty()) return !analysis.devices.empty();
  return std::any_of(
      analysis.devices.begin(), analysis.devices.end(),
      [](analyzer::DeviceStats const& device) { return device.kernels + device.copies > 0; });
}

std::string negotiation_words(analyzer::NegotiationStats const& facts) {
  if (facts.ranks.empty() || facts.ranks.front().late_ns <= 0) return {};
  analyzer::NegotiationStats::Rank const& late = facts.ranks.front();
  return tr(
      "Rank {} comes last to {} of {} negotiations of collectives, on average {} after the last "
      "but one.",
      late.rank, base::format_count(late.last), base::format_count(facts.count),
      base::format_duration(late.mean_ns));
}

std::string slow_step_words(analyzer::HostStats const& host) {
  if (!host.slow) return {};
  analyzer::SlowSteps const& slow = *host.slow;

  bool const is_longer = static_cast<double>(slow.mean_ns - slow.steady_ns) >
                         kLongerWorthNaming * static_cast<double>(slow.steady_ns);
  if (slow.count == 0 && !is_longer) return {};

  std::string text =
      slow.count > 0
          ? tr("{} of {} steps are much longer than the others: {} on average, the others {}; the "
               "slowest is step {}.",
               base::format_count(slow.count), base::format_count(host.counted_steps),
               base::format_duration(slow.mean_ns), base::format_duration(slow.steady_ns),
               slow.worst)
          : tr("The slowest step is {}: {}, the others take {} on average.", slow.worst,
               base::format_duration(slow.when.length()), base::format_duration(slow.steady_ns));

  if (slow.differs_ns <= 0) return text;
  return text + (slow.differs ? tr(" The time in {} grows most, by {}.", in_quotes(*slow.differs),
                                   base::format_duration(slow.differs_ns))
                              : tr(" The time outside of all ranges grows most, by {}.",
                                   base::format_duration(slow.differs_ns)));
}

std::string host_verdict(analyzer::Analysis const& analysis) {
  HostSummary const summary = summarize_hosts(analysis);
  std::string text;
  for (analyzer::NegotiationStats const& facts : analysis.negotiations)
    if (text.empty()) text = negotiation_words(facts);
  if (!text.empty() && !summary.mean_ns) return text;
  if (!text.empty()) text += ' ';
  if (summary.mean_ns) return text + steps_verdict(analysis, summary);
  return analysis.hosts.empty() ? text : ranges_verdict(analysis);
}

std::optional<FindingWords> host_finding_words(model::Run const& run,
                                               analyzer::Finding const& finding) {
  if (finding.rule == "straggler" && metric_of(finding, "negotiations"))
    return late_rank_words(finding);
  if (!finding.where || finding.where->device != analyzer::kHostDevice) return std::nullopt;
  if (finding.rule == "input-bound") return input_words(run, finding);
  if (finding.rule == "load-imbalance") return busy_rank_words(finding);
  if (finding.rule == "step-outliers") return outlier_words(run, finding);
  return std::nullopt;
}

}  // namespace stepscope::reports
