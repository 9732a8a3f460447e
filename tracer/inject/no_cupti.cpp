// CUDA in builds without CUPTI's headers: programs are traced by their annotations alone.
#include "tracer/inject/sources.h"

namespace stepscope::tracer {

void add_cuda_source(Session& /*session*/) {}

}  // namespace stepscope::tracer
