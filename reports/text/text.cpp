#include "reports/text/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "reports/text/host.h"
#include "reports/text/layout.h"
#include "reports/text/top_kernels.h"
#include "reports/text/waits.h"
#include "reports/words/findings/places.h"
#include "reports/words/host_words.h"
#include "reports/words/labels.h"
#include "reports/words/run_notes.h"
#include "reports/words/slowdown_words.h"
#include "reports/words/summary.h"
#include "reports/words/wording.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

/// More devices than this are summarized in one line: 64 lines are too many to read.
constexpr size_t kMaxDeviceLines = 16;
/// A smaller share of the step is not worth words.
constexpr double kLeastNamed = 0.005;
/// Ranges to look at per finding; the report and the JSON have all.
constexpr size_t kMaxEvidenceLines = 2;
/// Bytes of a note: what an importer writes fits, what a file says is cut.
constexpr size_t kLongestNote = 400;

std::string duration(double ns) { return base::format_duration(std::llround(ns)); }

/// The steps of the host, where no device has some.
std::string host_steps_heading(analyzer::Analysis const& analysis, std::string_view left_out) {
  HostSummary const hosts = summarize_hosts(analysis);
  if (!hosts.mean_ns) return "no steps found";
  std::string text =
      fmt::format("{} ({})", base::format_count(hosts.steps, "step"), step_source_label(analysis));
  return hosts.warmup_steps == 0 ? text
                                 : text + fmt::format(", {} {}", hosts.warmup_steps, left_out);
}

std::string steps_heading(model::Run const& run, analyzer::Analysis const& analysis,
                          Summary const& summary) {
  bool const is_slice = std::any_of(
      run.ranks.begin(), run.ranks.end(),
      [](model::RankTrace const& rank) { return rank.trace.info().whole_steps.has_choice(); });
  char const* const left_out = is_slice ? "at the edges of the slice left out" : "warm-up left out";
  if (!summary.has_steps)
    return analysis.layers ? layers_label(*analysis.layers)
                           : host_steps_heading(analysis, left_out);

  std::string text = fmt::format("{} ({})", base::format_count(summary.steps, "step"),
                                 step_source_label(analysis));
  return summary.warmup_steps == 0 ? text
                                   : text + fmt::format(", {} {}", summary.warmup_steps, left_out);
}

/// What does not fit a line goes on in the next one.
std::string heading(model::Run const& run, analyzer::Analysis const& analysis,
                    Summary const& summary, Paint const& paint) {
  std::vector<std::string> parts = {base::format_count(count_devices(run, analysis), "device")};
  if (run.ranks.size() > 1) parts.push_back(base::format_count(count_ranks(run), "rank"));
  parts.push_back(steps_heading(run, analysis, summary));

  std::string const name = run.name.empty() ? "run" : shown(run.name, 80);
  auto const width = static_cast<size_t>(paint.width > 0 ? paint.width : 100);
  std::string text = paint.bold(name);
  size_t column = columns_of(name);
  for (std::string const& part : parts) {
    size_t const more = columns_of(part) + 3;
    if (column + more <= width) {
      text += " · " + part;
      column += more;
      continue;
    }
    std::string lines = wrapped(part, static_cast<int>(width), "  ", "    ");
    lines.pop_back();
    text += "\n" + lines;
    column = columns_of(lines.substr(lines.rfind('\n') + 1));
  }

  return text + "\n";
}

