// A gate's verdict as JUnit XML, one test case a check, valid against the schema of Ant's JUnit
// tasks and that of Jenkins.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/gate/gate.h"

namespace stepscope::reports {

struct JunitOptions {
  std::string timestamp =
      "1970-01-01T00:00:00";  ///< when it was checked, UTC, without a zone: the schema allows none
  std::string host = "localhost";
};

/// For a result without refusal. A check that failed is a failure, one that is unclear an error:
/// neither passes. UTF-8.
std::string gate_junit(analyzer::GateResult const& result, JunitOptions const& options = {});

/// Text as XML 1.0 holds it, inside elements and quoted attributes: what is no character there
/// becomes U+FFFD.
std::string xml_escape(std::string_view text);

}  // namespace stepscope::reports
