#include "reports/words/summary.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "analyzer/rules/benchmark.h"
#include "reports/words/host_words.h"
#include "reports/words/language.h"
#include "reports/words/wording.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

/// A loss below this share of the step is not worth a look; the verdict then says that no loss
/// stands out.
constexpr double kLossWorthNaming = 0.03;

/// Without the sentences behind it, and as a part of another one.
std::string first_sentence(std::string const& advice) {
  constexpr std::string_view kEnd = ". ", kEndInChinese = "。";
  size_t const end = advice.find(kEnd), end_in_chinese = advice.find(kEndInChinese);
  std::string sentence = advice;
  if (end_in_chinese != std::string::npos)
    sentence.resize(end_in_chinese + kEndInChinese.size());
  else if (end != std::string::npos)
    sentence.resize(end + 1);

  // "Look at …" and "A slow …", but not "XLA …".
  auto const is_in = [&](size_t at, char first, char last) {
    return at < sentence.size() && sentence[at] >= first && sentence[at] <= last;
  };
  constexpr char kToLower = 'a' - 'A';
  if (is_in(0, 'A', 'Z') && (is_in(1, 'a', 'z') || is_in(1, ' ', ' ')))
    sentence[0] = char(sentence[0] + kToLower);
  return sentence;
}

/// The first finding that is more than a note.
analyzer::Finding const* first_finding(analyzer::Analysis const& analysis) {
  for (analyzer::Finding const& finding : analysis.findings)
    if (finding.severity != analyzer::Severity::kInfo) return &finding;
  return nullptr;
}

/// A late device is what one looks for; where a finding is of many devices, one would mislead.
bool is_of_one_device(analyzer::Finding const& finding) {
  return finding.rule == "straggler" && finding.where;
}

std::string what_to_do(model::Run const& run, analyzer::Analysis const& analysis) {
  analyzer::Finding const* const first = first_finding(analysis);
  if (first == nullptr) return {};

  FindingWords const words = words_of(run, analysis, *first);
  std::string const title = is_of_one_device(*first)
                                ? tr("{} ({})", words.title, device_label(run, *first->where))
                                : words.title;
  return tr("{} – {}", title, first_sentence(words.advice));
}

/// It may be less than the largest loss, which is a mean over all devices.
std::string loss_to_the_late_one(analyzer::Analysis const& analysis) {
  analyzer::Finding const* const first = first_finding(analysis);
  if (first == nullptr || !is_of_one_device(*first) || !first->cost_ns_per_step) return {};
  return tr(" The one that waits most loses {} a step.",
            base::format_duration(*first->cost_ns_per_step));
}

std::string rounded_duration(double ns) { return base::format_duration(std::llround(ns)); }

/// How long a usual step is, and how much of it is compute.
std::string steps_sentence(Summary const& summary) {
  std::string const step = rounded_duration(summary.mean_ns),
                    compute = base::format_share(summary.share(0));

  if (summary.steps == 1)
    return tr("The only measured step takes {}; the devices compute for {} of it.", step, compute);
  if (summary.unusual_steps == 0)
    return tr("A step takes {} on average; the devices compute for {} of it.", step, compute);

  std::string const all = rounded_duration(summary.mean_of_all_ns),
                    count = base::format_count(summary.steps);
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

/// The devices work in a small part of the recording: their windows say little of how the program
/// spent its time.
bool is_mostly_outside_windows(model::Run const& run, Summary const& summary) {
  constexpr double kMostly = 0.5;
  return !summary.has_steps &&
         summary.mean_ns < kMostly * static_cast<double>(run_range(run).length());
}

std::string windows_sentence(model::Run const& run, analyzer::Analysis const& analysis,
                             Summary const& summary) {
  std::string const window = rounded_duration(summary.mean_ns),
                    compute = base::format_share(summary.share(0));

  if (analysis.layers)
    return tr(
        "No whole step was recorded: one layer of the model ({}) repeats every {}. Over {} of "
        "recorded device time the devices compute for {}.",
        analysis.layers->name, base::format_duration(analysis.layers->period_ns), window, compute);
  if (!is_mostly_outside_windows(run, summary))
    return tr("No steps were found; over {} of recorded device time the devices compute for {}.",
              window, compute);

  auto const recorded = static_cast<double>(run_range(run).length());
  return tr(
      "No steps were found. "
      "A device works for {} of the {} that were recorded ({}), "
      "from its first to its last operation, and computes for {} of that time. "
      "Outside of it the device has no events.",
      window, rounded_duration(recorded), base::format_share(summary.mean_ns / recorded), compute);
}

std::string numbers_without_device(model::Run const& run, analyzer::Analysis const& analysis) {
  auto const is_of = [&](std::string_view tool) {
    return std::any_of(run.ranks.begin(), run.ranks.end(), [&](model::RankTrace const& rank) {
      return rank.trace.info().tool.starts_with(tool);
    });
  };

  if (is_of("PyTorch flight recorder"))
    return std::string(
        tr("The run consists of dumps of PyTorch's flight recorder, "
           "which have calls of collectives but no device work."));

  std::string text = host_verdict(analysis);
  bool const is_judged = summarize_hosts(analysis).mean_ns || !analysis.negotiations.empty();
  if (text.empty()) text = tr("No device activity was recorded, so there is nothing to analyze.");

  uint64_t const launches = analysis.integrity.unmatched_launches;
  if (launches > 0)
    text +=
        launches == 1
            ? std::string(tr(" One launch of device work was recorded, but not what it launched."))
            : tr(" {} launches of device work were recorded, but not what they launched.",
                 base::format_count(launches));
  else if (is_of("PyTorch profiler"))
    text +=
        tr(" The profiler records device work if its activities include ProfilerActivity.CUDA.");

  if (is_of("Chrome trace") && !is_judged)
    text +=
        tr(" In Chrome traces, events of the categories kernel, "
           "gpu_memcpy and gpu_memset are device work.");

  return text;
}

std::string numbers_of_devices(model::Run const& run, analyzer::Analysis const& analysis,
                               Summary const& summary) {
  std::string text =
      summary.has_steps ? steps_sentence(summary) : windows_sentence(run, analysis, summary);
  int const loss = summary.largest_loss;
  bool const is_small = loss < 0 || summary.share(loss) < kLossWorthNaming;
  if (is_small && !is_mostly_outside_windows(run, summary))
    text += tr(" No single loss stands out.");
  if (is_small) return text;

  return text + tr(" The largest loss is {}: {}{} ({}).", part(loss).label,
                   rounded_duration(summary.parts_ns[static_cast<size_t>(loss)]),
                   summary.has_steps ? tr(" a step") : "", base::format_share(summary.share(loss)));
}

}  // namespace

std::string RunVerdict::text() const {
  return to_do.empty() ? numbers : fmt::format("{} {}", to_do, numbers);
}

RunVerdict verdict(model::Run const& run, analyzer::Analysis const& analysis,
                   Summary const& summary) {
  if (!has_device_work(analysis))
    return {what_to_do(run, analysis), numbers_without_device(run, analysis)};
  if (!analyzer::is_benchmark(run))
    return {what_to_do(run, analysis),
            numbers_of_devices(run, analysis, summary) + loss_to_the_late_one(analysis)};

  return {{},
          (summary.has_steps ? steps_sentence(summary) : windows_sentence(run, analysis, summary))
              .append(tr(" The program measures single operations: "
                         "exposed communication and idle time between measurements are its "
                         "purpose, not losses."))};
}

}  // namespace stepscope::reports
