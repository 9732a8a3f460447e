#include "trace/import/formats/nsys/processes.h"

#include <algorithm>
#include <utility>

#include <xxhash.h>

namespace stepscope::import::nsys {

/// An array of all names is faster than a table of the names in use, but a report of many processes
/// has more names than most of them use. A process gets the array once it takes no more memory than
/// a table would.
model::StringId& Process::id_beyond(NameIndex index) {
  constexpr size_t kNamesPerUsed = 16, kFewNames = 64;
  size_t const names = all_names_.size();
  if (names > kNamesPerUsed * (kFewNames + used_names_)) return sparse_ids_[index];
  ids_.resize(names);
  for (auto const& [name, id] : std::exchange(sparse_ids_, {})) ids_[name] = id;
  return ids_[index];
}

void Process::settle_contexts() {
  for (auto const& [key, track] : tracks) {
    if (key.kind != TrackKey::Kind::kStream || track.device_ops == 0) continue;
    ops_[key.device] += track.device_ops;
    context_devices_.try_emplace(key.context, key.device);
    auto const [first, is_new] = first_contexts_.try_emplace(key.device, key.context);
    if (!is_new) first->second = std::min(first->second, key.context);
  }
}

int32_t Process::device_of(int64_t context) const {
  auto const found = context_devices_.find(context);
  return found == context_devices_.end() ? -1 : found->second;
}

int64_t Process::stream_number(int32_t device, int64_t context, int64_t stream) const {
  auto const first = first_contexts_.find(device);
  if (first == first_contexts_.end() || first->second == context) return stream;
  return static_cast<int64_t>(static_cast<uint64_t>(context) << 32U |
                              (static_cast<uint64_t>(stream) & 0xFFFF'FFFFU));
}

uint64_t Process::device_ops(int32_t device) const {
  auto const found = ops_.find(device);
  return found == ops_.end() ? 0 : found->second;
}

size_t Processes::StreamHash::operator()(StreamKey const& key) const {
  uint64_t const numbers[] = {key.process, static_cast<uint64_t>(key.device),
                              static_cast<uint64_t>(key.context),
                              static_cast<uint64_t>(key.stream)};
  return XXH3_64bits(numbers, sizeof numbers);
}

Process& Processes::process(ProcessKey key) {
  auto const found = processes_.find(key);
  if (found != processes_.end()) return found->second;
  if (processes_.size() >= kMostProcesses && key != 0) return process(0);
  return processes_.try_emplace(key, key, names).first->second;
}

TrackRows& Processes::track(Process& of, TrackKey const& key) {
  if (tracks_ >= kMostTracks && !of.tracks.contains(key)) {
    ++folded;
    return of.track({key.kind, kUnknownThread, key.device, 0, {}});
  }
  ++tracks_;
  return of.track(key);
}

Processes::ThreadRows Processes::thread(TableScan const& scan, int column) {
  int64_t const global_id = scan.integer(column);
  if (global_id == last_thread_ && last_thread_rows_.process != nullptr) return last_thread_rows_;

  ThreadRows& known = threads_[global_id];
  if (known.process == nullptr) {
    bool const has_id = global_id != 0;
    known.process = &process(has_id ? process_of_global_id(global_id) : process_key(scan, column));
    known.track = &track(
        *known.process,
        {TrackKey::Kind::kThread, has_id ? global_id & 0xFF'FFFF : kUnknownThread, -1, 0, {}});
  }

  last_thread_ = global_id;
  last_thread_rows_ = known;
  return known;
}

Processes::StreamRows Processes::stream(StreamKey const& key) {
  StreamRows& known = streams_[key];
  if (known.process == nullptr) {
    known.process = &process(key.process);
    known.track =
        &track(*known.process, {TrackKey::Kind::kStream, key.stream, key.device, key.context, {}});
    known.process->is_traced = true;
  }
  return known;
}

ProcessKey Processes::process_key(TableScan const& scan, int column) {
  if (int64_t const global_id = scan.integer(column); global_id != 0)
    return process_of_global_id(global_id);

  ++without_process;
  if (knows_default_) return default_process_;
  knows_default_ = true;

  for (char const* const table : {"CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"}) {
    TableScan rows(database, table, {"globalTid"});
    if (default_process_ == 0 && rows.next())
      default_process_ = process_of_global_id(rows.integer(0));
  }

  return default_process_;
}

int64_t Processes::trace_time(int64_t time) const { return minus(time, time_base); }

bool Processes::read_times(TableScan const& scan, int start_column, int end_column, Times& times) {
  int64_t const start = scan.integer(start_column);
  int64_t const end = scan.integer(end_column);

  // CUPTI says 0 where the device had no room for the times.
  bool const is_timed = (start != 0 || end != 0) && !(start == 0 && scan.is_null(start_column)) &&
                        !(end == 0 && scan.is_null(end_column));

  if (!is_timed) [[unlikely]] {
    ++untimed;
    return false;
  }

  times = {trace_time(start), minus(end, start)};
  last_ns = std::max(last_ns, minus(end, time_base));
  return true;
}

}  // namespace stepscope::import::nsys
