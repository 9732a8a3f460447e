// Distinct integer id types: a TrackId cannot be passed where a StringId is meant.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace stepscope::base {

/// An index into some table; `Tag` only keeps the types apart. Default = invalid.
template <class Tag>
struct Id {
  static constexpr uint32_t kInvalid = UINT32_MAX;
  uint32_t value = kInvalid;

  [[nodiscard]] constexpr bool valid() const { return value != kInvalid; }
  friend constexpr auto operator<=>(Id, Id) = default;
};

}  // namespace stepscope::base

template <class Tag>
struct std::hash<stepscope::base::Id<Tag>> {
  size_t operator()(stepscope::base::Id<Tag> id) const noexcept {
    return std::hash<uint32_t>{}(id.value);
  }
};
