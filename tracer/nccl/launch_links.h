// Which launch started the kernel that runs a call: from what NCCL tells of a group, without a
// guess. The rule and why it holds: docs/design/decisions/0008-collective-kernels.md.
#pragma once

#include <span>
#include <vector>

#include "tracer/nccl/program_calls.h"

namespace stepscope::tracer::nccl {

/// `operations`: what NCCL reported for the group's calls. Operations with a known launch move to
/// it: the first of a plan then encloses the launch. Returns the program's calls on communicators
/// without any reported operation: at their launch where there was one, else where they were
/// called.
std::vector<OpenCall> link_launches(CallGroup const& group, std::span<OpenCall* const> operations);

}  // namespace stepscope::tracer::nccl
