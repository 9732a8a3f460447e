// Buffers of CUPTI's activity records → rows. A pure function of the records and the clock:
// whichever thread made them, at whatever time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tracer/core/device_registry.h"
#include "tracer/core/trace_store.h"
#include "tracer/cupti/cupti_api.h"
#include "tracer/cupti/cupti_backend.h"
#include "tracer/cupti/decode/capture_cutoff.h"
#include "tracer/cupti/decode/device_ops.h"
#include "tracer/cupti/decode/host_calls.h"
#include "tracer/cupti/decode/pending_launches.h"
#include "tracer/cupti/known_faults.h"
#include "tracer/cupti/record_clock.h"
#include "tracer/cupti/tracks.h"

namespace stepscope::tracer {

/// Records' threads must have the system's numbers. The writer thread's.
class RecordDecoder {
 public:
  /// `counts_launches`: outstanding_launches() is asked for (a window is recorded). `devices`:
  /// learns of devices and contexts where there is one. It and the api outlive the decoder.
  /// `reader`: the subscriber whose records they are, where CUPTI has several.
  RecordDecoder(CuptiApi const& api, bool counts_launches, Workarounds const& workarounds = {},
                DeviceRegistry* devices = nullptr, CUpti_SubscriberHandle reader = nullptr)
      : api_(api),
        reader_(reader),
        counts_launches_(counts_launches),
        devices_(devices),
        calls_(api, workarounds, streams_, capture_cutoff_) {}
  RecordDecoder(RecordDecoder const&) = delete;
  RecordDecoder& operator=(RecordDecoder const&) = delete;

  /// A buffer as CUPTI completed it. What is cut or unknown is counted; nothing behind its end is
  /// read.
  void decode(std::span<uint8_t> buffer, RecordClock const& clock, TraceStore& store);
  void decode_record(CUpti_Activity const& record, RecordClock const& clock, TraceStore& store);
  /// The program named the stream, before or after its first op.
  void name_stream(uint32_t context, uint32_t stream, std::string name, TraceStore& store) {
    streams_.name(context, stream, std::move(name), store);
  }
  /// All buffers that were there at one moment are decoded: what records of different buffers say
  /// of one call is put together.
  void end_round(RecordClock const& clock, TraceStore& store);
  /// After the last buffer.
  void finish(RecordClock const& clock, TraceStore& store);

  /// Between two rounds; as Source's.
  void names_begin_anew(RowWatcher::Renamed const& renamed) {
    ops_.forget_names();
    calls_.names_begin_anew(renamed);
  }
  /// All of the window's records are decoded; those that come now are of the time before the next.
  void end_window(RecordClock const& clock, TraceStore& store);
  /// The window has ended at that trace time: what the host begins later, and device work of it, is
  /// left out from now on.
  void end_window_at(int64_t time_ns) { capture_cutoff_.set(time_ns); }
  [[nodiscard]] bool window_has_ended() const { return capture_cutoff_.is_known(); }
  /// As of the last round: launches in the window whose device op was not recorded, yet, and graphs
  /// whose nodes may still come.
  [[nodiscard]] size_t outstanding_launches() const { return launches_.count(); }
  /// True when the program has called CUDA's runtime.
  [[nodiscard]] bool has_runtime_calls() const { return has_runtime_calls_; }
  /// Device ops that CUPTI could not time: they are not in the trace.
  [[nodiscard]] uint64_t untimed() const { return ops_.untimed(); }
  /// About how many records lay behind others that could not be read: they are not in the trace.
  [[nodiscard]] uint64_t unreadable() const { return unreadable_; }

 private:
  /// Behind the end of the window, until it is known on which side it was launched.
  struct WaitingOp {
    uint32_t correlation = 0;
    std::function<void(RecordClock const&, TraceStore&)> add;
    bool is_old = false;  ///< has waited for a whole round
  };

  void add_device(DeviceRecord const& record, TraceStore& store);
  void add_context(CUpti_ActivityContext const& record, TraceStore& store);
  void uses_device(uint32_t device);
  template <class Record>
  void add_op(CUpti_Activity const& record,
              void (DeviceOps::*add)(Record const&, RecordClock const&, TraceStore&),
              RecordClock const& clock, TraceStore& store);
  template <class Record>
  void add_waiting_op(Record const& op,
                      void (DeviceOps::*add)(Record const&, RecordClock const&, TraceStore&));
  void decide_waiting_ops(RecordClock const& clock, TraceStore& store, bool is_last_round);

  CuptiApi const& api_;
  CUpti_SubscriberHandle const reader_;
  bool const counts_launches_;
  DeviceRegistry* const devices_;
  StreamTracks streams_;
  DeviceOps ops_{streams_};
  CaptureCutoff capture_cutoff_;
  HostCalls calls_;
  PendingLaunches launches_;
  std::vector<WaitingOp> waiting_ops_;
  bool has_runtime_calls_ = false;
  std::set<uint32_t> used_devices_;  ///< that the registry knows
  uint32_t last_device_ = UINT32_MAX;
  uint64_t unreadable_ = 0;
};

}  // namespace stepscope::tracer
