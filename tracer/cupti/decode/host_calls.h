// Calls of the CUDA APIs: records → rows on the tracks of their threads. What CUPTI says of one
// call in several records (the call, the wait or the allocation that it was) becomes one row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "tracer/core/trace_store.h"
#include "tracer/cupti/api_functions.h"
#include "tracer/cupti/cupti_api.h"
#include "tracer/cupti/decode/capture_cutoff.h"
#include "tracer/cupti/decode/event_log.h"
#include "tracer/cupti/decode/memory_account.h"
#include "tracer/cupti/known_faults.h"
#include "tracer/cupti/record_clock.h"
#include "tracer/cupti/tracks.h"

namespace stepscope::tracer {

// The oldest layouts that CUPTI 12 writes, as in device_ops.h.
using SyncRecord = CUpti_ActivitySynchronization;
using EventRecord = CUpti_ActivityCudaEvent;
using OverheadRecord = CUpti_ActivityOverhead;
using ExternalRecord = CUpti_ActivityExternalCorrelation;

/// The writer thread's. A round is all buffers that were there when it began; records of one call
/// lie at most one round apart.
class HostCalls {
 public:
  /// What begins behind the end of the window is left out; `capture_cutoff` learns the numbers of
  /// calls.
  HostCalls(CuptiApi const& api, Workarounds const& workarounds, StreamTracks& streams,
            CaptureCutoff& capture_cutoff)
      : functions_(api),
        workarounds_(workarounds),
        streams_(streams),
        capture_cutoff_(capture_cutoff) {}

  /// Whether the call is a launch that worked, in the window.
  bool add_call(CUpti_ActivityAPI const& record, RecordClock const& clock, TraceStore& store);
  void add_sync(SyncRecord const& record);
  void add_event(EventRecord const& record) {
    events_.add(record.eventId, {record.correlationId, record.contextId, record.streamId});
  }
  void add_memory(MemoryRecord const& record) { memory_records_.push_back(record); }
  void add_pool(PoolRecord const& record) { account_.apply(record); }
  void add_overhead(OverheadRecord const& record, RecordClock const& clock, TraceStore& store);

  /// What the program, or a runtime in it, calls its work in which the call was made; comes before
  /// the call.
  void add_external(ExternalRecord const& record);

  void end_round(RecordClock const& clock, TraceStore& store);
  /// Calls are recorded no more, until those of the next window.
  void end_window() { first_call_ns_ = kNoCall; }
  /// As Source's.
  void names_begin_anew(RowWatcher::Renamed const& renamed);
  /// No record will come any more: what still waits for another is written as it is.
  void finish(RecordClock const& clock, TraceStore& store);

 private:
  struct Call {
    int64_t start_ns = 0, end_ns = 0;
    model::StringId name;
    uint32_t thread = 0, correlation = 0;
    model::EventKind kind = model::EventKind::kApi;
    model::SyncKind sync = model::SyncKind::kUnknown;  ///< of a kSync, by its name
    bool is_old = false;                               ///< has waited for a whole round
  };
  struct DriverCalls {
    std::vector<Call> waiting;      ///< they may be part of a runtime call that has not come yet
    uint32_t last_correlation = 0;  ///< among the calls that no longer wait
  };
  struct Sync {
    SyncRecord record{};
    bool is_old = false;
  };
  struct Memory {
    model::MemoryDetail detail;
    int64_t time_ns = 0;
    bool is_old = false;
  };
  struct ExternalId {
    CUpti_ExternalCorrelationKind of = CUPTI_EXTERNAL_CORRELATION_KIND_UNKNOWN;
    uint64_t id = 0;
    int rounds = 0;  ///< that it has waited for its call
  };
  static constexpr uint32_t kNoThread = UINT32_MAX;
  static constexpr int64_t kNoCall = INT64_MAX;

  void note_fatal_error(uint32_t number, Call const& call, TraceStore& store);
  void settle_driver_calls(Call& runtime_call, TraceStore& store);
  void add(Call const& call, TraceStore& store);
  void add_external_ids(Call const& call, TraceStore& store);
  bool add_with_details(Call const& call, TraceStore& store);
  void apply_memory_records(RecordClock const& clock);
  void add_stream_waits(RecordClock const& clock, TraceStore& store);
  void add_waiting_calls(TraceStore& store);
  void add_old_driver_calls(TraceStore& store);
  void drop_old_details(TraceStore& store);
  model::SyncDetail sync_detail(SyncRecord const& record);
  TrackRef track(uint32_t thread, TraceStore& store);

  bool has_failed_ = false;  ///< a call has reported a fatal error
  ApiFunctions functions_;
  Workarounds const workarounds_;
  StreamTracks& streams_;
  CaptureCutoff& capture_cutoff_;
  ThreadTracks threads_;
  EventLog events_;
  MemoryAccount account_;

  std::unordered_map<uint32_t, DriverCalls> driver_calls_;  ///< by thread
  std::vector<Call> waiting_calls_;                         ///< for their details
  std::vector<Sync> stream_waits_;                          ///< for the record of their event
  std::unordered_map<uint32_t, Sync> syncs_;                ///< by correlation
  std::vector<MemoryRecord> memory_records_;
  std::unordered_multimap<uint32_t, Memory> memory_;            ///< by correlation
  std::unordered_multimap<uint32_t, ExternalId> external_ids_;  ///< by correlation
  int64_t first_call_ns_ = kNoCall;
  TrackRef no_thread_;
};

}  // namespace stepscope::tracer
