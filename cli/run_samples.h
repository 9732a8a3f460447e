// Runs as commands that compare them hold them: what is kept of each is small, so one is open at a
// time.
#pragma once

#include <string>
#include <vector>

#include "analyzer/compare/run_sample.h"
#include "trace/base/expected.h"

namespace stepscope::cli {

/// Fails where one path stands twice: how far runs differ is read from different recordings only.
base::Expected<void> refuse_repeated(std::vector<std::string> const& paths);

/// Each path is a run of its own, and its sample's name. `steps`: only these of each, "A:B"; empty:
/// all. What cannot be read is printed.
base::Expected<std::vector<analyzer::RunMeasurements>> read_samples(
    std::vector<std::string> const& paths, std::string const& steps);

}  // namespace stepscope::cli
