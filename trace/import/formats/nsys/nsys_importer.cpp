#include "trace/import/formats/nsys/nsys_importer.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "trace/base/format.h"
#include "trace/file/trace_file.h"
#include "trace/import/common/database/database_image.h"
#include "trace/import/formats/importers.h"
#include "trace/import/formats/nsys/export_info.h"
#include "trace/import/formats/nsys/host_tables.h"
#include "trace/import/formats/nsys/metrics_table.h"

namespace stepscope::import {
namespace nsys {
namespace {

using Traces = base::Expected<std::vector<model::Trace>>;

bool is_table_of_nsys(std::string_view table) {
  constexpr std::array<std::string_view, 5> kTables = {
      "StringIds", "NVTX_EVENTS", "TARGET_INFO_SESSION_START_TIME", "META_DATA_EXPORT", "OSRT_API"};
  return table.starts_with("CUPTI_ACTIVITY_KIND_") ||
         std::find(kTables.begin(), kTables.end(), table) != kTables.end();
}

bool has_table_of_nsys(Database const& database) {
  auto const tables = database.tables();
  return std::any_of(tables.begin(), tables.end(), is_table_of_nsys);
}

/// Tables with times that Stepscope does not read, and that are not empty.
std::string other_tables(Database& database) {
  constexpr std::array<std::string_view, 20> kRead = {"CUPTI_ACTIVITY_KIND_KERNEL",
                                                      "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
                                                      "CUPTI_ACTIVITY_KIND_MEMCPY",
                                                      "CUPTI_ACTIVITY_KIND_MEMSET",
                                                      "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                                                      "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                                                      "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
                                                      "CUPTI_ACTIVITY_KIND_RUNTIME",
                                                      "CUPTI_ACTIVITY_KIND_DRIVER",
                                                      "CUPTI_ACTIVITY_KIND_OVERHEAD",
                                                      "PROFILER_OVERHEAD",
                                                      "CUDA_GPU_MEMORY_USAGE_EVENTS",
                                                      "GPU_METRICS",
                                                      "NVTX_EVENTS",
                                                      "OSRT_API",
                                                      "CUDNN_EVENTS",
                                                      "CUBLAS_EVENTS",
                                                      "DIAGNOSTIC_EVENT",
                                                      "MPI_COMMUNICATORS",
                                                      "ANALYSIS_DETAILS"};

  constexpr size_t kMostBytes = 1024;
  std::string names;

  for (std::string_view const table : database.tables()) {
    bool const is_timed = database.has(table, "start") || database.has(table, "timestamp");
    bool const is_read = std::find(kRead.begin(), kRead.end(), table) != kRead.end() ||
                         table.starts_with("MPI_") || table.starts_with("UCP_");

    if (!is_timed || is_read || names.size() > kMostBytes || !database.has_rows(table)) continue;
    names += (names.empty() ? "" : ", ") + base::printable(table.substr(0, kMostBytes));
  }

  return names;
}

class Reader {
 public:
  Reader(Input const& input, DatabaseImage const& image, Database& database)
      : input_(input), image_(image), database_(database), processes_(database, names_) {}

  Traces read() {
    info_ = read_export_info(database_);
    if (info_.is_normalized) processes_.time_base = info_.utc_epoch_ns;

    names_.read(database_);
    DeviceRows devices = read_device_tables(processes_);
    auto memory = read_memory_table(processes_);
    read_host_tables(processes_, devices.syncs, memory);
    add_changes_without_call(memory, processes_);

    NvtxRows const nvtx = read_nvtx(devices);
    metrics_of_unused_ = read_metrics_table(processes_);

    if (database_.is_too_much())
      return base::fail(
          "{}: holds more than the {} events that fit into this machine's memory, export a part of "
          "the report (nsys export --times) or use a larger machine",
          input_.name(), file::events_that_fit());

    describe_processes(processes_, info_, nvtx);
    std::vector<Process*> shown = choose_processes();
    if (shown.empty()) return nothing_there();
    find_ranks(shown, database_, info_, nvtx.nccl, input_.name());
    note_losses(shown, devices, nvtx);

    std::vector<model::Trace> traces;
    for (Process* const process : shown) traces.push_back(std::move(process->builder).finish());
    return traces;
  }

 private:
  NvtxRows read_nvtx(DeviceRows& devices) {
    NvtxRows nvtx = read_nvtx_table(processes_);
    nvtx.nccl.refine(devices);
    return nvtx;
  }

  /// Shells and launchers make calls of the system and nothing else: where others are traced they
  /// are left out.
  std::vector<Process*> choose_processes() {
    std::vector<Process*> traced, others;
    for (auto& [key, process] : processes_.all())
      (process.is_traced ? traced : others).push_back(&process);
    if (traced.empty()) return others;

    if (!others.empty()) {
      std::string const what =
          fmt::format("{} of the report's processes, which made nothing but calls of the system",
                      others.size());
      for (Process* const process : traced)
        process->builder.info().facts.emplace_back("left out", what);
    }

    return traced;
  }

