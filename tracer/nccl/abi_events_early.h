// The descriptors of events that NCCL passes to a profiler plugin, versions 1 to 3 of the
// interface; see abi.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sys/types.h>

namespace stepscope::tracer::nccl {

// What the descriptors of all versions share, by one name each.
struct ProxyOpV1 {
  pid_t process;  ///< that made the operation: its parent means nothing to another one
  uint8_t channel;
  int peer;
  int steps;
  int chunk_bytes;
  int is_send;
};

struct EventV1 {
  struct Collective {
    char const* name;
    uint64_t communicator;
    uint64_t sequence;
    uint8_t function;
    void const* send_buffer;
    void* receive_buffer;
    size_t count;
    int root;
    uint8_t data_type;
    uint32_t reduction;
    size_t traffic_bytes;
    uint8_t max_channels;
    uint8_t warps;
    uint8_t algorithm;
    uint8_t protocol;
  };
  struct PointToPoint {
    char const* name;
    uint64_t communicator;
    uint8_t function;
    void* buffer;
    uint8_t data_type;
    size_t count;
    int peer;
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

/// Names instead of numbers.
struct EventV2 {
  struct Collective {
    char const* name;
    uint64_t communicator;
    uint64_t sequence;
    char const* function;
    void const* send_buffer;
    void* receive_buffer;
    size_t count;
    int root;
    char const* data_type;
    size_t traffic_bytes;
    uint8_t max_channels;
    uint8_t warps;
    char const* algorithm;
    char const* protocol;
  };
  struct PointToPoint {
    char const* name;
    uint64_t communicator;
    char const* function;
    void* buffer;
    char const* data_type;
    size_t count;
    int peer;
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

/// Without traffic_bytes.
struct EventV3 {
  struct Collective {
    char const* name;
    uint64_t communicator;
    uint64_t sequence;
    char const* function;
    void const* send_buffer;
    void* receive_buffer;
    size_t count;
    int root;
    char const* data_type;
    uint8_t max_channels;
    uint8_t warps;
    char const* algorithm;
    char const* protocol;
  };
  using PointToPoint = EventV2::PointToPoint;
  uint8_t type;
  void* parent;
  int rank;
  union {
    Collective collective;
    PointToPoint point_to_point;
    ProxyOpV1 proxy_op;
  };
};

}  // namespace stepscope::tracer::nccl
