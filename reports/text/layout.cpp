#include "reports/text/layout.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "reports/words/kernel_label.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

// Blocks tell the parts apart without colour; idle causes are light. 256-colour codes near the
// report's palette.
struct Mark {
  std::string_view block;
  int color;
};
constexpr std::array<Mark, kPartCount> kMarks = {{{"█", 25},
                                                  {"▓", 166},
                                                  {"▒", 175},
                                                  {"p", 88},
                                                  {"a", 89},
                                                  {"s", 29},
                                                  {"i", 214},
                                                  {"d", 97},
                                                  {"w", 74},
                                                  {"g", 73},
                                                  {"h", 178},
                                                  {"l", 250},
                                                  {"░", 243}}};

std::string escape_code(std::string_view code, std::string_view text) {
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::string repeat(std::string_view text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

}  // namespace

std::string Paint::bold(std::string_view text) const {
  return color ? escape_code("1", text) : std::string(text);
}
std::string Paint::dim(std::string_view text) const {
  return color ? escape_code("2", text) : std::string(text);
}

std::string Paint::severity(analyzer::Severity severity) const {
  switch (severity) {
    case analyzer::Severity::kCritical:
      return color ? escape_code("1;31", "CRITICAL") : "CRITICAL";
    case analyzer::Severity::kWarning:
      return color ? escape_code("33", "WARNING") : "WARNING";
    case analyzer::Severity::kInfo:
      break;
  }
  return color ? escape_code("36", "INFO") : "INFO";
}

std::string part_marks(int part_index, int count, Paint const& paint) {
  if (count <= 0) return {};
  Mark const& mark = kMarks[static_cast<size_t>(part_index)];
  // With colour the hue tells parts apart and full blocks read best.
  return paint.color ? escape_code(fmt::format("38;5;{}", mark.color), repeat("█", count))
                     : repeat(mark.block, count);
}

std::string stacked_bar(std::array<double, kPartCount> const& shares, int width,
                        Paint const& paint) {
  std::array<int, kPartCount> cells{};
  std::array<double, kPartCount> rest{};
  int used = 0;

  for (size_t i = 0; i < shares.size(); ++i) {
    double const exact = std::max(shares[i], 0.0) * width;
    cells[i] = static_cast<int>(std::floor(exact));
    rest[i] = exact - cells[i];
    used += cells[i];
  }

  for (; used < width; ++used) {
    auto const most =
        static_cast<size_t>(std::max_element(rest.begin(), rest.end()) - rest.begin());
    if (rest[most] <= 0) break;
    ++cells[most];
    rest[most] = 0;
  }

  std::string bar;
  for (int i = 0; i < kPartCount; ++i) bar += part_marks(i, cells[static_cast<size_t>(i)], paint);
  return bar;
}

namespace {

using Rows = std::vector<std::vector<std::string>>;

std::vector<size_t> widths_of(Rows const& rows) {
  std::vector<size_t> widths;
  for (auto const& row : rows)
    for (size_t i = 0; i < row.size(); ++i) {
      if (i >= widths.size()) widths.push_back(0);
      widths[i] = std::max(widths[i], columns_of(row[i]));
    }
  return widths;
}

/// The first column and those of [first, last).
std::string aligned_part(Rows const& rows, std::vector<size_t> const& widths, size_t first,
                         size_t last, Paint const& paint) {
  std::string text;
  for (size_t r = 0; r < rows.size(); ++r) {
    auto const pad = [&](size_t i) { return std::string(widths[i] - columns_of(rows[r][i]), ' '); };
    std::string line = "  " + rows[r][0] + pad(0);
    for (size_t i = first; i < last; ++i) line += "  " + pad(i) + rows[r][i];
    text += (r == 0 ? paint.dim(line) : line) + "\n";
  }
  return text;
}

constexpr size_t kLeastName = 12;

/// The last columns of a text, behind "…".
std::string end_of(std::string_view text, size_t columns) {
  while (!text.empty() && columns_of(text) + 1 > columns)
    text.remove_prefix(std::max<size_t>(base::utf8_length(text), 1));
  return "…" + std::string(text);
}

/// Short names of a column. Ranges whose names differ in brackets alone show their ends.
std::vector<std::string> short_names(std::vector<std::string> const& names, size_t columns) {
  auto labels = kernel_labels(names, columns);
  std::unordered_map<std::string_view, std::set<std::string_view>> names_of;
  for (size_t i = 0; i < names.size(); ++i) names_of[labels[i]].insert(names[i]);

  std::vector<std::string> result;
  for (size_t i = 0; i < names.size(); ++i)
    result.push_back(names_of[labels[i]].size() > 1 ? end_of(names[i], columns) : labels[i]);
  return result;
}

/// The rows where the first column and the widest other one fit so many columns: names are
/// shortened first, then values.
Rows fitted(Rows rows, size_t room) {
  constexpr size_t kGaps = 4;
  std::vector<size_t> const widths = widths_of(rows);
  if (widths.size() < 2 || room < kGaps + 2 * kLeastName) return rows;
  size_t const widest = *std::max_element(widths.begin() + 1, widths.end());
  if (widths[0] + widest + kGaps <= room) return rows;

  size_t const of_name =
      std::min(widths[0], std::max(kLeastName, room - kGaps - std::min(room - kGaps, widest)));
  std::vector<std::string> names;
  for (auto const& row : rows) names.push_back(row[0]);
  if (widths[0] > of_name) names = short_names(names, of_name);

  for (size_t r = 0; r < rows.size(); ++r) {
    auto& row = rows[r];
    row[0] = names[r];
    for (size_t i = 1; i < row.size(); ++i)
      if (columns_of(row[i]) + of_name + kGaps > room)
        row[i] = base::cut_to_columns(row[i], room - of_name - kGaps);
  }
  return rows;
}

}  // namespace

std::string aligned(Rows const& whole_rows, Paint const& paint) {
  // Tables are made for a terminal of that width, and for pipes.
  constexpr int kUsualWidth = 100;
  bool const is_narrow = paint.width > 0 && paint.width < kUsualWidth;
  size_t const room = is_narrow ? static_cast<size_t>(paint.width) : SIZE_MAX;

  Rows const rows = is_narrow ? fitted(whole_rows, room) : whole_rows;
  std::vector<size_t> const widths = widths_of(rows);
  if (widths.empty()) return {};

  std::string text;
  size_t first = 1;
  do {
    size_t last = first, taken = 2 + widths[0];
    while (last < widths.size() && (last == first || taken + 2 + widths[last] <= room))
      taken += 2 + widths[last++];
    text += (text.empty() ? "" : "\n") + aligned_part(rows, widths, first, last, paint);
    first = last;
  } while (first < widths.size());
  return text;
}

namespace {

/// A name that was shortened before, and that no line holds, is shortened more. All other words
/// stay whole: people copy paths, options and commands.
std::string fitting_word(std::string_view word, size_t limit, size_t indent) {
  size_t const room = limit > indent + kLeastName ? limit - indent : kLeastName;
  bool const is_short_name = word.find("…") != std::string_view::npos;
  return is_short_name && columns_of(word) > room ? base::cut_to_columns(word, room)
                                                  : std::string(word);
}

}  // namespace

std::string wrapped(std::string_view all, int width, std::string_view first_indent,
                    std::string_view next_indent) {
  std::string const joined = with_joined_units(all);
  std::string_view text = joined;
  std::string result, line(first_indent);
  bool is_line_empty = true;
  auto const limit = static_cast<size_t>(width);
  while (!text.empty()) {
    size_t const end = std::min(text.find(' '), text.size());
    std::string const word = fitting_word(text.substr(0, end), limit, columns_of(next_indent));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!is_line_empty && columns_of(line) + 1 + columns_of(word) > limit) {
      result += line + "\n";
      line = next_indent;
      is_line_empty = true;
    }
    if (!is_line_empty) line += ' ';
    line += word;
    is_line_empty = false;
  }
  result += line + "\n";

  // Terminals get plain blanks.
  for (size_t at = result.find("\u00A0"); at != std::string::npos; at = result.find("\u00A0", at))
    result.replace(at, 2, " ");
  return result;
}

