// How the time of a collective grows with the number of its ranks (DEFINITIONS, "What-if"). The
// formulas are those of the algorithms of NCCL. Pure: numbers in, numbers out.
#pragma once

#include <cstdint>

#include "trace/model/collective_ops.h"

namespace stepscope::analyzer {

/// With n ranks, a latency α of a hop and a time β of a byte, an all-reduce takes:
enum class CollectiveLaw : uint8_t {
  kNccl,  ///< what the faster one of ring and tree takes, as NCCL chooses
  kRing,  ///< 2 (n − 1) α + 2 (n − 1)/n · bytes · β
  kTree,  ///< 2 log₂ n · α + 2 · bytes · β
  kFlat   ///< a latency that does not grow, and the bytes of a ring: what switches reduce
};
/// "nccl", "ring", "tree", "flat".
char const* to_string(CollectiveLaw law);

/// What a collective of one rank count takes; all-reduces, reduces and broadcasts know trees, the
/// others are rings under every law but kFlat.
struct CollectiveTime {
  double latency_ns = 0;  ///< whatever the bytes
  double bytes_ns = 0;    ///< in proportion to the bytes
  [[nodiscard]] double total_ns() const { return latency_ns + bytes_ns; }
};
/// The same collective over `to` ranks, where `time` was measured over `from` ≥ 2. A single rank
/// has nothing to exchange and takes no time.
CollectiveTime time_over_ranks(CollectiveLaw law, model::CollectiveOp op,
                               CollectiveTime const& time, uint32_t from, uint32_t to);

}  // namespace stepscope::analyzer
