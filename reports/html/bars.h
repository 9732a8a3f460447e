// Bars drawn by styles alone: they print, need no script, and say their numbers to those who cannot
// see them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/html/table.h"
#include "reports/words/labels.h"

namespace stepscope::reports {

/// A stretch of a bar. Its label, hint and colour are those of the part.
struct BarPart {
  Part const* part;
  int64_t ns;
};

/// A stacked bar as long as its parts are of `whole_ns`; what they do not fill stays empty. Parts
/// without time are left out.
std::string html_bar(std::vector<BarPart> const& parts, int64_t whole_ns);
/// The bar in a cell, sorted by the sum of the parts.
Cell bar_cell_of(std::vector<BarPart> const& parts, int64_t whole_ns);
/// The colour key of the parts that can be seen: those of at least kLeastShownShare of `whole_ns`.
/// "idle: " before idle ones only where the bars are of a device's time.
std::string bar_key(std::vector<BarPart> const& parts, int64_t whole_ns, bool of_device_time);
/// A part's mark and label.
Cell part_cell(Part const& part);

/// A row of a waterfall: what is left of the whole, and what this step of it takes away. Shares of
/// the whole. `saved`: the text of the last column; empty: `before` − `after`.
std::string waterfall_row(std::string_view title, double before, double after,
                          std::string_view saved = {});
/// The table of the rows. Titles are as tr() takes them; `what`: of the rows, such as "fix of".
std::string waterfall(std::string_view title, std::string_view what, std::string_view left,
                      std::string_view saved, std::string_view rows);

/// "… and 12 more devices; `stepscope analyze --json` has all.", or nothing where all are shown.
std::string and_more(size_t shown_rows, size_t all_rows, std::string_view noun);

/// Sums of what a trace may have made large, held at the largest number instead of overflowing.
int64_t saturated_sum(int64_t a, int64_t b);

}  // namespace stepscope::reports
