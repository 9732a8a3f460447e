// Long columns that their producer fills. Growing one leaves the new elements uninitialised, where
// std::vector would write zeros that are overwritten at once.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace stepscope::base {

template <class T>
struct LeavesUnfilled : std::allocator<T> {
  // Such types need no constructor: uninitialised memory is a valid object whose value is
  // unspecified.
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  using std::allocator<T>::allocator;

  template <class U>
  void construct(U* /*place*/) noexcept {}
  template <class U, class... Args>
  requires(sizeof...(Args) > 0) void construct(U* place, Args&&... args) {
    std::construct_at(place, std::forward<Args>(args)...);
  }
};

/// A vector that leaves new elements uninitialised in resize(n), Column(n) and emplace_back()
/// without arguments. Write them before they are read. resize(n, value), assign() and everything
/// else behave as in std::vector.
template <class T>
using Column = std::vector<T, LeavesUnfilled<T>>;

}  // namespace stepscope::base
