// The events of one process as packets of a Perfetto trace.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/export/lanes.h"
#include "trace/export/memory_totals.h"
#include "trace/export/perfetto/packets.h"
#include "trace/export/perfetto/process_tracks.h"
#include "trace/model/trace.h"

namespace stepscope::exporting {

class ProcessEvents {
 public:
  /// Run time = trace time + offset_ns.
  ProcessEvents(model::Trace const& trace, int64_t offset_ns, PacketFile& file);
  /// Everything; stops where a write fails (PacketFile::status()).
  void write();

 private:
  void choose_shift();
  void write_clock();
  void write_fixed_names();
  void write_model();
  void write_text(uint32_t field, std::string_view text);
  void write_track(uint32_t track);
  void write_slice(uint32_t row, uint32_t track, Lanes& lanes);
  void write_begin(uint32_t row, uint64_t uuid);
  void write_end(int64_t time, uint64_t uuid);
  void write_instant(uint32_t row, uint64_t uuid);
  void write_sample(int64_t time, uint64_t uuid, double value, uint32_t name = 0);
  void write_memory(uint32_t row);
  void note_moved();
  void begin_event(int64_t time, uint64_t type, uint64_t uuid);
  void describe_event(uint32_t row);
  void end_event(uint32_t name);
  void write_flows(uint32_t row);
  /// In the file, from trace time.
  int64_t time_of(int64_t trace_time);

  model::Trace const& trace_;
  int64_t offset_ns_;
  PacketFile& file_;
  ProtobufWriter& out_;
  uint32_t sequence_;
  ProcessTracks tracks_;
  MemoryTotals totals_;
  size_t event_ = 0, packet_ = 0;    ///< places of the open messages
  std::vector<bool> is_name_known_;  ///< to readers, by StringId
  uint64_t moved_ = 0;               ///< times that the file cannot hold
};

}  // namespace stepscope::exporting
