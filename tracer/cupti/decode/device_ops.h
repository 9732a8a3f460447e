// Kernels, copies and fills of CUDA devices: records → rows on the tracks of their streams.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>

#include "tracer/core/trace_store.h"
#include "tracer/cupti/cupti_api.h"
#include "tracer/cupti/decode/kernel_names.h"
#include "tracer/cupti/record_clock.h"
#include "tracer/cupti/tracks.h"

namespace stepscope::tracer {

// The oldest layouts that CUPTI 12 writes. Later versions add fields behind them
// (record_layouts.cpp holds them to it), so what is read through these is there whichever version
// wrote the record.
using KernelRecord = CUpti_ActivityKernel8;
using MemcpyRecord = CUpti_ActivityMemcpy5;
using PeerCopyRecord = CUpti_ActivityMemcpyPtoP4;
using MemsetRecord = CUpti_ActivityMemset4;
using DeviceRecord = CUpti_ActivityDevice4;

/// The writer thread's.
class DeviceOps {
 public:
  explicit DeviceOps(StreamTracks& streams) : streams_(streams) {}

  void add_kernel(KernelRecord const& record, RecordClock const& clock, TraceStore& store);
  void add_memcpy(MemcpyRecord const& record, RecordClock const& clock, TraceStore& store);
  void add_peer_copy(PeerCopyRecord const& record, RecordClock const& clock, TraceStore& store);
  void add_memset(MemsetRecord const& record, RecordClock const& clock, TraceStore& store);
  void add_device(DeviceRecord const& record, TraceStore& store);

  /// All buffers that were there are decoded.
  void end_round(TraceStore& store);
  /// Ops that CUPTI could not time, and that are not in the trace therefore. They count as dropped
  /// from their streams.
  [[nodiscard]] uint64_t untimed() const { return untimed_; }
  /// Ids of the store's names mean nothing any more.
  void forget_names() {
    kernels_.forget();
    copy_names_.clear();
  }

 private:
  struct Times {
    int64_t start_ns, end_ns;
  };
  template <class Record>
  std::optional<Times> times(Record const& record, RecordClock const& clock, TraceStore& store);
  template <class Record, class Detail>
  void add_op(Record const& record, model::EventKind kind, model::StringId name,
              Detail const& detail, Times const& times, TraceStore& store);
  uint8_t occupancy(KernelInfo& kernel, BlockNeeds const& block, uint32_t device);
  model::StringId copy_name(uint8_t copy, uint8_t source, uint8_t target, TraceStore& store);
  model::StringId fill_name(uint16_t memory, TraceStore& store);

  StreamTracks& streams_;
  KernelNames kernels_;
  std::unordered_map<uint32_t, MultiprocessorLimits> limits_;  ///< by device
  std::unordered_map<uint32_t, model::StringId> copy_names_;
  uint64_t untimed_ = 0;
  std::map<uint32_t, uint64_t> untimed_of_track_;  ///< since the last round
};

}  // namespace stepscope::tracer
