#include "cli/partial_run.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "trace/base/files/run_folder.h"
#include "trace/file/reader.h"
#include "trace/file/writer.h"
#include "trace/import/common/numbers.h"
#include "trace/import/open/open_run.h"

namespace stepscope::cli {
namespace {

namespace fs = std::filesystem;
using base::Expected;

}  // namespace

bool is_source(std::string const& output, std::vector<std::string> const& runs) {
  std::error_code error;
  fs::path const target = fs::weakly_canonical(output, error);
  for (std::string const& run : runs) {
    fs::path const source = fs::weakly_canonical(run, error);
    if (source == target || source.parent_path() == target) return true;
  }
  return false;
}

Expected<void> PartialRun::add(model::Trace trace, std::string source, bool is_rank_by_name) {
  events_ += trace.event_count();
  waiting_.push_back({std::move(trace), std::move(source), is_rank_by_name});
  if (events_ == 0)
    return {};  // a process that did nothing then is a part of the run, but no reason to make one
  auto written = write_waiting();
  has_failed_ = !written;
  return written;
}

Expected<void> PartialRun::write_waiting() {
  if (!output_) {
    auto taken = base::take_run_folder(folder_, force_);
    if (!taken) return base::fail_with(taken);
    output_.emplace(std::move(*taken));
    auto staging = output_->staging();
    if (!staging) return base::fail_with(staging);
    staging_ = std::move(*staging);
  }

  for (Process& next : std::exchange(waiting_, {}))
    if (auto const written = write_process(std::move(next)); !written)
      return tl::unexpected(output_->in_place(written.error()));
  return {};
}

std::string PartialRun::path_of(std::string const& name) const {
  return fmt::format("{}/{}{}", staging_, name, base::kTraceSuffix);
}

std::string PartialRun::free_name(int32_t rank) const {
  std::string name = fmt::format("rank-{}", rank);
  for (int copy = 2; names_.contains(name); ++copy) name = fmt::format("rank-{}-{}", rank, copy);
  return name;
}

Expected<void> PartialRun::write_process(Process process) {
  model::TraceInfo const& info = process.trace.info();
  int32_t const rank = process.is_rank_by_name ? -1 : info.rank;
  uint64_t const events = process.trace.event_count();

  if (rank < 0) {
    // Free ranks are known once all processes are there. Until a later process names one, it is
    // these.
    int32_t const guess = info.rank >= 0
                              ? info.rank
                              : import::free_ranks(known_ranks_, unnumbered_.size() + 1).back();
    process.trace.assume_rank(guess);
    unnumbered_.push_back({fmt::format("unnumbered-{}", unnumbered_.size() + 1),
                           std::move(process.source), guess, !process.trace.devices().empty(),
                           process.is_rank_by_name, info.world_size});
    names_.insert(unnumbered_.back().name);
    written_.push_back({unnumbered_.back().name, rank, events});
    return file::write_trace(process.trace, path_of(unnumbered_.back().name));
  }

  known_ranks_.insert(rank);
  std::string const name = free_name(rank);
  names_.insert(name);
  written_.push_back({name, rank, events});
  return file::write_trace(process.trace, path_of(name));
}

Expected<void> PartialRun::rename(std::string const& from, std::string const& to) const {
  std::error_code error;
  fs::rename(path_of(from), path_of(to), error);
  if (error)
    return base::fail("{}: cannot be renamed to {} ({}), check the disk", path_of(from), to,
                      error.message());
  return {};
}

Expected<void> PartialRun::drop(std::set<size_t> const& places) {
  for (size_t const place : places) {
    Written const& process = written_.at(place);
    std::error_code error;
    if (!fs::remove(path_of(process.name), error))
      return base::fail("{}: cannot be removed, check the disk", process.name);
    names_.erase(process.name);
    events_ -= process.events;
    std::erase_if(unnumbered_, [&](Unnumbered const& part) { return part.name == process.name; });
  }

  // What stays has the names that it would have had alone.
  std::vector<Written> kept;
  known_ranks_.clear();
  for (size_t place = 0; place < written_.size(); ++place) {
    if (places.contains(place)) continue;
    Written process = std::move(written_[place]);
    if (process.rank >= 0) {
      known_ranks_.insert(process.rank);
      names_.erase(process.name);
      std::string const name = free_name(process.rank);
      if (name != process.name)
        if (auto const renamed = rename(process.name, name); !renamed)
          return tl::unexpected(output_->in_place(renamed.error()));
      names_.insert(name);
      process.name = name;
    }
    kept.push_back(std::move(process));
  }

  written_ = std::move(kept);
  return {};
}

/// Sets the ranks that the names of all files tell together, else those of single names; −1 where
/// none does. The notes of what is a guess.
std::vector<std::string> PartialRun::take_ranks_of_names(std::vector<int32_t>& ranks) {
  std::vector<std::string> paths;
  int32_t world_size = 0;
  for (Unnumbered const& part : unnumbered_) {
    paths.push_back(part.source);
    ranks.push_back(part.is_by_name ? part.guess : -1);
    world_size = std::max(world_size, part.world_size);
  }

  if (!known_ranks_.empty()) return {};
  import::NamedRanks named = import::ranks_of_names(paths, world_size);
  if (named.ranks.empty()) return {};

  ranks = std::move(named.ranks);
  if (named.is_known) return {};
  return import::notes_of_named_ranks(paths, ranks);
}

Expected<std::vector<std::string>> PartialRun::number_ranks() {
  // As opening the files does it.
  std::stable_partition(unnumbered_.begin(), unnumbered_.end(),
                        [](Unnumbered const& part) { return part.has_devices; });
  std::vector<int32_t> ranks;
  std::vector<std::string> notes = take_ranks_of_names(ranks);
  std::set<int32_t> known = known_ranks_;
  for (int32_t const rank : ranks)
    if (rank >= 0) known.insert(rank);
  auto const unnamed = static_cast<size_t>(std::count(ranks.begin(), ranks.end(), -1));
  std::vector<int32_t> const free = import::free_ranks(known, unnamed);

  std::vector<import::NumberedProcess> numbered;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] < 0) {
      ranks[i] = free[numbered.size()];
      numbered.push_back({unnumbered_[i].source, ranks[i]});
    }
    if (auto const set = set_rank(unnumbered_[i], ranks[i]); !set)
      return tl::unexpected(output_->in_place(set.error()));
  }
  unnumbered_.clear();
  if (names_.size() > 1)
    for (std::string& note : import::notes_of_free_ranks(numbered))
      notes.push_back(std::move(note));
  return notes;
}

Expected<void> PartialRun::finish() {
  return output_ ? output_->publish(base::old_run_files(folder_)) : Expected<void>();
}

/// Only where a trace behind it says the rank that was guessed it is written again.
Expected<void> PartialRun::set_rank(Unnumbered const& part, int32_t rank) {
  std::string const name = free_name(rank), from = path_of(part.name), to = path_of(name);
  names_.insert(name);
  std::error_code error;
  if (part.guess == rank) {
    if (auto const renamed = rename(part.name, name); !renamed) return renamed;
  } else {
    auto trace = file::read_trace_file(from);
    if (!trace) return base::fail_with(trace);
    trace->assume_rank(rank);
    if (auto written = file::write_trace(*trace, to); !written) return written;
    fs::remove(from, error);
  }

  names_.erase(part.name);
  return {};
}

}  // namespace stepscope::cli
