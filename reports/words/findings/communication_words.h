// What the findings about communication, and about waiting for other devices, say of their numbers.
#pragma once

#include "reports/words/findings/finding_context.h"

namespace stepscope::reports {

/// exposed-communication.
std::string describe_communication(FindingContext const& seen);
/// straggler.
std::string describe_straggler(FindingContext const& seen);
/// load-imbalance.
std::string describe_imbalance(FindingContext const& seen);
/// unequal-workers.
std::string describe_workers(FindingContext const& seen);
/// pipeline-bubble.
std::string describe_bubble(FindingContext const& seen);
/// slow-link.
std::string describe_link(FindingContext const& seen);
/// small-buckets.
std::string describe_buckets(FindingContext const& seen);
/// hung-collective.
std::string describe_hung(FindingContext const& seen);

}  // namespace stepscope::reports
