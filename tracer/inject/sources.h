// The list of what events come from. A further source is one folder beside tracer/nvtx and one line in sources.cpp.
#pragma once

#include "tracer/core/session.h"
#include "tracer/nccl/nccl_source.h"
#include "tracer/nvtx/nvtx_source.h"
#include "tracer/nvtx/registry.h"

namespace stepscope::tracer {

/// Adds every source to the session; returns the NVTX one, whose recorders the callbacks write to.
NvtxSource& add_sources(Session& session, Registry& registry);

nccl::NcclSource& add_nccl_source(Session& session, nccl::Communicators const& communicators);

}  // namespace stepscope::tracer
