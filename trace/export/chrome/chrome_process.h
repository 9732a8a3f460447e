// Writes the events of one process as Chrome trace events, with the categories and arguments of
// PyTorch's profiler (Kineto). Readers of its traces, our own importer included, find device ops,
// launches, steps and collectives again.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/export/chrome/chrome_document.h"
#include "trace/export/chrome/json_file.h"
#include "trace/export/lanes.h"
#include "trace/export/memory_totals.h"
#include "trace/model/trace.h"

namespace stepscope::exporting {

class ChromeProcess {
 public:
  ChromeProcess(model::Trace const& trace, int64_t offset_ns, ChromeDocument& document);
  void write();

 private:
  /// Where a track's events are drawn: one row of a process; more where slices overlap.
  struct Place {
    int64_t process = 0;
    std::string name, json_name;
    std::vector<int64_t> rows;
  };
  struct Name {
    std::string json;         ///< with quotes
    bool is_another = false;  ///< than the event's own
  };
  struct Event {
    char const* phase;
    std::string_view category;
    std::string_view name;  ///< JSON, with quotes
    int64_t process, row, time;
  };
  Place place_of(model::Track const& track);
  int64_t device_process(int32_t device);
  int64_t new_row(int64_t process, int64_t wanted, std::string const& name);
  int64_t row_of(Place& place, uint32_t lane);
  void write_metadata(char const* what, int64_t process, int64_t row, std::string_view key,
                      std::string_view value);
  void write_track(uint32_t track);
  void write_slice(uint32_t row, int64_t process, int64_t thread);
  void write_instant(uint32_t row, Place& place);
  void write_sample(uint32_t row, Place const& place);
  void write_memory(uint32_t row, int64_t process, int64_t thread);
  void write_flow(uint32_t row, int64_t process, int64_t thread);
  JsonMembers begin(std::string& out, Event const& event);
  Name const& name_of(uint32_t row);
  int64_t time_of(int64_t trace_time) const;

  model::Trace const& trace_;
  int64_t offset_ns_;
  ChromeDocument& document_;
  MemoryTotals totals_;
  int64_t process_;  ///< of the host's threads
  std::string title_;
  std::map<int32_t, int64_t> device_processes_;
  std::set<std::pair<int64_t, int64_t>> rows_;
  int64_t next_row_ = int64_t{1} << 24U;
  std::unordered_map<uint64_t, Name> names_;  ///< by what they depend on; made when first used
  Name step_name_;
};

}  // namespace stepscope::exporting
