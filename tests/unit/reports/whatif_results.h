// Answers of a replay, made up, for tests of their outputs.
#pragma once

#include <string>
#include <utility>

#include "analyzer/results/analysis.h"
#include "analyzer/whatif/whatif_stats.h"
#include "tests/e2e/report/hostile_run.h"

namespace stepscope::reports {

/// Everything that the outputs of `stepscope whatif` are made of.
struct WhatIfSample {
  model::Run run;
  analyzer::Analysis analysis;
  analyzer::WhatIfStats stats;
};

inline constexpr double kRecordedStepNs = 19.26e6;

inline analyzer::PathSplit split_path(int64_t compute, int64_t communication, int64_t input = 0) {
  analyzer::PathSplit path{};
  path[static_cast<size_t>(analyzer::PathClass::kCompute)] = compute;
  path[static_cast<size_t>(analyzer::PathClass::kCommunication)] = communication;
  path[static_cast<size_t>(analyzer::PathClass::kInput)] = input;
  return path;
}

/// Its interval is ± 0.2 % of the gain.
inline analyzer::WhatIfAnswer predicted_answer(std::string change, double gain,
                                               double recorded_ns = kRecordedStepNs) {
  analyzer::WhatIfAnswer answer;
  answer.change = std::move(change);
  answer.step_ns = recorded_ns / (1 + gain);
  answer.low_ns = recorded_ns / (1 + gain + 0.002);
  answer.high_ns = recorded_ns / (1 + gain - 0.002);
  answer.gain = gain;

  answer.changed = 1234;
  answer.path = split_path(12'000'000, 3'000'000);
  answer.next = "gemm_kernel";
  answer.next_class = analyzer::PathClass::kCompute;
  return answer;
}

inline analyzer::WhatIfAnswer refused_answer(std::string change, std::string reason) {
  analyzer::WhatIfAnswer answer;
  answer.change = std::move(change);
  answer.is_refused = true;
  answer.reason = std::move(reason);
  return answer;
}

inline analyzer::Finding finding_of(std::string rule, analyzer::Severity severity) {
  analyzer::Finding finding;
  finding.rule = std::move(rule);
  finding.severity = severity;
  return finding;
}

/// Two fixes that are predicted, one that is not, a change that gains and one that loses.
inline WhatIfSample made_whatif() {
  using analyzer::Severity;
  WhatIfSample sample;
  sample.run.name = "sample";
  sample.analysis.findings = {finding_of("exposed-communication", Severity::kWarning),
                              finding_of("input-bound", Severity::kCritical),
                              finding_of("memory-leak", Severity::kWarning)};

  auto& stats = sample.stats;
  stats.baseline.step_ns = kRecordedStepNs;
  stats.baseline.replayed_step_ns = kRecordedStepNs;
  stats.baseline.spread = 0.004;
  stats.baseline.steps = 64;
  stats.path = split_path(12'000'000, 3'000'000, 4'260'000);

  analyzer::WhatIfAnswer const input = predicted_answer("input=0", 0.261);
  analyzer::WhatIfAnswer next = predicted_answer("class:communication=0", 0.052, input.step_ns);
  next.next = "optimizer";
  next.next_class = analyzer::PathClass::kHost;

  stats.fixes = {{1, input, input},
                 {0, predicted_answer("class:communication=0", 0.081), next},
                 {2, refused_answer("", "a leak costs no time"), std::nullopt}};
  stats.answers = {predicted_answer("class:compute=/2", 0.5),
                   predicted_answer("comm:latency=1ms", -0.03),
                   refused_answer("overlap", "no gradient is known")};
  stats.answers[0].cautions = {"kernels that overlap may take longer"};
  return sample;
}

/// The replay of the unchanged run misses its step.
inline WhatIfSample made_refused_whatif() {
  WhatIfSample sample = made_whatif();
  auto& baseline = sample.stats.baseline;
  baseline.replayed_step_ns = 0.57 * kRecordedStepNs;
  baseline.error = -0.43;
  baseline.is_refused = true;
  baseline.reason = "44 % of the step is unexplained";
  baseline.residuals = {{"graph_launch", analyzer::PathClass::kLaunch, 8'000'000, 64}};
  return sample;
}

/// Hostile text wherever a name of a trace, a change or a reason can be.
inline WhatIfSample made_hostile_whatif(std::string const& text) {
  WhatIfSample sample = made_whatif();
  sample.run.name = text;
  for (analyzer::Finding& finding : sample.analysis.findings) finding.rule = text;
  sample.stats.baseline.error = 0.03;
  sample.stats.baseline.residuals = {{text, analyzer::PathClass::kCompute, 1000, 1}};

  auto const spoil = [&](analyzer::WhatIfAnswer& answer) {
    answer.change = answer.next = answer.reason = text;
    answer.cautions = {text};
  };
  for (analyzer::WhatIfFix& fix : sample.stats.fixes) {
    spoil(fix.alone);
    if (fix.in_sequence) spoil(*fix.in_sequence);
  }
  for (analyzer::WhatIfAnswer& answer : sample.stats.answers) spoil(answer);
  return sample;
}

inline std::string hostile_whatif_text() {
  return std::string(support::kHostileText) + "\n::error::| x | `y` | @everyone www.x a](b) \r\x9B";
}

}  // namespace stepscope::reports
