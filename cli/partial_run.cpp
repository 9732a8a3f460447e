#include "cli/partial_run.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "trace/base/run_folder.h"
#include "trace/file/reader.h"
#include "trace/file/writer.h"
#include "trace/import/open_run.h"

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

Expected<void> PartialRun::add(model::Trace trace, std::string source) {
  events_ += trace.event_count();
  waiting_.push_back({std::move(trace), std::move(source)});
  if (events_ == 0) return {};  // a process that did nothing then is a part of the run, but no reason to make one
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
    if (auto const written = write_process(std::move(next)); !written) return tl::unexpected(output_->in_place(written.error()));
  return {};
}

std::string PartialRun::path_of(std::string const& name) const {
  return fmt::format("{}/{}{}", staging_, name, base::kTraceSuffix);
}

Expected<void> PartialRun::write_process(Process process) {
  int32_t const rank = process.trace.info().rank;
  if (rank < 0) {
    // Which ranks are free is known when all are there; as long as none is said later it is these.
    int32_t const guess = import::free_ranks(said_, unnumbered_.size() + 1).back();
    process.trace.assume_rank(guess);
    unnumbered_.push_back({fmt::format("unnumbered-{}", unnumbered_.size() + 1), std::move(process.source), guess,
                           !process.trace.devices().empty()});
    names_.insert(unnumbered_.back().name);
    return file::write_trace(process.trace, path_of(unnumbered_.back().name));
  }
  said_.insert(rank);
  std::string name = fmt::format("rank-{}", rank);
  for (int copy = 2; names_.contains(name); ++copy) name = fmt::format("rank-{}-{}", rank, copy);
  names_.insert(name);
  return file::write_trace(process.trace, path_of(name));
}

Expected<std::vector<std::string>> PartialRun::number_ranks() {
  // As opening the files does it.
  std::stable_partition(unnumbered_.begin(), unnumbered_.end(), [](Unnumbered const& part) { return part.has_devices; });
  std::vector<int32_t> const ranks = import::free_ranks(said_, unnumbered_.size());
  std::vector<import::NumberedProcess> numbered;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (auto const set = set_rank(unnumbered_[i], ranks[i]); !set) return tl::unexpected(output_->in_place(set.error()));
    numbered.push_back({unnumbered_[i].source, ranks[i]});
  }
  unnumbered_.clear();
  return names_.size() > 1 ? import::notes_of_free_ranks(numbered) : std::vector<std::string>();
}

Expected<void> PartialRun::finish() { return output_ ? output_->publish(base::old_run_files(folder_)) : Expected<void>(); }

/// Only where a trace behind it says the rank that was guessed it is written again.
Expected<void> PartialRun::set_rank(Unnumbered const& part, int32_t rank) {
  std::string const name = fmt::format("rank-{}", rank), from = path_of(part.name), to = path_of(name);
  names_.insert(name);
  std::error_code error;
  if (part.guess == rank) {
    fs::rename(from, to, error);
    if (error) return base::fail("{}: cannot be renamed to {} ({}), check the disk", from, name, error.message());
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
