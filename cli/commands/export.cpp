// stepscope export RUN --format F -o FILE: a run, or a part of it, as a file of another tool.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "cli/commands.h"
#include "cli/partial_run.h"
#include "cli/progress.h"
#include "cli/run_parts.h"
#include "trace/base/files/lock_file.h"
#include "trace/base/files/output_folder.h"
#include "trace/base/format.h"
#include "trace/export/exporters.h"
#include "trace/import/formats/importers.h"

namespace stepscope::cli {
namespace {

using base::Expected;
using base::fail;
using exporting::ExportFormat;

struct ExportOptions {
  std::vector<std::string> runs;
  std::string output, format;
  PartOptions part;
  bool force = false, is_one_run = false;
};

struct Exported {
  uint64_t events = 0;
  size_t processes = 0;
  size_t removed = 0;  ///< files of an earlier export
  std::string note;
};

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (ExportFormat const& format : exporting::export_formats()) names.emplace_back(format.name);
  return names;
}

std::string format_list() {
  std::string text = "Formats:\n";
  for (ExportFormat const& format : exporting::export_formats())
    text += fmt::format("  {:<10} {:<10} {}\n", format.name, format.file_suffix, format.summary);
  return text;
}

/// The named one, else that of the file's name.
Expected<ExportFormat const*> find_format(ExportOptions const& options) {
  auto const formats = exporting::export_formats();
  auto const found = std::find_if(formats.begin(), formats.end(), [&](ExportFormat const& format) {
    return options.format.empty() ? options.output.ends_with(format.file_suffix)
                                  : format.name == options.format;
  });

  if (found != formats.end()) return &*found;
  std::string names;
  for (ExportFormat const& format : formats)
    names += (names.empty() ? "" : ", ") + std::string(format.name);
  return fail("{}: the name tells no format, choose one with --format ({})", options.output, names);
}

/// Before a large run is read: whether the result can be there. What is there is only replaced when
/// it was asked for.
Expected<void> check_output(ExportOptions const& options, ExportFormat const& format) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path const output = options.output;
  bool const is_folder = fs::is_directory(output, error),
             names_folder = is_folder || options.output.ends_with('/');

  if (names_folder && !format.may_be_folder)
    return fail("{}: is a folder, {} writes one file: name it, such as -o {}", options.output,
                format.name, (output / ("run" + std::string(format.file_suffix))).string());
  if (!names_folder && output.has_parent_path() && !fs::is_directory(output.parent_path(), error))
    return fail("{}: there is no folder {}, make it or choose another place with -o",
                options.output, output.parent_path().string());

  bool const is_taken = is_folder ? base::has_content(options.output) : fs::exists(output, error);
  if (is_taken && !options.force)
    return fail("{}: is there already, choose another name with -o or replace it with --force",
                options.output);
  return {};
}

/// One process in memory at a time.
Expected<Exported> write_processes(import::RunSources& run, Parts const& parts, bool is_everything,
                                   exporting::Exporter& exporter) {
  Exported exported;
  Progress progress;

  for (size_t r = 0; r < run.ranks.size(); ++r) {
    if (!parts[r]) continue;
    import::RankSource& rank = run.ranks[r];

    auto const trace =
        is_everything ? std::move(rank.source).load() : read_part(rank.source, *parts[r]);
    if (!trace) return base::fail_with(trace);
    if (auto const added = exporter.add(*trace, rank.offset_ns); !added)
      return base::fail_with(added);
    exported.events += trace->event_count();
    ++exported.processes;
    progress.show(static_cast<double>(r + 1) / static_cast<double>(run.ranks.size()));
  }

  progress.clear();
  return exported;
}

/// Whether the file would be read as one more rank by who opens the run's folder.
bool becomes_part_of_run(ExportOptions const& options) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path const output = fs::weakly_canonical(options.output, error);
  return import::has_trace_name(output.filename().string()) &&
         std::any_of(options.runs.begin(), options.runs.end(), [&](std::string const& run) {
           return fs::is_directory(run, error) &&
                  fs::weakly_canonical(run, error) == output.parent_path();
         });
}

/// Two exports to one file: the second must not wait for hours to find the first one's. A folder is
/// locked by who writes into it.
Expected<std::optional<base::LockFile>> lock_output(std::string const& output) {
  std::error_code error;
  auto const status = std::filesystem::status(output, error);
  bool const is_file = !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
  if (!is_file || output.ends_with('/')) return std::nullopt;
  auto lock = base::LockFile::take(base::LockFile::path_beside(output), output);
  if (!lock) return base::fail_with(lock);
  return std::optional(std::move(*lock));
}

Expected<Exported> export_into(ExportOptions const& options, ExportFormat const& format) {
  auto run = open_sources_and_warn(options.runs, options.is_one_run);
  if (!run) return base::fail_with(run);

  std::vector<std::string> sources = options.runs;
  for (import::RankSource const& rank : run->ranks) sources.push_back(rank.file);
  if (is_source(options.output, sources))
    return fail("{}: is where the run itself lies, choose another place with -o", options.output);
  if (becomes_part_of_run(options))
    return fail(
        "{}: would be taken for a rank of the run in that folder, choose another place with -o",
        options.output);

  size_t const processes = run->ranks.size();
  auto const parts = choose_parts(*run, options.part);
  if (!parts) return base::fail_with(parts);
  auto const exporter = format.open(options.output);
  if (!exporter) return base::fail_with(exporter);

  auto exported = write_processes(*run, *parts, options.part.is_everything(), **exporter);
  if (!exported) return exported;
  if (exported->events == 0) return fail("nothing to export: no event lies there");
  if (auto const finished = (*exporter)->finish(); !finished) return base::fail_with(finished);

  // An export of some ranks leaves earlier files of the others alone: they are still valid.
  if (exported->processes == processes) exported->removed = (*exporter)->remove_leftovers();
  exported->note = (*exporter)->note();
  return exported;
}

int export_run(ExportOptions const& options) {
  auto const format = find_format(options);
  if (!format) return report_error(format.error());
  if (auto const free = check_output(options, **format); !free) return report_error(free.error());

  auto const lock = lock_output(options.output);
  if (!lock) return report_error(lock.error());
  // Another export may have written it before the lock was free.
  if (auto const free = check_output(options, **format); !free) return report_error(free.error());

  auto const exported = export_into(options, **format);
  if (!exported) return report_error(exported.error());
  tell(fmt::format("wrote {} of {}, in {}", base::format_count(exported->events, "event"),
                   exported->processes == 1
                       ? "1 process"
                       : (base::format_count(exported->processes) + " processes"),
                   base::printable(options.output)));

  if (exported->removed > 0)
    tell(fmt::format("removed {} of a larger run that lay there",
                     base::format_count(exported->removed, "file")));
  if (!exported->note.empty()) tell(base::printable(exported->note));

  return kGood;
}

}  // namespace

Action add_export(CLI::App& app) {
  auto const options = std::make_shared<ExportOptions>();
  app.footer(format_list() +
             "What each of them keeps: docs/reference/EXPORT.md. Times are those of the run, with "
             "the ranks' clocks brought together.");

  app.add_option("RUN", options->runs, "a trace file or a run folder")->required();
  app.add_option("-o,--output", options->output, "the file or folder to write")->required();

  app.add_option("--format", options->format, "the format, where the file's name does not tell it")
      ->check(CLI::IsMember(format_names()));
  add_part_options(app, options->part);
  add_one_run_option(app, options->is_one_run);
  app.add_flag("--force", options->force, "replace what is there");

  return [options] { return export_run(*options); };
}

}  // namespace stepscope::cli
