// Terminal layout: colours, aligned columns, wrapped paragraphs and bars of blocks. Widths count
// the columns of a terminal, not bytes.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "reports/words/labels.h"
#include "trace/base/terminal/text_width.h"

namespace stepscope::reports {

/// Narrower terminals break the lines themselves.
inline constexpr int kLeastWidth = 40;

/// ANSI colours, or none; and how much room tables have.
struct Paint {
  bool color = false;
  int width = 0;  ///< columns of the terminal; 0 = not known
  [[nodiscard]] std::string bold(std::string_view text) const;
  [[nodiscard]] std::string dim(std::string_view text) const;
  /// A marker word of equal width for each severity.
  [[nodiscard]] std::string severity(analyzer::Severity severity) const;
};

/// `count` of the block that stands for a part, coloured if asked.
std::string part_marks(int part_index, int count, Paint const& paint);
/// `width` columns of blocks, in proportion to the shares (which sum to 1). Largest remainder: the
/// widths always sum up.
std::string stacked_bar(std::array<double, kPartCount> const& shares, int width,
                        Paint const& paint);
/// Rows of equal size: the first column left, the others right aligned; the first row is a heading.
/// A table that does not fit a terminal of less than 100 columns is printed in parts, each with the
/// first column. Cells that are too wide for that are shortened.
std::string aligned(std::vector<std::vector<std::string>> const& rows, Paint const& paint);
/// The same with names of kernels or ranges behind the numbers, shortened to the width; what tells
/// equal short names apart is kept. The first of both is the heading.
std::string aligned_before_names(std::vector<std::vector<std::string>> const& rows,
                                 std::vector<std::string> const& names, Paint const& paint,
                                 int width);
/// Text broken at blanks to lines of at most `width` columns, each ended by a newline. A name
/// with "…" that is longer than a line is shortened more.
std::string wrapped(std::string_view text, int width, std::string_view first_indent,
                    std::string_view next_indent);
/// The same where so many columns of the first line are taken.
std::string wrapped_behind(std::string_view text, int width, size_t columns_before,
                           std::string_view next_indent);
/// A line of a list: `words` behind a name, from `column` on, broken at the end of the terminal.
/// Where that leaves little room, the words are below the name. `width` 0 = into a file: one line.
std::string list_line(std::string_view name, std::string_view words, size_t column, int width);
/// A line of its own in bold letters, or several where one does not hold it.
std::string heading_text(std::string_view text, Paint const& paint);
using base::columns_of;

}  // namespace stepscope::reports
