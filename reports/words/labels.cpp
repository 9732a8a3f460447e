#include "reports/words/labels.h"
#include "reports/words/language.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "trace/base/check.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

// Order: the three classes, then analyzer::IdleCause. The three classes stay apart for all kinds of
// colour blindness. Idle time is hatched: causes that do not stay apart differ in its direction.
constexpr std::array<Part, kPartCount> kParts = {{
    {"compute", "compute", "The device computes.", false, 0x0072B2, 0x2F8FD0},
    {"exposed_comm", "exposed communication", "The device only communicates: no compute hides it.",
     false, 0xD55E00, 0xE8742A},
    {"exposed_copy", "exposed copies",
     "The device only copies: neither compute nor communication hides it.", false, 0xB5639B,
     0xCC79A7},
    {"profiler", "profiler overhead", "Idle while the profiler did its own work.", true, 0x5D4037,
     0xA1887F, Hatch::kFalling},
    {"allocation", "memory allocation",
     "Idle while the launching thread allocates or frees device memory.", true, 0x882255, 0xC2557F,
     Hatch::kLevel},
    {"sync", "blocking synchronization",
     "Idle while the launching thread blocks in a synchronization although device work is over.",
     true, 0x00876A, 0x1FA587, Hatch::kRising},
    {"input", "waiting for input", "Idle while the launching thread waits for input data.", true,
     0xE69F00, 0xF0B030, Hatch::kRising},
    {"dependency", "waiting for another stream",
     "Idle: the next operation is launched but waits for an event of the same rank.", true,
     0x8868B0, 0xA58BD0, Hatch::kRising},
    {"peer", "waiting for another rank",
     "Idle: the next operation is launched but waits for a rank that is late.", true, 0x56A8DC,
     0x7CC4EF, Hatch::kRising},
    {"graph", "inside a CUDA graph", "Idle inside or between the nodes of a CUDA graph.", true,
     0x3F9E94, 0x5CBDB2, Hatch::kFalling},
    {"launch_starved", "launch-bound",
     "Idle because the host had not launched the next operation yet.", true, 0xC2AC00, 0xDED046,
     Hatch::kFalling},
    {"launch_latency", "launch latency", "Idle for the device's own start latency.", true, 0xA8ADB5,
     0x8A919C, Hatch::kLevel},
    {"unexplained", "unexplained", "Idle for a reason that the trace does not show.", true,
     0x5B616B, 0x6D7480, Hatch::kRising},
}};

// Order: analyzer::PathClass.
constexpr std::array<Part, analyzer::kPathClassCount> kPathParts = {{
    {"compute", "compute", "A device computes.", false},
    {"exposed_comm", "communication",
     "A collective or message, from the arrival of its last participant.", false},
    {"exposed_copy", "copies", "A device copies.", false},
    {"launch_starved", "host code", "A host thread runs code outside of the calls and waits below.",
     true},
    {"launch_latency", "launching",
     "In a launch call, or between that call and the start of its device operation.", true},
    {"sync", "blocking synchronization",
     "In a call that waits for a device which has already finished that work.", true},
    {"input", "waiting for input", "A host thread waits for input data.", true},
    {"allocation", "memory allocation", "In a call that allocates or frees device memory.", true},
    {"profiler", "profiler overhead", "The profiler does its own work.", true},
    {"peer", "waiting for another rank",
     "In a collective that waits for a rank outside of the analysis.", true},
    {"unexplained", "unexplained", "No recorded event explains this time.", true},
}};

// Order: analyzer::WaitCause without idle time, which part() has.
constexpr Part kLateCompute = {"compute", "compute",
                               "It computed for longer than the ranks that waited.", false};
constexpr Part kLateComm = {"exposed_comm", "other communication",
                            "It moved data in another collective.", false};
constexpr Part kLateCopy = {"exposed_copy", "copies",
                            "It copied for longer than the ranks that waited.", false};
constexpr Part kLateStart = {"late_start", "step began later",
                             "Its step had already begun later: see the previous step.", false};
constexpr Part kLateBefore = {
    "before_recording", "began later, before the recording",
    "It was already late when its recording began, so the reason is not recorded.", false};
constexpr Part kLateUnknown = {"unknown", "cause unknown",
                               "The recording does not show which of its work took longer.", false};

/// The words of a part in the language; of each language one part for each of ours, so that their
/// addresses tell them apart.
Part const& translated(Part const& english) {
  if (language() == Language::kEnglish) return english;
  thread_local std::map<std::pair<Language, Part const*>, Part> translated;
  auto const [known, is_new] = translated.try_emplace({language(), &english}, english);
  if (is_new) {
    known->second.label = tr(english.label);
    known->second.meaning = tr(english.meaning);
  }
  return known->second;
}

}  // namespace

Part const& path_part(analyzer::PathClass path_class) {
  auto const index = static_cast<size_t>(path_class);
  STEPSCOPE_CHECK(index < kPathParts.size());
  return translated(kPathParts[index]);
}

