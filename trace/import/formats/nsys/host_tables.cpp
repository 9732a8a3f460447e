#include "trace/import/formats/nsys/host_tables.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "trace/import/common/call_kinds.h"

namespace stepscope::import::nsys {
namespace {

using model::EventKind;
using Times = Processes::Times;

struct Overhead {
  std::string_view name;
  EventKind kind;
};
/// Overheads by ENUM_CUPTI_OVERHEAD_TYPE. The program pays an overhead that this labels "(CUDA)"
/// without a profiler, too.
constexpr std::array kOverheads = {
    Overhead{"profiler", EventKind::kOverhead},
    Overhead{"profiler", EventKind::kOverhead},
    Overhead{"driver compiler", EventKind::kApi},
    Overhead{"CUPTI buffer flush", EventKind::kOverhead},
    Overhead{"CUPTI instrumentation", EventKind::kOverhead},
    Overhead{"CUPTI resource", EventKind::kOverhead},
    Overhead{"module loading", EventKind::kApi},
    Overhead{"lazy function loading", EventKind::kApi},
    Overhead{"command buffer full", EventKind::kApi},
};

void read_cuda_calls(Processes& processes, char const* table,
                     std::map<Process*, Syncs> const& syncs,
                     std::map<Process*, MemoryChanges>& memory) {
  enum Column : int { kStart, kEnd, kThread, kCorrelation, kName, kResult };
  TableScan scan(processes.database, table,
                 {"start", "end", "globalTid", "correlationId", "nameId", "returnValue"});
  Times times;

  while (scan.next()) {
    if (!processes.read_times(scan, kStart, kEnd, times)) continue;
    Processes::ThreadRows const to = processes.thread(scan, kThread);
    CallName const& call = processes.names.call_of(scan, kName);
    to.process->is_traced = true;

    model::StringId const name = to.process->name(call.name);
    auto const correlation = static_cast<uint64_t>(scan.integer(kCorrelation));

    // A call that failed did nothing.
    EventKind const kind =
        scan.integer(kResult) == 0 ? kind_of_call(call.api_class) : EventKind::kApi;

    model::EventBatch& rows = to.track->rows;
    if (kind == EventKind::kSync) {
      auto const of_process = syncs.find(to.process);
      model::SyncDetail detail;
      if (of_process != syncs.end())
        if (auto const found = of_process->second.find(correlation);
            found != of_process->second.end())
          detail = found->second;
      if (detail.sync == model::SyncKind::kUnknown) detail.sync = call.sync;
      rows.add(kind, times.start, times.dur, name, correlation, detail);
    } else if (kind == EventKind::kMemory) {
      auto const of_process = memory.find(to.process);
      MemoryChange* const change =
          of_process == memory.end() ? nullptr : of_process->second.of_call(correlation);
      if (change != nullptr) change->is_taken = true;
      rows.add(kind, times.start, times.dur, name, correlation,
               change == nullptr ? model::MemoryDetail() : change->detail);
    } else {
      rows.add(kind, times.start, times.dur, name, correlation);
    }
  }
}

/// Tables of calls that say no more than their name.
struct CallTable {
  std::string_view name;
  std::string_view name_column;
  EventKind kind;
  bool makes_traced;  ///< a process with such rows is one of the program that was traced
};
constexpr std::array kCallTables = {
    CallTable{"OSRT_API", "nameId", EventKind::kApi, false},
    CallTable{"CUDNN_EVENTS", "nameId", EventKind::kRange, true},
    CallTable{"CUBLAS_EVENTS", "nameId", EventKind::kRange, true},
    CallTable{"MPI_START_WAIT_EVENTS", "textId", EventKind::kRange, true},
    CallTable{"MPI_OTHER_EVENTS", "textId", EventKind::kRange, true},
    CallTable{"UCP_SUBMIT_EVENTS", "textId", EventKind::kRange, true},
    CallTable{"UCP_PROGRESS_EVENTS", "textId", EventKind::kRange, true},
    CallTable{"UCP_EVENTS", "textId", EventKind::kRange, true},
};

void read_calls(Processes& processes, CallTable const& table) {
  TableScan scan(processes.database, table.name, {"start", "end", "globalTid", table.name_column});
  Times times;
  while (scan.next()) {
    if (!processes.read_times(scan, 0, 1, times)) continue;
    Processes::ThreadRows const to = processes.thread(scan, 2);
    to.process->is_traced = to.process->is_traced || table.makes_traced;
    to.track->rows.add(table.kind, times.start, times.dur, to.process->name(scan, 3));
  }
}

/// MPI's messages: bytes of what the caller sends.
void read_messages(Processes& processes, char const* table) {
  TableScan scan(processes.database, table,
                 {"start", "end", "globalTid", "textId", "size", "recvSize", "commUid"});
  Times times;

  while (scan.next()) {
    if (!processes.read_times(scan, 0, 1, times)) continue;
    Processes::ThreadRows const to = processes.thread(scan, 2);
    to.process->is_traced = true;

    model::RangeDetail detail;
    int64_t const sent = scan.integer(4);
    detail.bytes = static_cast<uint64_t>(std::max<int64_t>(0, sent > 0 ? sent : scan.integer(5)));
    detail.communicator = static_cast<uint64_t>(scan.integer(6));

    bool const says_more = detail.bytes != 0 || detail.communicator != 0;
    model::StringId const name = to.process->name(scan, 3);
    if (says_more)
      to.track->rows.add(EventKind::kAnnotatedRange, times.start, times.dur, name, 0, detail);
    else
      to.track->rows.add_range(times.start, times.dur, name);
  }
}

void read_overhead(Processes& processes, char const* table) {
  TableScan scan(processes.database, table, {"start", "end", "globalTid", "overheadType"});
  Times times;

  while (scan.next()) {
    if (!processes.read_times(scan, 0, 1, times)) continue;
    Processes::ThreadRows const to = processes.thread(scan, 2);

    auto const type = static_cast<uint64_t>(scan.integer(3));
    Overhead const& overhead = kOverheads[type < kOverheads.size() ? type : 0];
    to.track->rows.add(overhead.kind, times.start, times.dur,
                       to.process->builder.intern(overhead.name));
  }
}

}  // namespace

void read_host_tables(Processes& processes, std::map<Process*, Syncs> const& syncs,
                      std::map<Process*, MemoryChanges>& memory) {
  for (char const* const table : {"CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER"})
    read_cuda_calls(processes, table, syncs, memory);
  for (CallTable const& table : kCallTables) read_calls(processes, table);
  for (char const* const table : {"MPI_P2P_EVENTS", "MPI_COLLECTIVES_EVENTS"})
    read_messages(processes, table);
  for (char const* const table : {"PROFILER_OVERHEAD", "CUPTI_ACTIVITY_KIND_OVERHEAD"})
    read_overhead(processes, table);
}

}  // namespace stepscope::import::nsys