  Traces nothing_there() const {
    if (image_.damage())
      return base::fail("{}: {}, and nothing of what is there can be used; copy or export it again",
                        input_.name(), *image_.damage());
    if (!database_.damage().empty())
      return base::fail("{}: {}; copy or export it again", input_.name(),
                        database_.damage().front());
    return base::fail("{}: holds no events, record with nsys profile --trace=cuda,nvtx",
                      input_.name());
  }

  void note_losses(std::vector<Process*> const& shown, DeviceRows const& devices,
                   NvtxRows const& nvtx) {
    std::vector<std::string> notes = info_.warnings;
    if (image_.damage()) notes.push_back(*image_.damage());
    notes.insert(notes.end(), database_.damage().begin(), database_.damage().end());

    auto const note = [&](uint64_t count, char const* what) {
      if (count > 0) notes.push_back(base::count_sentence(count, what));
    };

    note(processes_.untimed, "rows have no time and were left out");
    note(processes_.without_process,
         "rows do not tell their process: they are shown in the first one that does");
    note(processes_.folded,
         "threads and streams are more than are shown: their rows are on one track");
    note(names_.cut, "names are longer than 16 KiB and were cut");
    note(names_.unknown, "names are not in the export");
    note(nvtx.unbegun, "ends of ranges have no begin and were left out");
    note(nvtx.unended, "ranges never end; they are shown until the end of the trace");
    note(devices.whole_graphs,
         "launches of CUDA graphs were recorded whole: their kernels, and communication among "
         "them, are not told apart; record with --cuda-graph-trace=node");
    note(metrics_of_unused_, "samples are of GPUs that no process used and were left out");

    std::string const others = other_tables(database_);
    for (Process* const process : shown) {
      model::ImportLog& log = process->builder.log();
      log.truncated = image_.damage().has_value() || !database_.damage().empty();
      log.notes.insert(log.notes.end(), notes.begin(), notes.end());
      if (!others.empty()) process->builder.info().facts.emplace_back("not read", others);
    }
    // Losses that no process accounts for are counted once.
    model::ImportLog& log = shown.front()->builder.log();
    log.dropped += processes_.untimed;
    log.unknown_events += nvtx.unknown + nvtx.unbegun;
  }

  Input const& input_;
  DatabaseImage const& image_;
  Database& database_;
  Names names_;
  Processes processes_;
  ExportInfo info_;
  uint64_t metrics_of_unused_ = 0;
};

/// The head of a database says nothing about its other pages: a name that announces a trace is
/// believed more.
bool is_other_database(Input const& input, std::string_view file_name) {
  return !claims_to_be_trace(file_name) && is_sqlite(input.head());
}

Advice advice_for_database(std::string_view head, std::string_view file_name) {
  auto const holds = [&](std::string_view part) {
    return head.find(part) != std::string_view::npos;
  };
  if (file_name.ends_with(".rpd") || (is_sqlite(head) && holds("rocpd_")))
    return may_be_trace(fmt::format(
        "is a database of ROCm's older profiler (rpd), run rpd2tracing.py {} trace.json "
        "and name that, or record with rocprofv3",
        file_name));
  if (!is_sqlite(head)) return std::nullopt;

  if (holds("CREATE TABLE step_marks") || holds("collective_waits"))
    return no_trace(
        "is a database that stepscope export wrote, ask it with sqlite3, or name the run that it "
        "is of");
  return no_trace(
      "is an SQLite database, but none of a profiler that Stepscope knows: name a trace, or what "
      "nsys export --type sqlite wrote");
}

}  // namespace
}  // namespace nsys

bool is_nsys_export(Input const& input) {
  if (!is_sqlite(input.head())) return false;
  if (!input.plain()) return true;
  auto const image = DatabaseImage::open(input);
  if (!image) return true;
  auto const database = Database::open(image->bytes(), input.name(), 0);
  return !database || nsys::has_table_of_nsys(*database);
}

base::Expected<std::vector<model::Trace>> read_nsys_export(Input const& input) {
  auto const image = DatabaseImage::open(input);
  if (!image) return base::fail_with(image);
  auto database = Database::open(image->bytes(), input.name(), file::events_that_fit());
  if (!database) return base::fail_with(database);

  if (database->has("StringTable") && !database->has("StringIds"))
    return base::fail(
        "{}: was written by nvprof, whose tables are not read; record with nsys profile and export "
        "with nsys export --type sqlite",
        input.name());

  if (!nsys::has_table_of_nsys(*database))
    return base::fail(
        "{}: is a SQLite database, but no export of Nsight Systems; make one with nsys export "
        "--type sqlite",
        input.name());

  return nsys::Reader(input, *image, *database).read();
}

std::optional<std::string> advice_for_report(std::string_view file_name) {
  for (std::string_view const suffix : {".nsys-rep", ".qdrep", ".qdstrm"})
    if (file_name.ends_with(suffix))
      return fmt::format(
          "is a report of Nsight Systems that was not exported, run nsys export --type sqlite {}",
          file_name);
  return std::nullopt;
}

Importer nsys_importer() {
  return {.name = "Nsight Systems SQLite",
          .file_suffix = ".sqlite",
          .sniff = is_nsys_export,
          .read = read_nsys_export,
          .is_other_kind = nsys::is_other_database,
          .conversion_advice = advice_for_report,
          .advice = nsys::advice_for_database};
}

}  // namespace stepscope::import
