// Buffers of CUPTI's activity records → rows. A pure function of the records and the clock: whoever made them, at whatever time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_set>

#include "tracer/core/clock.h"
#include "tracer/core/trace_store.h"
#include "tracer/cupti/cupti_api.h"
#include "tracer/cupti/device_ops.h"
#include "tracer/cupti/host_calls.h"
#include "tracer/cupti/tracks.h"

namespace stepscope::tracer {

/// Records' times must be CLOCK_MONOTONIC in ns, their threads' numbers the system's. The writer thread's.
class RecordDecoder {
 public:
  /// `counts_launches`: outstanding_ops() is asked for (a window of steps is recorded). The api outlives the decoder.
  RecordDecoder(CuptiApi const& api, bool counts_launches) : api_(api), counts_launches_(counts_launches) {}
  RecordDecoder(RecordDecoder const&) = delete;
  RecordDecoder& operator=(RecordDecoder const&) = delete;

  /// A buffer as CUPTI completed it. What is cut or unknown is counted; nothing behind its end is read.
  void decode(std::span<uint8_t> buffer, ClockFit const& clock, TraceStore& store);
  void decode_record(CUpti_Activity const& record, ClockFit const& clock, TraceStore& store);
  /// All buffers that were there at one moment are decoded: what records of different buffers say of one call is put together.
  void end_round(ClockFit const& clock, TraceStore& store);
  /// After the last buffer.
  void finish(ClockFit const& clock, TraceStore& store);

  /// Launches that were recorded whose device op was not, yet; launches that begin after stop_counting() do not count.
  [[nodiscard]] size_t outstanding_ops() const { return outstanding_.size(); }
  void stop_counting_at(int64_t time_ns) { last_counted_ns_ = time_ns; }
  /// Device ops that CUPTI could not time: they are not in the trace.
  [[nodiscard]] uint64_t untimed() const { return ops_.untimed(); }

 private:
  void note_launch(uint32_t correlation);
  void note_op(uint32_t correlation);
  template <class Record>
  void add_op(CUpti_Activity const& record, void (DeviceOps::*add)(Record const&, ClockFit const&, TraceStore&),
              ClockFit const& clock, TraceStore& store);

  CuptiApi const& api_;
  bool const counts_launches_;
  StreamTracks streams_;
  DeviceOps ops_{streams_};
  HostCalls calls_{api_, streams_};
  std::unordered_set<uint32_t> outstanding_, seen_ops_;
  int64_t last_counted_ns_ = std::numeric_limits<int64_t>::max();
};

}  // namespace stepscope::tracer