Part const& wait_part(analyzer::WaitStats const& waits) {
  switch (waits.cause) {
    case analyzer::WaitCause::kCompute:
      return translated(kLateCompute);
    case analyzer::WaitCause::kCommunication:
      return translated(kLateComm);
    case analyzer::WaitCause::kCopy:
      return translated(kLateCopy);
    case analyzer::WaitCause::kIdle:
      return part(3 + static_cast<int>(waits.idle));
    case analyzer::WaitCause::kLateStart:
      return translated(kLateStart);
    case analyzer::WaitCause::kBeforeRecording:
      return translated(kLateBefore);
    case analyzer::WaitCause::kUnknown:
      break;
  }
  return translated(kLateUnknown);
}

Part const& part(int index) {
  STEPSCOPE_CHECK(index >= 0 && index < kPartCount);
  return translated(kParts[static_cast<size_t>(index)]);
}

int32_t rank_of(model::Run const& run, analyzer::DeviceRef ref) {
  auto const index = static_cast<size_t>(ref.rank_index);
  return ref.rank_index >= 0 && index < run.ranks.size() ? run.ranks[index].trace.info().rank
                                                         : ref.rank_index;
}

namespace {

/// Whether processes of one rank follow each other: they are windows of it. Two at once are two
/// processes.
bool has_windows_alone(model::Run const& run) {
  std::map<int32_t, std::vector<model::Interval>> of_ranks;
  for (model::RankTrace const& rank : run.ranks) {
    auto const [first, last] = rank.trace.time_range();
    of_ranks[rank.trace.info().rank].push_back({first + rank.offset_ns, last + rank.offset_ns});
  }

  return std::all_of(of_ranks.begin(), of_ranks.end(), [](auto& of_rank) {
    std::vector<model::Interval>& spans = of_rank.second;
    std::sort(spans.begin(), spans.end(),
              [](auto const& a, auto const& b) { return a.begin < b.begin; });
    return std::adjacent_find(spans.begin(), spans.end(), [](auto const& a, auto const& b) {
             return b.begin <= a.end;
           }) == spans.end();
  });
}

}  // namespace

size_t count_ranks(model::Run const& run) {
  if (!has_windows_alone(run)) return run.ranks.size();
  std::set<int32_t> ranks;
  for (model::RankTrace const& rank : run.ranks) ranks.insert(rank.trace.info().rank);
  return ranks.size();
}

size_t count_devices(model::Run const& run, analyzer::Analysis const& analysis) {
  if (!has_windows_alone(run)) return analysis.devices.size();
  std::set<std::pair<int32_t, int32_t>> devices;
  for (analyzer::DeviceStats const& device : analysis.devices)
    devices.emplace(rank_of(run, device.ref), device.ref.device);
  return devices.size();
}

std::string device_label(model::Run const& run, analyzer::DeviceRef ref) {
  bool const one_each =
      std::all_of(run.ranks.begin(), run.ranks.end(),
                  [](model::RankTrace const& rank) { return rank.trace.devices().size() <= 1; });
  bool const one_process = run.ranks.size() == 1 && run.ranks[0].trace.info().world_size <= 1;

  if (ref.device == analyzer::kHostDevice)
    return run.ranks.size() == 1 ? std::string(tr("the host"))
                                 : tr("the host of rank {}", rank_of(run, ref));
  if (one_process) return tr("device {}", ref.device);
  if (one_each) return tr("rank {}", rank_of(run, ref));
  return tr("rank {} device {}", rank_of(run, ref), ref.device);
}

analyzer::DeviceStats const* find_device(analyzer::Analysis const& analysis,
                                         analyzer::DeviceRef ref) {
  auto const found = std::find_if(analysis.devices.begin(), analysis.devices.end(),
                                  [&](auto const& device) { return device.ref == ref; });
  return found == analysis.devices.end() ? nullptr : &*found;
}

