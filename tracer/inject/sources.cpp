#include "tracer/inject/sources.h"

#include <memory>
#include <utility>

namespace stepscope::tracer {

NvtxSource& add_sources(Session& session, Registry& registry) {
  auto nvtx = std::make_unique<NvtxSource>(session.window(), session.tick_source(), registry, session.options().buffer_bytes);
  NvtxSource& result = *nvtx;
  session.add_source(std::move(nvtx));
  return result;
}

}  // namespace stepscope::tracer
