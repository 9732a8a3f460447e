#include "reports/html/table.h"

#include <cmath>

#include <fmt/format.h>

#include "reports/html/escape.h"
#include "trace/base/check.h"
#include "trace/base/format.h"

namespace stepscope::reports {

Cell text_cell(std::string_view text) { return {escape(text), std::nullopt}; }
Cell label_cell(std::string_view text) { return {fmt::format("<span class=\"nw\">{}</span>", escape(text)), std::nullopt}; }
Cell name_cell(std::string_view text) { return {fmt::format("<code>{}</code>", escape(text)), std::nullopt}; }
Cell count_cell(uint64_t count) { return {base::format_count(count), static_cast<double>(count)}; }
Cell duration_cell(double ns) { return {base::format_duration(std::llround(ns)), ns}; }
Cell bytes_cell(uint64_t bytes) { return {base::format_bytes(bytes), static_cast<double>(bytes)}; }
Cell share_cell(double fraction) { return {base::format_share(fraction), fraction}; }
Cell number_cell(std::string_view text, double sort) { return {escape(text), sort}; }
Cell none_cell() { return {"<span class=\"none\" title=\"not known\">–</span>", -1.0}; }

Table& Table::text(std::string_view title, std::string_view hint) {
  columns_.push_back({std::string(title), std::string(hint), false});
  return *this;
}

Table& Table::number(std::string_view title, std::string_view hint) {
  columns_.push_back({std::string(title), std::string(hint), true});
  return *this;
}

void Table::row(std::vector<Cell> cells) {
  STEPSCOPE_CHECK(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::html() const {
  std::string out =
      fmt::format("<div class=\"table\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table id=\"{}\"{}{}>", escape(caption_),
                  id_, search_ ? " data-search" : "", filter_ ? fmt::format(" data-filter=\"{}\"", *filter_) : "");
  out += fmt::format("<caption>{}</caption><thead><tr>", escape(caption_));
  for (Column const& column : columns_)
    out += fmt::format("<th scope=\"col\"{}{}>{}</th>", column.numeric ? " class=\"num\"" : "",
                       column.hint.empty() ? "" : fmt::format(" title=\"{}\"", escape(column.hint)), escape(column.title));
  out += "</tr></thead>\n<tbody>";
  for (auto const& cells : rows_) {
    out += "<tr>";
    for (size_t i = 0; i < cells.size(); ++i)
      out += fmt::format("<td{}{}>{}</td>", columns_[i].numeric ? " class=\"num\"" : "",
                         cells[i].sort ? fmt::format(" data-v=\"{}\"", *cells[i].sort) : "", cells[i].html);
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

}  // namespace stepscope::reports
