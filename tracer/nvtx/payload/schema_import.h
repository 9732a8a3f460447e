// A schema as NVTX hands it over → ours. The struct comes from the traced program and is read once,
// at registration.
#pragma once

#include <functional>
#include <memory>

#include <nvtx3/nvToolsExtPayload.h>

#include "tracer/nvtx/payload/schema.h"

namespace stepscope::tracer {

/// Finds a schema of the same domain by its id, for nested ones; may return null.
using FindSchema = std::function<std::shared_ptr<Schema const>(uint64_t)>;

/// Entries without an offset are placed by natural alignment (or packAlign), as NVTX says; after an
/// entry of unknown size only entries with an offset are kept.
Schema import_schema(nvtxPayloadSchemaAttr_t const& attributes, FindSchema const& find);

}  // namespace stepscope::tracer
