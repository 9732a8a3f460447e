// The descriptors of events that NCCL passes to a profiler plugin, from version 4 of the interface
// on; see abi.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tracer/nccl/abi_events_early.h"

namespace stepscope::tracer::nccl {

/// NCCL passes the communicator at its init().
struct EventV4 {
  struct Collective {
    uint64_t sequence;
    char const* function;
    void const* send_buffer;
    void* receive_buffer;
    size_t count;
    int root;
    char const* data_type;
    uint8_t channels;
    uint8_t warps;
    char const* algorithm;
    char const* protocol;
  };
  struct PointToPoint {
    char const* function;
    void* buffer;
    char const* data_type;
    size_t count;
    int peer;
    uint8_t channels;
  };
  uint8_t type;
  void* parent;
  int rank;
  union {
    Collective collective;
    PointToPoint point_to_point;
    ProxyOpV1 proxy_op;
  };
};

/// The parent is the call of the program; the plan has a member of its own. A call's parent is its
/// group, as is a launch's.
struct EventV5 {
  struct CollectiveCall {
    char const* function;
    size_t count;
    char const* data_type;
    int root;
    void* stream;
    uint8_t is_captured;  ///< into a CUDA graph: nothing runs
  };
  struct PointToPointCall {
    char const* function;
    size_t count;
    char const* data_type;
    void* stream;
    uint8_t is_captured;
  };
  struct Collective {
    uint64_t sequence;
    char const* function;
    void const* send_buffer;
    void* receive_buffer;
    size_t count;
    int root;
    char const* data_type;
    uint8_t channels;
    uint8_t warps;
    char const* algorithm;
    char const* protocol;
    void* group;
  };
  struct PointToPoint {
    char const* function;
    void* buffer;
    char const* data_type;
    size_t count;
    int peer;
    uint8_t channels;
    void* group;
  };
  uint64_t type;
  void* parent;
  int rank;  ///< 0 in calls and launches, whatever it is
  union {
    CollectiveCall collective_call;
    PointToPointCall point_to_point_call;
    Collective collective;
    PointToPoint point_to_point;
    ProxyOpV1 proxy_op;
  };
};

/// With collectives that the copy engines run.
struct EventV6 {
  struct CopyEngine {
    uint64_t sequence;  ///< counts these alone, of all functions
    char const* function;
    void const* send_buffer;
    void* receive_buffer;
    size_t count;
    int root;
    char const* data_type;
  };
  using Collective = EventV5::Collective;
  using PointToPoint = EventV5::PointToPoint;
  uint64_t type;
  void* parent;
  int rank;
  union {
    EventV5::CollectiveCall collective_call;
    EventV5::PointToPointCall point_to_point_call;
    Collective collective;
    PointToPoint point_to_point;
    CopyEngine copy_engine;
    ProxyOpV1 proxy_op;
  };
};

}  // namespace stepscope::tracer::nccl
