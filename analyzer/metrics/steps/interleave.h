// Turns of a program that was recorded beside another one (`stepscope record --in-turn`), as its
// trace tells of them in a fact. The first step of each turn begins where the program was held: the
// time since the step before is not its own.
#pragma once

#include <cstdint>
#include <optional>

#include "trace/model/trace.h"

namespace stepscope::analyzer {

inline constexpr char const* kTurnsFact = "turns";  ///< "30 of 8 steps"

struct InterleaveTurns {
  int64_t count = 0, steps = 0;  ///< of each turn
  /// The first step of a turn, or the first behind the last one. `place`: of the step, counted from
  /// the process's first.
  [[nodiscard]] bool is_after_pause(int64_t place) const {
    return place >= 0 && place / steps <= count && place % steps == 0;
  }
};

/// Nothing where the fact is not there, or makes no sense.
std::optional<InterleaveTurns> turns_of(model::TraceInfo const& info);

}  // namespace stepscope::analyzer
