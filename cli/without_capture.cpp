// Stands in for run, record and profile where the NVTX headers were not found at build time: says so instead of missing silently.
#include "cli/commands.h"

namespace stepscope::cli {
namespace {

Action explain(CLI::App& app) {
  app.prefix_command();
  return [] {
    return report_error(
        {"this build has no tracer and no workloads: install a CUDA toolkit or configure with -DSTEPSCOPE_FETCH_NVTX=ON, and "
         "oneDNN"});
  };
}

}  // namespace

Action add_profile(CLI::App& app) { return explain(app); }
Action add_run(CLI::App& app) { return explain(app); }
Action add_record(CLI::App& app) { return explain(app); }

}  // namespace stepscope::cli
