#include "tracer/nccl/message_bytes.h"

namespace stepscope::tracer::nccl {

uint64_t message_bytes(Call const& call, uint32_t ranks) {
  uint64_t const share = call.count * model::bytes_of(call.data_type);
  if (!model::collective_op_info(call.op).counts_share) return share;
  // NCCL's "traffic" is the share times the ranks; in an all-to-all that is not known.
  return ranks == 0 && call.op != model::CollectiveOp::kAllToAll ? call.traffic_bytes
                                                                 : share * ranks;
}

}  // namespace stepscope::tracer::nccl
