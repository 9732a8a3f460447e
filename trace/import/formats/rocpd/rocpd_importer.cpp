#include "trace/import/formats/rocpd/rocpd_importer.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "trace/file/trace_file.h"
#include "trace/import/common/database/database_image.h"
#include "trace/import/formats/importers.h"
#include "trace/import/formats/rocpd/rocpd_tables.h"
#include "trace/import/formats/rocprofv3/ranks.h"

namespace stepscope::import {
namespace rocpd {
namespace {

using model::CopyDirection;
using model::MemoryOp;

/// What a region is, its category tells: "HIP_RUNTIME_API_EXT", "MARKER_CORE_RANGE_API"; of
/// rocprof-sys "rocm_hip_api", "mpi".
std::string category_of(std::string_view written) {
  constexpr std::string_view kOfSystems = "ROCM_";
  std::string category(written);
  std::transform(category.begin(), category.end(), category.begin(), [](char c) {
    return 'a' <= c && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return category.starts_with(kOfSystems) ? category.substr(kOfSystems.size()) : category;
}

/// Reads the rows with times of one set of tables.
class RowReader {
 public:
  explicit RowReader(Descriptions& of) : of_(of) {}

  void read() {
    read_regions();
    read_samples();
    read_kernels();
    read_copies();
    read_allocations();

    // Page faults and migrations of the driver, which no thread of the program waits for by a call.
    for (rocm::Process* const process : with_driver_events_)
      process->builder.info().facts.emplace_back("not read", "KFD");
  }

 private:
  /// Every table but that of samples begins with these.
  enum Common : int { kStart, kEnd, kProcess, kThread, kEvent, kCommonColumns };

  rocm::Record record_of(TableScan const& scan) const {
    rocm::Record record;
    record.start = scan.integer(kStart);
    record.end = scan.integer(kEnd);
    record.thread = of_.thread(scan.integer(kThread));
    record.correlation = of_.event(scan.integer(kEvent)).correlation;
    return record;
  }
  static std::optional<uint64_t> number_in(TableScan const& scan, int column) {
    if (scan.is_null(column)) return std::nullopt;
    return static_cast<uint64_t>(scan.integer(column));
  }
  static uint64_t size_in(TableScan const& scan, int column) {
    return static_cast<uint64_t>(std::max<int64_t>(0, scan.integer(column)));
  }
  /// The handle that Descriptions gives an agent.
  static uint64_t agent_in(TableScan const& scan, int column) {
    return scan.is_null(column) ? 0 : static_cast<uint64_t>(scan.integer(column)) + 1;
  }

  void read_regions();
  void read_samples();
  void read_kernels();
  void read_copies();
  void read_allocations();
  void add_call(rocm::Process& process, rocm::Record const& record, std::string_view written,
                std::string_view name, int64_t event);
  rocm::CallName const& call_of(rocm::Process& process, std::string_view name);

  Descriptions& of_;
  std::map<std::pair<rocm::Process*, std::string>, rocm::CallName, std::less<>> calls_;
  std::set<rocm::Process*> with_driver_events_;
};

rocm::CallName const& RowReader::call_of(rocm::Process& process, std::string_view name) {
  auto const [call, is_new] = calls_.try_emplace({&process, std::string(name)});
  if (is_new) call->second = process.call_name(name);
  return call->second;
}

void RowReader::add_call(rocm::Process& process, rocm::Record const& record,
                         std::string_view written, std::string_view name, int64_t event) {
  std::string const category = category_of(written);
  if (category.starts_with("KFD")) {
    with_driver_events_.insert(&process);
    return;
  }

  if (category.starts_with("MARKER")) {
    std::string const* const message = of_.message(event);
    std::string_view const text = message == nullptr ? name : std::string_view(*message);
    if (record.start == record.end || name.starts_with("roctxMark"))
      process.add_mark(record, text);
    else
      process.add_range(record, text);
    return;
  }

  if (category.starts_with("RCCL")) return process.add_communication(record, name);
  if (!category.empty() && category.find("_API") == std::string::npos)
    return process.add_range(record, name);

  rocm::Api api = rocm::Api::kOther;
  if (category.starts_with("HIP")) api = rocm::Api::kHip;
  if (category.starts_with("HSA")) api = rocm::Api::kHsa;
  process.add_call(record, call_of(process, name), api);
}

void RowReader::read_regions() {
  enum Column : int { kName = kCommonColumns };
  TableScan scan(of_.database, of_.table("rocpd_region"),
                 {"start", "end", "pid", "tid", "event_id", "name_id"});

  while (scan.next()) {
    int64_t const event = scan.integer(kEvent);
    std::string const* const name = of_.text(scan.integer(kName));
    std::string const* const category = of_.text(of_.event(event).category);
    add_call(of_.process(scan.integer(kProcess)), record_of(scan),
             category == nullptr ? std::string_view() : *category,
             name == nullptr ? std::string_view("unnamed") : *name, event);
  }
}

/// Instants. They refer to their thread by a track.
void RowReader::read_samples() {
  struct TrackOfSample {
    int64_t process = 0, thread = 0;
  };
  std::unordered_map<int64_t, TrackOfSample, base::HashNumber> tracks;
  TableScan track_scan(of_.database, of_.table("rocpd_track"), {"id", "pid", "tid"});
  while (track_scan.next() && tracks.size() < rocm::kMostTracks)
    tracks.try_emplace(track_scan.integer(0),
                       TrackOfSample{track_scan.integer(1), track_scan.integer(2)});

  TableScan scan(of_.database, of_.table("rocpd_sample"), {"timestamp", "track_id", "event_id"});
  while (scan.next()) {
    int64_t const event = scan.integer(2);
    auto const track = tracks.find(scan.integer(1));
    std::string const* const category = of_.text(of_.event(event).category);
    if (track == tracks.end() || category == nullptr) continue;

    rocm::Record record;
    record.start = record.end = scan.integer(0);
    record.thread = of_.thread(track->second.thread);
    record.correlation = of_.event(event).correlation;
    add_call(of_.process(track->second.process), record, *category, *category, event);
  }
}

void RowReader::read_kernels() {
  enum Column : int {
    kAgent = kCommonColumns,
    kKernel,
    kQueue,
    kStream,
    kShared,
    kBlockX,
    kGridX = kBlockX + 3
  };
  TableScan scan(of_.database, of_.table("rocpd_kernel_dispatch"),
                 {"start", "end", "pid", "tid", "event_id", "agent_id", "kernel_id", "queue_id",
                  "stream_id", "group_segment_size", "workgroup_size_x", "workgroup_size_y",
                  "workgroup_size_z", "grid_size_x", "grid_size_y", "grid_size_z"});

  while (scan.next()) {
    rocm::Record record = record_of(scan);
    record.agent = agent_in(scan, kAgent);
    record.kernel = static_cast<uint64_t>(scan.integer(kKernel));
    record.queue = number_in(scan, kQueue);
    record.stream = number_in(scan, kStream);
    record.shared_bytes = size_in(scan, kShared);

    for (int axis = 0; axis < 3; ++axis) {
      record.block[static_cast<size_t>(axis)] = size_in(scan, kBlockX + axis);
      record.threads[static_cast<size_t>(axis)] = size_in(scan, kGridX + axis);
    }
    of_.process(scan.integer(kProcess)).add_kernel(record);
  }
}

void RowReader::read_copies() {
  enum Column : int { kTarget = kCommonColumns, kSource, kBytes, kQueue, kStream, kName };
  TableScan scan(of_.database, of_.table("rocpd_memory_copy"),
                 {"start", "end", "pid", "tid", "event_id", "dst_agent_id", "src_agent_id", "size",
                  "queue_id", "stream_id", "name_id"});

  while (scan.next()) {
    rocm::Record record = record_of(scan);
    record.agent = agent_in(scan, kTarget);
    record.source_agent = agent_in(scan, kSource);
    record.bytes = size_in(scan, kBytes);
    record.queue = number_in(scan, kQueue);
    record.stream = number_in(scan, kStream);

    rocm::Process& process = of_.process(scan.integer(kProcess));
    std::string const* const name = of_.text(scan.integer(kName));
    CopyDirection direction =
        name == nullptr ? CopyDirection::kUnknown : rocm::direction_of_operation(*name);
    if (direction == CopyDirection::kUnknown) direction = process.direction_of(record);
    process.add_copy(record, direction);
  }
}

/// Scratch memory is of a queue, not of the program.
void RowReader::read_allocations() {
  enum Column : int { kAgent = kCommonColumns, kType, kLevel, kAddress, kBytes };
  TableScan scan(
      of_.database, of_.table("rocpd_memory_allocate"),
      {"start", "end", "pid", "tid", "event_id", "agent_id", "type", "level", "address", "size"});

  while (scan.next()) {
    if (scan.text(kLevel) == "SCRATCH") continue;
    rocm::Record record = record_of(scan);
    record.agent = agent_in(scan, kAgent);
    record.address = static_cast<uint64_t>(scan.integer(kAddress));
    record.bytes = size_in(scan, kBytes);

    std::string_view const type = scan.text(kType);
    MemoryOp const op = type == "FREE" ? MemoryOp::kFree : MemoryOp::kAllocate;
    of_.process(scan.integer(kProcess)).add_memory(record, op);
  }
}

ImportedTraces nothing_there(Input const& input, DatabaseImage const& image,
                             Database const& database) {
  if (image.damage())
    return base::fail("{}: {}, and nothing of what is there can be used; copy or record it again",
                      input.name(), *image.damage());
  if (!database.damage().empty())
    return base::fail("{}: {}; copy or record it again", input.name(), database.damage().front());
  return base::fail(
      "{}: holds no kernels, copies, calls or ranges; record with rocprofv3 --sys-trace",
      input.name());
}

std::vector<std::string> notes_of(DatabaseImage const& image, Database const& database) {
  std::vector<std::string> notes = database.damage();
  if (image.damage()) notes.push_back(*image.damage());
  return notes;
}

bool is_other_rocpd_database(Input const& input, std::string_view file_name) {
  return !claims_to_be_trace(file_name) && is_sqlite(input.head());
}

/// rocprofv3 writes each format that it is asked for. The database states ranks, the other files of
/// its process do not.
void drop_other_formats(std::vector<std::string>& files) {
  constexpr std::string_view kEnding = "_results.db";
  std::set<std::string> stems;
  for (std::string const& file : files)
    if (file.ends_with(kEnding)) stems.insert(file.substr(0, file.size() - kEnding.size()));

  std::erase_if(files, [&](std::string const& file) {
    for (std::string_view const other : {"_results.json", "_results.pftrace"})
      if (file.ends_with(other) && stems.contains(file.substr(0, file.size() - other.size())))
        return true;
    return false;
  });
}

}  // namespace
}  // namespace rocpd

bool is_rocpd(Input const& input) {
  if (!is_sqlite(input.head())) return false;
  if (!input.plain()) return input.head().find("rocpd_info_") != std::string_view::npos;

  auto const image = DatabaseImage::open(input);
  if (!image) return false;
  auto const database = Database::open(image->bytes(), input.name(), 0);
  return database && !rocpd::endings_of_tables(*database).empty();
}

base::Expected<std::vector<model::Trace>> read_rocpd(Input const& input) {
  auto const image = DatabaseImage::open(input);
  if (!image) return base::fail_with(image);
  // A row with times has another one that describes it, and names of its own at most.
  constexpr uint64_t kRowsOfEvent = 3;
  uint64_t const most = file::events_that_fit();
  auto database = Database::open(image->bytes(), input.name(), kRowsOfEvent * most);
  if (!database) return base::fail_with(database);

  std::deque<rocm::Process> processes;
  for (std::string const& ending : rocpd::endings_of_tables(*database)) {
    if (database->has("rocpd_region" + ending, "start_id"))
      return base::fail(
          "{}: is rocpd that keeps its times in a table of their own, which Stepscope does not "
          "read: record with rocprofv3 --output-format json",
          input.name());
    rocpd::Descriptions descriptions(*database, ending, processes);
    rocpd::RowReader(descriptions).read();
  }

  uint64_t events = 0;
  for (rocm::Process const& process : processes) events += process.event_count();
  if (database->is_too_much() || events > most)
    return base::fail(
        "{}: holds more than the {} events that fit into this machine's memory, record a shorter "
        "part (rocprofv3 --collection-period) or use a larger machine",
        input.name(), most);

  std::erase_if(processes, [](rocm::Process const& process) { return process.event_count() == 0; });
  if (processes.empty()) return rocpd::nothing_there(input, *image, *database);

  auto const notes = rocpd::notes_of(*image, *database);
  std::vector<model::Trace> traces;
  for (rocm::Process* const process : rocm::order_by_rank(processes, input.name())) {
    model::ImportLog& log = process->builder.log();
    log.truncated = !notes.empty();
    log.notes.insert(log.notes.end(), notes.begin(), notes.end());
    traces.push_back(std::move(*process).finish());
  }
  return traces;
}

Importer rocpd_importer() {
  return {.name = "rocpd SQLite",
          .file_suffix = "_results.db",
          .sniff = is_rocpd,
          .read = read_rocpd,
          .is_other_kind = rocpd::is_other_rocpd_database,
          .drop_copies = rocpd::drop_other_formats};
}

}  // namespace stepscope::import
