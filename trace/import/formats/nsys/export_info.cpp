#include "trace/import/formats/nsys/export_info.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <set>

#include <fmt/format.h>

#include "trace/base/format.h"

namespace stepscope::import::nsys {
namespace {

constexpr size_t kMostFactBytes = 1024, kMostWarnings = 20, kMostDescriptions = 100'000;
constexpr std::string_view kVariable = "ENVIRONMENT_VARIABLE", kFirstProcess = "PROCESS_0:";

std::string fact(std::string_view text) { return base::printable(text.substr(0, kMostFactBytes)); }

/// RANK="3": takes the variables that launchers set; the rest of the environment stays private.
void add_variable(std::string_view text, std::map<std::string, std::string>& environment) {
  constexpr std::array<std::string_view, 11> kWanted = {"RANK",
                                                        "OMPI_COMM_WORLD_RANK",
                                                        "MV2_COMM_WORLD_RANK",
                                                        "SLURM_PROCID",
                                                        "PMI_RANK",
                                                        "WORLD_SIZE",
                                                        "OMPI_COMM_WORLD_SIZE",
                                                        "MV2_COMM_WORLD_SIZE",
                                                        "SLURM_NTASKS",
                                                        "SLURM_STEP_NUM_TASKS",
                                                        "PMI_SIZE"};

  size_t const equals = text.find('=');
  if (std::find(kWanted.begin(), kWanted.end(), text.substr(0, equals)) == kWanted.end() ||
      equals == std::string_view::npos)
    return;

  std::string_view value = text.substr(equals + 1);
  if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
    value = value.substr(1, value.size() - 2);
  environment[std::string(text.substr(0, equals))] = value.substr(0, kMostFactBytes);
}

void read_capture(Database& database, ExportInfo& info) {
  TableScan scan(database, "META_DATA_CAPTURE", {"name", "value"});
  std::map<int, std::string> arguments;

  while (scan.next()) {
    std::string const name(scan.text(0).substr(0, kMostFactBytes));
    if (!name.starts_with(kFirstProcess)) continue;
    std::string_view const what = std::string_view(name).substr(kFirstProcess.size());
    constexpr std::string_view kArgument = "ARGUMENT_";

    if (what == kVariable) add_variable(scan.text(1), info.environment);
    if (what == "COMMAND") arguments[-1] = fact(scan.text(1));
    if (what.starts_with(kArgument)) {
      int number = 0;
      std::from_chars(what.data() + kArgument.size(), what.data() + what.size(), number);
      if (number >= 0 && number < 1000) arguments[number] = fact(scan.text(1));
    }
  }

  for (auto const& [number, argument] : arguments)
    info.command += (info.command.empty() ? "" : " ") + argument;
}

void read_export(Database& database, ExportInfo& info) {
  TableScan scan(database, "META_DATA_EXPORT", {"name", "value"});
  info.tool = "Nsight Systems";

  while (scan.next()) {
    std::string const name(scan.text(0).substr(0, kMostFactBytes));
    std::string const value = fact(scan.text(1));

    if (name == "EXPORT_PRODUCT_VERSION" && !value.empty()) info.tool = "Nsight Systems " + value;
    if (name == "EXPORT_SCHEMA_VERSION") info.facts.emplace_back("export schema", value);
    if (name == "EXPORT_PARAM_TIME_NORMALIZE") info.is_normalized = value == "true" || value == "1";
    if (name == "EXPORT_PARAM_TIME_SHIFT")
      std::from_chars(value.data(), value.data() + value.size(), info.shift_ns);
  }
}

void read_system(Database& database, ExportInfo& info) {
  struct Property {
    std::string_view name, fact;
  };
  constexpr std::array kProperties = {
      Property{"CpuDescription", "cpu"},     Property{"CpuCores", "cores"},
      Property{"OsDescription", "os"},       Property{"KernelVersion", "kernel"},
      Property{"NvDriverVersion", "driver"}, Property{"CudaDriverVersion", "cuda driver"}};

  TableScan scan(database, "TARGET_INFO_SYSTEM_ENV", {"name", "value"});
  while (scan.next()) {
    std::string const name(scan.text(0).substr(0, kMostFactBytes));
    if (name == "Hostname") info.host = fact(scan.text(1));
    for (Property const& property : kProperties)
      if (property.name == name && info.facts.size() < 100)
        info.facts.emplace_back(std::string(property.fact), fact(scan.text(1)));
  }
}

void read_warnings(Database& database, ExportInfo& info) {
  constexpr int64_t kWarning = 2, kError = 3;
  TableScan scan(database, "DIAGNOSTIC_EVENT", {"severity", "text"});

  while (scan.next()) {
    int64_t const severity = scan.integer(0);
    if (severity != kWarning && severity != kError) continue;
    std::string warning = fmt::format("Nsight Systems {}: {}",
                                      severity == kError ? "error" : "warning", fact(scan.text(1)));

    bool const is_known =
        std::find(info.warnings.begin(), info.warnings.end(), warning) != info.warnings.end();
    if (!is_known && info.warnings.size() < kMostWarnings)
      info.warnings.push_back(std::move(warning));
  }
}

}  // namespace

ExportInfo read_export_info(Database& database) {
  ExportInfo info;
  read_export(database, info);
  read_capture(database, info);
  read_system(database, info);
  read_warnings(database, info);

  TableScan start(database, "TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"});
  if (start.next()) info.utc_epoch_ns = start.integer(0);
  if (info.utc_epoch_ns < 0 || info.utc_epoch_ns > model::kMaxTime) info.utc_epoch_ns = 0;
  if (std::abs(static_cast<double>(info.shift_ns)) > static_cast<double>(model::kMaxTime))
    info.shift_ns = 0;

