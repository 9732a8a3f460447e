// stepscope run WORKLOAD: trains a bundled workload; its own options follow its name.
#include <memory>

#include "cli/commands.h"
#include "cli/commands/scale.h"
#include "workloads/workload.h"

namespace stepscope::cli {
namespace {

std::string workload_list() {
  std::string text = "Workloads (stepscope run WORKLOAD --help shows the options of one):\n";
  for (workloads::Workload const& workload : workloads::workloads())
    text += fmt::format("  {:<12} {}\n", workload.name, workload.description);
  return text +
         "\nWith --scale 1,2,4 a training runs on as many devices, one run after the other, each "
         "recorded into a folder of its own\n"
         "(-o FOLDER: FOLDER/1, FOLDER/2 and so on; --force replaces runs that are there).\n";
}

int run_named(std::vector<std::string> arguments) {
  if (arguments.empty()) return report_error({"run: name a workload, see stepscope run --help"});
  std::string const name = arguments.front();
  arguments.erase(arguments.begin());
  auto const series = parse_scale(arguments);
  if (!series) return report_error({fmt::format("run {}: {}", name, series.error().message)});
  auto const code =
      series->is_asked() ? run_scale(name, *series) : workloads::run_workload(name, arguments);
  return code ? *code : report_error(code.error());
}

}  // namespace

Action add_run(CLI::App& app) {
  app.prefix_command();
  app.footer(workload_list());
  return [&app] { return run_named(app.remaining()); };
}

}  // namespace stepscope::cli
