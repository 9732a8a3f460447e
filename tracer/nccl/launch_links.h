// Which launch started the kernel that runs a call: from what NCCL tells of a group, without a
// guess. The rule and why it holds: docs/design/decisions/0008-collective-kernels.md.
#pragma once

#include <span>
#include <vector>

#include "tracer/nccl/program_calls.h"

namespace stepscope::tracer::nccl {

/// `operations`: what NCCL told it does for the group's calls. Those whose launch is known move to
/// it: the first of a plan encloses the launch then. Returns the program's calls on communicators
/// that NCCL told nothing else of: at their launch where there was one, else where they were
/// called.
std::vector<OpenCall> link_launches(CallGroup const& group, std::span<OpenCall* const> operations);

}  // namespace stepscope::tracer::nccl
