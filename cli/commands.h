// THE list of commands.
#pragma once

#include <span>

#include "cli/command.h"

namespace stepscope::cli {

std::span<Command const> commands();

Action add_profile(CLI::App& app);
Action add_run(CLI::App& app);
Action add_record(CLI::App& app);
Action add_analyze(CLI::App& app);
Action add_report(CLI::App& app);
Action add_compare(CLI::App& app);
Action add_check(CLI::App& app);
Action add_view(CLI::App& app);
Action add_info(CLI::App& app);
Action add_query(CLI::App& app);
Action add_doctor(CLI::App& app);
Action add_selftest(CLI::App& app);
Action add_import(CLI::App& app);
Action add_export(CLI::App& app);
Action add_slice(CLI::App& app);
Action add_synth(CLI::App& app);

}  // namespace stepscope::cli
