#include "tracer/nccl/adapters.h"

#include "tracer/nccl/names.h"

namespace stepscope::tracer::nccl {
namespace {

/// What everything that NCCL tells of an operation has, as numbers (version 1) or names.
template <class Operation>
Call common_operation(Operation const& from) {
  Call call;
  call.count = from.count;
  call.op = op_of(from.function);
  call.data_type = data_type_of(from.data_type);
  if constexpr (requires { from.root; })
    if (model::collective_op_info(call.op).has_root) call.peer = from.root;
  if constexpr (requires { from.communicator; }) call.communicator_hash = from.communicator;
  if constexpr (requires { from.is_captured; }) call.is_captured = from.is_captured != 0 ? 1 : 0;
  return call;
}

template <class Collective>
Call common_collective(Collective const& from) {
  Call call = common_operation(from);
  call.sequence = from.sequence;
  call.has_sequence = 1;
  call.algorithm = algorithm_of(from.algorithm);
  call.protocol = protocol_of(from.protocol);
  if constexpr (requires { from.channels; })
    call.channels = from.channels;
  else
    call.channels = from.max_channels;
  if constexpr (requires { from.traffic_bytes; }) call.traffic_bytes = from.traffic_bytes;
  return call;
}

template <class PointToPoint>
Call common_point_to_point(PointToPoint const& from) {
  Call call = common_operation(from);
  call.peer = from.peer;
  if constexpr (requires { from.channels; }) call.channels = from.channels;
  return call;
}

}  // namespace

Call to_call(EventV1::Collective const& from) { return common_collective(from); }
Call to_call(EventV2::Collective const& from) { return common_collective(from); }
Call to_call(EventV3::Collective const& from) { return common_collective(from); }
Call to_call(EventV4::Collective const& from) { return common_collective(from); }
Call to_call(EventV5::Collective const& from) { return common_collective(from); }
Call to_call(EventV1::PointToPoint const& from) { return common_point_to_point(from); }
Call to_call(EventV2::PointToPoint const& from) { return common_point_to_point(from); }
Call to_call(EventV4::PointToPoint const& from) { return common_point_to_point(from); }
Call to_call(EventV5::PointToPoint const& from) { return common_point_to_point(from); }
Call to_call(EventV5::CollectiveCall const& from) { return common_operation(from); }
Call to_call(EventV5::PointToPointCall const& from) { return common_operation(from); }
Call to_call(EventV6::CopyEngine const& from) {
  Call call = common_operation(from);
  call.sequence = from.sequence;
  call.has_sequence = 1;
  call.by_copy_engine = 1;
  return call;
}

bool is_step_state(int state) {
  return (state >= kSendGpuWait && state <= kReceiveGpuWait) || state == kSendPeerWait;
}

Wait wait_of(int state) {
  switch (state) {
    case kSendGpuWait:
    case kReceiveFlushWait:  // the data are here; the way to the GPU is not over
    case kReceiveGpuWait:
      return Wait::kGpu;
    case kSendPeerWait:
      return Wait::kPeer;
    case kSendWait:
    case kReceiveWait:
      return Wait::kNetwork;
    default:
      return Wait::kNothing;
  }
}

}  // namespace stepscope::tracer::nccl
