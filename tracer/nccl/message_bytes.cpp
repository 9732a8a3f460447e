#include "tracer/nccl/message_bytes.h"

namespace stepscope::tracer::nccl {

uint64_t message_bytes(Call const& call, uint32_t ranks) {
  using enum model::CollectiveOp;
  uint64_t const share = call.count * model::bytes_of(call.data_type);
  switch (call.op) {
    case kAllGather:
    case kReduceScatter:
      // Of these two NCCL's "traffic" is the share times the ranks.
      return ranks != 0 ? share * ranks : call.traffic_bytes;
    case kAllToAll:
      return share * ranks;
    default:
      return share;
  }
}

}  // namespace stepscope::tracer::nccl
