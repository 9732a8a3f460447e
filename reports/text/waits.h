// A part of the text: how long devices wait for each other, and who makes them.
#pragma once

#include <string>

#include "analyzer/results/analysis.h"
#include "reports/text/layout.h"

namespace stepscope::reports {

/// Unbroken. Empty where there is too little waiting to name.
std::string waits_sentence(model::Run const& run, analyzer::Analysis const& analysis);
/// The same as a paragraph, and under it a line a device: its waiting, what it causes and why.
std::string waits_text(model::Run const& run, analyzer::Analysis const& analysis,
                       Paint const& paint, int width);

}  // namespace stepscope::reports
