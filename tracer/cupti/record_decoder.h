// Buffers of CUPTI's activity records → rows. A pure function of the records and the clock: whoever made them, at whatever time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "tracer/core/device_registry.h"
#include "tracer/core/trace_store.h"
#include "tracer/cupti/cupti_api.h"
#include "tracer/cupti/device_ops.h"
#include "tracer/cupti/host_calls.h"
#include "tracer/cupti/known_faults.h"
#include "tracer/cupti/launches_under_way.h"
#include "tracer/cupti/record_clock.h"
#include "tracer/cupti/tracks.h"

namespace stepscope::tracer {

/// Records' threads must have the system's numbers. The writer thread's.
class RecordDecoder {
 public:
  /// `counts_launches`: outstanding_launches() is asked for (a window is recorded). `devices`: is told of devices and contexts
  /// where there is one. It and the api outlive the decoder.
  RecordDecoder(CuptiApi const& api, bool counts_launches, Workarounds const& workarounds = {}, DeviceRegistry* devices = nullptr)
      : api_(api), counts_launches_(counts_launches), devices_(devices), calls_(api, workarounds, streams_) {}
  RecordDecoder(RecordDecoder const&) = delete;
  RecordDecoder& operator=(RecordDecoder const&) = delete;

  /// A buffer as CUPTI completed it. What is cut or unknown is counted; nothing behind its end is read.
  void decode(std::span<uint8_t> buffer, RecordClock const& clock, TraceStore& store);
  void decode_record(CUpti_Activity const& record, RecordClock const& clock, TraceStore& store);
  /// The program named the stream, before or after its first op.
  void name_stream(uint32_t context, uint32_t stream, std::string name, TraceStore& store) {
    streams_.name(context, stream, std::move(name), store);
  }
  /// All buffers that were there at one moment are decoded: what records of different buffers say of one call is put together.
  void end_round(RecordClock const& clock, TraceStore& store);
  /// After the last buffer.
  void finish(RecordClock const& clock, TraceStore& store);

  /// As of the last round: launches that were recorded whose device op was not, yet, and graphs of which nodes may still come;
  /// launches that begin after stop_counting_at() do not count.
  [[nodiscard]] size_t outstanding_launches() const { return launches_.count(); }
  void stop_counting_at(int64_t time_ns) { last_counted_ns_ = time_ns; }
  /// Device ops that CUPTI could not time: they are not in the trace.
  [[nodiscard]] uint64_t untimed() const { return ops_.untimed(); }

 private:
  void add_device(DeviceRecord const& record, TraceStore& store);
  void add_context(CUpti_ActivityContext const& record, TraceStore& store);
  template <class Record>
  void add_op(CUpti_Activity const& record, void (DeviceOps::*add)(Record const&, RecordClock const&, TraceStore&),
              RecordClock const& clock, TraceStore& store);

  CuptiApi const& api_;
  bool const counts_launches_;
  DeviceRegistry* const devices_;
  StreamTracks streams_;
  DeviceOps ops_{streams_};
  HostCalls calls_;
  LaunchesUnderWay launches_;
  int64_t last_counted_ns_ = std::numeric_limits<int64_t>::max();
};

}  // namespace stepscope::tracer
