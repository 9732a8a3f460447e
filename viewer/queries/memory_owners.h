// Who holds a device's memory at an instant that a person points at.
#pragma once

#include <cstdint>
#include <optional>

#include "viewer/scene/scene.h"

namespace stepscope::viewer {

struct OwnersKey {
  uint32_t device = 0;  ///< index into Analysis::devices
  int64_t time_ns = 0;  ///< run time
  friend bool operator==(OwnersKey const&, OwnersKey const&) = default;
};

/// None where frees are missing from the recording, or nothing was allocated yet. O(events of the
/// process).
std::optional<analyzer::MemoryOwners> owners_at(Scene const& scene, OwnersKey const& key);

}  // namespace stepscope::viewer
