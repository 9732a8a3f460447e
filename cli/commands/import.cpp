// stepscope import FILE… -o RUN: traces of other tools as a run folder, which opens at once and in
// part.
#include <array>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "cli/commands.h"
#include "cli/partial_run.h"
#include "trace/base/format.h"
#include "trace/import/open/open_run.h"
#include "trace/import/open/run_files.h"
#include "trace/import/open/separate_captures.h"
#include "trace/model/build/trace_builder.h"

namespace stepscope::cli {
namespace {

using base::Expected;
using base::fail;
using base::printable;
using import::RankSource;

struct ImportOptions {
  std::vector<std::string> files;
  std::string output;
  bool force = false, one_run = false;
};

/// Keeps of a process what identifies its capture: its description, and one event as long as all of
/// its events. Stores `place`, the index among the processes, as the command.
RankSource rank_source_of(model::Trace const& trace, std::string const& file, size_t place) {
  model::TraceBuilder builder;
  builder.info() = trace.info();
  builder.info().command = std::to_string(place);
  if (!trace.devices().empty()) builder.add_device(trace.devices().front());

  auto const [first, last] = trace.time_range();
  if (trace.event_count() > 0) {
    model::TrackId const thread =
        builder.add_track({model::TrackKind::kThread, "", 1, -1, model::StreamKind::kCompute, 0});
    builder.events(thread).add(model::EventKind::kRange, first, last - first, builder.intern(""));
  }

  return {import::TraceSource(std::move(builder).finish()), 0, file};
}

/// What was wrong with the data, a line each.
std::vector<std::string> losses_of(model::ImportLog const& log) {
  struct LossLine {
    uint64_t count;
    char const* what;
  };
  std::array const losses = {
      LossLine{log.dropped, "events lost while recording, or unreadable"},
      LossLine{log.lost_blocks, "damaged blocks skipped"},
      LossLine{log.unknown_events, "events of unknown kinds skipped"},
      LossLine{log.negative_durations, "negative durations, set to 0"},
      LossLine{log.impossible_times, "impossible times, adjusted"},
      LossLine{log.unmatched_launches, "launches without their device op"},
      LossLine{log.doubled_launches, "launches with the id of an earlier one"},
      LossLine{log.unmatched_ops, "device ops without their launch"},
      LossLine{log.negative_latencies, "device ops that begin before their launch"},
      LossLine{log.overlapping_slices, "device ops that overlap another on their stream"}};

  std::vector<std::string> lines;
  if (log.truncated)
    lines.emplace_back("the file is truncated: everything before that point was kept");
  for (LossLine const& loss : losses)
    if (loss.count > 0)
      lines.push_back(fmt::format("{} {}", base::format_count(loss.count), loss.what));

  lines.insert(lines.end(), log.notes.begin(), log.notes.end());
  return lines;
}

/// Its processes are written and dropped before the next file is opened.
Expected<void> import_file(std::string const& file, PartialRun& run,
                           std::vector<RankSource>& rank_sources) {
  auto sources = import::TraceSource::open(file);
  if (!sources) return base::fail_with(sources);

  for (import::TraceSource& source : *sources) {
    bool const is_rank_by_name = source.is_rank_by_name();
    auto trace = std::move(source).load();
    if (!trace) return base::fail_with(trace);

    std::vector<std::string> const losses = losses_of(trace->log());
    int32_t const rank = trace->info().rank;
    std::string const events = base::format_count(trace->event_count(), "event");
    rank_sources.push_back(rank_source_of(*trace, file, rank_sources.size()));

    if (auto const added = run.add(std::move(*trace), file, is_rank_by_name); !added) return added;
    tell(fmt::format("{}: {}{}", printable(file), events,
                     rank < 0 ? "" : fmt::format(" of rank {}", rank)));
    for (std::string const& loss : losses)
      tell(fmt::format("{}:   {}", printable(file), printable(loss)));
  }
  return {};
}

/// The files of all that was named; a folder's are those that may be traces.
Expected<import::RunFiles> files_to_import(std::vector<std::string> const& paths) {
  import::RunFiles all;
  for (std::string const& path : paths) {
    auto const of_path = import::find_run_files(path);
    if (!of_path) return base::fail_with(of_path);
    all.files.insert(all.files.end(), of_path->files.begin(), of_path->files.end());
    all.notes.insert(all.notes.end(), of_path->notes.begin(), of_path->notes.end());
  }
  return all;
}

/// Keeps the newest of captures from different times, as opening the files does. Returns notes for
/// the user. Errors: several paths have different times.
Expected<std::vector<std::string>> keep_newest_capture(std::vector<RankSource> rank_sources,
                                                       bool are_several_paths, PartialRun& run) {
  std::set<size_t> left_out;
  for (size_t place = 0; place < rank_sources.size(); ++place) left_out.insert(place);

  import::RunSources sources;
  sources.ranks = std::move(rank_sources);
  if (auto const separated = import::separate_captures(sources, are_several_paths); !separated)
    return base::fail_with(separated);

  for (RankSource const& kept : sources.ranks)
    left_out.erase(std::stoul(kept.source.info().command));
  if (auto const dropped = run.drop(left_out); !dropped) return base::fail_with(dropped);
  return sources.notes;
}

void print_notes(std::vector<std::string> const& notes) {
  for (std::string const& note : notes) tell(printable(note));
}

int import_run(ImportOptions const& options) {
  auto const found = files_to_import(options.files);
  if (!found) return report_error(found.error());
  print_notes(found->notes);

  std::vector<std::string> const& files = found->files;
  std::vector<std::string> sources = options.files;
  sources.insert(sources.end(), files.begin(), files.end());
  if (is_source(options.output, sources))
    return report_error({fmt::format(
        "{}: is the folder of the traces, choose another folder with -o", options.output)});

  PartialRun run(options.output, options.force);

  size_t unreadable = 0;
  std::vector<RankSource> rank_sources;
  for (std::string const& file : files) {
    auto const imported = import_file(file, run, rank_sources);
    if (imported) continue;
    report_error(imported.error());
    if (run.has_failed()) return kWrongUse;
    ++unreadable;
  }

  if (run.events() == 0) {
    return unreadable > 0 ? kWrongUse
                          : report_error({fmt::format("{}: has no events, nothing was imported",
                                                      options.files[0])});
  }

  if (!options.one_run) {
    auto const separated =
        keep_newest_capture(std::move(rank_sources), options.files.size() > 1, run);
    if (!separated) return report_error(separated.error());
    print_notes(*separated);
  }

  auto const guessed = run.number_ranks();
  if (!guessed) return report_error(guessed.error());
  if (auto const finished = run.finish(); !finished) return report_error(finished.error());
  print_notes(*guessed);

  tell(fmt::format("imported {} of {}, in {}", base::format_count(run.events(), "event"),
                   base::format_count(run.ranks(), "rank"), printable(options.output)));

  if (unreadable == 0) return kGood;
  return report_error({fmt::format("{} of {} could not be read and are missing from {}",
                                   base::format_count(unreadable),
                                   base::format_count(files.size(), "file"), options.output)});
}

}  // namespace

Action add_import(CLI::App& app) {
  auto const options = std::make_shared<ImportOptions>();
  app.footer(
      "Every trace becomes RUN/rank-N.stepscope, which is smaller, "
      "opens at once and can be read in part. Stepscope reports lost and repaired data. "
      "It reads the files one after the other and skips a file that it cannot read; "
      "the exit status is then 2.");

  app.add_option("FILE", options->files,
                 "traces of the PyTorch profiler or of other tools, or folders of them")
      ->required();
  app.add_option("-o,--output", options->output, "the run folder to write")->required();
  add_one_run_option(app, options->one_run);
  app.add_flag("--force", options->force, "overwrite an existing run");

  return [options] { return import_run(*options); };
}

}  // namespace stepscope::cli
