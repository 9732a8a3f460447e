// The cells of tables of facts as numbers: the order of the rows by one of the columns, and how
// numbers are written.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace stepscope::viewer {

/// The number by which a cell is sorted; not a number: there is nothing in it.
using CellValue = std::function<double(size_t row, size_t column)>;

/// The rows 0 … rows − 1 by the column's values; those without one are last either way, equal ones
/// stay in their order.
std::vector<uint32_t> rows_by(size_t rows, size_t column, CellValue const& value, bool ascending);
/// Whether any row has a value there. O(rows) where none has.
bool is_any_known(size_t rows, size_t column, CellValue const& value);

/// A fact that may not be there, as a value to sort by.
template <class Fact>
[[nodiscard]] double value_of(Fact const& fact) {
  return fact ? static_cast<double>(*fact) : std::nan("");
}

/// "1.23 ms", of what may be any number.
std::string duration_words(double ns);
/// "1,234"
std::string count_words(double count);
/// "0.12", "12.3", "1,234": a mean of counts.
std::string mean_words(double mean);

}  // namespace stepscope::viewer
