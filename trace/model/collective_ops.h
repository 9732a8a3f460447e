// The collective and point-to-point operations and, in one table, what each is: its names, its
// share of the traffic, which ranks it joins. Names that other tools give them are their
// importers'.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace stepscope::model {

/// Numbers are stored in files: never renumber, add at the end.
enum class CollectiveOp : uint8_t {
  kUnknown = 0,
  kAllReduce = 1,
  kReduceScatter = 2,
  kAllGather = 3,
  kBroadcast = 4,
  kReduce = 5,
  kAllToAll = 6,
  kSend = 7,
  kReceive = 8,
  kBarrier = 9
};
inline constexpr size_t kCollectiveOpCount = 10;

/// Which of a rank's two buffers holds the whole message; the other one holds this rank's part of
/// it.
enum class WholeMessage : uint8_t { kInBoth, kInInput, kInOutput };

struct CollectiveOpInfo {
  CollectiveOp op = CollectiveOp::kUnknown;
  char const* name = "";        ///< in reports, JSON, SQL and files
  char const* torch_name = "";  ///< as torch.distributed calls it
  char const* nccl_call = "";   ///< the function that a program calls
  /// Bus bandwidth is message bytes / time × this × (n − 1) / n of n ranks; 0 = × 1.
  uint8_t bus_shares = 0;
  WholeMessage whole = WholeMessage::kInBoth;
  bool counts_share = false;    ///< NCCL's count is one rank's share of the message
  bool has_root = false;        ///< one rank is the source or the target of all others
  bool has_one_size = false;    ///< all ranks must give as many bytes of one type
  bool point_to_point = false;  ///< a message of one rank to another
  bool moves_data = true;  ///< false: a message of 0 bytes is the whole truth, not an unknown size
};

/// The collective table, in the order of the enumerators.
inline constexpr std::array<CollectiveOpInfo, kCollectiveOpCount> kCollectiveTable = {{
    {.op = CollectiveOp::kUnknown,
     .name = "unknown",
     .torch_name = "unknown",
     .nccl_call = "NCCL operation"},
    {.op = CollectiveOp::kAllReduce,
     .name = "all_reduce",
     .torch_name = "allreduce",
     .nccl_call = "ncclAllReduce",
     .bus_shares = 2,
     .has_one_size = true},
    {.op = CollectiveOp::kReduceScatter,
     .name = "reduce_scatter",
     .torch_name = "_reduce_scatter_base",
     .nccl_call = "ncclReduceScatter",
     .bus_shares = 1,
     .whole = WholeMessage::kInInput,
     .counts_share = true,
     .has_one_size = true},
    {.op = CollectiveOp::kAllGather,
     .name = "all_gather",
     .torch_name = "_allgather_base",
     .nccl_call = "ncclAllGather",
     .bus_shares = 1,
     .whole = WholeMessage::kInOutput,
     .counts_share = true,
     .has_one_size = true},
    {.op = CollectiveOp::kBroadcast,
     .name = "broadcast",
     .torch_name = "broadcast",
     .nccl_call = "ncclBroadcast",
     .has_root = true,
     .has_one_size = true},
    {.op = CollectiveOp::kReduce,
     .name = "reduce",
     .torch_name = "reduce",
     .nccl_call = "ncclReduce",
     .has_root = true,
     .has_one_size = true},
    {.op = CollectiveOp::kAllToAll,
     .name = "all_to_all",
     .torch_name = "all_to_all",
     .nccl_call = "ncclAlltoAll",
     .bus_shares = 1,
     .counts_share = true},
    {.op = CollectiveOp::kSend,
     .name = "send",
     .torch_name = "send",
     .nccl_call = "ncclSend",
     .point_to_point = true},
    {.op = CollectiveOp::kReceive,
     .name = "receive",
     .torch_name = "recv",
     .nccl_call = "ncclRecv",
     .point_to_point = true},
    {.op = CollectiveOp::kBarrier,
     .name = "barrier",
     .torch_name = "barrier",
     .nccl_call = "NCCL operation",  // it has no barrier
     .moves_data = false},
}};

constexpr bool is_collective_table_in_order() {
  for (size_t i = 0; i < kCollectiveOpCount; ++i)
    if (kCollectiveTable[i].op != static_cast<CollectiveOp>(i) || *kCollectiveTable[i].name == '\0')
      return false;
  return true;
}
static_assert(is_collective_table_in_order(), "one row an enumerator, in their order");

/// Numbers that this version does not know (newer or damaged files) are unknown operations.
constexpr CollectiveOpInfo const& collective_op_info(CollectiveOp op) {
  auto const number = static_cast<size_t>(op);
  return kCollectiveTable[number < kCollectiveOpCount ? number : 0];
}

constexpr char const* to_string(CollectiveOp op) { return collective_op_info(op).name; }
constexpr bool is_point_to_point(CollectiveOp op) { return collective_op_info(op).point_to_point; }

/// The operation that to_string() gives this name.
constexpr std::optional<CollectiveOp> find_collective_op(std::string_view name) {
  for (CollectiveOpInfo const& row : kCollectiveTable)
    if (row.name == name) return row.op;
  return std::nullopt;
}

/// busbw / algbw: all-reduce 2(n−1)/n; reduce-scatter, all-gather, all-to-all (n−1)/n; the
/// others 1.
constexpr double bus_factor(CollectiveOp op, uint32_t participants) {
  CollectiveOpInfo const& info = collective_op_info(op);
  double const n = participants;
  return participants == 0 || info.bus_shares == 0 ? 1 : info.bus_shares * (n - 1) / n;
}

/// Size of the message, by the sizes of a rank's input and output.
constexpr uint64_t message_size(CollectiveOp op, uint64_t input, uint64_t output) {
  WholeMessage const whole = collective_op_info(op).whole;
  if (whole == WholeMessage::kInInput) return input;
  return whole == WholeMessage::kInOutput ? output : std::max(input, output);
}

/// False where 0 stands for a size that the trace does not tell.
constexpr bool is_message_size_known(CollectiveOp op, uint64_t bytes) {
  return bytes > 0 || !collective_op_info(op).moves_data;
}

}  // namespace stepscope::model
