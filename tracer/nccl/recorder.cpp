#include "tracer/nccl/recorder.h"

#include <cstring>
#include <new>

namespace stepscope::tracer::nccl {

uint64_t* Recorder::begin_record(RecordType type, uint16_t words, int64_t ticks) {
  uint64_t* const record = ring_.try_reserve(words, 0);
  if (record == nullptr) {
    count_drop();
    return nullptr;
  }
  RecordHeader const header = {static_cast<uint8_t>(type), 0, words, 0, 0};
  std::memcpy(record, &header, sizeof header);
  record[1] = static_cast<uint64_t>(ticks);
  return record;
}

void Recorder::write_handle(RecordType type, uint64_t handle) {
  static_assert(kCallEndWords == kNetworkBeginWords && kCallEndWords == kLaunchEndWords);
  uint64_t* const record = begin_record(type, kCallEndWords, read_ticks(tick_source_));
  if (record == nullptr) return;
  record[2] = handle;
  ring_.commit(kCallEndWords);
}

uint64_t Recorder::begin_plan() { return is_recording() ? next_handle(HandleType::kPlan) : 0; }

uint64_t Recorder::begin_group() {
  return is_recording() ? next_handle(HandleType::kCallGroup) : 0;
}

uint64_t Recorder::write_call(RecordType type, HandleType handle, Call& call) {
  if (!is_recording()) return 0;
  uint64_t* const record = begin_record(type, kCallWords, read_ticks(tick_source_));
  if (record == nullptr) return 0;
  call.handle = next_handle(handle);
  std::memcpy(record + 2, &call, sizeof call);
  ring_.commit(kCallWords);
  return call.handle;
}

uint64_t Recorder::begin_call(Call call) {
  return write_call(RecordType::kCall, HandleType::kCall, call);
}

uint64_t Recorder::begin_program_call(Call call) {
  if (type_of(call.plan) != HandleType::kCallGroup)
    return 0;  // its group began before the capture did
  return write_call(RecordType::kProgramCall, HandleType::kProgramCall, call);
}

uint64_t Recorder::begin_launch(uint64_t group, uint32_t communicator) {
  if (!is_recording() || type_of(group) != HandleType::kCallGroup) return 0;
  uint64_t* const record =
      begin_record(RecordType::kLaunch, kLaunchWords, read_ticks(tick_source_));
  if (record == nullptr) return 0;
  Launch const launch = {next_handle(HandleType::kLaunch), group, communicator};
  std::memcpy(record + 2, &launch, sizeof launch);
  ring_.commit(kLaunchWords);
  return launch.handle;
}

uint64_t Recorder::begin_network_op(uint64_t call) {
  if (!is_recording() || type_of(call) != HandleType::kCall) return 0;
  if (!network_) network_.reset(new (std::nothrow) NetworkTable);
  auto const slot = network_ ? network_->begin_op(call) : std::nullopt;
  if (!slot) {
    count_drop();
    return 0;
  }
  write_handle(RecordType::kNetworkBegin, call);
  return make_handle(HandleType::kNetworkOp, ids_.number, *slot);
}

uint64_t Recorder::begin_network_step(uint64_t op) {
  if (!is_own(op, HandleType::kNetworkOp)) return 0;
  auto const slot = network_->begin_step(slot_of(op));
  return slot ? make_handle(HandleType::kNetworkStep, ids_.number, *slot) : 0;
}

void Recorder::wait(uint64_t step, Wait wait) {
  if (is_own(step, HandleType::kNetworkStep))
    network_->wait(slot_of(step), wait, read_ticks(tick_source_));
}

void Recorder::end(uint64_t handle) {
  if (is_stopped()) return;
  switch (type_of(handle)) {
    case HandleType::kCall:
      write_handle(RecordType::kCallEnd, handle);
      break;
    case HandleType::kLaunch:
      write_handle(RecordType::kLaunchEnd, handle);
      break;
    case HandleType::kNetworkStep:
      if (is_own(handle, HandleType::kNetworkStep))
        network_->end_step(slot_of(handle), read_ticks(tick_source_));
      break;
    case HandleType::kNetworkOp:
      end_network_op(handle);
      break;
    default:
      break;
  }
}

void Recorder::end_network_op(uint64_t handle) {
  if (!is_own(handle, HandleType::kNetworkOp)) return;
  auto const ended = network_->end_op(slot_of(handle));
  if (!ended) return;
  uint64_t* const record =
      begin_record(RecordType::kNetworkEnd, kNetworkEndWords, read_ticks(tick_source_));
  if (record == nullptr) return;
  record[2] = ended->call;
  std::memcpy(record + 3, ended->waited.data(), sizeof ended->waited);
  ring_.commit(kNetworkEndWords);
}

}  // namespace stepscope::tracer::nccl
