#include "reports/wording.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "reports/labels.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

/// A finding and its surroundings, with its numbers at hand.
struct Seen {
  model::Run const& run;
  analyzer::Analysis const& analysis;
  analyzer::Finding const& finding;

  [[nodiscard]] std::optional<double> metric(std::string_view key) const {
    for (auto const& [name, value] : finding.metrics)
      if (name == key && std::isfinite(value)) return value;
    return std::nullopt;
  }
  /// A name from the trace, quoted; empty when there is none.
  [[nodiscard]] std::string subject(std::string_view key) const {
    for (auto const& [role, name] : finding.subjects)
      if (role == key && !name.empty()) return fmt::format("“{}”", shown(name, 120));
    return {};
  }
  [[nodiscard]] std::string where() const { return finding.where ? device_label(run, *finding.where) : "the devices"; }
  /// A metric as text, "?" when it is not there.
  [[nodiscard]] std::string text(std::string_view key) const {
    auto const value = metric(key);
    return value ? metric_words(key, *value).value : "?";
  }
};

/// "21.3 ms a step (27.5 % of it)"; empty without a cost.
std::string cost_of(Seen const& seen) {
  if (!seen.finding.cost_ns_per_step) return {};
  std::string text = fmt::format("{} a step", base::format_duration(*seen.finding.cost_ns_per_step));
  if (auto const share = seen.metric("share")) text += fmt::format(" ({} of it)", base::format_share(*share));
  return text;
}

std::string with_capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string say_idle(Seen const& seen) {
  std::string const cost = cost_of(seen);
  std::string const loss = !cost.empty() ? cost : seen.metric("share") ? seen.text("share") + " of its time" : "";
  std::string text = loss.empty() ? "" : fmt::format(" {} loses {}", with_capital(seen.where()), loss);
  auto const devices = seen.metric("devices");
  if (!text.empty() && devices && *devices > 1) text += fmt::format("; {} devices are affected", seen.text("devices"));
  if (!text.empty()) text += ".";
  std::string const op = seen.subject("host_op");
  return op.empty() ? text : text + fmt::format(" Meanwhile the host was mostly in {}.", op);
}

std::string say_cost(Seen const& seen) {
  std::string const cost = cost_of(seen);
  return cost.empty() ? "" : fmt::format(" {} loses {}.", with_capital(seen.where()), cost);
}

std::string say_communication(Seen const& seen) {
  std::string text = say_cost(seen);
  if (seen.metric("overlap")) text += fmt::format(" Only {} of all communication is hidden.", seen.text("overlap"));
  auto const waiting = seen.metric("waiting_ns_per_step");
  if (waiting && *waiting > 0)
    text += fmt::format(" Waiting for late peers, another {} a step, is not in it.", seen.text("waiting_ns_per_step"));
  return text;
}

std::string say_straggler(Seen const& seen) {
  std::string text = fmt::format(" {} is late", with_capital(seen.where()));
  if (seen.metric("share_of_waits"))
    text += fmt::format(": it causes {} of all waiting in collectives", seen.text("share_of_waits"));
  text += ".";
  auto const ratio = seen.metric("compute_ratio");
  if (ratio && *ratio > 0) text += fmt::format(" It computes {:.2f} × as long as the others.", *ratio);
  std::string const cost = cost_of(seen);
  return cost.empty() ? text : text + fmt::format(" Whoever waits most loses {}.", cost);
}

std::string say_buckets(Seen const& seen) {
  return fmt::format(
      " {} collectives a step of {} on average; only at {} a message reaches half of the link's bandwidth. Merged "
      "into one, up to {} would be saved.",
      seen.text("collectives_per_step"), seen.text("mean_bytes"), seen.text("half_bandwidth_bytes"), cost_of(seen));
}

std::string say_leak(Seen const& seen) {
  std::string text = fmt::format(" On {} it grows by {} a step", seen.where(), seen.text("bytes_per_step"));
  auto const left = seen.metric("steps_to_full");
  return text + (left ? fmt::format("; at this rate memory is full in {:.0f} steps.", *left) : ".");
}

