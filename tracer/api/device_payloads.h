// The payloads of the domain "stepscope.device": what each event of a device says
// (device_events.h).
#pragma once

#include <cstdint>

namespace stepscope::api {

/// Static payload schema ids (NVTX: static ids start at 2^24). A tool finds the fields by name, so
/// that fields can be added.
enum class DeviceSchema : uint64_t {
  kDevice = 0x5353'0001,      ///< mark: a device exists
  kStream = 0x5353'0002,      ///< mark: a stream of a device exists
  kLaunch = 0x5353'0003,      ///< range on the host thread: enqueues a device op
  kKernel = 0x5353'0004,      ///< range on the executing thread: computes
  kCopy = 0x5353'0005,        ///< range on the executing thread: copies memory
  kCollective = 0x5353'0006,  ///< range on the executing thread: collective or point-to-point,
                              ///< waiting for peers included
  kStreamWait = 0x5353'0007,  ///< range on the executing thread: the stream is held until an event
                              ///< of another stream
  kSync = 0x5353'0008,        ///< range on the host thread: blocks until device work is over
  kMemory = 0x5353'0009,  ///< range on the host thread: allocates or frees device memory; payload
                          ///< at its end (DeviceResultRange)
};

enum class StreamKind : uint32_t { kCompute = 0, kCopy = 1, kCommunication = 2 };
enum class CopyDirection : uint32_t {
  kHostToDevice = 1,
  kDeviceToHost = 2,
  kDeviceToDevice = 3,
  kPeerToPeer = 4,
  kHostToHost = 5
};
enum class CollectiveOp : uint32_t {
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
enum class SyncKind : uint32_t { kDevice = 1, kStream = 2, kEvent = 3 };
enum class MemoryOp : uint32_t { kAllocate = 1, kFree = 2 };
enum class MemoryPurpose : uint32_t {
  kOther = 0,
  kWeights = 1,
  kGradients = 2,
  kOptimizer = 3,
  kActivations = 4,
  kWorkspace = 5,
  kInput = 6
};

/// Every payload is a plain struct of these members; natural alignment, no padding bytes are read.
struct DevicePayload {
  uint32_t device;          ///< number of the device, counted from 0
  uint32_t threads;         ///< execution threads (host devices) or multiprocessors
  uint64_t capacity_bytes;  ///< memory the device may hold; 0 = unlimited
  double peak_flops;        ///< peak float32 operations per second; 0 = unknown
};
struct StreamPayload {
  uint32_t device, stream;
  StreamKind kind;
};
struct LaunchPayload {
  uint64_t correlation;
  uint32_t device, stream;
};
struct KernelPayload {
  uint64_t correlation;
  uint32_t device, stream;
  uint64_t bytes;  ///< memory the op has to read and write at least; 0 = unknown
  double flops;    ///< floating-point operations it has to do; 0 = unknown
};
struct CopyPayload {
  uint64_t correlation;
  uint32_t device, stream;
  uint64_t bytes;
  CopyDirection direction;
  uint32_t peer_device;  ///< the other device of a peer copy, else `device`
  uint32_t pinned;       ///< 1 = the host side is page-locked (always 1 on host devices)
};
struct CollectivePayload {
  uint64_t correlation;
  uint32_t device, stream;
  uint64_t bytes;  ///< message bytes: the whole array for all-gather and reduce-scatter, the buffer
                   ///< for the others
  uint64_t communicator;  ///< same value on every participant
  uint64_t
      sequence;  ///< counts the communicator's collectives from 0, same value on every participant
  CollectiveOp op;
  uint32_t participants;  ///< members of the communicator
  int32_t rank;           ///< of this device in the communicator
  int32_t peer;           ///< the other side of a send or receive, else -1
};
struct StreamWaitPayload {
  uint64_t correlation;
  uint32_t device, stream;  ///< the stream that waits
  uint32_t source_device, source_stream;
};
struct SyncPayload {
  uint32_t device, stream;  ///< stream is ignored for kDevice
  SyncKind kind;
};
struct MemoryPayload {
  uint64_t address;
  uint64_t bytes;
  uint64_t allocated_bytes;  ///< live bytes of the device after the call
  uint64_t reserved_bytes;   ///< bytes held from the system after the call (allocated ≤ reserved)
  uint32_t device;
  MemoryOp op;
  MemoryPurpose purpose;
};

}  // namespace stepscope::api
