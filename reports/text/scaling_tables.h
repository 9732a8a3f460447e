// The tables of a scaling series, cell by cell: text and Markdown lay them out. Cells are plain
// text.
#pragma once

#include <string>
#include <vector>

#include "analyzer/scaling/series.h"

namespace stepscope::reports {

/// The first row is a heading; the first column is text, the others are numbers.
using TextTable = std::vector<std::vector<std::string>>;

/// Step, throughput, speed-up and efficiency by number of devices.
TextTable speed_table(analyzer::ScalingSeries const& series);
/// The factors of the parallel efficiency, and of computation.
TextTable factor_table(analyzer::ScalingSeries const& series);
/// Where a step's time goes; parts of less than a thousandth everywhere are left out.
TextTable step_part_table(analyzer::ScalingSeries const& series);
/// Kernels that lose most against their share of the work, at most `rows`; the last row may be all
/// further kernels together.
TextTable kernel_growth_table(analyzer::ScalingSeries const& series, size_t rows);
/// Each model: what it says, how well it predicts, up to where devices pay off, what doubled
/// devices would give.
TextTable fit_table(analyzer::ScalingSeries const& series);
/// What a replay predicts for each number of devices, beside what was measured; only the heading
/// where there is no curve.
TextTable replayed_table(analyzer::ScalingSeries const& series);

/// One line of the lost time, largest first.
struct LossLine {
  analyzer::LostPart part;
  int64_t ns = 0;
  std::string label, reason;  ///< reason may be empty
};
/// `least_share`: parts of less than this of the step are put together in `rest_ns`.
struct LossLines {
  std::vector<LossLine> lines;
  int64_t rest_ns = 0;
  bool has_rest = false;
};
LossLines loss_lines(analyzer::LostTime const& loss, double least_share);

}  // namespace stepscope::reports