std::string say_pressure(Seen const& seen) {
  return fmt::format(" {} holds up to {} of {} ({}).", with_capital(seen.where()), seen.text("peak_bytes"),
                     seen.text("capacity_bytes"), seen.text("pressure"));
}

std::string say_outliers(Seen const& seen) {
  std::string text = fmt::format(" {} of {} steps take over 1.5 × the median of {}", seen.text("outliers"), seen.text("steps"),
                                 seen.text("median_step_ns"));
  for (auto const& [role, name] : seen.finding.subjects)
    for (int i = 0; role == "part" && i < kPartCount; ++i)
      if (part(i).key == name) text += fmt::format("; what grows is {}{}", part(i).idle ? "idle time, " : "", part(i).label);
  if (std::string const op = seen.subject("host_op"); !op.empty()) text += fmt::format(", while the host is mostly in {}", op);
  std::string const cost = cost_of(seen);
  return text + (cost.empty() ? "." : fmt::format(". Spread over all steps that is {}.", cost));
}

std::string say_oversubscribed(Seen const& seen) {
  return fmt::format(" {} threads of {} devices share {} cores{}.", seen.text("threads"), seen.text("devices"),
                     seen.text("cores"), seen.subject("host").empty() ? "" : " on " + seen.subject("host"));
}

std::string say_quality(Seen const& seen) {
  std::string text = fmt::format(" It scores {} of 100 points", seen.text("score"));
  std::string faults;
  for (auto const& [key, value] : seen.finding.metrics)
    if (key != "score" && value > 0)
      faults += fmt::format("{}{} {}", faults.empty() ? "" : ", ", seen.text(key), metric_words(key, value).label);
  return text + (faults.empty() ? "." : ": " + faults + ".");
}

/// "rank 3", "ranks 0, 1"; empty when nobody has the role.
std::string ranks_in_role(Seen const& seen, std::string_view role) {
  for (auto const& [key, ranks] : seen.finding.subjects)
    if (key == role && !ranks.empty()) return (ranks.find(',') == std::string::npos ? "rank " : "ranks ") + shown(ranks, 120);
  return {};
}

std::string say_hung(Seen const& seen) {
  std::string const op = seen.subject("op");
  if (op.empty()) return {};
  std::string text = fmt::format(" It is {} number {} ({})", op, seen.text("sequence"), seen.subject("calls"));
  std::string const waiting = ranks_in_role(seen, "waiting"), completed = ranks_in_role(seen, "completed");
  if (!waiting.empty()) text += fmt::format("; waiting: {}", waiting);
  if (!completed.empty()) text += fmt::format("; done: {}", completed);
  text += ".";
  std::string const missing = ranks_in_role(seen, "missing"), unrecorded = ranks_in_role(seen, "unrecorded");
  if (!missing.empty()) text += fmt::format(" {} had not called it.", with_capital(missing));
  if (!unrecorded.empty()) text += fmt::format(" Of {} of the group nothing was recorded.", unrecorded);
  if (std::string const different = seen.subject("different"); !different.empty())
    text += fmt::format(" The ranks call different operations: {}.", different);
  if (missing.empty() && unrecorded.empty() && completed.empty() && seen.subject("different").empty())
    text += " All ranks that are recorded have called it.";
  return text;
}

struct RuleWords {
  std::string_view rule, title;
  std::string_view meaning;  ///< what the rule saw, in general
  std::string (*numbers)(Seen const&);
  std::string_view advice;
};

