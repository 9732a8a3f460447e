#include "trace/model/kinds.h"

#include "trace/model/details.h"

namespace stepscope::model {
char const* to_string(StreamKind kind) {
  switch (kind) {
    case StreamKind::kCompute:
      return "compute";
    case StreamKind::kCopy:
      return "copy";
    case StreamKind::kCommunication:
      return "communication";
  }
  return "unknown";
}

char const* to_string(CopyDirection direction) {
  switch (direction) {
    case CopyDirection::kUnknown:
      return "unknown";
    case CopyDirection::kHostToDevice:
      return "host to device";
    case CopyDirection::kDeviceToHost:
      return "device to host";
    case CopyDirection::kDeviceToDevice:
      return "device to device";
    case CopyDirection::kPeerToPeer:
      return "peer to peer";
    case CopyDirection::kHostToHost:
      return "host to host";
  }
  return "unknown";
}

char const* to_string(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::kUnknown:
      return "unknown";
    case CollectiveOp::kAllReduce:
      return "all_reduce";
    case CollectiveOp::kReduceScatter:
      return "reduce_scatter";
    case CollectiveOp::kAllGather:
      return "all_gather";
    case CollectiveOp::kBroadcast:
      return "broadcast";
    case CollectiveOp::kReduce:
      return "reduce";
    case CollectiveOp::kAllToAll:
      return "all_to_all";
    case CollectiveOp::kSend:
      return "send";
    case CollectiveOp::kReceive:
      return "receive";
    case CollectiveOp::kBarrier:
      return "barrier";
  }
  return "unknown";
}

char const* to_string(SyncKind kind) {
  switch (kind) {
    case SyncKind::kUnknown:
      return "unknown";
    case SyncKind::kDevice:
      return "device";
    case SyncKind::kStream:
      return "stream";
    case SyncKind::kEvent:
      return "event";
  }
  return "unknown";
}

char const* to_string(MemoryPurpose purpose) {
  switch (purpose) {
    case MemoryPurpose::kOther:
      return "other";
    case MemoryPurpose::kWeights:
      return "weights";
    case MemoryPurpose::kGradients:
      return "gradients";
    case MemoryPurpose::kOptimizer:
      return "optimizer";
    case MemoryPurpose::kActivations:
      return "activations";
    case MemoryPurpose::kWorkspace:
      return "workspace";
    case MemoryPurpose::kInput:
      return "input";
  }
  return "unknown";
}

}  // namespace stepscope::model
