#include "reports/html/table.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "reports/html/escape.h"
#include "reports/words/labels.h"
#include "reports/words/language.h"
#include "trace/base/check.h"
#include "trace/base/format.h"

namespace stepscope::reports {

Cell text_cell(std::string_view text) { return {escape(text), std::nullopt}; }
Cell label_cell(std::string_view text) {
  return {fmt::format("<span class=\"nw\">{}</span>", escape(text)), std::nullopt};
}
Cell name_cell(std::string_view text) {
  return {fmt::format("<code>{}</code>", escape(text)), std::nullopt};
}
Cell name_cell(std::string_view label, std::string_view whole) {
  if (label == whole) return name_cell(whole);
  return {fmt::format("<code title=\"{}\">{}</code>", escape(whole), escape(label)), std::nullopt};
}
Cell count_cell(uint64_t count) { return {base::format_count(count), static_cast<double>(count)}; }
Cell duration_cell(double ns) { return {base::format_duration(std::llround(ns)), ns}; }
Cell ns_cell(std::optional<int64_t> ns) {
  return ns ? duration_cell(static_cast<double>(*ns)) : none_cell();
}
Cell bytes_cell(std::optional<uint64_t> bytes) {
  return bytes ? Cell{base::format_bytes(*bytes), static_cast<double>(*bytes)} : none_cell();
}
Cell share_cell(std::optional<double> fraction) {
  return fraction && std::isfinite(*fraction) ? Cell{base::format_share(*fraction), *fraction}
                                              : none_cell();
}
Cell prose_cell(std::string_view text) {
  return {fmt::format("<span class=\"prose\">{}</span>", escape(with_joined_units(text), 2000)),
          std::nullopt};
}
Cell number_cell(std::string_view text, double sort) { return {escape(text), sort}; }
namespace {

/// Three digits, and no exponent below a million.
std::string three_digits(double value) {
  double const size = std::fabs(value);
  if (size == 0) return "0";
  return size >= 99.5 && size < 1e6 ? fmt::format("{:.0f}", value) : fmt::format("{:#.3g}", value);
}

}  // namespace

Cell measure_cell(std::optional<double> value, std::string_view unit) {
  if (!value || !std::isfinite(*value)) return none_cell();
  return number_cell(fmt::format("{}{}{}", three_digits(*value), unit.empty() ? "" : " ", unit),
                     *value);
}
Cell none_cell() {
  return {fmt::format("<span class=\"none\" title=\"{}\">–</span>", tr("not known")), -1.0, false};
}
Cell meter_cell(std::string_view key, double share) {
  double const width = std::isfinite(share) ? std::clamp(share, 0.0, 1.0) * 100 : 0;
  return {fmt::format("<span class=\"meter\"><i class=\"p p-{}\" "
                      "style=\"width:{:.2f}%\"></i></span><span class=\"pct\">{}</span>",
                      key, width, base::format_share(share)),
          share};
}

Table& Table::text(std::string_view title, std::string_view hint) {
  columns_.push_back({std::string(tr(title)), std::string(tr(hint)), false, false});
  return *this;
}

Table& Table::number(std::string_view title, std::string_view hint) {
  columns_.push_back({std::string(tr(title)), std::string(tr(hint)), true, false});
  return *this;
}

Table& Table::if_known() {
  columns_.back().if_known = true;
  return *this;
}

bool Table::is_shown(size_t column) const {
  return !columns_[column].if_known ||
         std::any_of(rows_.begin(), rows_.end(),
                     [&](auto const& cells) { return cells[column].is_known; });
}

void Table::row(std::vector<Cell> cells) {
  STEPSCOPE_CHECK(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::html() const {
  std::vector<size_t> columns;
  std::optional<size_t> filter;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (!is_shown(i)) continue;
    if (filter_ == i) filter = columns.size();
    columns.push_back(i);
  }

  std::string out = fmt::format(
      "<div class=\"table\" tabindex=\"0\" role=\"group\" aria-label=\"{}\"><table id=\"{}\"{}{}>",
      escape(tr(caption_)), id_, search_ ? " data-search" : "",
      filter ? fmt::format(" data-filter=\"{}\"", *filter) : "");
  out += fmt::format("<caption>{}</caption><thead><tr>", escape(tr(caption_)));

  for (size_t const i : columns)
    out += fmt::format(
        "<th scope=\"col\"{}{}>{}</th>", columns_[i].numeric ? " class=\"num\"" : "",
        columns_[i].hint.empty() ? "" : fmt::format(" title=\"{}\"", escape(columns_[i].hint)),
        escape(columns_[i].title));
  out += "</tr></thead>\n<tbody>";

  for (auto const& cells : rows_) {
    out += "<tr>";
    for (size_t const i : columns)
      out += fmt::format("<td{}{}>{}</td>", columns_[i].numeric ? " class=\"num\"" : "",
                         cells[i].sort ? fmt::format(" data-v=\"{}\"", *cells[i].sort) : "",
                         cells[i].html);
    out += "</tr>\n";
  }

  return out + "</tbody></table></div>\n";
}

}  // namespace stepscope::reports
