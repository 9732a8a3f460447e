#include "cli/commands.h"

#include <array>

namespace stepscope::cli {
namespace {

constexpr std::array kCommands = {
    Command{"profile", "train a bundled workload, record it, analyze it and write the report", add_profile},
    Command{"run", "train a bundled workload", add_run},
    Command{"record", "record any program", add_record},
    Command{"analyze", "say where the time of a run went, and why", add_analyze},
    Command{"report", "write a run's HTML report", add_report},
    Command{"compare", "say what changed between runs, whether it is real, and why", add_compare},
    Command{"check", "gate a CI: is a run as good as its baseline, does it keep its budgets", add_check},
    Command{"view", "open a run in the desktop viewer", add_view},
    Command{"info", "say what a run holds", add_info},
    Command{"query", "ask a run anything in SQL", add_query},
    Command{"doctor", "say whether this machine is ready, or whether a trace is complete", add_doctor},
    Command{"selftest", "run known work under the tracer and check its traces", add_selftest},
    Command{"import", "turn traces of other tools into a run", add_import},
    Command{"export", "write a run for another tool", add_export},
    Command{"slice", "keep a part of a run, small enough to share", add_slice},
    Command{"synth", "make a run of any size whose truth is known", add_synth},
};

}  // namespace

std::span<Command const> commands() { return kCommands; }

}  // namespace stepscope::cli
