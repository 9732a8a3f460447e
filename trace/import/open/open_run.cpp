#include "trace/import/open/open_run.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "trace/import/common/coarse_times.h"
#include "trace/import/common/numbers.h"
#include "trace/import/common/rank_from_name.h"
#include "trace/import/formats/importers.h"
#include "trace/import/open/run_files.h"
#include "trace/import/open/separate_captures.h"
#include "trace/import/open/spilled_source.h"

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

/// Where no trace states a rank, takes the ranks from the names of all files together, if they
/// tell.
void take_ranks_of_names(RunSources& run, std::vector<RankSource*>& unnumbered) {
  if (unnumbered.size() < run.ranks.size()) return;
  std::vector<std::string> paths;
  int32_t world_size = 0;
  for (RankSource const* const rank : unnumbered) {
    paths.push_back(rank->file);
    world_size = std::max(world_size, rank->source.info().world_size);
  }

  NamedRanks const named = ranks_of_names(paths, world_size);
  if (named.ranks.empty()) return;
  for (size_t i = 0; i < named.ranks.size(); ++i) unnumbered[i]->source.assume_rank(named.ranks[i]);
  if (!named.is_known)
    for (std::string& note : notes_of_named_ranks(paths, named.ranks))
      run.notes.push_back(std::move(note));
  unnumbered.clear();
}

/// Some formats' readers say so themselves, and by which order.
bool says_that_rank_is_a_guess(model::ImportLog const& log) {
  return std::any_of(log.notes.begin(), log.notes.end(), [](std::string const& note) {
    return note.find(kRankIsAGuess) != std::string::npos;
  });
}

/// Gives ranks to traces that do not state theirs: by their names, else the free ranks in the order
/// of the files. Traces with devices come first.
void number_ranks(RunSources& run) {
  std::vector<RankSource*> unnumbered;
  for (RankSource& rank : run.ranks)
    if (rank.source.info().rank < 0 || rank.source.is_rank_by_name()) unnumbered.push_back(&rank);
  take_ranks_of_names(run, unnumbered);
  std::erase_if(unnumbered, [](RankSource const* rank) { return rank->source.info().rank >= 0; });

  std::set<int32_t> stated;
  for (RankSource const& rank : run.ranks)
    if (rank.source.info().rank >= 0) stated.insert(rank.source.info().rank);

  // Helper processes are no workers: they take the ranks that workers leave.
  std::stable_partition(unnumbered.begin(), unnumbered.end(),
                        [](RankSource const* rank) { return !rank->source.devices().empty(); });
  LaterWindows const windows(unnumbered);
  std::vector<int32_t> const numbers = free_ranks(stated, unnumbered.size());
  std::vector<NumberedProcess> numbered;
  for (size_t i = 0; i < numbers.size(); ++i) {
    unnumbered[i]->source.assume_rank(numbers[i]);
    if (!says_that_rank_is_a_guess(unnumbered[i]->source.log()))
      numbered.push_back({unnumbered[i]->file, numbers[i]});
    for (RankSource* const window : windows.of(unnumbered[i]))
      window->source.assume_rank(numbers[i]);
  }

  if (run.ranks.size() < 2) return;
  for (std::string& note : notes_of_free_ranks(numbered)) run.notes.push_back(std::move(note));
}

/// Takes the largest world size that any trace states. The report of one host may know its own
/// processes only, that of another the launcher's environment.
void share_world_size(RunSources& run) {
  int32_t largest = 0;
  for (RankSource const& rank : run.ranks)
    largest = std::max(largest, rank.source.info().world_size);
  for (RankSource& rank : run.ranks)
    if (rank.source.info().world_size < largest) rank.source.assume_world_size(largest);
}

/// Adds notes about two recordings of one rank, which would count as two participants. A dump of
/// its collectives is no second recording: it covers the same window.
void note_doubled_ranks(RunSources& run) {
  std::map<int32_t, std::vector<std::string>> files_of;
  std::map<int32_t, std::vector<RankSource const*>> sources_of;
  for (RankSource const& rank : run.ranks) {
    if (is_self_describing(rank.file) || rank.source.devices().empty()) continue;
    if (has_coarse_times(rank.source.info())) continue;
    std::vector<std::string>& files = files_of[rank.source.info().rank];
    if (std::find(files.begin(), files.end(), rank.file) == files.end()) files.push_back(rank.file);
    sources_of[rank.source.info().rank].push_back(&rank);
  }

  size_t windows = 0, ranks_with_windows = 0;
  for (auto const& [rank, files] : files_of) {
    if (files.size() < 2) continue;
    if (follow_each_other(sources_of[rank])) {
      windows = std::max(windows, files.size());
      ++ranks_with_windows;
      continue;
    }

    bool const are_two = files.size() == 2;
    std::string const others =
        are_two ? fmt::format("both say that they are rank {}", rank)
                : fmt::format("{} more all say that they are rank {}", files.size() - 2, rank);
    run.notes.push_back(fmt::format(
        "{} and {}{}{}: they are taken as {} processes of it, open traces of one time window "
        "together",
        files[0], files[1], are_two ? " " : " and ", others, are_two ? "two" : "several"));
  }

  if (ranks_with_windows > 0)
    run.notes.push_back(fmt::format(
        "{} recorded in up to {} windows, one after the other: each window is analyzed as a "
        "process of its rank",
        ranks_with_windows == 1 ? "one rank was" : fmt::format("{} ranks were", ranks_with_windows),
        windows));
}

}  // namespace

