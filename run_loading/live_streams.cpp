#include "run_loading/live_streams.h"

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

std::set<std::string> streams_in(std::string const& folder) {
  std::set<std::string> names;
  std::error_code error;
  for (auto const& entry : fs::directory_iterator(folder, error)) {
    std::string name = entry.path().filename().string();
    if (name.ends_with(base::kStreamSuffix)) names.insert(std::move(name));
  }
  return names;
}

}  // namespace

base::Expected<LiveStreams> LiveStreams::open(std::string const& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    return base::fail("{}: is no folder, name that of a run that is recorded with --stream",
                      folder);

  for (std::string const& place : {folder + "/" + std::string(base::kStreamFolder), folder})
    if (!streams_in(place).empty()) {
      LiveStreams streams(place);
      streams.refresh();
      return streams;
    }
  return base::fail(
      "{}: has no stream (yet): record with stepscope record --stream, and mark steps", folder);
}

void LiveStreams::find_new() {
  for (std::string const& name : streams_in(folder_))
    files_.try_emplace(name, folder_ + "/" + name);
}

void LiveStreams::read(stream::GrowingStream& file) {
  bool const is_new = !file.head();
  auto part = file.read_new(2 * analyzer::LiveRun::kKept);
  if (!part) {
    problems_.push_back(part.error().message);
    return;
  }
  if (part->damaged > 0)
    problems_.push_back(
        fmt::format("{}: {} records are damaged and were left out", file.path(), part->damaged));

  model::TraceInfo const& info = file.head()->info;
  std::string const name = fs::path(file.path()).filename().string();
  if (names_rank(name)) {
    auto& [began, newest] = newest_[info.rank];
    if (newest != name) {
      if (!newest.empty() && began >= info.origin_epoch_ns) return;
      run_.forget_rank(info.rank);
      began = info.origin_epoch_ns;
      newest = name;
    }
  }

  if (is_new) run_.add_process(info);
  for (model::Device const& device : part->devices)
    run_.add_device(info.rank, info.process_id, device);
  for (stream::StepRecord const& record : part->steps) run_.add(info.rank, info.process_id, record);
  if (part->has_ended) run_.end_process(info.rank, info.process_id);
}

void LiveStreams::refresh() {
  problems_.clear();
  find_new();
  for (auto& [name, file] : files_) read(file);
}

}  // namespace stepscope::run_loading
