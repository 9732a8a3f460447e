// What findings may promise: no more than a remedy can give. Communication and copies can be hidden
// behind no more work than there is. A device that is hardly used does not show how fast the
// program could be. Where the host is the bottleneck, a faster device waits for it.
#pragma once

#include <vector>

#include "analyzer/rules/rule.h"

namespace stepscope::analyzer {

/// A finding promises no gain for a device that is busy for less than this share of its time: the
/// trace does not show what would limit the program then.
inline constexpr double kLeastUsed = 0.1;

/// Fills gain_if_hidden, and takes the gains from findings about hardly used devices, which get the
/// metric "busy_share".
void limit_gains(RuleInput const& input, std::vector<Finding>& findings);

/// Applies where the host has more of the critical path than the devices. Findings about the
/// devices' own work get the subject {"bottleneck", "host"} and promise no gain. They come behind
/// the last finding above kInfo about the host, no graver than that.
void put_bottleneck_first(Analysis& analysis);

}  // namespace stepscope::analyzer