std::string split_bar(Summary const& summary, Paint const& paint, int width) {
  if (summary.mean_ns <= 0) return {};
  std::array<double, kPartCount> shares{};

  for (int i = 0; i < kPartCount; ++i) shares[static_cast<size_t>(i)] = summary.share(i);
  std::string text = "  " + stacked_bar(shares, width - 4, paint) + "\n";
  constexpr size_t kColumnsBefore = 25;  // what stands before the label of a part

  for (int i = 0; i < kPartCount; ++i) {
    if (summary.share(i) < kLeastShownShare) continue;
    std::string waits;
    if (part(i).key == "exposed_comm" && summary.exposed_late_ns >= kLeastNamed * summary.mean_ns)
      waits = fmt::format(" ({} caused by late peers)", duration(summary.exposed_late_ns));
    text += fmt::format("  {} {:>8} {:>10}  ", part_marks(i, 1, paint),
                        base::format_share(summary.share(i)),
                        duration(summary.parts_ns[static_cast<size_t>(i)]));
    std::string const label =
        fmt::format("{}{}{}", part(i).idle ? "idle: " : "", part(i).label, waits);
    text += wrapped_behind(label, width, kColumnsBefore, std::string(kColumnsBefore, ' '));
  }

  return text;
}

std::string share_text(double part, double whole) {
  return whole > 0 ? base::format_share(part / whole) : "–";
}
std::string optional_share(std::optional<double> share) {
  return share ? base::format_share(*share) : "–";
}

std::string peak_text(analyzer::DeviceStats const& device) {
  auto const& peak = device.memory.peak_reserved_bytes;
  return peak ? base::format_bytes(*peak) : "–";
}

/// Window and busy time of the whole recording.
std::vector<std::string> window_row(model::Run const& run, analyzer::DeviceStats const& device) {
  analyzer::TimeSplit const& time = device.time;
  auto const share = [&](int64_t ns) {
    return share_text(static_cast<double>(ns), static_cast<double>(time.window_ns));
  };

  return {device_label(run, device.ref),
          base::format_duration(time.window_ns),
          optional_share(time.utilization()),
          share(time.compute_ns),
          share(time.exposed_comm_ns),
          share(time.exposed_copy_ns),
          share(time.idle_ns),
          optional_share(time.overlap()),
          peak_text(device)};
}

/// Means over the steady steps, as in the verdict and the findings.
std::vector<std::string> steps_row(model::Run const& run, analyzer::DeviceStats const& device,
                                   DeviceMean const& mean) {
  auto const share = [&](double ns) { return share_text(ns, mean.step_ns); };

  return {device_label(run, device.ref), mean.steps > 0 ? duration(mean.step_ns) : "–",
          share(mean.parts_ns[0]),       share(mean.parts_ns[1]),
          share(mean.parts_ns[2]),       share(mean.idle_ns()),
          optional_share(mean.overlap),  peak_text(device)};
}

std::string device_rows_text(model::Run const& run, analyzer::Analysis const& analysis,
                             Summary const& summary, Paint const& paint) {
  if (analysis.devices.empty()) return {};
  std::vector<std::vector<std::string>> rows;
  if (summary.has_steps)
    rows.push_back({"device", "step", "compute", "comm", "copy", "idle", "overlap", "reserved"});
  else
    rows.push_back(
        {"device", "window", "busy", "compute", "comm", "copy", "idle", "overlap", "reserved"});

  size_t const shown_devices = std::min(analysis.devices.size(), kMaxDeviceLines);
  std::vector<DeviceMean> const means = device_means(analysis);
  for (size_t i = 0; i < shown_devices; ++i)
    rows.push_back(summary.has_steps ? steps_row(run, analysis.devices[i], means[i])
                                     : window_row(run, analysis.devices[i]));

  constexpr int kUsualWidth = 100;
  std::string text = wrapped(
      summary.has_steps
          ? "In a step. comm, copy: exposed; overlap: of all communication with compute; reserved: "
            "most memory that was taken from the device"
          : "In the whole recording, from the first to the last device operation. comm, copy: "
            "exposed; overlap: of all communication with compute; reserved: most memory that was "
            "taken from the device",
      paint.width > 0 ? std::max(paint.width, kLeastWidth) : kUsualWidth, "  ", "  ");
  text += aligned(rows, paint);
  if (shown_devices < analysis.devices.size())
    text += fmt::format("  … and {} (--json has all)\n",
                        base::format_count(analysis.devices.size() - shown_devices, "more device"));
  return text;
}

