// What `stepscope live` shows of a run that is being recorded as a stream: a page for terminals,
// JSON, and text for Prometheus. One state of the run for all three.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/live/live_run.h"
#include "reports/text/layout.h"

namespace stepscope::reports {

struct LiveState {
  std::string run;  ///< as the user calls it
  std::vector<analyzer::LiveLine> lines;
  std::vector<analyzer::Worth> worth;
  std::vector<analyzer::LiveRun::StripStep> strip;
  std::vector<std::string> problems;
  int64_t now_epoch_ns = 0;
  bool keeps_ring = false;  ///< what just happened can be asked for
};
/// `strip`: steps of it.
LiveState live_state(std::string run, analyzer::LiveRun const& live, size_t strip,
                     int64_t now_epoch_ns);

/// Within the terminal's width, 80 columns where it is not known. `most_lines`: of ranks; those
/// that matter most come first, and a line says how many are left out. 0 = all, by rank.
std::string live_page(LiveState const& state, size_t most_lines, Paint const& paint);
/// One sentence of what would be worth a window.
std::string worth_sentence(analyzer::Worth const& worth, bool has_several_devices);
/// One object, for scripts (docs/reference/STREAM_FORMAT.md).
std::string live_json(LiveState const& state);
/// OpenMetrics text, for the textfile collector of Prometheus' node exporter.
std::string live_metrics(LiveState const& state);

}  // namespace stepscope::reports
