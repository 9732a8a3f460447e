// Memory for long columns in huge pages: a page fault for every 4 KB costs more than filling the column.
#pragma once

#include <cstddef>
#include <vector>

namespace stepscope::base {

/// Asks for huge pages in [begin, begin + bytes), which nobody has touched yet. A hint: does nothing where they cannot be had or
/// would not fit inside.
void ask_for_huge_pages(void const* begin, size_t bytes);

/// column.reserve(count), in huge pages when it is that long and new.
template <class T>
void reserve_long(std::vector<T>& column, size_t count) {
  if (column.capacity() >= count) return;
  column.reserve(count);
  if (column.empty()) ask_for_huge_pages(column.data(), column.capacity() * sizeof(T));
}

}  // namespace stepscope::base
