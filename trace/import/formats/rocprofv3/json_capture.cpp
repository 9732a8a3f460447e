#include "trace/import/formats/rocprofv3/json_capture.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "trace/base/format.h"
#include "trace/import/formats/rocprofv3/json_records.h"

namespace stepscope::import::rocm {
namespace {

using model::CopyDirection;
using model::MemoryOp;

/// No host runs more processes of one job.
constexpr size_t kMostProcesses = 4096;
constexpr size_t kMostFactBytes = 1024;

/// Lists of calls, with the library whose calls they are.
struct CallList {
  std::string_view name;
  Api api;
};
constexpr std::array kCallLists = {CallList{"hip_api", Api::kHip}, CallList{"hsa_api", Api::kHsa},
                                   CallList{"rocdecode_api", Api::kOther},
                                   CallList{"rocjpeg_api", Api::kOther}};

/// "MEMORY_ALLOCATION_FREE". Without the names ROCm's numbers count: 1 and 2 allocate, 3 and 4
/// free.
MemoryOp memory_op_of(Record const& record, std::string_view operation) {
  if (operation.ends_with("FREE")) return MemoryOp::kFree;
  if (operation.ends_with("ALLOCATE")) return MemoryOp::kAllocate;
  if (record.operation == 1 || record.operation == 2) return MemoryOp::kAllocate;
  return record.operation == 3 || record.operation == 4 ? MemoryOp::kFree : MemoryOp::kUnknown;
}

/// Reads one process of the list.
class ProcessReader {
 public:
  ProcessReader(Process& process, uint64_t most_events)
      : process_(process), most_events_(most_events) {}

  /// False: holds more than fits.
  bool read(JsonCursor& cursor) {
    JsonMembers const members = members_of(cursor);
    for (auto const& [key, value] : members) read_description(key, value);

    for (auto const& [key, value] : members) {
      if (!is(key, "buffer_records")) continue;
      JsonCursor lists(value);
      for (auto const& [name, list] : members_of(lists)) read_list(name, list);
    }

    // Counters are collected a kernel each: it has its times there, too.
    if (kernels_ == 0)
      for (auto const& [key, value] : members)
        if (is(key, "callback_records")) read_counted(value);

    if (!not_read_.empty()) process_.builder.info().facts.emplace_back("not read", not_read_);
    return process_.event_count() <= most_events_;
  }

 private:
  void read_description(std::string_view key, std::string_view value) {
    JsonCursor cursor(value);
    if (is(key, "metadata")) {
      CaptureMetadata metadata = read_metadata(cursor);
      model::TraceInfo& info = process_.builder.info();
      info.host = std::move(metadata.host);
      info.command = std::move(metadata.command);
      info.process_id = static_cast<int64_t>(metadata.process_id & uint64_t{INT64_MAX});
    }
    if (is(key, "strings")) strings_ = read_strings(cursor);

    if (is(key, "agents"))
      for_each_element(cursor, [&] { process_.add_agent(read_agent(cursor)); });
    if (is(key, "kernel_symbols")) {
      uint64_t place = 0;
      for_each_element(cursor, [&] {
        KernelSymbol const symbol = read_symbol(cursor);
        if (!symbol.name.empty())
          process_.add_symbol(symbol.id.value_or(place), symbol.name, symbol.registers);
        ++place;
      });
    }
  }

  void read_list(std::string_view name, std::string_view list) {
    auto const calls = std::find_if(kCallLists.begin(), kCallLists.end(),
                                    [&](CallList const& each) { return each.name == name; });
    if (calls != kCallLists.end())
      return read_records(list, [&](Record const& record) {
        process_.add_call(record, call_of(record, name), calls->api);
      });

    if (is(name, "kernel_dispatch"))
      return read_records(list, [&](Record const& record) { add_kernel(record); });
    if (is(name, "memory_copy"))
      return read_records(list, [&](Record const& record) { add_copy(record); });
    if (is(name, "memory_allocation"))
      return read_records(list, [&](Record const& record) {
        process_.add_memory(record, memory_op_of(record, strings_.operation(record)));
      });
    if (is(name, "marker_api"))
      return read_records(list, [&](Record const& record) { add_marker(record); });
    if (is(name, "rccl_api"))
      return read_records(list, [&](Record const& record) {
        process_.add_communication(record, operation_text(record, name));
      });

    JsonCursor cursor(list);
    bool const is_empty = !cursor.take('[') || cursor.take(']');
    if (!is_empty && not_read_.size() < kMostFactBytes)
      not_read_ += (not_read_.empty() ? "" : ", ") + json_text(name, kMostFactBytes);
  }

