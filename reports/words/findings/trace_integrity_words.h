// The words of the finding trace-quality: what is wrong with the recording decides what it is
// called and what helps.
#pragma once

#include "reports/words/wording.h"

namespace stepscope::reports {

/// Words of a trace-quality finding. Never empty.
FindingWords trace_integrity_words(analyzer::Analysis const& analysis,
                                   analyzer::Finding const& finding);

}  // namespace stepscope::reports
