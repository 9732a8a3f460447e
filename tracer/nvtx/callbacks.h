// The functions that NVTX calls in the traced program, and how they are put into its tables.
#pragma once

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

namespace stepscope::tracer {

/// False when the program's NVTX is of a kind that we do not know.
bool install_nvtx_callbacks(NvtxGetExportTableFunc_t get_export_table);
/// False for extensions other than the payload extension.
bool install_payload_callbacks(nvtxExtModuleInfo_t const& module);

}  // namespace stepscope::tracer