constexpr std::array kRules = {
    RuleWords{
        "hung-collective", "A collective did not end", "When the recordings ended, ranks were waiting in a collective.", say_hung,
        "Look at what the ranks that had not called it were doing (their stacks, their logs, their last call), and for a branch "
        "that not all ranks take; if all have called it, look at the network and at the GPUs' errors."},
    RuleWords{"input-bound", "Training waits for its input data",
              "The devices are idle because the thread that feeds them waits for the next batch.", say_idle,
              "Load and augment in more parallel workers, prefetch further ahead, or move the augmentation to the device; then "
              "check that storage delivers."},
    RuleWords{"host-bound-launches", "The host launches work too late",
              "The devices run out of work because the host has not launched the next operation yet.", say_idle,
              "Make the host cheaper per launch: fuse small kernels, capture the step as a CUDA graph, take logging and "
              "bookkeeping out of the loop, give the launching thread a core of its own."},
    RuleWords{"blocking-sync", "The host blocks on the device",
              "A blocking synchronization lets the devices drain before the host can launch again.", say_idle,
              "Remove the synchronization or do it less often: read losses and metrics asynchronously, every N steps, with "
              "pinned memory and an event."},
    RuleWords{"exposed-communication", "Communication is not hidden behind compute",
              "The devices move data between each other while nothing computes.", say_communication,
              "Start each gradient bucket as soon as it is ready, on its own stream; balance the bucket size; reduce in half "
              "precision; check that the links reach their bandwidth."},
    RuleWords{"small-buckets", "Messages are too small for the link", "Most of the time of a small collective is its fixed cost.",
              say_buckets,
              "Merge gradients into larger buckets, at least the size at which the link reaches half of its bandwidth."},
    RuleWords{"straggler", "One device makes the others wait", "The same device arrives last at collectives and all others wait.",
              say_straggler,
              "Compare it with the others: its share of the data, its CPU cores and NUMA node, its clocks and temperature, other "
              "programs on its machine."},
    RuleWords{"allocation-in-step", "Device memory is allocated inside the step",
              "Allocating and freeing device memory stalls the launching thread, and often the device.", say_idle,
              "Allocate before the loop or through a caching pool; keep shapes constant so that the pool is hit."},
    RuleWords{"memory-pressure", "Device memory is nearly full", "The peak leaves little room below the device's capacity.",
              say_pressure,
              "Lower the batch size, recompute activations, shard the optimizer state, or free what is kept by mistake, before a "
              "longer sequence runs out of memory."},
    RuleWords{
        "memory-leak", "Memory grows step after step", "The least that is allocated during a step rises from step to step.",
        say_leak,
        "Look for tensors kept across steps: lists of losses that hold their graph, growing caches, events or handles never "
        "freed."},
    RuleWords{"unexplained-idle", "Idle time without a visible cause",
              "The devices are idle and the trace does not show why, so the other findings do not tell everything.", say_idle,
              "Record more: annotate input waits and phases, switch on host call tracing, and look at what the host does in the "
              "ranges below."},
    RuleWords{"step-outliers", "Some steps take much longer than the others",
              "Most steps are alike, a few are far from the median.", say_outliers,
              "Open the slow steps in the timeline and compare them with a typical one: checkpoints, evaluation, garbage "
              "collection, data hiccups."},
    RuleWords{"trace-quality", "The recording is incomplete",
              "Events are missing or do not fit together, so numbers may be wrong.", say_quality,
              "Record again with larger buffers or fewer steps, and close the program cleanly; the quality section says what was "
              "lost."},
    RuleWords{"oversubscribed-host", "Devices compete for the same cores",
              "Host devices have more threads than the machine has cores, so each is slower than it could be.",
              say_oversubscribed, "Use fewer devices or fewer threads a device; do not read scaling from this run."},
    RuleWords{"serialized-copies", "Copies stand in the way of compute",
              "Copies run while nothing else does, although another stream could hide them.", say_cost,
              "Use pinned host memory, an own copy stream, and prefetch the next batch while this one computes."},
};

constexpr std::array<std::string_view, kRules.size()> kRuleNames = [] {
  std::array<std::string_view, kRules.size()> names;
  for (size_t i = 0; i < kRules.size(); ++i) names[i] = kRules[i].rule;
  return names;
}();

/// "blocking-sync" → "Blocking sync": the words of a rule nobody has described yet.
std::string spelled_out(std::string_view rule) {
  std::string text = shown(rule);
  std::replace(text.begin(), text.end(), '-', ' ');
  return with_capital(std::move(text));
}

