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

char const* to_string(CollectiveAlgorithm algorithm) {
  switch (algorithm) {
    case CollectiveAlgorithm::kUnknown:
      return "unknown";
    case CollectiveAlgorithm::kTree:
      return "tree";
    case CollectiveAlgorithm::kRing:
      return "ring";
    case CollectiveAlgorithm::kCollnetDirect:
      return "collnet direct";
    case CollectiveAlgorithm::kCollnetChain:
      return "collnet chain";
    case CollectiveAlgorithm::kNvls:
      return "NVLS";
    case CollectiveAlgorithm::kNvlsTree:
      return "NVLS tree";
    case CollectiveAlgorithm::kPat:
      return "PAT";
  }
  return "unknown";
}

char const* to_string(CollectiveProtocol protocol) {
  switch (protocol) {
    case CollectiveProtocol::kUnknown:
      return "unknown";
    case CollectiveProtocol::kLl:
      return "LL";
    case CollectiveProtocol::kLl128:
      return "LL128";
    case CollectiveProtocol::kSimple:
      return "simple";
  }
  return "unknown";
}

char const* to_string(CallLaunch launch) {
  switch (launch) {
    case CallLaunch::kBefore:
      return "before the call";
    case CallLaunch::kInside:
      return "inside the call";
    case CallLaunch::kNone:
      return "none";
  }
  return "unknown";
}

char const* to_string(CollectiveState state) {
  switch (state) {
    case CollectiveState::kUnknown:
      return "unknown";
    case CollectiveState::kEnqueued:
      return "enqueued";
    case CollectiveState::kStarted:
      return "started";
    case CollectiveState::kCompleted:
      return "completed";
    case CollectiveState::kCalled:
      return "called";
  }
  return "unknown";
}

char const* to_string(DataType type) {
  switch (type) {
    case DataType::kUnknown:
      return "unknown";
    case DataType::kInt8:
      return "int8";
    case DataType::kUint8:
      return "uint8";
    case DataType::kInt32:
      return "int32";
    case DataType::kUint32:
      return "uint32";
    case DataType::kInt64:
      return "int64";
    case DataType::kUint64:
      return "uint64";
    case DataType::kFloat16:
      return "float16";
    case DataType::kFloat32:
      return "float32";
    case DataType::kFloat64:
      return "float64";
    case DataType::kBfloat16:
      return "bfloat16";
    case DataType::kFloat8E4m3:
      return "float8 e4m3";
    case DataType::kFloat8E5m2:
      return "float8 e5m2";
  }
  return "unknown";
}

uint64_t bytes_of(DataType type) {
  switch (type) {
    case DataType::kUnknown:
      return 0;
    case DataType::kInt8:
    case DataType::kUint8:
    case DataType::kFloat8E4m3:
    case DataType::kFloat8E5m2:
      return 1;
    case DataType::kFloat16:
    case DataType::kBfloat16:
      return 2;
    case DataType::kInt32:
    case DataType::kUint32:
    case DataType::kFloat32:
      return 4;
    case DataType::kInt64:
    case DataType::kUint64:
    case DataType::kFloat64:
      return 8;
  }
  return 0;
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

char const* to_string(MemoryOp op) {
  switch (op) {
    case MemoryOp::kUnknown:
      return "unknown";
    case MemoryOp::kAllocate:
      return "allocate";
    case MemoryOp::kFree:
      return "free";
  }
  return "unknown";
}

char const* to_string(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kUnknown:
      return "unknown";
    case MemoryKind::kPageable:
      return "pageable";
    case MemoryKind::kPinned:
      return "pinned";
    case MemoryKind::kDevice:
      return "device";
    case MemoryKind::kManaged:
      return "managed";
    case MemoryKind::kDeviceStatic:
      return "device static";
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

char const* to_string(NumberType type) {
  switch (type) {
    case NumberType::kNone:
      return "none";
    case NumberType::kUnsigned:
      return "unsigned";
    case NumberType::kSigned:
      return "signed";
    case NumberType::kReal:
      return "real";
  }
  return "unknown";
}

}  // namespace stepscope::model
