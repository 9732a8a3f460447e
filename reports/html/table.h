// Tables of the page. They are complete without the script, which only adds sorting and searching.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::reports {

struct Cell {
  std::string html;            ///< escaped
  std::optional<double> sort;  ///< what to sort by; none = the text
  bool is_known = true;        ///< false: the fact does not exist
};
Cell text_cell(std::string_view text);
Cell label_cell(std::string_view text);  ///< a short label that must not break
Cell name_cell(std::string_view label,
               std::string_view whole);  ///< a shorter one; the tooltip has all
Cell name_cell(std::string_view text);  ///< a kernel's or range's name: monospaced, breaks anywhere
Cell count_cell(uint64_t count);
Cell duration_cell(double ns);
Cell ns_cell(std::optional<int64_t> ns);
Cell bytes_cell(std::optional<uint64_t> bytes);
Cell share_cell(std::optional<double> fraction);
/// A sentence: never narrower than a few words.
Cell prose_cell(std::string_view text);
Cell number_cell(std::string_view text, double sort);  ///< text as given, escaped
/// "12.3" and the unit, or none; three digits.
Cell measure_cell(std::optional<double> value, std::string_view unit);
Cell none_cell();  ///< the fact does not exist
/// A share with a small bar of a part's colour (the CSS class p-KEY).
Cell meter_cell(std::string_view key, double share);

class Table {
 public:
  /// `caption` is read out by screen readers and printed. It, titles and hints are plain text as
  /// tr() takes it.
  Table(std::string_view id, std::string_view caption) : id_(id), caption_(caption) {}
  /// `hint`: how the column is defined, shown when pointed at.
  Table& text(std::string_view title, std::string_view hint = {});
  Table& number(std::string_view title, std::string_view hint = {});
  /// The column just added is left out of the page when no row knows it: columns of dashes say
  /// nothing.
  Table& if_known();
  void row(std::vector<Cell> cells);
  /// The script offers a search field over all text, and a filter by the distinct values of this
  /// column.
  void searchable() { search_ = true; }
  void filter_by(size_t column) { filter_ = column; }
  [[nodiscard]] size_t size() const { return rows_.size(); }
  [[nodiscard]] std::string html() const;

 private:
  struct Column {
    std::string title, hint;
    bool numeric;
    bool if_known = false;
  };
  [[nodiscard]] bool is_shown(size_t column) const;

  std::string id_, caption_;
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
  bool search_ = false;
  std::optional<size_t> filter_;
};

}  // namespace stepscope::reports
