#include "trace/import/open_run.h"

#include <algorithm>
#include <filesystem>
#include <tuple>
#include <vector>

#include "trace/base/mapped_file.h"
#include "trace/import/importers.h"

namespace stepscope::import {
namespace {

namespace fs = std::filesystem;
using base::Expected;
using base::fail;

Expected<model::Trace> read_any(std::string const& path) {
  auto const mapped = base::MappedFile::open(path);
  if (!mapped) return base::fail_with(mapped);
  if (mapped->bytes().empty()) return fail("{}: is empty, record the run again", path);
  for (Importer const& importer : importers())
    if (importer.sniff(mapped->bytes())) return importer.read(mapped->bytes(), path);
  return fail("{}: is of no known trace format ({}), name a trace", path, importer_names());
}

/// Whether the trace says when it began, and says something possible.
bool has_origin(model::TraceInfo const& info) { return info.origin_epoch_ns > 0 && info.origin_epoch_ns < 2 * model::kMaxTime; }

/// Puts every rank on one time axis by the epoch time of its origin.
void align_clocks(model::Run& run) {
  if (run.ranks.size() < 2) return;
  int64_t earliest = INT64_MAX;
  for (model::RankTrace const& rank : run.ranks)
    if (has_origin(rank.trace.info())) earliest = std::min(earliest, rank.trace.info().origin_epoch_ns);
  run.clock.method = "epoch";
  for (model::RankTrace& rank : run.ranks) {
    int64_t const origin = rank.trace.info().origin_epoch_ns;
    if (has_origin(rank.trace.info())) {
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

}  // namespace

Expected<std::vector<std::string>> files_of(std::string const& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::vector<std::string>{path};
  std::vector<std::string> files;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (it->is_regular_file(ignored) && has_trace_name(it->path().filename().string())) files.push_back(it->path().string());
  }
  if (error) return fail("{}: cannot read the folder ({}), check its permissions", path, error.message());
  if (files.empty()) return fail("{}: the folder holds no trace, name a run folder or record one with stepscope record", path);
  std::sort(files.begin(), files.end());
  return files;
}

Expected<model::Run> open_run(std::span<std::string const> paths) {
  if (paths.empty()) return fail("no run was named, name a trace file or a run folder");
  model::Run run;
  run.name = run_name(paths.front());
  std::string first_error;
  for (std::string const& path : paths) {
    auto const files = files_of(path);
    if (!files) return base::fail_with(files);
    for (std::string const& file : *files) {
      auto trace = read_any(file);
      if (trace) {
        run.ranks.push_back({std::move(*trace), 0, file});
        continue;
      }
      if (first_error.empty()) first_error = trace.error().message;
      run.notes.push_back(trace.error().message);
    }
  }
  if (run.ranks.empty()) return fail("{}", first_error);
  std::stable_sort(run.ranks.begin(), run.ranks.end(), [](model::RankTrace const& a, model::RankTrace const& b) {
    return std::tuple(a.trace.info().rank, a.trace.info().process_id) <
           std::tuple(b.trace.info().rank, b.trace.info().process_id);
  });
  align_clocks(run);
  return run;
}

Expected<model::Run> open_run(std::string const& path) { return open_run(std::span(&path, 1)); }

}  // namespace stepscope::import
