#include "trace/import/open_run.h"

#include <algorithm>
#include <filesystem>
#include <tuple>
#include <vector>

#include "trace/base/mapped_file.h"
#include "trace/base/run_folder.h"
#include "trace/import/importers.h"

namespace stepscope::import {
namespace {

namespace fs = std::filesystem;
using base::Expected;
using base::fail;

/// Whether the trace says when it began, and says something possible.
bool has_origin(model::TraceInfo const& info) { return info.origin_epoch_ns > 0 && info.origin_epoch_ns < 2 * model::kMaxTime; }

/// Puts every rank on one time axis by the epoch time of its origin.
void align_clocks(RunSources& run) {
  if (run.ranks.size() < 2) return;
  int64_t earliest = INT64_MAX;
  for (RankSource const& rank : run.ranks)
    if (has_origin(rank.source.info())) earliest = std::min(earliest, rank.source.info().origin_epoch_ns);
  run.clock.method = "epoch";
  for (RankSource& rank : run.ranks) {
    int64_t const origin = rank.source.info().origin_epoch_ns;
    if (has_origin(rank.source.info())) {
      rank.offset_ns = origin - earliest;
    } else {
      run.notes.push_back(
          fmt::format("{}: does not say when it began; its times cannot be compared with other processes'", rank.file));
    }
  }
}

std::string run_name(std::string const& path) {
  fs::path const clean = fs::path(path).lexically_normal();
  fs::path const name = clean.has_filename() ? clean.filename() : clean.parent_path().filename();
  return name.string();
}

/// A file that is no trace, though its name could be one's: folders hold much JSON. Empty and unreadable ones are told later.
bool is_other_file(fs::path const& path) {
  if (path.extension() == base::kTraceSuffix) return false;
  auto const mapped = base::MappedFile::open(path.string());
  return mapped && !mapped->bytes().empty() && find_importer(Input(mapped->bytes(), path.string())) == nullptr;
}

}  // namespace

Expected<std::vector<std::string>> files_of(std::string const& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::vector<std::string>{path};
  std::vector<std::string> files;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (!it->is_regular_file(ignored) || !has_trace_name(it->path().filename().string())) continue;
    if (is_other_file(it->path())) continue;
    files.push_back(it->path().string());
  }
  if (error) return fail("{}: cannot read the folder ({}), check its permissions", path, error.message());
  if (files.empty()) return fail("{}: the folder holds no trace, name a run folder or record one with stepscope record", path);
  std::sort(files.begin(), files.end());
  return files;
}

Expected<RunSources> open_sources(std::span<std::string const> paths) {
  if (paths.empty()) return fail("no run was named, name a trace file or a run folder");
  RunSources run;
  run.name = run_name(paths.front());
  for (std::string const& path : paths) {
    auto const files = files_of(path);
    if (!files) return base::fail_with(files);
    for (std::string const& file : *files) {
      auto sources = TraceSource::open(file);
      if (!sources)
        run.notes.push_back(sources.error().message);
      else
        for (TraceSource& source : *sources) run.ranks.push_back({std::move(source), 0, file});
    }
  }
  if (run.ranks.empty()) return fail("{}", run.notes.front());
  std::stable_sort(run.ranks.begin(), run.ranks.end(), [](RankSource const& a, RankSource const& b) {
    return std::tuple(a.source.info().rank, a.source.info().process_id) <
           std::tuple(b.source.info().rank, b.source.info().process_id);
  });
  align_clocks(run);
  return run;
}

Expected<model::Run> open_run(std::span<std::string const> paths) {
  auto sources = open_sources(paths);
  if (!sources) return base::fail_with(sources);
  model::Run run{std::move(sources->name), {}, std::move(sources->clock), std::move(sources->notes)};
  std::string first_error;
  for (RankSource& rank : sources->ranks) {
    auto trace = std::move(rank.source).load();
    if (trace) {
      run.ranks.push_back({std::move(*trace), rank.offset_ns, rank.file});
      continue;
    }
    if (first_error.empty()) first_error = trace.error().message;
    run.notes.push_back(trace.error().message);
  }
  if (run.ranks.empty()) return fail("{}", first_error);
  return run;
}

Expected<model::Run> open_run(std::string const& path) { return open_run(std::span(&path, 1)); }

}  // namespace stepscope::import
