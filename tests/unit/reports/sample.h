// A synthetic run and its analysis, for tests of the outputs.
#pragma once

#include <string>

#include "analyzer/analyze.h"
#include "analyzer/results/analysis.h"
#include "tests/e2e/report/hostile_run.h"
#include "tests/support/synthetic_run.h"

namespace stepscope::reports {

struct Sample {
  model::Run run;
  analyzer::Analysis analysis;
};

inline Sample make_sample(support::SyntheticOptions const& options = {}) {
  Sample sample{support::make_synthetic_run(options), {}};
  sample.run.name = "sample";
  sample.analysis = analyzer::analyze(sample.run);
  return sample;
}

/// Rank 1 computes longer than rank 0.
inline Sample make_late_sample() {
  support::SyntheticOptions options;
  options.process_per_device = true;
  options.straggler_device = 1;
  return make_sample(options);
}

/// A run that waits for its input most of the time.
inline Sample make_slow_sample() {
  support::SyntheticOptions options;
  options.steps = 12;
  options.input_delay_ns = 30'000'000;
  return make_sample(options);
}

/// The slow sample with hostile text wherever a trace can carry one.
inline Sample make_hostile_sample() {
  using support::kHostileText;
  Sample sample{support::with_hostile_texts(make_slow_sample().run), {}};
  sample.analysis = analyzer::analyze(sample.run);
  sample.analysis.integrity.notes.emplace_back(kHostileText);

  for (auto& finding : sample.analysis.findings) {
    finding.subjects.emplace_back(kHostileText, kHostileText);
    finding.metrics.emplace_back(kHostileText, 2);
  }

  analyzer::Finding unknown;
  unknown.rule = kHostileText;
  sample.analysis.findings.push_back(unknown);
  return sample;
}

}  // namespace stepscope::reports
