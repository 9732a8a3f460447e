// Whether a block holds what its header lists. Readers choose blocks by their headers. A header
// that hides kinds thus makes its block damaged for all readers: one that skips it and one that
// reads it must not see different events.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "trace/model/kinds.h"

namespace stepscope::file {

/// `listed`: BlockHeader::kinds.
inline bool are_listed(std::span<model::EventKind const> kinds, uint64_t listed) {
  std::array<bool, 256> is_there{};
  for (model::EventKind const kind : kinds) is_there[static_cast<uint8_t>(kind)] = true;
  for (size_t kind = 0; kind < model::kKindCount; ++kind)
    if (is_there[kind] && (listed >> kind & 1) == 0) return false;
  return true;
}

}  // namespace stepscope::file
