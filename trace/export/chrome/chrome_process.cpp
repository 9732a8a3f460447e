#include "trace/export/chrome/chrome_process.h"

#include <limits>

#include <fmt/format.h>

#include "trace/export/chrome/kineto_event.h"
#include "trace/export/details.h"

namespace stepscope::exporting {
namespace {

using model::EventKind;

/// Kineto's name of its allocator's events.
constexpr std::string_view kMemoryName = "[memory]";

}  // namespace

ChromeProcess::ChromeProcess(model::Trace const& trace, int64_t offset_ns, ChromeDocument& document)
    : trace_(trace),
      offset_ns_(offset_ns),
      document_(document),
      totals_(trace),
      process_(document.unique_pid(trace.info().process_id)) {
  model::TraceInfo const& info = trace.info();
  std::string const command = bounded_name(info.command);
  std::string const rank = fmt::format("rank {}", info.rank);
  title_ = command.empty() ? rank : command;
  if (!command.empty() && document.has_many_) title_ = rank + ": " + command;

  write_metadata("process_name", process_, 0, "name", title_);
  write_metadata("process_labels", process_, 0, "labels", rank);
}

void ChromeProcess::write() {
  for (uint32_t track = 0; track < trace_.tracks().size() && document_.file_.status(); ++track)
    write_track(track);
}

int64_t ChromeProcess::time_of(int64_t trace_time) const {
  int64_t time = 0;
  if (!__builtin_add_overflow(trace_time, offset_ns_, &time)) return time;
  return offset_ns_ < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

void ChromeProcess::write_metadata(char const* what, int64_t process, int64_t row,
                                   std::string_view key, std::string_view value) {
  JsonMembers event(document_.next_event());
  event.text("ph", "M");
  event.text("name", what);
  event.number("pid", process);
  event.number("tid", row);
  event.number("ts", int64_t{0});

  event.name("args");
  JsonMembers arguments(document_.file_.out());
  arguments.text(key, value);
  arguments.end();
  event.end();
}

int64_t ChromeProcess::device_process(int32_t device) {
  auto const known = device_processes_.find(device);
  if (known != device_processes_.end()) return known->second;
  int64_t const process = document_.unique_pid(device);
  write_metadata("process_name", process, 0, "name", title_);
  std::string const label = document_.has_many_
                                ? fmt::format("rank {} GPU {}", trace_.info().rank, device)
                                : fmt::format("GPU {}", device);
  write_metadata("process_labels", process, 0, "labels", label);
  return device_processes_[device] = process;
}

int64_t ChromeProcess::new_row(int64_t process, int64_t wanted, std::string const& name) {
  while (wanted < 0 || !rows_.emplace(process, wanted).second) wanted = next_row_++;
  write_metadata("thread_name", process, wanted, "name", name);
  return wanted;
}

ChromeProcess::Place ChromeProcess::place_of(model::Track const& track) {
  bool const is_thread = track.kind == model::TrackKind::kThread;
  bool const is_host = is_thread || (track.kind == model::TrackKind::kCounter && track.device < 0);
  Place place;
  place.process = is_host ? process_ : device_process(track.device);
  place.name = bounded_name(track.name);
  append_json_string(place.name, place.json_name);
  if (track.kind != model::TrackKind::kCounter)
    place.rows.push_back(new_row(place.process, track.id, place.name));
  return place;
}

int64_t ChromeProcess::row_of(Place& place, uint32_t lane) {
  while (place.rows.size() <= lane) place.rows.push_back(new_row(place.process, -1, place.name));
  return place.rows[lane];
}

void ChromeProcess::write_track(uint32_t track) {
  Place place = place_of(trace_.tracks()[track]);
  auto const rows = trace_.rows_of(model::TrackId{track});
  Lanes lanes;
  auto const ended = [](uint32_t, int64_t) {};

  for (uint32_t row = rows.first; row < rows.last && document_.file_.status(); ++row) {
    EventKind const kind = trace_.kind(row);
    if (kind == EventKind::kSample) {
      write_sample(row, place);
    } else if (model::is_mark(kind)) {
      write_instant(row, place);
    } else if (kind == EventKind::kMemory && trace_.name(row) == kMemoryName) {
      write_memory(row, place.process, row_of(place, 0));
    } else {
      int64_t const thread = row_of(place, lanes.open(trace_.start(row), trace_.end(row), ended));
      write_slice(row, place.process, thread);
      write_flow(row, place.process, thread);
      if (kind == EventKind::kMemory) write_memory(row, place.process, thread);
    }
  }
}

/// Names repeat: each is made once, from all that it depends on.
ChromeProcess::Name const& ChromeProcess::name_of(uint32_t row) {
  EventKind const kind = trace_.kind(row);
  auto const make = [&](Name& name) -> Name const& {
    std::string const own = kineto_name(trace_, row);
    name.json.clear();
    append_json_string(bounded_name(own), name.json);
    name.is_another = own != trace_.name(row);
    return name;
  };

  uint64_t detail = 0;
  if (kind == EventKind::kStep) return make(step_name_);
  if (kind == EventKind::kSync)
    detail = static_cast<uint64_t>(trace_.detail<model::SyncDetail>(row).sync);
  if (kind == EventKind::kMemory)
    detail = static_cast<uint64_t>(trace_.detail<model::MemoryDetail>(row).op);
  if (kind == EventKind::kMemcpy) {
    auto const& copy = trace_.detail<model::CopyDetail>(row);
    detail = static_cast<uint64_t>(copy.direction) * 2 + (copy.pinned != 0 ? 1 : 0);
  }

  uint64_t const key = (uint64_t{trace_.columns().name[row].value} << 32U) |
                       (static_cast<uint64_t>(kind) << 16U) | detail;
  auto const [place, is_new] = names_.try_emplace(key);
  return is_new ? make(place->second) : place->second;
}

JsonMembers ChromeProcess::begin(std::string& out, Event const& event) {
  JsonMembers members(out);
  members.text("ph", event.phase);
  members.text("cat", event.category);
  members.raw("name", event.name);
  members.number("pid", event.process);
  members.number("tid", event.row);
  members.name("ts");
  append_microseconds(event.time, out);
  return members;
}

void ChromeProcess::write_slice(uint32_t row, int64_t process, int64_t thread) {
  Name const& name = name_of(row);
  std::string& out = document_.next_event();
  JsonMembers event = begin(out, {"X", kineto_category(trace_, row), name.json, process, thread,
                                  time_of(trace_.start(row))});

  event.name("dur");
  append_microseconds(trace_.columns().dur[row], out);
  event.name("args");

  JsonMembers arguments(out);
  append_kineto_arguments(trace_, row, arguments);
  if (name.is_another) arguments.text("name", bounded_name(trace_.name(row)));
  arguments.end();
  event.end();
}

void ChromeProcess::write_instant(uint32_t row, Place& place) {
  int64_t const thread = row_of(place, 0);
  Name const& name = name_of(row);
  std::string& out = document_.next_event();
  JsonMembers event = begin(out, {"i", kineto_category(trace_, row), name.json, place.process,
                                  thread, time_of(trace_.start(row))});

  event.text("s", "t");
  event.name("args");
  JsonMembers arguments(out);
  append_kineto_arguments(trace_, row, arguments);
  arguments.end();
  event.end();
}

/// The series bears the track's name.
void ChromeProcess::write_sample(uint32_t row, Place const& place) {
  std::string& out = document_.next_event();
  JsonMembers event =
      begin(out, {"C", "counter", place.json_name, place.process, 0, time_of(trace_.start(row))});
  event.name("args");
  JsonMembers arguments(out);
  arguments.number("value", trace_.detail<model::SampleDetail>(row).value);
  arguments.end();
  event.end();
}

void ChromeProcess::write_memory(uint32_t row, int64_t process, int64_t thread) {
  auto const& memory = trace_.detail<model::MemoryDetail>(row);
  if (memory.op == model::MemoryOp::kUnknown) return;

  std::string& out = document_.next_event();
  JsonMembers event = begin(
      out, {"i", "cpu_instant_event", "\"[memory]\"", process, thread, time_of(trace_.end(row))});
  event.text("s", "t");

  event.name("args");
  JsonMembers arguments(out);
  append_memory_arguments(memory, totals_.has_reserved(memory.device), arguments);
  arguments.end();
  event.end();
}

/// An arrow from a launch to its (first) device op.
void ChromeProcess::write_flow(uint32_t row, int64_t process, int64_t thread) {
  if (!is_linked_both_ways(trace_, row)) return;
  bool const is_op = model::is_device_op(trace_.kind(row));
  uint32_t const launch = is_op ? trace_.columns().link[row].value : row;
  std::string& out = document_.next_event();
  JsonMembers event = begin(
      out, {is_op ? "f" : "s", "ac2g", "\"ac2g\"", process, thread, time_of(trace_.start(row))});
  event.number("id", (document_.processes_ << 32U) + launch);
  if (is_op) event.text("bp", "e");
  event.end();
}

}  // namespace stepscope::exporting
