#include "tracer/inject/sources.h"

#include <chrono>
#include <memory>
#include <utility>

#include <unistd.h>

#include "tracer/nvml/nvml_source.h"

namespace stepscope::tracer {

NvtxSource& add_sources(Session& session, Registry& registry) {
  auto nvtx = std::make_unique<NvtxSource>(session.window(), session.tick_source(), registry,
                                           session.options().buffer_bytes);
  NvtxSource& result = *nvtx;

  CaptureOptions const& options = session.options();
  if (!options.turn_address.empty()) nvtx->take_turns(options.turn_address, options.turn_steps);

  session.add_source(std::move(nvtx));
  if (int32_t const period_ms = session.options().sample_ms; period_ms > 0)
    session.add_source(std::make_unique<nvml::NvmlSource>(session.window(), session.devices(),
                                                          std::chrono::milliseconds(period_ms),
                                                          options.sampler));

  return result;
}

nccl::NcclSource& add_nccl_source(Session& session, nccl::Communicators const& communicators) {
  auto source =
      std::make_unique<nccl::NcclSource>(session.window(), session.tick_source(), communicators,
                                         ::getpid(), session.options().buffer_bytes);
  nccl::NcclSource& result = *source;
  session.add_source(std::move(source));
  return result;
}

}  // namespace stepscope::tracer
