// The list of what events come from. A further source is one folder beside tracer/nvtx and one line
// in sources.cpp.
#pragma once

#include "tracer/core/session.h"
#include "tracer/nccl/nccl_source.h"
#include "tracer/nvtx/nvtx_source.h"
#include "tracer/nvtx/registry.h"

namespace stepscope::tracer {

/// Adds every source to the session; returns the NVTX one, whose recorders the callbacks write to.
NvtxSource& add_sources(Session& session, Registry& registry);

/// The source of CUDA's calls and device ops, where this build has one. In cupti.cpp or
/// no_cupti.cpp, as CMake finds the headers.
void add_cuda_source(Session& session);

nccl::NcclSource& add_nccl_source(Session& session, nccl::Communicators const& communicators);

}  // namespace stepscope::tracer
