#include "analyzer/compare/differences.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

namespace stepscope::analyzer {
namespace {

/// Clocks and bytes that are nearer than this are the same.
constexpr double kSameShare = 0.02;
/// Facts of recordings are settings and machines: more of them than this are another format.
constexpr size_t kMostDifferentFacts = 12;

std::string joined(std::set<std::string> const& values) {
  std::string text;
  for (std::string const& value : values) text += (text.empty() ? "" : ", ") + value;
  return text;
}

/// Distinct values of all runs of a side.
template <class OfRun>
std::string text_of(std::vector<RunMeasurements> const& runs, OfRun const& of_run) {
  std::set<std::string> values;
  for (RunMeasurements const& run : runs)
    if (std::string text = of_run(run); !text.empty()) values.insert(std::move(text));
  return joined(values);
}

class DifferenceList {
 public:
  DifferenceList(std::vector<RunMeasurements> const& base,
                 std::vector<RunMeasurements> const& candidate)
      : base_(base), candidate_(candidate) {}

  template <class OfRun>
  void add_text(Condition condition, OfRun const& of_run, std::string const& name = {}) {
    std::string const base = text_of(base_, of_run), candidate = text_of(candidate_, of_run);
    if (base != candidate) list_.push_back({condition, name, base, candidate, {}, {}});
  }
  /// Means of what the runs say; nothing where a side does not.
  template <class OfRun>
  void add_number(Condition condition, OfRun const& of_run) {
    std::optional<double> const base = mean(base_, of_run), candidate = mean(candidate_, of_run);
    if (!base || !candidate ||
        std::abs(*candidate - *base) <=
            kSameShare * std::max(std::abs(*base), std::abs(*candidate)))
      return;
    list_.push_back({condition, {}, {}, {}, base, candidate});
  }
  void add_facts() {
    std::vector<std::string> names;
    for (auto const* side : {&base_, &candidate_})
      for (RunMeasurements const& run : *side)
        for (auto const& [name, value] : run.facts)
          if (std::find(names.begin(), names.end(), name) == names.end() &&
              names.size() < kMostFactNames)
            names.push_back(name);

    size_t const before = list_.size();
    for (std::string const& name : names) {
      if (list_.size() - before >= kMostDifferentFacts) return;
      auto const value_of = [&name](RunMeasurements const& run) {
        for (auto const& [of, value] : run.facts)
          if (of == name) return value;
        return std::string();
      };
      add_text(Condition::kFact, value_of, name);
    }
  }
  std::vector<Difference> take() { return std::move(list_); }

 private:
  /// Hostile traces have any number of them.
  static constexpr size_t kMostFactNames = 100;

  template <class OfRun>
  static std::optional<double> mean(std::vector<RunMeasurements> const& runs, OfRun const& of_run) {
    double sum = 0;
    for (RunMeasurements const& run : runs) {
      std::optional<double> const value = of_run(run);
      if (!value) return std::nullopt;
      sum += *value;
    }
    return sum / static_cast<double>(runs.size());
  }

  std::vector<RunMeasurements> const& base_;
  std::vector<RunMeasurements> const& candidate_;
  std::vector<Difference> list_;
};

std::string joined_names(std::vector<std::string> const& names) {
  return joined({names.begin(), names.end()});
}

std::string step_range(RunMeasurements const& run) {
  return run.steps.empty() ? std::string()
                           : fmt::format("{}–{}", run.steps.front(), run.steps.back());
}

bool share_steps(std::vector<RunMeasurements> const& base,
                 std::vector<RunMeasurements> const& candidate) {
  std::set<int64_t> numbers;
  for (RunMeasurements const& run : base) numbers.insert(run.steps.begin(), run.steps.end());
  return std::any_of(candidate.begin(), candidate.end(), [&](RunMeasurements const& run) {
    return std::any_of(run.steps.begin(), run.steps.end(),
                       [&](int64_t number) { return numbers.contains(number); });
  });
}

/// Kernel calls, and their time, per step and device.
struct WorkOfStep {
  double calls = 0, ns = 0;
};
WorkOfStep work_of(std::vector<RunMeasurements> const& runs) {
  WorkOfStep work;
  for (RunMeasurements const& run : runs)
    for (RunMeasurements::Kernel const& kernel : run.kernels)
      for (size_t step = 0; step < kernel.ns.size(); ++step) {
        double const share = 1 / static_cast<double>(runs.size() * kernel.ns.size());
        work.calls += kernel.calls[step] * share;
        work.ns += kernel.ns[step] * share;
      }
  return work;
}

/// Another batch makes kernels longer or more of them. Where neither is so, it is the same batch,
/// some of which was copied in another step's window.
bool is_same_work(std::vector<RunMeasurements> const& base,
                  std::vector<RunMeasurements> const& candidate) {
  constexpr double kSameWork = 0.05;
  WorkOfStep const a = work_of(base), b = work_of(candidate);
  auto const are_near = [](double x, double y) {
    return std::abs(x - y) <= kSameWork * std::max(x, y);
  };
  return a.calls > 0 && are_near(a.calls, b.calls) && are_near(a.ns, b.ns);
}

std::string source_key(RunMeasurements const& run) {
  switch (run.step_source) {
    case StepSource::kAnnotation:
      return "annotation";
    case StepSource::kNvtxPattern:
      return "nvtx_pattern";
    case StepSource::kDetected:
      return "detected";
    case StepSource::kNone:
      break;
  }
  return {};
}

}  // namespace

std::vector<Difference> find_differences(std::vector<RunMeasurements> const& base,
                                         std::vector<RunMeasurements> const& candidate) {
  DifferenceList list(base, candidate);

  list.add_text(Condition::kDevice,
                [](RunMeasurements const& run) { return joined_names(run.device_names); });
  list.add_text(Condition::kDeviceCount,
                [](RunMeasurements const& run) { return std::to_string(run.devices); });
  list.add_text(Condition::kProcesses,
                [](RunMeasurements const& run) { return std::to_string(run.processes); });
  list.add_text(Condition::kHost,
                [](RunMeasurements const& run) { return joined_names(run.hosts); });

  list.add_facts();
  list.add_text(Condition::kCommand, [](RunMeasurements const& run) { return run.command; });
  list.add_text(Condition::kTool, [](RunMeasurements const& run) { return run.tool; });
  list.add_number(Condition::kClock, [](RunMeasurements const& run) { return run.busy_clock_mhz; });

  if (!is_same_work(base, candidate))
    list.add_number(Condition::kCopiedIn,
                    [](RunMeasurements const& run) { return std::optional(run.copied_in_bytes); });
  list.add_text(Condition::kStepSource, source_key);
  if (!share_steps(base, candidate)) list.add_text(Condition::kStepNumbers, step_range);

  return list.take();
}

}  // namespace stepscope::analyzer
