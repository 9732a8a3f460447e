#include "viewer/widgets/table_sort.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "trace/base/format.h"

namespace stepscope::viewer {

std::vector<uint32_t> rows_by(size_t rows, size_t column, CellValue const& value, bool ascending) {
  std::vector<double> values(rows);
  for (size_t row = 0; row < rows; ++row) values[row] = value(row, column);

  std::vector<uint32_t> order(rows);
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    if (std::isnan(values[a]) || std::isnan(values[b]))
      return !std::isnan(values[a]) && std::isnan(values[b]);
    return ascending ? values[a] < values[b] : values[a] > values[b];
  });
  return order;
}

bool is_any_known(size_t rows, size_t column, CellValue const& value) {
  for (size_t row = 0; row < rows; ++row)
    if (!std::isnan(value(row, column))) return true;
  return false;
}

std::string duration_words(double ns) {
  constexpr double kLongest = 9e18;  // 64 bits hold it
  return std::isnan(ns) ? "–"
                        : base::format_duration(static_cast<int64_t>(
                              std::round(std::clamp(ns, -kLongest, kLongest))));
}

std::string count_words(double count) {
  constexpr double kMost = 9e18;
  return std::isnan(count)
             ? "–"
             : base::format_count(static_cast<uint64_t>(std::round(std::clamp(count, 0.0, kMost))));
}

std::string mean_words(double mean) {
  return mean >= 100 ? count_words(mean) : fmt::format("{:.3g}", mean);
}

}  // namespace stepscope::viewer