std::string evidence_text(model::Run const& run, analyzer::Analysis const& analysis,
                          analyzer::Finding const& finding) {
  int64_t const begin = run_range(run).begin;
  std::string text;

  for (size_t i = 0; i < std::min(finding.evidence.size(), kMaxEvidenceLines); ++i) {
    auto const& place = finding.evidence[i];
    text += fmt::format("{}{} on {}{}", i == 0 ? "" : "; ",
                        format_range(place.when.begin - begin, place.when.end - begin),
                        device_label(run, place.ref), steps_of_place(analysis, place));
  }

  if (finding.evidence.size() > kMaxEvidenceLines)
    text += fmt::format("; {} more", finding.evidence.size() - kMaxEvidenceLines);
  return text;
}

std::string finding_text(model::Run const& run, analyzer::Analysis const& analysis, size_t index,
                         Paint const& paint, int width) {
  analyzer::Finding const& finding = analysis.findings[index];
  FindingWords const words = words_of(run, analysis, finding);

  std::string const title = fmt::format("{} ({})", words.title, shown(finding.rule, 60));
  std::string_view const severity = analyzer::to_string(finding.severity);
  std::string lines = wrapped_behind(title, width, severity.size() + 5, "    ");
  lines.pop_back();
  std::string text = fmt::format("\n{:>2}. {} {}\n", index + 1, paint.severity(finding.severity),
                                 paint.bold(lines));
  text += wrapped(words.explanation, width, "    ", "    ");

  if (std::string const gains = gains_of(finding); !gains.empty())
    text += wrapped(gains, width, "    → ", "      ");
  text += wrapped(words.advice, width, "    → ", "      ");
  if (!finding.evidence.empty())
    text += wrapped("look at " + evidence_text(run, analysis, finding), width, "    → ", "      ");

  return text;
}

std::string trace_integrity_text(model::Run const& run, analyzer::Analysis const& analysis,
                                 int width) {
  analyzer::TraceIntegrity const& integrity = analysis.integrity;
  std::string text;
  if (integrity.score < 100) text += fmt::format("Trace quality {} of 100.\n", integrity.score);
  for (std::string const& note : run_notes(run, analysis))
    text += wrapped(note, width, "  - ", "    ");
  for (std::string const& note : integrity.notes)
    text += wrapped(shown(note, kLongestNote), width, "  - ", "    ");
  return text.empty() ? text : "\n" + text;
}

}  // namespace

std::string analysis_text(model::Run const& run, analyzer::Analysis const& analysis,
                          TextOptions const& options) {
  Paint const paint{options.color, options.width};
  int const width = std::max(options.width, kLeastWidth);
  Summary const summary = summarize(analysis);
  std::string text = heading(run, analysis, summary, paint);
  if (std::string const why = why_written(run); !why.empty()) text += wrapped(why, width, "", "");

  RunVerdict const found = verdict(run, analysis, summary);
  if (!found.to_do.empty()) text += "\n" + paint.bold(wrapped(found.to_do, width, "", ""));
  text += "\n" + wrapped(found.numbers, width, "", "");
  if (std::string const bar = split_bar(summary, paint, width); !bar.empty()) text += "\n" + bar;
  if (!analysis.devices.empty()) text += "\n" + device_rows_text(run, analysis, summary, paint);
  text += waits_text(run, analysis, paint, width);
  text += top_kernels_text(analysis, paint, width);
  if (analysis.slowdown)
    text += "\n" + wrapped(slowdown_sentence(*analysis.slowdown), width, "  ", "    ");
  text += hosts_text(run, analysis, paint, width);

  bool const is_judged = !analysis.devices.empty() || summarize_hosts(analysis).mean_ns ||
                         !analysis.negotiations.empty();
  if (is_judged || !analysis.findings.empty()) text += "\n" + paint.bold("Findings") + "\n";
  if (is_judged && analysis.findings.empty())
    text += "  none: no rule found anything worth changing\n";
  for (size_t i = 0; i < analysis.findings.size(); ++i)
    text += finding_text(run, analysis, i, paint, width);

  return text + trace_integrity_text(run, analysis, width);
}

}  // namespace stepscope::reports