  void read_counted(std::string_view callbacks) {
    JsonCursor cursor(callbacks);
    for (auto const& [name, list] : members_of(cursor))
      if (is(name, "counter_collection"))
        read_records(list, [&](Record const& record) { add_kernel(record); });
  }

  /// The record that the text ends in is left out.
  template <class Add>
  void read_records(std::string_view list, Add const& add) {
    JsonCursor cursor(list);
    for_each_element(cursor, [&] {
      Record const record = read_record(cursor);
      if (!cursor.failed() && process_.event_count() <= most_events_) add(record);
    });
  }

  void add_kernel(Record const& record) {
    ++kernels_;
    process_.add_kernel(record);
  }
  void add_copy(Record const& record) {
    CopyDirection direction = direction_of_operation(strings_.operation(record));
    if (direction == CopyDirection::kUnknown) direction = process_.direction_of(record);
    process_.add_copy(record, direction);
  }
  void add_marker(Record const& record) {
    std::string_view const function = strings_.operation(record);
    auto const message = strings_.messages.find(record.correlation);
    std::string const text = message == strings_.messages.end()
                                 ? operation_text(record, "marker_api")
                                 : json_text(message->second, kMostNameBytes);

    bool const is_mark =
        function.starts_with("roctxMark") || (function.empty() && record.start == record.end);
    if (is_mark)
      process_.add_mark(record, text);
    else
      process_.add_range(record, text);
  }

  std::string operation_text(Record const& record, std::string_view list) const {
    std::string_view const operation = strings_.operation(record);
    return operation.empty() ? fmt::format("{} {}", list, record.operation)
                             : json_text(operation, kMostNameBytes);
  }
  CallName const& call_of(Record const& record, std::string_view list) {
    auto const [call, is_new] = calls_.try_emplace({record.kind, record.operation});
    if (is_new) call->second = process_.call_name(operation_text(record, list));
    return call->second;
  }

  Process& process_;
  uint64_t most_events_;
  CaptureStrings strings_;
  std::map<std::pair<uint64_t, uint64_t>, CallName> calls_;  ///< by kind and operation
  uint64_t kernels_ = 0;
  std::string not_read_;
};

}  // namespace

base::Expected<JsonCapture> read_capture(std::string_view text, uint64_t most_events) {
  JsonCapture capture;
  JsonCursor cursor(text);
  uint64_t events = 0;
  bool fits = true;

  auto const read_process = [&] {
    if (!fits || capture.processes.size() >= kMostProcesses) return void(cursor.value());
    Process& process = capture.processes.emplace_back();
    fits = ProcessReader(process, most_events - events).read(cursor);
    events += process.event_count();
    if (process.event_count() == 0) capture.processes.pop_back();
  };

  for_each_member(cursor, [&](std::string_view key) {
    if (!is(key, "rocprofiler-sdk-tool")) return void(cursor.value());
    if (cursor.peek() == '{') return read_process();
    for_each_element(cursor, read_process);
  });

  if (!fits)
    return base::fail("holds more than the {} events that fit into this machine's memory",
                      most_events);
  if (cursor.failure() == JsonCursor::Failure::kEnd)
    capture.damage = fmt::format("ends in the middle, at byte {}", cursor.offset());
  if (cursor.failure() == JsonCursor::Failure::kBroken)
    capture.damage = fmt::format("is no JSON from byte {} on", cursor.offset());
  return capture;
}

}  // namespace stepscope::import::rocm
