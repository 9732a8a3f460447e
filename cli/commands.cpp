#include "cli/commands.h"

#include <array>

namespace stepscope::cli {

namespace {

#define STEPSCOPE_COMMAND_ROW(name, description) Command{#name, description, add_##name},
constexpr std::array kCommands = {STEPSCOPE_COMMANDS(STEPSCOPE_COMMAND_ROW)};
#undef STEPSCOPE_COMMAND_ROW

}  // namespace

std::span<Command const> commands() { return kCommands; }

}  // namespace stepscope::cli
