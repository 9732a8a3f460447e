#include "tracer/core/rows/live_memory.h"

#include "trace/model/kinds.h"

namespace stepscope::tracer {

void LiveMemory::add(model::TrackId track, RowBatch const& rows) {
  auto const& details = std::get<UnforkedColumn<model::MemoryDetail>>(rows.details);
  if (details.empty()) return;

  auto detail = details.begin();
  for (size_t row = 0; row < rows.size(); ++row) {
    if (model::kind_info(rows.kind[row]).table != model::DetailTable::kMemory) continue;
    Allocation const call = {track,          rows.start[row],       rows.dur[row],
                             rows.name[row], rows.correlation[row], *detail++};
    if (call.detail.op == model::MemoryOp::kUnknown) continue;

    auto const [place, is_new] = last_.try_emplace({call.detail.device, call.detail.address}, call);
    if (!is_new && place->second.start_ns <= call.start_ns) place->second = call;
  }
}

void LiveMemory::forget_frees_before(int64_t start_ns) {
  std::erase_if(last_, [start_ns](auto const& one) {
    return one.second.detail.op == model::MemoryOp::kFree && one.second.start_ns < start_ns;
  });
}

}  // namespace stepscope::tracer
