// What unequal workers of a pipeline cost, in words: one spelling for text and page.
#pragma once

#include <string>

#include "analyzer/results/collective_stats.h"

namespace stepscope::reports {

/// "45.1 %"; "all" from 1 on: the other stages are faster than equal ones.
std::string share_of_loss(double share);
/// "1.232": a step's length over that of equal workers.
std::string slowdown_text(double s);
/// How long a step would be with equally fast workers, and who loses the difference. Unbroken.
std::string slowdown_sentence(analyzer::SlowdownStats const& slowdown);

}  // namespace stepscope::reports
