// CUDA in builds that know CUPTI's headers.
#include <memory>

#include "tracer/cupti/cupti_source.h"
#include "tracer/inject/sources.h"

namespace stepscope::tracer {

void add_cuda_source(Session& session) {
  session.add_source(
      std::make_unique<CuptiSource>(session.window(), session.options(), session.devices()));
}

}  // namespace stepscope::tracer