model::Interval run_range(model::Run const& run) {
  model::Interval range{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  for (model::RankTrace const& rank : run.ranks) {
    if (rank.trace.whole_event_count() == 0) continue;
    auto const [first, last] = rank.trace.time_range();
    range.begin = std::min(range.begin, first + rank.offset_ns);
    range.end = std::max(range.end, last + rank.offset_ns);
  }
  return range.begin > range.end ? model::Interval{} : range;
}

std::string format_instant(int64_t since_begin_ns) {
  auto const ns = static_cast<double>(since_begin_ns);
  if (since_begin_ns > -1'000'000'000 && since_begin_ns < 1'000'000'000)
    return fmt::format("{:.3f} ms", ns / 1e6);
  return fmt::format("{:.3f} s", ns / 1e9);
}

std::string format_range(int64_t begin_ns, int64_t end_ns) {
  bool const seconds = end_ns >= 1'000'000'000;
  double const unit = seconds ? 1e9 : 1e6;
  int const digits = seconds ? 4 : 3;
  return fmt::format("{:.{}f} – {:.{}f} {}", static_cast<double>(begin_ns) / unit, digits,
                     static_cast<double>(end_ns) / unit, digits, seconds ? "s" : "ms");
}

std::string step_source_label(analyzer::Analysis const& analysis) {
  switch (analysis.step_source) {
    case analyzer::StepSource::kAnnotation:
      return std::string(tr("annotated by the program"));
    case analyzer::StepSource::kNvtxPattern:
      return std::string(tr("from NVTX ranges with names of steps"));
    case analyzer::StepSource::kDetected:
      return std::string(tr("detected from the period of the kernel sequence")) +
             (analysis.step_confidence
                  ? tr(", {:.0f} % confidence", std::floor(*analysis.step_confidence * 100))
                  : "");
    case analyzer::StepSource::kNone:
      break;
  }
  return std::string(tr("not found"));
}

namespace {

/// No schedule is without a bubble: what its remedies give.
std::string pipeline_gain(analyzer::Finding const& finding) {
  bool const is_unequal =
      std::any_of(finding.subjects.begin(), finding.subjects.end(), [](auto const& subject) {
        return subject.first == "cause" && subject.second == "imbalance";
      });
  std::string const gain = gain_text(*finding.gain_ceiling);
  return is_unequal ? tr("with equal stages and twice the micro-batches: at most {}", gain)
                    : tr("with twice the micro-batches: at most {}", gain);
}

/// What fixes above it take from a gain is worth a word from here on.
constexpr double kLeastDifference = 0.005;

std::string replayed_gain(analyzer::Finding const& finding) {
  double const alone = *finding.gain_alone;
  double const after = finding.gain_after_above.value_or(alone);
  std::string const gain = replayed_gain_text(alone);
  if (std::abs(after - alone) < kLeastDifference) return tr("if fixed, by replay: {}", gain);
  return tr("if fixed, by replay: {}; after the fixes above: {}", gain, gain_text(after));
}

}  // namespace

std::string gains_of(analyzer::Finding const& finding) {
  auto const is_known = [](std::optional<double> gain) { return gain && std::isfinite(*gain); };
  if (is_known(finding.gain_alone)) return replayed_gain(finding);
  bool const hides = is_known(finding.gain_if_hidden);

  if (!is_known(finding.gain_ceiling))
    return hides ? tr("if hidden: at most {}", gain_text(*finding.gain_if_hidden)) : "";
  if (finding.rule == "pipeline-bubble") return pipeline_gain(finding);

  if (!hides) return tr("if removed: at most {}", gain_text(*finding.gain_ceiling));
  if (*finding.gain_if_hidden >= *finding.gain_ceiling)
    return tr("if hidden or removed: at most {}", gain_text(*finding.gain_ceiling));
  return tr("if hidden: at most {}; if removed: at most {}", gain_text(*finding.gain_if_hidden),
            gain_text(*finding.gain_ceiling));
}

std::string layers_label(analyzer::RepeatedLayers const& layers) {
  std::string const name = layers.first == layers.last
                               ? layers.name
                               : tr("{}, {} to {}", layers.name, layers.first, layers.last);
  return tr("repeats every {}: one layer ({}), {:.0f} % confidence",
            base::format_duration(layers.period_ns), name, std::floor(layers.confidence * 100));
}

std::string replayed_gain_text(double gain) {
  constexpr double kLeast = 0.0005;  // less is no gain: steps vary by more
  return gain < kLeast ? std::string(tr("nothing")) : gain_text(gain);
}

std::string gain_text(double gain) {
  constexpr double kDoubled = 1;  // per cent of more than twice as fast are read wrong
  if (gain < kDoubled) return tr("{} faster", base::format_share(gain));
  double const times = std::fmin(gain + 1, 1e15);
  constexpr double kWhole = 100;
  return tr("{} × as fast", times < kWhole
                                ? fmt::format("{:.1f}", times)
                                : base::format_count(static_cast<uint64_t>(std::llround(times))));
}

std::string shown(std::string_view text, size_t limit) {
  if (text.size() <= limit) return base::printable(text);
  // Not inside a UTF-8 sequence.
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0) == 0x80) --limit;
  return base::printable(text.substr(0, limit)) + "…";
}

std::string with_joined_units(std::string_view text) {
  static constexpr std::array<std::string_view, 17> kUnits = {
      "%",   "ns",  "µs",  "ms",   "s",    "min", "h",       "B",      "KiB",
      "MiB", "GiB", "TiB", "MB/s", "GB/s", "×",   "GFLOP/s", "TFLOP/s"};
  auto const is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };

  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    bool const after_digit = i > 0 && text[i - 1] >= '0' && text[i - 1] <= '9';
    std::string_view const rest = text.substr(i + 1);

    bool const joins = text[i] == ' ' && after_digit &&
                       std::any_of(kUnits.begin(), kUnits.end(), [&](std::string_view unit) {
                         return rest.starts_with(unit) &&
                                (rest.size() == unit.size() || !is_letter(rest[unit.size()]));
                       });
    result += joins ? "\u00A0" : text.substr(i, 1);
  }

  return result;
}

}  // namespace stepscope::reports
