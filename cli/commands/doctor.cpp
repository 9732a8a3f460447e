// stepscope doctor: is this machine ready (doctor_machine.cpp)? stepscope doctor RUN: can this
// trace be trusted? Reads and checks every byte, and says what was lost, where, and why.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include <nlohmann/json.hpp>

#include "analyzer/analyze.h"
#include "analyzer/results/analysis.h"
#include "cli/commands.h"
#include "cli/commands/checks.h"
#include "reports/text/layout.h"
#include "reports/words/run_notes.h"
#include "reports/words/trace_integrity.h"
#include "trace/base/files/mapped_file.h"
#include "trace/base/files/run_folder.h"
#include "trace/base/format.h"
#include "trace/file/reader.h"
#include "trace/file/trace_file.h"
#include "trace/import/open/open_run.h"
#include "trace/model/kinds.h"

namespace stepscope::cli {
namespace {

using base::printable;
using nlohmann::json;

/// One thing that makes a trace less than what happened.
struct Loss {
  std::string what;  ///< with where
  std::string why;   ///< and what avoids it
};

struct Diagnosis {
  std::string file;
  uint64_t bytes = 0, events = 0;
  size_t tracks = 0;
  int64_t duration_ns = 0;
  bool is_finished = false, has_summaries = false;
  bool has_checksums = false;  ///< of every byte: other tools' formats have none
  std::vector<Loss> losses;
  std::vector<std::string> doubts;  ///< nothing is lost, but numbers may be off
};

/// Where each track of a file without an end stops.
std::string last_events(file::TraceFile const& file) {
  std::vector<int64_t> ends(file.tracks().size(), INT64_MIN);
  for (file::IndexEntry const& entry : file.blocks())
    if (entry.header.type == static_cast<uint16_t>(file::BlockType::kEvents) &&
        entry.header.track < ends.size())
      ends[entry.header.track] = std::max(ends[entry.header.track], entry.header.max_end);

  auto const reached =
      std::partition(ends.begin(), ends.end(), [](int64_t end) { return end != INT64_MIN; });
  if (reached == ends.begin()) return "nothing was written yet";

  auto const [first, last] = std::minmax_element(ends.begin(), reached);
  std::string text = fmt::format("the tracks reach to between {} and {}",
                                 base::format_duration(*first), base::format_duration(*last));
  if (reached != ends.end())
    text += fmt::format(", {} of {} hold nothing yet", ends.end() - reached, ends.size());

  return text;
}

Loss lost_end(file::TraceFile const& file, std::vector<file::DamagedPlace> const& damage) {
  std::string what = "everything after the last block: the file has no end";
  if (!damage.empty() && damage.back().is_end)
    what +=
        fmt::format(", it ends in the middle of {}", file::describe(damage.back(), file.tracks()));
  return {what + "; " + last_events(file),
          "the program was killed or is still running, its disk was full, "
          "or the file was truncated; the tracer writes every second"};
}

void add_damage(file::TraceFile const& file, Diagnosis& diagnosis) {
  auto const damage = file.find_damage();

  if (!file.is_finished()) diagnosis.losses.push_back(lost_end(file, damage));
  for (file::DamagedPlace const& place : damage) {
    if (place.is_end && !file.is_finished()) continue;  // lost_end() reports it

    std::string const what = fmt::format("{} at byte {}: {}", base::format_bytes(place.bytes),
                                         place.offset, file::describe(place, file.tracks()));
    char const* const why =
        place.is_end
            ? "the file was truncated: copy it again"
            : "the bytes changed after they were written: copy the file again, check the disk";
    diagnosis.losses.push_back(
        {what, fmt::format("{}{}", why, place.is_derived ? "; it has no recorded events" : "")});
  }
}

/// What the trace had lost before this file was made of it.
void add_earlier_losses(model::ImportLog const& log, Diagnosis& diagnosis) {
  if (log.lost_blocks > 0)
    diagnosis.losses.push_back(
        {fmt::format("{} damaged block{} of the trace that this one was made of", log.lost_blocks,
                     log.lost_blocks == 1 ? "" : "s"),
         "convert it again from an intact copy"});

  for (std::string const& note : log.notes) {
    bool const is_said =
        std::find(diagnosis.doubts.begin(), diagnosis.doubts.end(), note) != diagnosis.doubts.end();
    if (!is_said) diagnosis.doubts.push_back(note);  // of several processes of a file
  }
}

/// A stream loses only device ops that CUPTI could not time.
Loss lost_of_track(model::Track const& track) {
  char const* const of = track.kind == model::TrackKind::kThread ? "thread" : "track";
  bool const is_stream = track.kind == model::TrackKind::kStream;
  return {
      fmt::format("{} of {} {}", base::format_count(track.dropped, "event"), of, track.name),
      is_stream
          ? "CUPTI gave no possible times for them: they still ran when the capture ended, or it "
            "lost them, which a newer CUPTI may not"
          : "the recorder's buffers were full: record with a larger --buffer-mb, or "
            "fewer annotations"};
}

void add_drops(file::TraceFile const& file, Diagnosis& diagnosis) {
  for (model::Track const& track : file.tracks())
    if (track.dropped > 0) diagnosis.losses.push_back(lost_of_track(track));

  // Notes name the cause: full buffers of CUPTI, say, or records that CUPTI left unreadable.
  if (file.log().dropped > 0)
    diagnosis.losses.push_back(
        {fmt::format("{} events that belong to no track", base::format_count(file.log().dropped)),
         file.log().notes.empty()
             ? "the recorder's buffers were full: record with a larger --buffer-mb"
             : "the recorder lost them, or could not read them: see the lines below"});
}

void add_doubts(model::ImportLog const& log, Diagnosis& diagnosis) {
  auto const add = [&](uint64_t count, char const* of, char const* what) {
    if (count > 0) diagnosis.doubts.push_back(base::format_count(count, of) + what);
  };

  add(log.unmatched_launches, "launch call", " without device op in the trace");
  add(log.doubled_launches, "launch call",
      " with the correlation id of an earlier one: "
      "each device op is linked with the last one before it");
  add(log.unmatched_ops, "device op", " without launch in the trace");
  add(log.negative_latencies, "device op",
      " before the launch: the clocks of host and device disagree");
  add(log.negative_durations, "event", " with a negative duration, read as 0");
  add(log.overlapping_slices, "device op", " overlapping another on the same stream");
  add(log.impossible_times, "event", " with impossible times");
  add(log.unknown_events, "event", " of kinds unknown to this version");
}

/// Adds the counts of one more process, those that add_doubts() reads.
void add_counts(model::ImportLog const& log, model::ImportLog& sum) {
  sum.unmatched_launches += log.unmatched_launches;
  sum.doubled_launches += log.doubled_launches;
  sum.unmatched_ops += log.unmatched_ops;
  sum.negative_latencies += log.negative_latencies;
  sum.negative_durations += log.negative_durations;
  sum.overlapping_slices += log.overlapping_slices;
  sum.impossible_times += log.impossible_times;
  sum.unknown_events += log.unknown_events;
}

void doubt_emptiness(Diagnosis& diagnosis) {
  if (diagnosis.events > 0) return;
  diagnosis.doubts.emplace_back(
      "has no events: the program did nothing that Stepscope records, or recording failed; "
      "no conclusion is possible");
}

/// Reads another tool's file and collects its faults.
base::Expected<Diagnosis> diagnose_foreign(std::string const& path) {
  auto const sources = import::TraceSource::open(path);
  if (!sources) return base::fail_with(sources);

  std::error_code ignored;
  Diagnosis diagnosis{
      .file = path, .bytes = std::filesystem::file_size(path, ignored), .is_finished = true};
  model::ImportLog doubtful;

  for (import::TraceSource const& source : *sources) {
    for (uint64_t const count : source.event_counts()) diagnosis.events += count;
    diagnosis.tracks += source.tracks().size();
    diagnosis.duration_ns = std::max(diagnosis.duration_ns, source.time_range().length());
    model::ImportLog const log = source.log();
    if (log.truncated) {
      diagnosis.is_finished = false;
      diagnosis.losses.push_back(
          {"everything after the end of the file",
           "the tool was killed, its disk was full, or the file was truncated"});
    }
    if (log.dropped > 0)
      diagnosis.losses.push_back(
          {fmt::format("{} events", base::format_count(log.dropped)),
           "the recorder lost them, or they cannot be read: see the lines below"});
    add_earlier_losses(log, diagnosis);
    add_counts(log, doubtful);
  }

  add_doubts(doubtful, diagnosis);
  doubt_emptiness(diagnosis);
  return diagnosis;
}

base::Expected<Diagnosis> diagnose(std::string const& path) {
  auto const mapped = base::MappedFile::open(path);
  if (!mapped) return base::fail_with(mapped);

  bool const is_named_ours = path.ends_with(base::kTraceSuffix);
  if (!is_named_ours && !mapped->bytes().empty() && !file::is_stepscope_file(mapped->bytes()))
    return diagnose_foreign(path);
  auto const file = file::TraceFile::open(path);
  if (!file) return base::fail_with(file);

  Diagnosis diagnosis{.file = path, .bytes = file->size_bytes(), .tracks = file->tracks().size()};
  diagnosis.events = file->event_count();
  diagnosis.duration_ns = file->time_range().end - file->time_range().begin;
  diagnosis.is_finished = file->is_finished();
  diagnosis.has_summaries = file->has_summaries();
  diagnosis.has_checksums = true;

  add_damage(*file, diagnosis);
  add_drops(*file, diagnosis);
  add_earlier_losses(file->log(), diagnosis);

  // Names of calls and directions of copies tell which launches and overlaps are faults; other
  // details tell nothing here.
  constexpr uint32_t kCopyTable = 1U << static_cast<int>(model::DetailTable::kCopies);
  if (auto const trace = file->read({.columns = {.correlation = true, .tables = kCopyTable}}))
    add_doubts(trace->log(), diagnosis);
  else
    diagnosis.doubts.push_back(
        "too many events for this machine's memory: launches and device ops were not matched");

  doubt_emptiness(diagnosis);
  return diagnosis;
}

/// The line for a file that lost nothing.
char const* praise(Diagnosis const& diagnosis) {
  if (!diagnosis.doubts.empty() && diagnosis.events > 0) return "nothing was lost";
  return diagnosis.has_checksums ? "complete: all checksums are right, and nothing was dropped"
                                 : "read to its end, nothing was skipped";
}

/// What is there, behind a word for what it is.
void print_line(std::string const& what, std::string const& words, size_t column) {
  std::fputs(reports::list_line("  " + what, printable(words), column, wrap_width()).c_str(),
             stdout);
}

void print(Diagnosis const& diagnosis) {
  constexpr size_t kColumn = 9;
  std::printf("%s\n", printable(diagnosis.file).c_str());
  print_line("",
             fmt::format("{}, {} events on {} tracks over {}", base::format_bytes(diagnosis.bytes),
                         base::format_count(diagnosis.events), diagnosis.tracks,
                         base::format_duration(diagnosis.duration_ns)),
             2);

  for (Loss const& loss : diagnosis.losses) {
    print_line("lost", loss.what, kColumn);
    print_line("", loss.why, kColumn);
  }
  for (std::string const& doubt : diagnosis.doubts) print_line("doubt", doubt, kColumn);
  if (diagnosis.losses.empty()) print_line("", praise(diagnosis), 2);
}

/// How far the conclusions can be believed that the files give together.
void print(model::Run const& run, analyzer::Analysis const& analysis) {
  constexpr size_t kColumn = 11;

  std::printf("\nTrust: %d of 100\n", static_cast<int>(analysis.integrity.score));
  for (reports::Weakness const& weakness : reports::weaknesses(run, analysis.integrity)) {
    print_line("fault", weakness.fault, kColumn);
    print_line("weakens", weakness.weakens, kColumn);
    print_line("holds", weakness.holds, kColumn);
  }
  for (std::string const& note : run.notes) print_line("note", note, kColumn);
  for (std::string const& note : reports::run_notes(run, analysis))
    print_line("note", note, kColumn);
}

json json_of(model::Run const& run, analyzer::Analysis const& analysis) {
  json weaknesses = json::array();
  for (reports::Weakness const& weakness : reports::weaknesses(run, analysis.integrity))
    weaknesses.push_back(
        {{"fault", weakness.fault}, {"weakens", weakness.weakens}, {"holds", weakness.holds}});

  json notes = run.notes;
  for (std::string const& note : reports::run_notes(run, analysis)) notes.push_back(note);

  return {{"score", analysis.integrity.score},
          {"missing_ranks", analysis.integrity.missing_ranks},
          {"weaknesses", weaknesses},
          {"notes", notes}};
}

json json_of(Diagnosis const& diagnosis) {
  json losses = json::array();
  for (Loss const& loss : diagnosis.losses)
    losses.push_back({{"what", loss.what}, {"why", loss.why}});

  return {{"file", diagnosis.file},
          {"bytes", diagnosis.bytes},
          {"events", diagnosis.events},
          {"tracks", diagnosis.tracks},
          {"duration_ns", diagnosis.duration_ns},
          {"finished", diagnosis.is_finished},
          {"has_summaries", diagnosis.has_summaries},
          {"lost", losses},
          {"doubts", diagnosis.doubts}};
}

int examine(std::vector<std::string> const& runs, bool as_json) {
  int code = kGood;
  json files_json = json::array();
  for (std::string const& run : runs) {
    auto const files = import::files_of(run);
    if (!files) return report_error(files.error());
    for (std::string const& file : *files) {
      auto const diagnosis = diagnose(file);
      if (!diagnosis) {
        code = report_error(diagnosis.error());
        continue;
      }
      if (!diagnosis->losses.empty()) code = std::max(code, kFinding);
      if (as_json)
        files_json.push_back(json_of(*diagnosis));
      else
        print(*diagnosis);
    }
  }

  // Faults of single files were printed above.
  json trust = nullptr;
  if (auto const run = import::open_run(runs)) {
    analyzer::Analysis const analysis = analyzer::analyze(*run);

    if (as_json)
      trust = json_of(*run, analysis);
    else
      print(*run, analysis);
  }
  if (as_json)
    std::printf("%s\n", json{{"files", files_json}, {"trust", trust}}
                            .dump(2, ' ', true, json::error_handler_t::replace)
                            .c_str());
  return code;
}

}  // namespace

Action add_doctor(CLI::App& app) {
  struct Options {
    std::vector<std::string> runs;
    bool json = false;
  };

  auto const options = std::make_shared<Options>();

  app.add_option("RUN", options->runs,
                 "a trace file or a run folder (default: examine this machine)");
  app.add_flag("--json", options->json, "print the result as JSON");
  app.footer(
      "Exit status: 0 the machine is ready or the trace complete; "
      "1 a check failed, or data were lost or damaged; 2 a file cannot be read.");
  return [options] {
    return options->runs.empty() ? examine_machine(options->json)
                                 : examine(options->runs, options->json);
  };
}

}  // namespace stepscope::cli
