// The tools, a function each, for THE list in agent/tools.cpp.
#pragma once

#include "agent/tool.h"

namespace stepscope::agent {

Tool open_tool();
Tool summary_tool();
Tool findings_tool();
Tool query_tool();
Tool table_tool();
Tool compare_tool();
Tool whatif_tool();
Tool view_link_tool();

/// Most tools ask about one run.
inline constexpr Argument kRunArgument = {
    "run", ArgumentType::kText, true,
    "the path of a trace file or a run folder, as the tool open lists it"};

}  // namespace stepscope::agent
