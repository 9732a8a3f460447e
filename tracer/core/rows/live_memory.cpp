#include "tracer/core/rows/live_memory.h"

namespace stepscope::tracer {

void LiveMemory::add(Allocation const& call) {
  auto const [place, is_new] = last_.try_emplace({call.detail.device, call.detail.address}, call);
  if (!is_new && place->second.start_ns <= call.start_ns) place->second = call;
}

void LiveMemory::forget_frees_before(int64_t start_ns) {
  std::erase_if(last_, [start_ns](auto const& one) {
    return one.second.detail.op == model::MemoryOp::kFree && one.second.start_ns < start_ns;
  });
}

}  // namespace stepscope::tracer