/// Labels where the key's own words do not do.
struct LabelOf {
  std::string_view key, label;
};
constexpr std::array kLabels = {
    LabelOf{"share", "share of the step"},
    LabelOf{"step_ns", "step length"},
    LabelOf{"steps", "steps measured"},
    LabelOf{"devices", "devices affected"},
    LabelOf{"bytes_per_step", "growth per step"},
    LabelOf{"alpha_us", "fixed cost of a message"},
    LabelOf{"half_bandwidth_bytes", "size at half bandwidth"},
    LabelOf{"mean_bytes", "mean size"},
    LabelOf{"pressure", "peak of capacity"},
    LabelOf{"overlap", "communication hidden"},
    LabelOf{"compute_ratio", "compute, × of the others"},
    LabelOf{"waiting_ns_per_step", "waiting for peers per step"},
};

/// Removes the unit from the key if it ends with it or has it as a word; says whether it did.
bool take_unit(std::string& key, std::string_view unit) {
  size_t const at = key.rfind(unit);
  if (at == std::string::npos) return false;
  bool const starts = at == 0 || key[at - 1] == '_';
  bool const ends = at + unit.size() == key.size() || key[at + unit.size()] == '_';
  if (!starts || !ends) return false;
  size_t const from = at == 0 ? 0 : at - 1;
  key.erase(from, at + unit.size() - from);
  if (!key.empty() && key[0] == '_') key.erase(0, 1);
  return true;
}

std::string plain_number(double value) {
  if (!std::isfinite(value)) return "n/a";
  if (value >= 0 && value < 1e15 && value == std::floor(value)) return base::format_count(static_cast<uint64_t>(value));
  return fmt::format("{:.3g}", value);
}

/// A signed byte count; format_bytes takes none.
std::string bytes_text(double value) {
  if (!std::isfinite(value)) return "n/a";
  double const size = std::min(std::fabs(value), 9.2e18);
  return (value < 0 ? "-" : "") + base::format_bytes(static_cast<uint64_t>(std::llround(size)));
}

std::string duration_text(double ns) {
  if (!std::isfinite(ns)) return "n/a";
  return base::format_duration(std::llround(std::clamp(ns, -9e18, 9e18)));
}

}  // namespace

std::span<std::string_view const> worded_rules() { return kRuleNames; }

FindingWords words_of(model::Run const& run, analyzer::Analysis const& analysis, analyzer::Finding const& finding) {
  auto const found =
      std::find_if(kRules.begin(), kRules.end(), [&](RuleWords const& words) { return words.rule == finding.rule; });
  Seen const seen{run, analysis, finding};
  if (found == kRules.end())
    return {spelled_out(finding.rule), fmt::format("The rule “{}” applies.{}", shown(finding.rule), say_cost(seen)),
            "Look at the ranges that it names."};
  return {std::string(found->title), fmt::format("{}{}", found->meaning, found->numbers(seen)), std::string(found->advice)};
}

MetricWords metric_words(std::string_view key, double value) {
  std::string label = shown(key, 60);
  std::string text;
  if (take_unit(label, "ns")) {
    text = duration_text(value);
  } else if (take_unit(label, "us")) {
    text = duration_text(value * 1e3);
  } else if (take_unit(label, "ms")) {
    text = duration_text(value * 1e6);
  } else if (take_unit(label, "bytes")) {
    text = bytes_text(value);
  } else if (take_unit(label, "gbps")) {
    text = base::format_bandwidth(value * 1e9);
  } else if (key.find("share") != std::string_view::npos || key == "pressure" || key == "overlap") {
    text = base::format_share(value);
  } else {
    text = plain_number(value);
  }
  std::replace(label.begin(), label.end(), '_', ' ');
  auto const known = std::find_if(kLabels.begin(), kLabels.end(), [&](LabelOf const& entry) { return entry.key == key; });
  if (known != kLabels.end()) label = known->label;
  return {label.empty() ? "value" : label, text};
}

}  // namespace stepscope::reports
