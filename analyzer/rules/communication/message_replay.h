// How much sooner devices would be over with their steps if some messages or collectives took less:
// the run is played again with what is known of its collectives. A device that waited goes on when
// the message is there or when it is ready itself, whichever is later; a collective begins when its
// last participant has come. So what is gained in one place and waited for in another counts as
// what it is worth in the end. O(n log n) in the participants of all collectives.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/rules/rule.h"

namespace stepscope::analyzer {

/// `shorter_ns`: by collective of the facts, ≥ 0, what it takes less. Returns for each of
/// input.measured what its measured steps together would take less (of a device without steps: its
/// window). Only durations of one device are compared with each other, so clocks that disagree by
/// less than messages take change nothing. Empty where there are more participants than
/// kMostReplayed.
std::vector<int64_t> replay_with_shorter(RuleInput const& input,
                                         std::vector<int64_t> const& shorter_ns);

/// 64 MiB of begins and ends: more is not worth its memory for one cost.
inline constexpr size_t kMostReplayed = size_t{2} << 20U;

}  // namespace stepscope::analyzer
