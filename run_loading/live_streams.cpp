#include "run_loading/live_streams.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "trace/base/files/run_folder.h"

namespace stepscope::run_loading {
namespace {

namespace fs = std::filesystem;

/// A file of a rank, not of a process whose rank is not known.
bool names_rank(std::string const& file) { return file.starts_with("rank-"); }

std::set<std::string> streams_in(std::string const& folder, std::error_code& error) {
  std::set<std::string> names;
  for (auto entry = fs::directory_iterator(folder, error);
       !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (name.ends_with(base::kStreamSuffix)) names.insert(std::move(name));
  }
  return names;
}

int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int64_t epoch_now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

int64_t count_devices(std::vector<stream::StepRecord> const& records) {
  std::set<int32_t> devices;
  for (stream::StepRecord const& record : records) devices.insert(record.device);
  return std::max<int64_t>(static_cast<int64_t>(devices.size()), 1);
}

}  // namespace

base::Expected<LiveStreams> LiveStreams::open(std::string const& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    return base::fail("{}: is no folder, name that of a run that is recorded with --stream",
                      folder);

  for (std::string const& place : {folder + "/" + std::string(base::kStreamFolder), folder})
    if (!streams_in(place, error).empty()) {
      LiveStreams streams(place);
      streams.refresh();
      return streams;
    }
  return base::fail(
      "{}: has no stream (yet): record with stepscope record --stream, and mark steps", folder);
}

void LiveStreams::find_new() {
  std::error_code error;
  for (std::string const& name : streams_in(folder_, error))
    files_.try_emplace(name, folder_ + "/" + name);
  if (error)
    problems_.push_back(fmt::format("{}: cannot be read ({}), what is shown is as of before",
                                    folder_, error.message()));
}

/// The last records, and some blocks of those before them: what the steps of now are compared with.
base::Expected<stream::StreamRecords> LiveStreams::read_first(Followed& file) {
  auto last = file.stream.read_new(kLastRecords);
  if (!last) return last;
  int64_t const devices = count_devices(last->steps);
  if (devices > 1) {
    file.stream = stream::GrowingStream(file.stream.path());
    last = file.stream.read_new(kLastRecords * static_cast<size_t>(devices));
    if (!last) return last;
  }

  constexpr uint64_t kBlocks = 32, kWarmup = 16, kRecords = 20;
  uint64_t const records = kRecords * static_cast<uint64_t>(devices);
  uint64_t const shown = kLastRecords * static_cast<uint64_t>(devices);
  uint64_t const first = kWarmup * static_cast<uint64_t>(devices);
  uint64_t const earlier = file.stream.records() - std::min(file.stream.records(), shown);
  if (earlier < first + records) return last;

  model::TraceInfo const& info = file.stream.head()->info;
  uint64_t const blocks = std::min(kBlocks, (earlier - first) / records);
  for (uint64_t block = 0; block < blocks; ++block) {
    uint64_t const at = first + (earlier - first - records) * block / std::max<uint64_t>(blocks, 1);
    run_.add_earlier(info.rank, info.process_id, file.stream.read_earlier(at, records).steps);
  }
  return last;
}

/// Whether the file is of the process of its rank that is shown. A process without steps takes the
/// place of none.
bool LiveStreams::is_shown(std::string const& name, Followed const& file,
                           stream::StreamRecords const& records) {
  if (!names_rank(name)) return true;
  model::TraceInfo const& info = file.stream.head()->info;
  auto& [began, newest] = newest_[info.rank];
  if (newest == name) return true;
  if (records.steps.empty() || (!newest.empty() && began >= info.origin_epoch_ns)) return false;

  if (!newest.empty()) run_.forget_rank(info.rank);
  began = info.origin_epoch_ns;
  newest = name;
  return true;
}

void LiveStreams::read(std::string const& name, Followed& file) {
  bool const is_new = !file.stream.head();
  auto records = is_new ? read_first(file) : file.stream.read_new(kLastRecords);
  if (!records) {
    problems_.push_back(records.error().message);
    return;
  }
  file.damaged += records->damaged;
  if (file.damaged > 0)
    problems_.push_back(fmt::format("{}: {} records are damaged and were left out",
                                    file.stream.path(), file.damaged));

  model::TraceInfo const& info = file.stream.head()->info;
  if (!is_shown(name, file, *records)) return;
  if (records->is_other_file) run_.forget_rank(info.rank);
  if (is_new || records->is_other_file) run_.add_process(info);
  for (model::Device const& device : records->devices)
    run_.add_device(info.rank, info.process_id, device);
  for (stream::StepRecord const& record : records->steps)
    run_.add(info.rank, info.process_id, record);
  if (records->has_ended) run_.end_process(info.rank, info.process_id);

  // The clock of this machine counts, which need not be that of the process.
  if (is_new)
    file.heard_ns =
        steady_ns() - std::max<int64_t>(epoch_now_ns() - file.stream.modified_epoch_ns(), 0);
  else if (!records->steps.empty())
    file.heard_ns = steady_ns();
  run_.set_silence(info.rank, info.process_id, steady_ns() - file.heard_ns);
}

void LiveStreams::refresh() {
  problems_.clear();
  find_new();
  if (!problems_.empty()) return;
  for (auto& [name, file] : files_) read(name, file);
}

}  // namespace stepscope::run_loading