  if (!info.command.empty()) info.facts.emplace_back("launched", info.command);
  return info;
}

namespace {

struct Hardware {
  int64_t id = 0, cuda_id = -1;
  model::Device device;
};

struct DeviceNames {
  std::vector<Hardware> hardware;
  std::map<std::pair<int64_t, int64_t>, int64_t> hardware_of;  ///< by process and CUDA's number
  std::map<int64_t, std::string> given;                        ///< by the program, with NVTX
};

DeviceNames read_devices(Database& database) {
  DeviceNames names;
  TableScan gpus(database, "TARGET_INFO_GPU", {"id", "cuDevice", "name", "totalMemory", "smCount"});
  while (gpus.next() && names.hardware.size() <= kLastDevice) {
    Hardware hardware;
    hardware.id = gpus.integer(0);
    if (!gpus.is_null(1)) hardware.cuda_id = gpus.integer(1);
    hardware.device.name = fact(gpus.text(2));
    hardware.device.capacity_bytes = static_cast<uint64_t>(std::max<int64_t>(0, gpus.integer(3)));
    hardware.device.threads =
        static_cast<uint32_t>(std::clamp<int64_t>(gpus.integer(4), 0, UINT32_MAX));
    names.hardware.push_back(std::move(hardware));
  }

  TableScan cuda(database, "TARGET_INFO_CUDA_DEVICE", {"pid", "cudaId", "gpuId"});
  while (cuda.next() && names.hardware_of.size() < kMostDescriptions)
    if (!cuda.is_null(2)) names.hardware_of[{cuda.integer(0), cuda.integer(1)}] = cuda.integer(2);

  TableScan given(database, "TARGET_INFO_NVTX_CUDA_DEVICE", {"deviceId", "name"});
  while (given.next() && names.given.size() < kMostDescriptions)
    names.given[given.integer(0)] = fact(given.text(1));
  return names;
}

model::Device device_of(DeviceNames const& names, Process const& process, int32_t id) {
  auto const of_export = names.hardware_of.find({system_id(process.identity), id});
  auto const find = [&](auto const& is_it) {
    return std::find_if(names.hardware.begin(), names.hardware.end(), is_it);
  };

  auto found = names.hardware.end();
  if (of_export != names.hardware_of.end())
    found = find([&](Hardware const& one) { return one.id == of_export->second; });
  if (found == names.hardware.end())
    found = find([&](Hardware const& one) { return one.cuda_id == id; });
  if (found == names.hardware.end())
    found = find([&](Hardware const& one) { return one.cuda_id < 0 && one.id == id; });

  model::Device device;
  if (found != names.hardware.end()) device = found->device;
  device.id = id;
  if (device.name.empty()) device.name = fmt::format("GPU {}", id);
  if (auto const given = names.given.find(id); given != names.given.end() && !given->second.empty())
    device.name += " (" + given->second + ")";
  return device;
}

struct TrackNames {
  std::map<std::pair<ProcessKey, int64_t>, std::string> threads;
  std::map<std::tuple<int64_t, int64_t, int64_t>, std::string>
      streams;  ///< by process, context and stream
  std::map<std::tuple<int64_t, int64_t, int64_t>, bool> default_streams;
};

TrackNames read_track_names(Processes& processes, NvtxRows const& nvtx) {
  Database& database = processes.database;
  TrackNames names;
  TableScan threads(database, "ThreadNames", {"globalTid", "nameId"});
  while (threads.next() && names.threads.size() < kMostDescriptions) {
    int64_t const id = threads.integer(0);
    names.threads[{process_of_global_id(id), id & 0xFF'FFFF}] =
        fact(processes.names.text(processes.names.of(threads, 1)));
  }

  for (auto const& [id, name] : nvtx.thread_names)
    names.threads[{process_of_global_id(id), id & 0xFF'FFFF}] = fact(name);

  TableScan streams(database, "TARGET_INFO_NVTX_CUDA_STREAM",
                    {"processId", "contextId", "streamId", "name"});
  while (streams.next() && names.streams.size() < kMostDescriptions)
    names.streams[{streams.integer(0), streams.integer(1), streams.integer(2)}] =
        fact(streams.text(3));

  constexpr int64_t kNullStream = 3;
  TableScan kinds(database, "TARGET_INFO_CUDA_STREAM",
                  {"processId", "contextId", "streamId", "flag"});
  while (kinds.next() && names.default_streams.size() < kMostDescriptions)
    if (kinds.integer(3) == kNullStream)
      names.default_streams[{kinds.integer(0), kinds.integer(1), kinds.integer(2)}] = true;

  return names;
}

model::Track describe_track(TrackKey const& key, TrackRows const& rows, Process const& process,
                            TrackNames const& names) {
  model::Track track;
  switch (key.kind) {
    case TrackKey::Kind::kThread: {
      track.id = std::max<int64_t>(0, key.id);
      auto const known = names.threads.find({process.identity, key.id});
      if (known != names.threads.end()) track.name = known->second;
      if (track.name.empty())
        track.name =
            key.id == kUnknownThread ? "CUDA (thread unknown)" : fmt::format("thread {}", key.id);
      break;
    }
    case TrackKey::Kind::kStream: {
      track.kind = model::TrackKind::kStream;
      track.device = key.device;
      track.id = process.stream_number(key.device, key.context, key.id);
      track.name = track.id == key.id ? fmt::format("stream {}", key.id)
                                      : fmt::format("stream {} of context {}", key.id, key.context);
      std::tuple const place(system_id(process.identity), key.context, key.id);
      if (names.default_streams.contains(place)) track.name += " (default)";
      if (auto const given = names.streams.find(place);
          given != names.streams.end() && !given->second.empty())
        track.name = given->second;

      if (2 * rows.copies > rows.rows.size()) track.stream_kind = model::StreamKind::kCopy;
      if (2 * rows.collectives > rows.rows.size())
        track.stream_kind = model::StreamKind::kCommunication;
      break;
    }
    case TrackKey::Kind::kCounter:
      track.kind = model::TrackKind::kCounter;
      track.device = key.device;
      track.name = key.name;
      break;
  }

  return track;
}

std::map<ProcessKey, std::string> read_process_names(Database& database) {
  std::map<ProcessKey, std::string> names;
  TableScan scan(database, "PROCESSES", {"globalPid", "name"});
  while (scan.next() && names.size() < kMostDescriptions)
    names[process_of_global_id(scan.integer(0))] = fact(scan.text(1));
  return names;
}

}  // namespace

void describe_processes(Processes& processes, ExportInfo const& info, NvtxRows const& nvtx) {
  DeviceNames const devices = read_devices(processes.database);
  TrackNames const tracks = read_track_names(processes, nvtx);
  auto const process_names = read_process_names(processes.database);
  for (auto& [key, process] : processes.all()) {
    model::TraceInfo& to = process.builder.info();
    to.tool = info.tool;
    to.host = info.host;
    to.process_id = system_id(key);
    auto const name = process_names.find(key);
    to.command = name != process_names.end() ? name->second : info.command;
    to.origin_epoch_ns = info.utc_epoch_ns == 0 ? 0 : info.utc_epoch_ns - info.shift_ns;
    to.facts = info.facts;

    std::set<int32_t> described;
    for (auto& [track_key, rows] : process.tracks) {
      if (track_key.kind == TrackKey::Kind::kStream && described.insert(track_key.device).second)
        process.builder.add_device(device_of(devices, process, track_key.device));
      model::TrackId const id =
          process.builder.add_track(describe_track(track_key, rows, process, tracks));
      process.builder.append(id, std::move(rows.rows));
    }
  }
}

}  // namespace stepscope::import::nsys
