// What a cluster says of the job that this process is a part of: of Slurm, or of Kubernetes by its
// downward API. They become facts of the trace.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace stepscope::tracer {

/// Name and value of each label that the environment has.
std::vector<std::pair<std::string, std::string>> job_labels();

}  // namespace stepscope::tracer
