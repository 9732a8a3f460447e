// stepscope import FILE… -o RUN: traces of other tools as a run folder, which opens at once and in part.
#include <array>
#include <cstdio>
#include <memory>
#include <utility>

#include "cli/commands.h"
#include "cli/partial_run.h"
#include "trace/base/format.h"
#include "trace/import/open_run.h"

namespace stepscope::cli {
namespace {

using base::Expected;
using base::fail;
using base::printable;

struct ImportOptions {
  std::vector<std::string> files;
  std::string output;
  bool force = false;
};

/// What was wrong with the data, a line each.
std::vector<std::string> losses_of(model::ImportLog const& log) {
  struct LossLine {
    uint64_t count;
    char const* what;
  };
  std::array const losses = {LossLine{log.dropped, "events lost while recording, or not readable"},
                             LossLine{log.lost_blocks, "damaged blocks left out"},
                             LossLine{log.unknown_events, "events of kinds that are not known, left out"},
                             LossLine{log.negative_durations, "durations below zero, made zero"},
                             LossLine{log.impossible_times, "impossible times, moved"},
                             LossLine{log.unmatched_launches, "launches whose device op is not there"},
                             LossLine{log.doubled_launches, "launches with the id of an earlier one"},
                             LossLine{log.unmatched_ops, "device ops whose launch is not there"},
                             LossLine{log.negative_latencies, "device ops that begin before their launch"},
                             LossLine{log.overlapping_slices, "device ops that overlap another on their stream"}};
  std::vector<std::string> lines;
  if (log.truncated) lines.emplace_back("the file is cut: what came before was kept");
  for (LossLine const& loss : losses)
    if (loss.count > 0) lines.push_back(fmt::format("{} {}", base::format_count(loss.count), loss.what));
  lines.insert(lines.end(), log.notes.begin(), log.notes.end());
  return lines;
}

/// Its processes are written and dropped before the next file is opened.
Expected<void> import_file(std::string const& file, PartialRun& run) {
  auto sources = import::TraceSource::open(file);
  if (!sources) return base::fail_with(sources);
  for (import::TraceSource& source : *sources) {
    bool const is_rank_by_name = source.is_rank_by_name();
    auto trace = std::move(source).load();
    if (!trace) return base::fail_with(trace);
    std::vector<std::string> const losses = losses_of(trace->log());
    int32_t const rank = trace->info().rank;
    std::string const events = base::format_count(trace->event_count(), "event");
    if (auto const added = run.add(std::move(*trace), file, is_rank_by_name); !added) return added;
    std::fprintf(stderr, "stepscope: %s: %s%s\n", printable(file).c_str(), events.c_str(),
                 rank < 0 ? "" : fmt::format(" of rank {}", rank).c_str());
    for (std::string const& loss : losses)
      std::fprintf(stderr, "stepscope: %s:   %s\n", printable(file).c_str(), printable(loss).c_str());
  }
  return {};
}

/// The files of all that was named; a folder's are those that may be traces.
Expected<std::vector<std::string>> files_to_import(std::vector<std::string> const& paths) {
  std::vector<std::string> files;
  for (std::string const& path : paths) {
    auto const of_path = import::files_of(path);
    if (!of_path) return base::fail_with(of_path);
    files.insert(files.end(), of_path->begin(), of_path->end());
  }
  return files;
}

int import_run(ImportOptions const& options) {
  auto const files = files_to_import(options.files);
  if (!files) return report_error(files.error());
  std::vector<std::string> sources = options.files;
  sources.insert(sources.end(), files->begin(), files->end());
  if (is_source(options.output, sources))
    return report_error({fmt::format("{}: is where the traces themselves lie, choose another folder with -o", options.output)});
  PartialRun run(options.output, options.force);
  size_t unreadable = 0;
  for (std::string const& file : *files) {
    auto const imported = import_file(file, run);
    if (imported) continue;
    report_error(imported.error());
    if (run.has_failed()) return kWrongUse;
    ++unreadable;
  }
  if (run.events() == 0) {
    return unreadable > 0 ? kWrongUse
                          : report_error({fmt::format("{}: holds no events, nothing was imported", options.files[0])});
  }
  auto const guessed = run.number_ranks();
  if (!guessed) return report_error(guessed.error());
  if (auto const finished = run.finish(); !finished) return report_error(finished.error());
  for (std::string const& note : *guessed) std::fprintf(stderr, "stepscope: %s\n", printable(note).c_str());
  std::fprintf(stderr, "stepscope: imported %s of %s, in %s\n", base::format_count(run.events(), "event").c_str(),
               base::format_count(run.ranks(), "rank").c_str(), printable(options.output).c_str());
  if (unreadable == 0) return kGood;
  return report_error({fmt::format("{} of {} could not be read and are missing in {}", base::format_count(unreadable),
                                   base::format_count(files->size(), "file"), options.output)});
}

}  // namespace

Action add_import(CLI::App& app) {
  auto const options = std::make_shared<ImportOptions>();
  app.footer(
      "Every trace becomes RUN/rank-N.stepscope: smaller, opened at once, read in part. What of it was lost or repaired is said. "
      "Files "
      "are read one after the other; one that cannot be read is left out, and the exit status is then 2.");
  app.add_option("FILE", options->files, "traces of PyTorch's profiler or other tools, or folders of them")->required();
  app.add_option("-o,--output", options->output, "the run folder to write")->required();
  app.add_flag("--force", options->force, "overwrite a run that is there");
  return [options] { return import_run(*options); };
}

}  // namespace stepscope::cli