std::vector<std::string> notes_of_named_ranks(std::span<std::string const> files,
                                              std::span<int32_t const> ranks) {
  std::vector<std::string> notes;
  for (size_t i = 0; i < files.size(); ++i)
    notes.push_back(
        fmt::format("{}: does not say which rank it is; taken as rank {} by the number in its "
                    "name, name them rank-0, rank-1, …",
                    files[i], ranks[i]));
  return notes;
}

std::vector<int32_t> free_ranks(std::set<int32_t> const& stated, size_t count) {
  std::vector<int32_t> ranks;
  for (int32_t rank = 0; ranks.size() < count; ++rank)
    if (!stated.contains(rank)) ranks.push_back(rank);
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
    auto const [entry, is_new] =
        of_files.try_emplace(process.file, OfFile{0, process.rank, process.rank});

    if (is_new) files.push_back(process.file);
    ++entry->second.processes;
    entry->second.lowest = std::min(entry->second.lowest, process.rank);
    entry->second.highest = std::max(entry->second.highest, process.rank);
  }

  std::vector<std::string> notes;
  for (std::string_view const file : files) {
    OfFile const& of = of_files.at(file);
    if (of.processes == 1)
      notes.push_back(
          fmt::format("{}: does not say which rank it is; taken as rank {} by its place among the "
                      "files, name them rank-0, rank-1, …",
                      file, of.lowest));
    else
      notes.push_back(
          fmt::format("{}: does not say which ranks its {} processes are; taken as free ranks from "
                      "{} to {} by their order",
                      file, of.processes, of.lowest, of.highest));
  }
  return notes;
}

std::vector<OpenedFile> open_files(std::vector<std::string> const& files, MemoryLimit in_memory) {
  std::vector<std::optional<OpenedFile>> opened(files.size());
  std::atomic<uint64_t> events = 0;
  auto const is_too_much = [&] {
    return files.size() > in_memory.files && events > in_memory.events;
  };
  auto const open_one = [&](size_t i) {
    OpenedFile& file = opened[i].emplace(TraceSource::open(files[i]));
    if (file) events += events_in_memory(*file);
    if (file && is_too_much()) pack_all(*file);
  };

  // Isolated: a thread that waits for others at its file must not begin another file. Otherwise
  // more files than threads would be unpacked at a time.
  tbb::parallel_for(size_t{0}, files.size(),
                    [&](size_t i) { tbb::this_task_arena::isolate([&] { open_one(i); }); });
  if (is_too_much())
    for (auto& file : opened)
      if (*file) pack_all(**file);

  std::vector<OpenedFile> result;
  for (auto& file : opened) result.push_back(std::move(*file));
  return result;
}

Expected<RunSources> open_sources(std::span<std::string const> paths, MemoryLimit in_memory,
                                  bool paths_are_one_run, FileAccess const& access) {
  if (paths.empty()) return fail("no run was named, name a trace file or a run folder");
  RunSources run;
  run.name = run_name(paths.front());

  std::vector<std::string> files;
  for (std::string const& path : paths) {
    auto const of_path = access.find ? access.find(path) : find_run_files(path);
    if (!of_path) return base::fail_with(of_path);
    files.insert(files.end(), of_path->files.begin(), of_path->files.end());
    run.notes.insert(run.notes.end(), of_path->notes.begin(), of_path->notes.end());
  }

  size_t const notes_of_folders = run.notes.size();
  std::vector<OpenedFile> opened = access.open ? access.open(files) : open_files(files, in_memory);
  for (size_t i = 0; i < files.size(); ++i) {
    if (!opened[i])
      run.notes.push_back(opened[i].error().message);
    else
      for (TraceSource& source : *opened[i]) run.ranks.push_back({std::move(source), 0, files[i]});
  }
  if (run.ranks.empty()) return fail("{}", run.notes[notes_of_folders]);

  if (!paths_are_one_run) {
    if (auto const separated = separate_captures(run, paths.size() > 1); !separated)
      return base::fail_with(separated);
  }

  number_ranks(run);
  share_world_size(run);
  note_doubled_ranks(run);
  std::stable_sort(run.ranks.begin(), run.ranks.end(),
                   [](RankSource const& a, RankSource const& b) {
                     return std::tuple(a.source.info().rank, a.source.info().process_id) <
                            std::tuple(b.source.info().rank, b.source.info().process_id);
                   });

  align_clocks(run, access.for_each_rank);
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

Expected<model::Run> open_run(std::span<std::string const> paths, bool paths_are_one_run) {
  auto sources = open_sources(paths, {}, paths_are_one_run);
  if (!sources) return base::fail_with(sources);
  return load_run(std::move(*sources));
}

Expected<model::Run> open_run(std::string const& path) { return open_run(std::span(&path, 1)); }

}  // namespace stepscope::import
