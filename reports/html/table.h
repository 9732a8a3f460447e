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
};
Cell text_cell(std::string_view text);
Cell label_cell(std::string_view text);  ///< a short label that must not break
Cell name_cell(std::string_view text);   ///< a kernel's or range's name: monospaced, breaks anywhere
Cell count_cell(uint64_t count);
Cell duration_cell(double ns);
Cell bytes_cell(uint64_t bytes);
Cell share_cell(double fraction);
Cell number_cell(std::string_view text, double sort);  ///< text as given, escaped
Cell none_cell();                                      ///< the fact does not exist

class Table {
 public:
  /// `caption` is read out by screen readers and printed; plain text.
  Table(std::string_view id, std::string_view caption) : id_(id), caption_(caption) {}
  /// `hint`: how the column is defined, shown when pointed at.
  Table& text(std::string_view title, std::string_view hint = {});
  Table& number(std::string_view title, std::string_view hint = {});
  void row(std::vector<Cell> cells);
  /// The script offers a search field over all text, and a filter by the distinct values of this column.
  void searchable() { search_ = true; }
  void filter_by(size_t column) { filter_ = column; }
  [[nodiscard]] size_t size() const { return rows_.size(); }
  [[nodiscard]] std::string html() const;

 private:
  struct Column {
    std::string title, hint;
    bool numeric;
  };
  std::string id_, caption_;
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
  bool search_ = false;
  std::optional<size_t> filter_;
};

}  // namespace stepscope::reports
