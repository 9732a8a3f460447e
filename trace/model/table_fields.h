// What the fields of details (details.h) are called and mean as columns of tables, and which of
// their values stand for nothing. A field that is not listed is a column too: under its own name,
// with the rules of its type.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "trace/model/kinds.h"

namespace stepscope::model {

struct DetailTableNames {
  std::string_view in_files;  ///< as files call it: it may not change
  std::string_view name, meaning;
};
/// Index = DetailTable.
inline constexpr std::array<DetailTableNames, kDetailTableCount> kDetailTableNames = {{
    {"steps", "step_marks", "training steps as the host annotated them"},
    {"kernels", "kernels", "device ops that compute"},
    {"copies", "copies", "memcpys and memsets of devices"},
    {"collectives", "collectives",
     "device ops that communicate, and the calls that enqueued them (kind tells)"},
    {"stream_waits", "stream_waits", "streams that are held by an event"},
    {"syncs", "syncs", "calls that block until device work is over"},
    {"memory", "allocations", "calls that allocate or free device memory"},
    {"samples", "samples", "values of counters (track_name), each valid until the next"},
    {"ranges", "ranges",
     "host ranges and marks that say more than their name; the others, such as PyTorch's "
     "operators, are in events"},
}};

/// Which values are NULL.
enum class Absent : uint8_t {
  kByType,  ///< negative 32-bit integers, enumerators whose text is "unknown"
  kNever,
  kZero
};
/// As what 64 bits are shown.
enum class Shown : uint8_t { kNumber, kAddress };

struct FieldWords {
  DetailTable table;
  std::string_view field;
  std::string_view column;  ///< empty = as the field
  Absent absent;
  std::string_view meaning;
  Shown shown = Shown::kNumber;
};

inline constexpr std::array kFieldWords = {
    FieldWords{DetailTable::kSteps, "index", "step", Absent::kNever,
               "number of the step in the job, from 0"},

    FieldWords{DetailTable::kKernels, "bytes", "", Absent::kZero, "least memory traffic"},
    FieldWords{DetailTable::kKernels, "flops", "", Absent::kZero, "floating-point operations"},
    FieldWords{DetailTable::kKernels, "grid_x", "", Absent::kZero,
               "blocks; NULL where no GPU ran it"},
    FieldWords{DetailTable::kKernels, "grid_y", "", Absent::kZero, "as grid_x"},
    FieldWords{DetailTable::kKernels, "grid_z", "", Absent::kZero, "as grid_x"},
    FieldWords{DetailTable::kKernels, "block_x", "", Absent::kZero,
               "threads of a block; NULL where no GPU ran it"},
    FieldWords{DetailTable::kKernels, "block_y", "", Absent::kZero, "as block_x"},
    FieldWords{DetailTable::kKernels, "block_z", "", Absent::kZero, "as block_x"},
    FieldWords{DetailTable::kKernels, "registers_per_thread", "", Absent::kZero,
               "registers of a thread"},
    FieldWords{DetailTable::kKernels, "shared_memory_bytes", "", Absent::kNever,
               "of a block; NULL where no GPU ran it"},
    FieldWords{DetailTable::kKernels, "occupancy_percent", "", Absent::kZero,
               "warps that fit a multiprocessor, an estimate"},
    FieldWords{DetailTable::kKernels, "graph", "", Absent::kZero, "CUDA graph that launched it"},
    FieldWords{DetailTable::kKernels, "graph_node", "", Absent::kNever,
               "its node there; NULL without a graph"},

    FieldWords{DetailTable::kCopies, "bytes", "", Absent::kNever, "bytes copied or filled"},
    FieldWords{DetailTable::kCopies, "direction", "", Absent::kByType,
               "'host to device', 'device to host', …"},
    FieldWords{DetailTable::kCopies, "peer_device", "", Absent::kByType, "the other device"},
    FieldWords{DetailTable::kCopies, "pinned", "", Absent::kNever,
               "1 = the host's side is page-locked"},
    FieldWords{DetailTable::kCopies, "graph", "", Absent::kZero, "CUDA graph that launched it"},
    FieldWords{DetailTable::kCopies, "graph_node", "", Absent::kNever,
               "its node there; NULL without a graph"},

    FieldWords{DetailTable::kCollectives, "bytes", "", Absent::kNever,
               "message bytes (DEFINITIONS, Communication); NULL = unknown"},
    FieldWords{DetailTable::kCollectives, "communicator", "", Absent::kZero,
               "the same on every participant", Shown::kAddress},
    FieldWords{DetailTable::kCollectives, "sequence", "", Absent::kNever,
               "number in the communicator, the same on every participant; NULL = unknown"},
    FieldWords{DetailTable::kCollectives, "op", "", Absent::kByType,
               "'all_reduce', 'all_gather', …"},
    FieldWords{DetailTable::kCollectives, "participants", "", Absent::kZero, "of the communicator"},
    FieldWords{DetailTable::kCollectives, "rank", "communicator_rank", Absent::kByType,
               "rank in the communicator"},
    FieldWords{DetailTable::kCollectives, "peer", "", Absent::kByType,
               "the other rank of a send or receive; root of a broadcast"},
    FieldWords{DetailTable::kCollectives, "data_type", "", Absent::kByType, "of an element"},
    FieldWords{DetailTable::kCollectives, "algorithm", "", Absent::kByType, "'ring', 'tree', …"},
    FieldWords{DetailTable::kCollectives, "protocol", "", Absent::kByType,
               "'LL', 'LL128', 'simple'"},
    FieldWords{DetailTable::kCollectives, "channels", "", Absent::kZero,
               "blocks of the kernel that carry it"},
    FieldWords{DetailTable::kCollectives, "plan", "", Absent::kZero,
               "of a call: calls with the same plan share a kernel"},
    FieldWords{DetailTable::kCollectives, "gpu_wait_ns", "", Absent::kNever,
               "network threads waited for the GPU, over all channels; NULL = not recorded"},
    FieldWords{DetailTable::kCollectives, "peer_wait_ns", "", Absent::kNever,
               "… for a receiver to be ready; NULL as gpu_wait_ns"},
    FieldWords{DetailTable::kCollectives, "network_wait_ns", "", Absent::kNever,
               "… for data on the network; NULL as gpu_wait_ns"},
    FieldWords{DetailTable::kCollectives, "launch", "", Absent::kNever,
               "of a call: where its kernel's launch is; NULL of device ops"},
    FieldWords{
        DetailTable::kCollectives, "state", "", Absent::kByType,
        "of a call: how far it came, 'enqueued', 'started', 'completed'; 'called': not told"},
    FieldWords{DetailTable::kCollectives, "graph", "", Absent::kZero,
               "CUDA graph that launched it"},
    FieldWords{DetailTable::kCollectives, "graph_node", "", Absent::kNever,
               "its node there; NULL without a graph"},

    FieldWords{DetailTable::kStreamWaits, "source_device", "", Absent::kByType,
               "device whose event is waited for"},
    FieldWords{DetailTable::kStreamWaits, "source_stream", "", Absent::kByType, "its stream"},
    FieldWords{DetailTable::kStreamWaits, "source_correlation", "", Absent::kZero,
               "of the call that recorded the event"},

    FieldWords{DetailTable::kSyncs, "sync", "", Absent::kByType,
               "what is waited for: 'device', 'stream' or 'event'"},
    FieldWords{DetailTable::kSyncs, "device", "", Absent::kByType, "device that is waited for"},
    FieldWords{DetailTable::kSyncs, "stream", "", Absent::kByType, "stream that is waited for"},
    FieldWords{DetailTable::kSyncs, "source_correlation", "", Absent::kZero,
               "of the call that recorded the event"},

    FieldWords{DetailTable::kMemory, "address", "", Absent::kNever, "what was allocated or freed",
               Shown::kAddress},
    FieldWords{DetailTable::kMemory, "bytes", "", Absent::kNever, "its size"},
    FieldWords{DetailTable::kMemory, "allocated_bytes", "", Absent::kNever,
               "live on the device after the call"},
    FieldWords{DetailTable::kMemory, "reserved_bytes", "", Absent::kNever,
               "held from the system after the call; NULL = unknown"},
    FieldWords{DetailTable::kMemory, "device", "", Absent::kByType, "device whose memory it is"},
    FieldWords{DetailTable::kMemory, "op", "", Absent::kByType, "'allocate' or 'free'"},
    FieldWords{DetailTable::kMemory, "purpose", "", Absent::kByType,
               "'weights', 'gradients', 'activations', …"},
    FieldWords{DetailTable::kMemory, "memory", "memory_kind", Absent::kByType,
               "'device', 'pinned', 'managed', …"},
    FieldWords{DetailTable::kMemory, "pool", "", Absent::kZero,
               "address of the pool that it came from", Shown::kAddress},

    FieldWords{DetailTable::kSamples, "value", "", Absent::kNever, "from start_ns on"},

    FieldWords{DetailTable::kRanges, "category", "", Absent::kZero,
               "NVTX category, numbered by each domain"},
    FieldWords{DetailTable::kRanges, "color", "", Absent::kZero,
               "alpha, red, green, blue, from the highest byte on"},
    FieldWords{DetailTable::kRanges, "payload_type", "", Absent::kZero,
               "'unsigned', 'signed' or 'real'"},
    FieldWords{DetailTable::kRanges, "payload", "", Absent::kNever,
               "the number that the program gave; NULL without one"},
    FieldWords{DetailTable::kRanges, "bytes", "", Absent::kZero,
               "of the message that an NCCL call is about"},
    FieldWords{DetailTable::kRanges, "communicator", "", Absent::kZero, "as NCCL numbers it",
               Shown::kAddress},
};

/// The words of a field; the defaults where it is not listed.
constexpr FieldWords words_of(DetailTable table, std::string_view field) {
  for (FieldWords const& words : kFieldWords)
    if (words.table == table && words.field == field) return words;
  return {table, field, "", Absent::kByType, ""};
}

}  // namespace stepscope::model
