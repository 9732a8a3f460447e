#include "trace/import/open_run.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "trace/base/run_folder.h"
#include "trace/import/clock_alignment.h"
#include "trace/import/coarse_times.h"
#include "trace/import/importers.h"
#include "trace/import/nsys/nsys_importer.h"
#include "trace/import/other_files.h"
#include "trace/import/packed_source.h"
#include "trace/import/perfetto/perfetto_importer.h"
#include "trace/import/xplane/profile_folder.h"

namespace stepscope::import {
namespace {

namespace fs = std::filesystem;
using base::Expected;
using base::fail;

std::string run_name(std::string const& path) {
  fs::path const clean = fs::path(path).lexically_normal();
  fs::path const name = clean.has_filename() ? clean.filename() : clean.parent_path().filename();
  return name.string();
}

using OpenedFile = Expected<std::vector<TraceSource>>;

uint64_t events_in_memory(std::vector<TraceSource> const& sources) {
  uint64_t events = 0;
  for (TraceSource const& source : sources) {
    if (!source.is_in_memory()) continue;
    for (uint64_t const of_track : source.event_counts()) events += of_track;
  }
  return events;
}

void pack_all(std::vector<TraceSource>& sources) {
  for (TraceSource& source : sources) source = packed(std::move(source));
}

/// What one core alone does of a file is done beside the next.
std::vector<std::optional<OpenedFile>> open_all(std::vector<std::string> const& files, MemoryLimit in_memory) {
  std::vector<std::optional<OpenedFile>> opened(files.size());
  std::atomic<uint64_t> events = 0;
  auto const is_too_much = [&] { return files.size() > in_memory.files && events > in_memory.events; };
  auto const open_one = [&](size_t i) {
    OpenedFile& file = opened[i].emplace(TraceSource::open(files[i]));
    if (file) events += events_in_memory(*file);
    if (file && is_too_much()) pack_all(*file);
  };
  // Isolated: while a thread waits for others at its file it begins no further one, so that no more are unpacked than threads
  // work.
  tbb::parallel_for(size_t{0}, files.size(), [&](size_t i) { tbb::this_task_arena::isolate([&] { open_one(i); }); });
  if (is_too_much())
    for (auto& file : opened)
      if (*file) pack_all(**file);
  return opened;
}

/// Traces that do not say which rank they are take the ranks that are free, in the order of the files, those with devices first.
void number_ranks(RunSources& run) {
  std::set<int32_t> said;
  std::vector<RankSource*> unnumbered;
  for (RankSource& rank : run.ranks) {
    if (rank.source.info().rank >= 0)
      said.insert(rank.source.info().rank);
    else
      unnumbered.push_back(&rank);
  }
  // Helpers of a program are no workers: they take what these leave.
  std::stable_partition(unnumbered.begin(), unnumbered.end(),
                        [](RankSource const* rank) { return !rank->source.devices().empty(); });
  std::vector<int32_t> const numbers = free_ranks(said, unnumbered.size());
  std::vector<NumberedProcess> numbered;
  for (size_t i = 0; i < numbers.size(); ++i) {
    unnumbered[i]->source.assume_rank(numbers[i]);
    numbered.push_back({unnumbered[i]->file, numbers[i]});
  }
  if (run.ranks.size() < 2) return;
  for (std::string& note : notes_of_free_ranks(numbered)) run.notes.push_back(std::move(note));
}

/// A report of one host knows its own processes, another the launcher's environment: the job is as large as any of them says.
void share_world_size(RunSources& run) {
  int32_t largest = 0;
  for (RankSource const& rank : run.ranks) largest = std::max(largest, rank.source.info().world_size);
  for (RankSource& rank : run.ranks)
    if (rank.source.info().world_size < largest) rank.source.assume_world_size(largest);
}

/// Two windows of one rank, most likely: they are no two participants. But a dump of its collectives tells of the same window.
void note_doubled_ranks(RunSources& run) {
  std::map<int32_t, std::vector<std::string>> files_of;
  for (RankSource const& rank : run.ranks) {
    if (rank.file.ends_with(base::kTraceSuffix) || rank.source.devices().empty()) continue;
    if (has_coarse_times(rank.source.info())) continue;
    std::vector<std::string>& files = files_of[rank.source.info().rank];
    if (std::find(files.begin(), files.end(), rank.file) == files.end()) files.push_back(rank.file);
  }
  for (auto const& [rank, files] : files_of) {
    if (files.size() < 2) continue;
    bool const are_two = files.size() == 2;
    std::string const others = are_two ? fmt::format("both say that they are rank {}", rank)
                                       : fmt::format("{} more all say that they are rank {}", files.size() - 2, rank);
    run.notes.push_back(
        fmt::format("{} and {}{}{}: they are taken as {} processes of it, open traces of one time window together", files[0],
                    files[1], are_two ? " " : " and ", others, are_two ? "two" : "several"));
  }
}

/// What was exported for Perfetto into the folder of its own run is no further rank of it.
void drop_exports(std::vector<std::string>& files) {
  bool const has_own =
      std::any_of(files.begin(), files.end(), [](std::string const& file) { return file.ends_with(base::kTraceSuffix); });
  if (has_own) std::erase_if(files, [](std::string const& file) { return is_perfetto_name(file); });
}

}  // namespace

Expected<std::vector<std::string>> files_of(std::string const& path) {
  if (path.empty()) return fail("an empty name stands for no run, name a trace file or a run folder");
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::vector<std::string>{path};
  std::vector<std::string> files;
  std::vector<std::string> others;
  std::string report;  // that was not exported
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (advice_for_report(it->path().string())) report = it->path().string();
    if (!it->is_regular_file(ignored)) continue;
    if (!has_trace_name(it->path().filename().string()) || is_other_file(it->path().string())) {
      others.push_back(it->path().string());
      continue;
    }
    files.push_back(it->path().string());
  }
  if (error) return fail("{}: cannot read the folder ({}), check its permissions", path, error.message());
  if (files.empty() && !report.empty()) return fail("{}: {}", report, *advice_for_report(report));
  if (auto const profile = files.empty() ? newest_profile(path) : std::nullopt) return files_of(*profile);
  drop_copies_for_browsers(files);
  drop_exports(files);
  std::sort(others.begin(), others.end());
  if (auto const advice = files.empty() ? advice_for_folder(others) : std::nullopt)
    return fail("{}: the folder holds no trace. {}", path, *advice);
  if (files.empty()) return fail("{}: the folder holds no trace, name a run folder or record one with stepscope record", path);
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<int32_t> free_ranks(std::set<int32_t> const& said, size_t count) {
  std::vector<int32_t> ranks;
  for (int32_t rank = 0; ranks.size() < count; ++rank)
    if (!said.contains(rank)) ranks.push_back(rank);
  return ranks;
}

std::vector<std::string> notes_of_free_ranks(std::span<NumberedProcess const> processes) {
  struct OfFile {
    size_t processes = 0;
    int32_t lowest = 0, highest = 0;
  };
  std::map<std::string_view, OfFile> of_files;
  std::vector<std::string_view> files;
  for (NumberedProcess const& process : processes) {
    auto const [entry, is_new] = of_files.try_emplace(process.file, OfFile{0, process.rank, process.rank});
    if (is_new) files.push_back(process.file);
    ++entry->second.processes;
    entry->second.lowest = std::min(entry->second.lowest, process.rank);
    entry->second.highest = std::max(entry->second.highest, process.rank);
  }
  std::vector<std::string> notes;
  for (std::string_view const file : files) {
    OfFile const& of = of_files.at(file);
    if (of.processes == 1)
      notes.push_back(fmt::format(
          "{}: does not say which rank it is; taken as rank {} by its place among the files, name them rank-0, rank-1, …", file,
          of.lowest));
    else
      notes.push_back(
          fmt::format("{}: does not say which ranks its {} processes are; taken as free ranks from {} to {} by their order", file,
                      of.processes, of.lowest, of.highest));
  }
  return notes;
}

Expected<RunSources> open_sources(std::span<std::string const> paths, MemoryLimit in_memory) {
  if (paths.empty()) return fail("no run was named, name a trace file or a run folder");
  RunSources run;
  run.name = run_name(paths.front());
  std::vector<std::string> files;
  for (std::string const& path : paths) {
    auto const of_path = files_of(path);
    if (!of_path) return base::fail_with(of_path);
    files.insert(files.end(), of_path->begin(), of_path->end());
  }
  std::vector<std::optional<OpenedFile>> opened = open_all(files, in_memory);
  for (size_t i = 0; i < files.size(); ++i) {
    if (!*opened[i])
      run.notes.push_back(opened[i]->error().message);
    else
      for (TraceSource& source : **opened[i]) run.ranks.push_back({std::move(source), 0, files[i]});
  }
  if (run.ranks.empty()) return fail("{}", run.notes.front());
  number_ranks(run);
  share_world_size(run);
  note_doubled_ranks(run);
  std::stable_sort(run.ranks.begin(), run.ranks.end(), [](RankSource const& a, RankSource const& b) {
    return std::tuple(a.source.info().rank, a.source.info().process_id) <
           std::tuple(b.source.info().rank, b.source.info().process_id);
  });
  align_clocks(run);
  return run;
}

Expected<model::Run> load_run(RunSources sources) {
  model::Run run{std::move(sources.name), {}, std::move(sources.clock), std::move(sources.notes)};
  std::string first_error;
  for (RankSource& rank : sources.ranks) {
    auto trace = std::move(rank.source).load();
    if (trace) {
      run.ranks.push_back({std::move(*trace), rank.offset_ns, rank.file, rank.drift});
      continue;
    }
    if (first_error.empty()) first_error = trace.error().message;
    run.notes.push_back(trace.error().message);
  }
  if (run.ranks.empty()) return fail("{}", first_error);
  return run;
}

Expected<model::Run> open_run(std::span<std::string const> paths) {
  auto sources = open_sources(paths);
  if (!sources) return base::fail_with(sources);
  return load_run(std::move(*sources));
}

Expected<model::Run> open_run(std::string const& path) { return open_run(std::span(&path, 1)); }

}  // namespace stepscope::import
