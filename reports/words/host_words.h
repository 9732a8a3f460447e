// Programs without a device in words and numbers: what their steps take, where the time goes, who
// came last.
#pragma once

#include <optional>
#include <string>

#include "analyzer/metrics/steps/run_summary.h"
#include "reports/words/wording.h"

namespace stepscope::reports {

/// Whether any device of the run worked. Without one the page is about the host.
bool has_device_work(analyzer::Analysis const& analysis);

using analyzer::HostSummary;

/// How many rows of a process, and how many processes, texts and pages show.
inline constexpr size_t kMostHosts = 16;

/// One to three sentences; empty where nothing of a host is known. Begins without a blank.
std::string host_verdict(analyzer::Analysis const& analysis);
/// "Rank 0 comes last to 4 of 4 negotiations, 3.10 ms after the others on average." Empty where no
/// rank came last.
std::string negotiation_words(analyzer::NegotiationStats const& facts);
/// "The slowest step, 7, took 9.10 ms; it had 50.0 µs more in “forward” than the others." Empty
/// where nothing is compared.
std::string slow_step_words(analyzer::HostStats const& host);

/// Words of findings about hosts and negotiations; none for others.
std::optional<FindingWords> host_finding_words(model::Run const& run,
                                               analyzer::Finding const& finding);

}  // namespace stepscope::reports