std::string heading_text(std::string_view text, Paint const& paint) {
  std::string const lines = paint.width > 0
                                ? wrapped(text, std::max(paint.width, kLeastWidth), "", "")
                                : std::string(text) + "\n";
  return paint.bold(lines.substr(0, lines.size() - 1)) + "\n";
}

std::string wrapped_behind(std::string_view text, int width, size_t columns_before,
                           std::string_view next_indent) {
  return wrapped(text, width, std::string(columns_before, ' '), next_indent).substr(columns_before);
}

std::string list_line(std::string_view name, std::string_view words, size_t column, int width) {
  constexpr size_t kLeastRoom = 28, kBelow = 6;
  size_t const taken = columns_of(name);
  std::string before = std::string(name) + std::string(taken < column ? column - taken : 1, ' ');
  if (words.empty()) before = name;
  if (width <= 0) return before + std::string(words) + "\n";

  auto const room = static_cast<size_t>(std::max(width, kLeastWidth));
  auto const limit = static_cast<int>(room);
  bool const is_narrow = column + kLeastRoom > room;
  std::string const indent(is_narrow ? std::min(column, kBelow) : column, ' ');
  if (name.empty()) return wrapped(words, limit, indent, indent);
  if (!is_narrow && taken < column) return before + wrapped_behind(words, limit, column, indent);

  size_t const blanks = std::min(name.find_first_not_of(' '), name.size());
  std::string const first =
      wrapped(name.substr(blanks), limit, std::string(blanks, ' '), std::string(blanks + 2, ' '));
  return words.empty() ? first : first + wrapped(words, limit, indent, indent);
}

std::string aligned_before_names(std::vector<std::vector<std::string>> const& rows,
                                 std::vector<std::string> const& names, Paint const& paint,
                                 int width) {
  constexpr size_t kGap = 3;  // and the sign that a name was cut
  std::string const table = aligned(rows, {});
  size_t const taken = columns_of(table.substr(0, table.find('\n'))) + kGap;
  size_t const room = static_cast<size_t>(std::max(width, 0));
  if (width > 0 && taken + kLeastName > room) {
    // Then names come first, and the numbers in parts.
    Rows named = rows;
    auto const labels = kernel_labels(names, std::max(kLeastName, room / 2));
    for (size_t i = 0; i < named.size(); ++i) named[i].insert(named[i].begin(), labels[i]);
    return aligned(named, {paint.color, width});
  }

  auto const labels = kernel_labels(names, room > taken + kLeastName ? room - taken : kLeastName);

  std::string text;
  std::string_view rest = table;
  for (size_t i = 0; i < labels.size(); ++i) {
    std::string line(rest.substr(0, rest.find('\n')));
    rest.remove_prefix(line.size() + 1);
    line += "  " + labels[i];
    text += (i == 0 ? paint.dim(line) : line) + "\n";
  }
  return text;
}

}  // namespace stepscope::reports
