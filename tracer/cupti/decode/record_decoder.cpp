#include "tracer/cupti/decode/record_decoder.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <type_traits>

namespace stepscope::tracer {
namespace {

template <class Record>
Record const& as(CUpti_Activity const& record) {
  return reinterpret_cast<Record const&>(record);
}

/// Estimates how many unreadable records lie in the last `bytes` of a buffer. These begin with the
/// last record that was read, if there is one. `before`: bytes of all `read` records but that one.
uint64_t records_in(size_t bytes, size_t before, size_t read) {
  constexpr size_t kUsualBytes = 160;  // a kernel's record and its call's, on average
  size_t const mean = read > 1 ? std::max<size_t>(before / (read - 1), 1) : kUsualBytes;
  size_t const all = bytes / mean, known = read > 0 ? 1 : 0;
  return all > known ? all - known : 1;
}

}  // namespace

template <class Record>
void RecordDecoder::add_op(CUpti_Activity const& record,
                           void (DeviceOps::*add)(Record const&, RecordClock const&, TraceStore&),
                           RecordClock const& clock, TraceStore& store) {
  auto const& op = as<Record>(record);
  CaptureCutoff::Side const side =
      op.correlationId == 0 ? capture_cutoff_.side_without_call(clock.to_trace_ns(op.start))
                            : capture_cutoff_.side_of(op.correlationId);
  if (side == CaptureCutoff::Side::kBehind) return;

  if (side == CaptureCutoff::Side::kUnknown) {
    add_waiting_op(op, add);
    return;
  }

  (ops_.*add)(op, clock, store);
  uses_device(op.deviceId);
  if (counts_launches_) launches_.add_op(op.correlationId, op.graphId != 0);
}

/// With its name: that is CUPTI's memory, which may be gone by then.
template <class Record>
void RecordDecoder::add_waiting_op(Record const& op,
                                   void (DeviceOps::*add)(Record const&, RecordClock const&,
                                                          TraceStore&)) {
  std::optional<std::string> name;
  if constexpr (std::is_same_v<Record, KernelRecord>)
    if (op.name != nullptr) name = op.name;

  auto write = [this, add, op, name = std::move(name)](RecordClock const& clock,
                                                       TraceStore& store) {
    Record copy = op;
    if constexpr (std::is_same_v<Record, KernelRecord>) copy.name = name ? name->c_str() : nullptr;
    add_op(reinterpret_cast<CUpti_Activity const&>(copy), add, clock, store);
  };

  waiting_ops_.push_back({op.correlationId, std::move(write), false});
}

/// Before pointers to names are forgotten, as those of the copies are valid here only.
void RecordDecoder::decide_waiting_ops(RecordClock const& clock, TraceStore& store,
                                       bool is_last_round) {
  for (WaitingOp& op : std::exchange(waiting_ops_, {})) {
    CaptureCutoff::Side const side = capture_cutoff_.side_of(op.correlation);

    if (side == CaptureCutoff::Side::kInside) {
      op.add(clock, store);
    } else if (side == CaptureCutoff::Side::kUnknown && !is_last_round &&
               !std::exchange(op.is_old, true)) {
      waiting_ops_.push_back(std::move(op));
    }
  }
}

void RecordDecoder::add_device(DeviceRecord const& record, TraceStore& store) {
  ops_.add_device(record, store);
  if (devices_ == nullptr) return;
  bool const is_mig = record.isMigEnabled != 0;
  auto const& bytes = is_mig ? record.migUuid.bytes : record.uuid.bytes;
  DeviceRegistry::Uuid uuid{};
  std::copy(std::begin(bytes), std::end(bytes), uuid.begin());
  devices_->add_device(
      static_cast<int32_t>(record.id), uuid,
      is_mig ? DeviceRegistry::UuidOf::kMigInstance : DeviceRegistry::UuidOf::kGpu);
}

void RecordDecoder::add_context(CUpti_ActivityContext const& record, TraceStore& store) {
  streams_.describe_context(record.deviceId, record.contextId, record.nullStreamId, store);
  uses_device(record.deviceId);
}

/// A device shows by a context made while we record, or by an op: CUPTI sends no record of a
/// context from before.
void RecordDecoder::uses_device(uint32_t device) {
  if (devices_ == nullptr || device == last_device_) [[likely]]
    return;
  last_device_ = device;
  if (used_devices_.insert(device).second) devices_->add_context(static_cast<int32_t>(device));
}

void RecordDecoder::decode_record(CUpti_Activity const& record, RecordClock const& clock,
                                  TraceStore& store) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return add_op(record, &DeviceOps::add_kernel, clock, store);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return add_op(record, &DeviceOps::add_memcpy, clock, store);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return add_op(record, &DeviceOps::add_peer_copy, clock, store);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return add_op(record, &DeviceOps::add_memset, clock, store);

    case CUPTI_ACTIVITY_KIND_RUNTIME:
      has_runtime_calls_ = true;
      [[fallthrough]];
    case CUPTI_ACTIVITY_KIND_DRIVER: {
      auto const& call = as<CUpti_ActivityAPI>(record);
      if (calls_.add_call(call, clock, store) && counts_launches_)
        launches_.add_launch(call.correlationId);
      return;
    }
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return calls_.add_sync(as<SyncRecord>(record));
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
      return calls_.add_event(as<EventRecord>(record));

    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return calls_.add_memory(as<MemoryRecord>(record));
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
      return calls_.add_pool(as<PoolRecord>(record));
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return calls_.add_overhead(as<OverheadRecord>(record), clock, store);

    case CUPTI_ACTIVITY_KIND_DEVICE:
      return add_device(as<DeviceRecord>(record), store);
    case CUPTI_ACTIVITY_KIND_CONTEXT:
      return add_context(as<CUpti_ActivityContext>(record), store);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      return calls_.add_external(as<ExternalRecord>(record));

    case CUPTI_ACTIVITY_KIND_STREAM:
    case CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE:
      return;  // a stream gets its track from its first op; the others come along and say nothing
               // that a row could hold
    default:
      ++store.log.unknown_events;
  }
}

void RecordDecoder::decode(std::span<uint8_t> buffer, RecordClock const& clock, TraceStore& store) {
  CUpti_Activity* record = nullptr;
  CUpti_Activity const* last = nullptr;
  size_t read = 0;
  CUptiResult result = CUPTI_SUCCESS;
  while ((result = next_record(api_, reader_, buffer, &record)) == CUPTI_SUCCESS) {
    decode_record(*record, clock, store);
    last = record;
    ++read;
  }
  if (result == CUPTI_ERROR_MAX_LIMIT_REACHED) return;

  ++store.log.unknown_events;  // where the next record begins is not known
  auto const* const last_bytes = reinterpret_cast<uint8_t const*>(last);
  size_t const last_at = last == nullptr ? 0 : static_cast<size_t>(last_bytes - buffer.data());
  unreadable_ += records_in(buffer.size() - last_at, last_at, read);
}

void RecordDecoder::end_round(RecordClock const& clock, TraceStore& store) {
  decide_waiting_ops(clock, store, false);
  ops_.end_round(store);
  calls_.end_round(clock, store);
  launches_.end_round();
}

void RecordDecoder::end_window(RecordClock const& clock, TraceStore& store) {
  finish(clock, store);
  calls_.end_window();
  capture_cutoff_ = {};
  launches_ = {};
}

void RecordDecoder::finish(RecordClock const& clock, TraceStore& store) {
  decide_waiting_ops(clock, store, true);
  ops_.end_round(store);
  calls_.finish(clock, store);
}

}  // namespace stepscope::tracer
