#include "tracer/cupti/decode/host_calls.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "trace/model/build/memory_names.h"
#include "trace/model/group_details.h"
#include "tracer/cupti/decode/fatal_errors.h"

namespace stepscope::tracer {
namespace {

using model::EventKind;
using model::SyncKind;

EventKind kind_of(ApiClass api_class) {
  switch (api_class) {
    case ApiClass::kLaunch:
      return EventKind::kLaunch;
    case ApiClass::kSync:
      return EventKind::kSync;
    case ApiClass::kMemory:
      return EventKind::kMemory;
    default:
      return EventKind::kApi;
  }
}

SyncKind sync_kind(CUpti_ActivitySynchronizationType type) {
  switch (type) {
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE:
      return SyncKind::kEvent;
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE:
      return SyncKind::kStream;
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE:
      return SyncKind::kDevice;
    default:
      return SyncKind::kUnknown;
  }
}

struct Overhead {
  std::string_view name;
  EventKind kind = EventKind::kOverhead;
};
/// What CUPTI and the driver did on the program's account. What CUDA itself does is no cost of the
/// profiler: it is there without one.
Overhead overhead_of(CUpti_ActivityOverheadKind kind) {
  switch (static_cast<uint32_t>(kind)) {  // newer numbers than the header's come, too
    case CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER:
      return {"driver compiler", EventKind::kApi};
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH:
      return {"CUPTI buffer flush"};
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION:
      return {"CUPTI instrumentation"};
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE:
      return {"CUPTI resource"};
    case CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING:
      return {"module loading", EventKind::kApi};
    case CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING:
      return {"lazy function loading", EventKind::kApi};
    case 6U << 16:
      return {"command buffer full", EventKind::kApi};
    case 7U << 16:
      return {"CUPTI buffer request"};
    default:
      return {"profiler"};
  }
}

/// Whose number an external id is.
std::string_view external_name(CUpti_ExternalCorrelationKind of) {
  switch (static_cast<uint32_t>(of)) {  // newer numbers than the header's come, too
    case CUPTI_EXTERNAL_CORRELATION_KIND_OPENACC:
      return "external id (OpenACC)";
    case CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0:
      return "external id (custom 0)";
    case CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1:
      return "external id (custom 1)";
    case CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2:
      return "external id (custom 2)";
    default:
      return "external id";
  }
}

/// Rounds for which an external id waits for its call: a driver call waits for the runtime call
/// around it, which may come late.
constexpr int kExternalIdRounds = 3;

/// Columns of details have 32 bits. Streams of a device's second and later contexts do not fit:
/// better none than another one.
int32_t number_in_detail(int64_t stream) {
  return stream <= INT32_MAX ? static_cast<int32_t>(stream) : -1;
}

/// Removes those for which done(value) is true; done() may change the others.
template <class T, class Done>
void remove_done(std::vector<T>& values, Done&& done) {
  auto kept = values.begin();
  for (T& value : values)
    if (!done(value)) *kept++ = value;
  values.erase(kept, values.end());
}

}  // namespace

TrackRef HostCalls::track(uint32_t thread, TraceStore& store) {
  if (thread != kNoThread) return threads_.find(thread, store);
  if (no_thread_.rows == nullptr) {
    model::Track track;
    track.kind = model::TrackKind::kThread;
    track.name = "CUDA (thread unknown)";
    no_thread_.id = store.add_track(std::move(track));
    no_thread_.rows = &store.rows(no_thread_.id);
  }
  return no_thread_;
}

bool HostCalls::add_call(CUpti_ActivityAPI const& record, RecordClock const& clock,
                         TraceStore& store) {
  bool const is_driver = record.kind == CUPTI_ACTIVITY_KIND_DRIVER;
  auto const& function = functions_.find(
      is_driver ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API, record.cbid, store);
  if (function.api_class == ApiClass::kNoise ||
      (is_driver && function.api_class == ApiClass::kOther))
    return false;

  Call call;
  call.start_ns = clock.to_trace_ns(record.start);
  call.end_ns = clock.to_trace_ns(record.end);
  if (!clock.is_possible(call.start_ns, call.end_ns)) {
    ++store.log.unknown_events;
    return false;
  }
  if (!capture_cutoff_.add_call(call.start_ns, record.correlationId)) return false;

  call.name = function.name;
  call.thread = record.threadId;
  call.correlation = record.correlationId;
  call.sync = function.sync;
  call.kind = record.returnValue == 0 ? kind_of(function.api_class)
                                      : EventKind::kApi;  // a call that failed did nothing
  first_call_ns_ = std::min(first_call_ns_, call.start_ns);
  if (record.returnValue != 0) note_fatal_error(record.returnValue, call, store);

  if (is_driver) {
    driver_calls_[call.thread].waiting.push_back(call);
  } else {
    if (!driver_calls_.empty()) settle_driver_calls(call, store);
    add(call, store);
  }
  return call.kind == EventKind::kLaunch;
}

/// The first call that reports it counts; later calls fail for the same reason.
void HostCalls::note_fatal_error(uint32_t number, Call const& call, TraceStore& store) {
  std::string_view const error = fatal_error(number);
  if (error.empty() || std::exchange(has_failed_, true)) return;
  store.info.facts.emplace_back(
      model::kFatalErrorFact,
      fmt::format("{} (CUDA error {}), reported by {}", error, number, store.text(call.name)));
}

/// The runtime does its work by calls of the driver, which end before it: they have been recorded
/// already and are the same call.
void HostCalls::settle_driver_calls(Call& runtime_call, TraceStore& store) {
  auto const found = driver_calls_.find(runtime_call.thread);
  if (found == driver_calls_.end()) return;

  // It came so late that its driver call was taken for one of the program's own: one launch is
  // enough.
  if (found->second.last_correlation == runtime_call.correlation)
    runtime_call.kind = EventKind::kApi;

  std::vector<Call>& calls = found->second.waiting;
  std::erase_if(calls, [&](Call const& call) {
    bool const is_same =
        call.correlation == runtime_call.correlation || call.end_ns <= runtime_call.end_ns;
    return is_same && call.start_ns >= runtime_call.start_ns;
  });

  // What began before the runtime call is no part of it or of a later one.
  for (Call const& call : calls) add(call, store);
  calls.clear();
}

/// A driver call has those of the runtime call around it: once more is no news.
void HostCalls::add_external(ExternalRecord const& record) {
  auto const [first, last] = external_ids_.equal_range(record.correlationId);
  for (auto known = first; known != last; ++known) {
    if (known->second.of != record.externalKind) continue;
    known->second.id = record.externalId;
    return;
  }
  external_ids_.emplace(record.correlationId, ExternalId{record.externalKind, record.externalId});
}

/// Marks where the call begins, with its number.
void HostCalls::add_external_ids(Call const& call, TraceStore& store) {
  auto const [first, last] = external_ids_.equal_range(call.correlation);
  for (auto known = first; known != last; ++known) {
    model::RangeDetail detail;
    detail.payload_type = model::NumberType::kUnsigned;
    detail.payload = known->second.id;
    add_row(track(call.thread, store), store, EventKind::kAnnotatedMark, call.start_ns,
            call.start_ns, store.intern(external_name(known->second.of)), call.correlation, detail);
  }
  external_ids_.erase(first, last);
}

void HostCalls::add(Call const& call, TraceStore& store) {
  if (!external_ids_.empty()) [[unlikely]]
    add_external_ids(call, store);
  if (call.kind == EventKind::kSync || call.kind == EventKind::kMemory)
    waiting_calls_.push_back(call);
  else
    add_row(track(call.thread, store), store, call.kind, call.start_ns, call.end_ns, call.name,
            call.correlation);
}

void HostCalls::add_sync(SyncRecord const& record) {
  if (record.type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT)
    stream_waits_.push_back({record});
  else
    syncs_[record.correlationId] = {record};
}

void HostCalls::add_overhead(OverheadRecord const& record, RecordClock const& clock,
                             TraceStore& store) {
  int64_t const start_ns = clock.to_trace_ns(record.start);
  int64_t const end_ns = clock.to_trace_ns(record.end);

  if (!clock.is_possible(start_ns, end_ns)) {
    ++store.log.unknown_events;
    return;
  }
  if (!capture_cutoff_.is_inside(start_ns)) return;

  bool const has_thread =
      record.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD && !workarounds_.wrong_overhead_threads;
  Overhead const overhead = overhead_of(record.overheadKind);
  add_row(track(has_thread ? record.objectId.pt.threadId : kNoThread, store), store, overhead.kind,

          start_ns, end_ns, store.intern(overhead.name), 0);
}

model::SyncDetail HostCalls::sync_detail(SyncRecord const& record) {
  model::SyncDetail detail;
  detail.sync = sync_kind(record.type);
  uint32_t context = record.contextId;
  uint32_t stream = record.streamId;

  if (detail.sync == SyncKind::kEvent) {
    EventPlace const source = events_.find(record.cudaEventId, record.correlationId);
    detail.source_correlation = source.correlation;
    stream = source.correlation == 0 ? CUPTI_SYNCHRONIZATION_INVALID_VALUE : source.stream;
    if (source.correlation != 0) context = source.context;
  }

  detail.device = streams_.device_of(context);
  if (detail.sync != SyncKind::kDevice && stream != CUPTI_SYNCHRONIZATION_INVALID_VALUE &&
      detail.device >= 0)
    detail.stream = number_in_detail(
        streams_.stream_number(static_cast<uint32_t>(detail.device), context, stream));

  return detail;
}

bool HostCalls::add_with_details(Call const& call, TraceStore& store) {
  if (call.kind == EventKind::kSync) {
    auto const found = syncs_.find(call.correlation);
    if (found == syncs_.end() && !call.is_old) return false;

    // CUPTI 13.0 wrote no record of cudaDeviceSynchronize(): then the name says what there is to
    // say.
    model::SyncDetail const detail = found == syncs_.end() ? model::SyncDetail{.sync = call.sync}
                                                           : sync_detail(found->second.record);

    if (found != syncs_.end()) syncs_.erase(found);
    add_row(track(call.thread, store), store, call.kind, call.start_ns, call.end_ns, call.name,
            call.correlation, detail);
    return true;
  }

  auto const found = memory_.find(call.correlation);
  if (found == memory_.end()) {
    if (!call.is_old) return false;
    // It allocated nothing: cudaFree(nullptr), say.
    add_row(track(call.thread, store), store, EventKind::kApi, call.start_ns, call.end_ns,
            call.name, call.correlation);
    return true;
  }

  add_row(track(call.thread, store), store, call.kind, call.start_ns, call.end_ns, call.name,
          call.correlation, found->second.detail);
  memory_.erase(found);
  return true;
}

void HostCalls::apply_memory_records(RecordClock const& clock) {
  std::stable_sort(
      memory_records_.begin(), memory_records_.end(),
      [](MemoryRecord const& a, MemoryRecord const& b) { return a.timestamp < b.timestamp; });
  for (MemoryRecord const& record : memory_records_) {
    int64_t const time_ns = clock.to_trace_ns(record.timestamp);
    memory_.emplace(record.correlationId, Memory{account_.apply(record), time_ns, false});
  }
  memory_records_.clear();
}

void HostCalls::add_stream_waits(RecordClock const& clock, TraceStore& store) {
  remove_done(stream_waits_, [&](Sync& wait) {
    SyncRecord const& record = wait.record;
    CaptureCutoff::Side const side = capture_cutoff_.side_of(record.correlationId);
    if (side != CaptureCutoff::Side::kInside)
      return side == CaptureCutoff::Side::kBehind || std::exchange(wait.is_old, true);
    EventPlace const source = events_.find(record.cudaEventId, record.correlationId);
    int32_t const device = streams_.device_of(record.contextId);

    if ((source.correlation == 0 || device < 0) && !std::exchange(wait.is_old, true)) return false;
    if (device < 0 || record.streamId == CUPTI_SYNCHRONIZATION_INVALID_VALUE) {
      ++store.log.unknown_events;
      return true;
    }

    model::StreamWaitDetail detail;
    detail.source_correlation = source.correlation;
    if (source.correlation != 0) detail.source_device = streams_.device_of(source.context);
    if (detail.source_device >= 0)
      detail.source_stream = number_in_detail(streams_.stream_number(
          static_cast<uint32_t>(detail.source_device), source.context, source.stream));
    add_row(streams_.find(static_cast<uint32_t>(device), record.contextId, record.streamId, store),
            store, EventKind::kStreamWait, clock.to_trace_ns(record.start),
            clock.to_trace_ns(record.end), store.intern("stream wait"), record.correlationId,
            detail);
    return true;
  });
}

void HostCalls::add_waiting_calls(TraceStore& store) {
  remove_done(waiting_calls_, [&](Call& call) {
    bool const done = add_with_details(call, store);
    call.is_old = true;
    return done;
  });
}

/// No runtime call came around these: the program called the driver itself.
void HostCalls::add_old_driver_calls(TraceStore& store) {
  for (auto& thread : driver_calls_) {
    DriverCalls& calls = thread.second;
    remove_done(calls.waiting, [&](Call& call) {
      if (!std::exchange(call.is_old, true)) return false;

      call.is_old = false;  // its details are waited for from now on
      calls.last_correlation = call.correlation;
      add(call, store);
      return true;
    });
  }
}

void HostCalls::drop_old_details(TraceStore& store) {
  // Waits inside of calls of another kind, a copy that blocks say: the call tells it.
  std::erase_if(syncs_, [](auto const& sync) { return sync.second.is_old; });
  for (auto& [correlation, sync] : syncs_) sync.is_old = true;

  for (auto& [correlation, memory] : memory_) {
    // Before calls are recorded only the account is kept; later, memory that no call of ours asked
    // for is shown where it can be.
    if (!memory.is_old || memory.time_ns < first_call_ns_) continue;
    if (capture_cutoff_.side_of(correlation) != CaptureCutoff::Side::kInside) continue;
    add_row(track(kNoThread, store), store, EventKind::kMemory, memory.time_ns, memory.time_ns,
            store.intern(model::name_without_call(memory.detail)), correlation, memory.detail);
  }

  // External ids of calls that are left out.
  std::erase_if(external_ids_,
                [](auto const& external) { return external.second.rounds >= kExternalIdRounds; });
  for (auto& [correlation, external] : external_ids_) ++external.rounds;
  std::erase_if(memory_, [](auto const& memory) { return memory.second.is_old; });
  for (auto& [correlation, memory] : memory_) memory.is_old = true;
}

void HostCalls::end_round(RecordClock const& clock, TraceStore& store) {
  apply_memory_records(clock);
  add_stream_waits(clock, store);
  add_old_driver_calls(store);
  add_waiting_calls(store);
  drop_old_details(store);
}

void HostCalls::names_begin_anew(RowWatcher::Renamed const& renamed) {
  functions_.forget();
  for (auto& [thread, calls] : driver_calls_)
    for (Call& call : calls.waiting) call.name = renamed(call.name);
  for (Call& call : waiting_calls_) call.name = renamed(call.name);
}

void HostCalls::finish(RecordClock const& clock, TraceStore& store) {
  // What comes now grows old, and is then let go; a driver call may have to wait for its details
  // once more.
  for (int round = 0; round < 4; ++round) end_round(clock, store);
}

}  // namespace stepscope::tracer
