#include "cli/commands.h"

#include <array>

namespace stepscope::cli {
namespace {

constexpr std::array kCommands = {
    Command{"profile", "train a bundled workload, record it, analyze it and write the report",
            add_profile},
    Command{"run", "train a bundled workload", add_run},
    Command{"record", "record any program", add_record},
    Command{"analyze", "show where the time of a run went, and why", add_analyze},
    Command{"report", "write the HTML report of a run or of a scaling series", add_report},
    Command{"compare", "show what changed between runs, whether it is significant, and why",
            add_compare},
    Command{"check", "CI gate: compare a run with its baseline and its budgets", add_check},
    Command{"view", "open a run in the desktop viewer", add_view},
    Command{"info", "list the contents of a run", add_info},
    Command{"query", "query a run with SQL", add_query},
    Command{"doctor", "check whether this machine is ready, or whether a trace is complete",
            add_doctor},
    Command{"selftest", "record known work and check that its traces are right", add_selftest},
    Command{"import", "convert traces of other tools into a run", add_import},
    Command{"export", "convert a run for another tool", add_export},
    Command{"slice", "copy a part of a run, small enough to share", add_slice},
    Command{"synth", "write a synthetic run of any size with known ground truth", add_synth},
};

}  // namespace

std::span<Command const> commands() { return kCommands; }

}  // namespace stepscope::cli
