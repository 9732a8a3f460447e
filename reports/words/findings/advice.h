// What to do about a finding, in the terms of the framework and the vendor that the run shows.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/results/analysis.h"
#include "trace/model/run.h"

namespace stepscope::reports {

/// About a loader that runs in the training thread, in English.
std::string_view advice_on_workers();
/// About a recording without the calls that launched device work, in English.
std::string_view advice_on_host_calls();

/// `usual`: the rule's advice in English. Returns it, or the one that fits better, in the language
/// of the report.
std::string advice_about(model::Run const& run, analyzer::Analysis const& analysis,
                         analyzer::Finding const& finding, std::string_view steady);

}  // namespace stepscope::reports
