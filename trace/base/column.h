// Long columns that are filled by whoever makes them: growing one leaves what is new as it is,
// where a plain vector writes zeros that are overwritten at once.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace stepscope::base {

template <class T>
struct LeavesUnfilled : std::allocator<T> {
  // Of such types memory is an object as it is, and what is in it is whatever was there.
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  using std::allocator<T>::allocator;

  template <class U>
  void construct(U* /*place*/) noexcept {}
  template <class U, class... Args>
  requires(sizeof...(Args) > 0) void construct(U* place, Args&&... args) {
    std::construct_at(place, std::forward<Args>(args)...);
  }
};

/// A vector of which resize(n), the constructor Column(n) and emplace_back() without arguments
/// leave new places unfilled: write them before they are read. resize(n, value), assign() and all
/// else do as a plain vector does.
template <class T>
using Column = std::vector<T, LeavesUnfilled<T>>;

}  // namespace stepscope::base
