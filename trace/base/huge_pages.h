// Memory for long columns in huge pages: a page fault for every 4 KB costs more than filling the
// column.
#pragma once

#include <cstddef>
#include <vector>

namespace stepscope::base {

/// Asks for huge pages in [begin, begin + bytes), which nobody has touched yet. A hint: does
/// nothing where they cannot be had or would not fit inside.
void ask_for_huge_pages(void const* begin, size_t bytes);

/// column.reserve(count), in huge pages when it is that long and new.
template <class T, class Allocator>
void reserve_long(std::vector<T, Allocator>& column, size_t count) {
  if (column.capacity() >= count) return;
  column.reserve(count);
  if (column.empty()) ask_for_huge_pages(column.data(), column.capacity() * sizeof(T));
}

/// column.resize(column.size() + count, value), of a value that is small. The library's own reads
/// the value from memory for each place, which it may lie in for all that the compiler knows: of
/// ids that takes ten times as long.
template <class T, class Allocator>
void append_copies(std::vector<T, Allocator>& column, size_t count, T const value) {
  size_t const first = column.size();
  column.resize(first + count);
  T* const to = column.data() + first;
  for (size_t i = 0; i < count; ++i) to[i] = value;
}

}  // namespace stepscope::base
