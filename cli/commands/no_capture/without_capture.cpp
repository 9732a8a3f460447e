// Stands in for the commands that record or train, where the NVTX headers were not found at build
// time. They say so instead of missing silently.
#include "cli/commands.h"
#include "cli/commands/checks.h"
#include "cli/commands/tune_report.h"
#include "trace/base/format.h"

namespace stepscope::cli {
namespace {

int explain() {
  return report_error(
      {"this build has no tracer and no workloads: install a CUDA toolkit or configure with "
       "-DSTEPSCOPE_FETCH_NVTX=ON, and oneDNN"});
}

Action explain(CLI::App& app) {
  app.prefix_command();
  return [] { return explain(); };
}

}  // namespace

Action add_profile(CLI::App& app) { return explain(app); }
Action add_run(CLI::App& app) { return explain(app); }
Action add_record(CLI::App& app) { return explain(app); }
Action add_trigger(CLI::App& app) { return explain(app); }
Action add_ps(CLI::App& app) { return explain(app); }
Action add_selftest(CLI::App& app) { return explain(app); }
Action add_tune(CLI::App& app) { return explain(app); }
int examine_machine(bool /*as_json*/) { return explain(); }

bool holds_search(std::string const& /*folder*/) { return false; }
base::Expected<std::string> search_page(std::string const& folder,
                                        reports::ReportOptions const& /*options*/) {
  return base::fail("{}: this build has no workloads, and reads no searches",
                    base::printable(folder));
}

}  // namespace stepscope::cli
