// A gate's verdict as SARIF 2.1.0, for code scanning: a result for each check that failed or is
// unclear, on the line of the budget or on the baseline.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/gate/gate.h"

namespace stepscope::reports {

struct SarifOptions {
  std::string version;  ///< of Stepscope
  std::string
      artifact;  ///< the file that results without a line are on: the baseline, else the new run
};

/// For a result without refusal. Valid UTF-8, ends with a newline.
std::string gate_sarif(analyzer::GateResult const& result, SarifOptions const& options = {});

/// A path as a URI reference (RFC 3986): "baselines/cifar10.json", "file:///tmp/a%20b".
std::string uri_of_path(std::string_view path);

}  // namespace stepscope::reports
