// The typed detail rows of events: what a copy, a collective or an allocation says beyond when and
// how long. One struct a table; `detail_fields` lists its members with their names: files, exports
// and queries are generated from that list alone.
#pragma once

#include <cstdint>
#include <tuple>
#include <type_traits>

#include "trace/base/column.h"
#include "trace/model/collective_ops.h"
#include "trace/model/detail_values.h"
#include "trace/model/kinds.h"

namespace stepscope::model {

struct StepDetail {
  int64_t index = 0;  ///< of the step in the job, from 0
};
struct KernelDetail {
  uint64_t bytes = 0;  ///< least memory traffic; 0 = unknown
  double flops = 0;    ///< floating-point operations; 0 = unknown
  uint32_t grid_x = 0, grid_y = 0, grid_z = 0, block_x = 0, block_y = 0,
           block_z = 0;  ///< 0 = not a GPU kernel
  uint32_t registers_per_thread = 0;
  uint32_t shared_memory_bytes = 0;
  uint8_t occupancy_percent =
      0;  ///< warps that fit a multiprocessor, of the most it can hold; an estimate, 0 = unknown
  uint32_t graph = 0;       ///< number of the CUDA graph that launched it; 0 = none
  uint64_t graph_node = 0;  ///< its node there
};
/// A memcpy or memset.
struct CopyDetail {
  uint64_t bytes = 0;
  CopyDirection direction = CopyDirection::kUnknown;
  int32_t peer_device = -1;
  uint8_t pinned = 0;       ///< 1 = page-locked host side
  uint32_t graph = 0;       ///< number of the CUDA graph that launched it; 0 = none
  uint64_t graph_node = 0;  ///< its node there
};
struct CollectiveDetail {
  uint64_t bytes = 0;         ///< message bytes as DEFINITIONS says
  uint64_t communicator = 0;  ///< same value on every participant; 0 = unknown
  uint64_t sequence = 0;      ///< same value on every participant
  CollectiveOp op = CollectiveOp::kUnknown;
  uint32_t participants = 0;  ///< 0 = unknown
  int32_t rank = -1;          ///< in the communicator
  int32_t peer = -1;          ///< of a send or receive; the root of a broadcast or reduce
  DataType data_type = DataType::kUnknown;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kUnknown;
  CollectiveProtocol protocol = CollectiveProtocol::kUnknown;
  uint32_t channels = 0;  ///< blocks of the kernel that carry it; 0 = unknown
  uint64_t plan =
      0;  ///< of a call: calls of one process with the same plan share a kernel; 0 = unknown
  uint64_t gpu_wait_ns =
      0;  ///< the network threads waited for the GPU: summed over the channels, as the next two
  uint64_t peer_wait_ns = 0;                          ///< … for a receiver to be ready
  uint64_t network_wait_ns = 0;                       ///< … for data on the network
  CallLaunch launch = CallLaunch::kBefore;            ///< of a call; kNone of a kernel that a
                                                      ///< recording knows by its name alone
  CollectiveState state = CollectiveState::kUnknown;  ///< of a call
  uint32_t graph = 0;       ///< number of the CUDA graph that launched it; 0 = none
  uint64_t graph_node = 0;  ///< its node there
};
/// Whether a recording knows a kernel by its name alone: no call said which collective it is.
constexpr bool is_known_by_name(CollectiveDetail const& kernel) {
  return kernel.launch == CallLaunch::kNone && kernel.communicator == 0;
}
struct StreamWaitDetail {
  int32_t source_device = -1;
  int32_t source_stream = -1;
  uint64_t source_correlation = 0;  ///< of the call that recorded the event; 0 = unknown
};
struct SyncDetail {
  SyncKind sync = SyncKind::kUnknown;
  int32_t device = -1;
  int32_t stream = -1;
  uint64_t source_correlation =
      0;  ///< of the call that recorded the event that is waited for; 0 = none or unknown
};
struct MemoryDetail {
  uint64_t address = 0;
  uint64_t bytes = 0;
  uint64_t allocated_bytes = 0;  ///< live on the device after the call
  uint64_t reserved_bytes = 0;   ///< held from the system after the call
  int32_t device = -1;
  MemoryOp op = MemoryOp::kUnknown;
  MemoryPurpose purpose = MemoryPurpose::kOther;
  MemoryKind memory = MemoryKind::kUnknown;
  uint64_t pool = 0;  ///< address of the pool that it came from; 0 = none
};
struct SampleDetail {
  double value = 0;
};
/// What an NVTX range or mark says beside its name.
struct RangeDetail {
  uint32_t category = 0;  ///< numbered by each domain for itself; 0 = none
  uint32_t color = 0;     ///< alpha, red, green, blue, from the highest byte on; 0 = none
  NumberType payload_type = NumberType::kNone;
  uint64_t payload = 0;       ///< the number's 64 bits: of an integer or of a double
  uint64_t bytes = 0;         ///< of the message that an NCCL call is about; 0 = unknown
  uint64_t communicator = 0;  ///< as NCCL numbers it; 0 = unknown
};

template <class Row, class Member>
struct Field {
  char const* name;
  Member Row::*member;
};
template <class Row, class Member>
Field(char const*, Member Row::*) -> Field<Row, Member>;

/// The columns of a detail table, in the order in which files store them. New columns go to the
/// end.
template <class Row>
inline constexpr std::tuple<> detail_fields{};
template <>
inline constexpr auto detail_fields<StepDetail> = std::tuple{Field{"index", &StepDetail::index}};
template <>
inline constexpr auto detail_fields<KernelDetail> =
    std::tuple{Field{"bytes", &KernelDetail::bytes},
               Field{"flops", &KernelDetail::flops},
               Field{"grid_x", &KernelDetail::grid_x},
               Field{"grid_y", &KernelDetail::grid_y},
               Field{"grid_z", &KernelDetail::grid_z},
               Field{"block_x", &KernelDetail::block_x},
               Field{"block_y", &KernelDetail::block_y},
               Field{"block_z", &KernelDetail::block_z},
               Field{"registers_per_thread", &KernelDetail::registers_per_thread},
               Field{"shared_memory_bytes", &KernelDetail::shared_memory_bytes},
               Field{"occupancy_percent", &KernelDetail::occupancy_percent},
               Field{"graph", &KernelDetail::graph},
               Field{"graph_node", &KernelDetail::graph_node}};
template <>
inline constexpr auto detail_fields<CopyDetail> =
    std::tuple{Field{"bytes", &CopyDetail::bytes},
               Field{"direction", &CopyDetail::direction},
               Field{"peer_device", &CopyDetail::peer_device},
               Field{"pinned", &CopyDetail::pinned},
               Field{"graph", &CopyDetail::graph},
               Field{"graph_node", &CopyDetail::graph_node}};
template <>
inline constexpr auto detail_fields<CollectiveDetail> =
    std::tuple{Field{"bytes", &CollectiveDetail::bytes},
               Field{"communicator", &CollectiveDetail::communicator},
               Field{"sequence", &CollectiveDetail::sequence},
               Field{"op", &CollectiveDetail::op},
               Field{"participants", &CollectiveDetail::participants},
               Field{"rank", &CollectiveDetail::rank},
               Field{"peer", &CollectiveDetail::peer},
               Field{"data_type", &CollectiveDetail::data_type},
               Field{"algorithm", &CollectiveDetail::algorithm},
               Field{"protocol", &CollectiveDetail::protocol},
               Field{"channels", &CollectiveDetail::channels},
               Field{"plan", &CollectiveDetail::plan},
               Field{"gpu_wait_ns", &CollectiveDetail::gpu_wait_ns},
               Field{"peer_wait_ns", &CollectiveDetail::peer_wait_ns},
               Field{"network_wait_ns", &CollectiveDetail::network_wait_ns},
               Field{"launch", &CollectiveDetail::launch},
               Field{"state", &CollectiveDetail::state},
               Field{"graph", &CollectiveDetail::graph},
               Field{"graph_node", &CollectiveDetail::graph_node}};
template <>
inline constexpr auto detail_fields<StreamWaitDetail> =
    std::tuple{Field{"source_device", &StreamWaitDetail::source_device},
               Field{"source_stream", &StreamWaitDetail::source_stream},
               Field{"source_correlation", &StreamWaitDetail::source_correlation}};
template <>
inline constexpr auto detail_fields<SyncDetail> =
    std::tuple{Field{"sync", &SyncDetail::sync}, Field{"device", &SyncDetail::device},
               Field{"stream", &SyncDetail::stream},
               Field{"source_correlation", &SyncDetail::source_correlation}};
template <>
inline constexpr auto detail_fields<MemoryDetail> =
    std::tuple{Field{"address", &MemoryDetail::address},
               Field{"bytes", &MemoryDetail::bytes},
               Field{"allocated_bytes", &MemoryDetail::allocated_bytes},
               Field{"reserved_bytes", &MemoryDetail::reserved_bytes},
               Field{"device", &MemoryDetail::device},
               Field{"op", &MemoryDetail::op},
               Field{"purpose", &MemoryDetail::purpose},
               Field{"memory", &MemoryDetail::memory},
               Field{"pool", &MemoryDetail::pool}};
template <>
inline constexpr auto detail_fields<SampleDetail> =
    std::tuple{Field{"value", &SampleDetail::value}};
template <>
inline constexpr auto detail_fields<RangeDetail> =
    std::tuple{Field{"category", &RangeDetail::category},
               Field{"color", &RangeDetail::color},
               Field{"payload_type", &RangeDetail::payload_type},
               Field{"payload", &RangeDetail::payload},
               Field{"bytes", &RangeDetail::bytes},
               Field{"communicator", &RangeDetail::communicator}};

/// resize() leaves rows uninitialised; the caller must fill them.
template <class Row>
using DetailColumn = base::Column<Row>;
/// One column a detail table. The order is the DetailTable numbering of kinds.h.
using DetailTables =
    std::tuple<DetailColumn<StepDetail>, DetailColumn<KernelDetail>, DetailColumn<CopyDetail>,
               DetailColumn<CollectiveDetail>, DetailColumn<StreamWaitDetail>,
               DetailColumn<SyncDetail>, DetailColumn<MemoryDetail>, DetailColumn<SampleDetail>,
               DetailColumn<RangeDetail>>;

/// Calls visit(std::type_identity<Row>()) with the row type of a table; does nothing for kNone.
template <class Visit, class... Rows>
void with_detail_type(DetailTable table, Visit&& visit,
                      std::tuple<DetailColumn<Rows>...> const* /*tables*/) {
  int8_t number = 0;
  ((number++ == static_cast<int8_t>(table) ? visit(std::type_identity<Rows>()) : void()), ...);
}
template <class Visit>
void with_detail_type(DetailTable table, Visit&& visit) {
  with_detail_type(table, visit, static_cast<DetailTables const*>(nullptr));
}

}  // namespace stepscope::model
