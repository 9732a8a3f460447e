// Runs on one, two and four devices as a series, for the viewer's tests.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/analyze.h"
#include "analyzer/compare/run_sample.h"
#include "tests/unit/viewer/scenes.h"
#include "viewer/loading/run_series.h"

namespace stepscope::viewer {

/// Each device does the same; with more of them the exposed all-reduces and one slow device cost
/// more.
inline model::Run scaling_run(int32_t devices) {
  return support::make_synthetic_run({.devices = devices,
                                      .steps = 12,
                                      .process_per_device = true,
                                      .seed = static_cast<uint32_t>(devices),
                                      .straggler_device = devices == 4 ? 1 : -1,
                                      .straggler_factor = 1.3,
                                      .overlap = false});
}

inline SharedSample scaling_sample(int32_t devices) {
  model::Run const run = scaling_run(devices);
  return named_sample(analyzer::sample_run(run, analyzer::analyze(run)),
                      "/runs/n" + std::to_string(devices));
}

/// All runs are read; the viewer shows the one with the most devices.
inline std::shared_ptr<RunSeries> scaling_series(std::vector<int32_t> const& sizes = {1, 2, 4}) {
  auto series = std::make_shared<RunSeries>();
  for (int32_t const devices : sizes) {
    SharedSample sample = scaling_sample(devices);
    std::string path = sample->name;
    series->runs.push_back(
        {std::move(path), static_cast<uint64_t>(devices), std::move(sample), {}});
  }
  series->shown = series->runs.size() - 1;
  return series;
}

inline std::vector<SharedSample> samples_of(RunSeries const& series) {
  std::vector<SharedSample> samples;
  for (RunSeries::Member const& run : series.runs)
    if (run.sample) samples.push_back(run.sample);
  return samples;
}

}  // namespace stepscope::viewer
