// stepscope slice RUN -o OUT: a small part of a run to share: some steps, some time, one rank, without names.
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "analyzer/facts/host_activity.h"
#include "analyzer/facts/step_names.h"
#include "analyzer/facts/steps.h"
#include "cli/commands.h"
#include "trace/base/format.h"
#include "trace/base/parse_time.h"
#include "trace/base/run_folder.h"
#include "trace/file/writer.h"
#include "trace/import/slice_source.h"
#include "trace/model/anonymize.h"
#include "trace/model/trace_builder.h"

namespace stepscope::cli {
namespace {

namespace fs = std::filesystem;
using base::Expected;
using base::fail;
using model::Interval;

struct SliceOptions {
  std::vector<std::string> runs;
  std::string output, steps, time;
  std::optional<int32_t> rank;
  bool anonymize = false, force = false;
};

Expected<void> keep_rank(import::RunSources& run, int32_t rank) {
  std::set<int32_t> there;
  for (import::RankSource const& process : run.ranks) there.insert(process.source.info().rank);
  if (!there.contains(rank))
    return fail("--rank {}: is not in the run, it has {} from {} to {}", rank, base::format_count(there.size(), "rank"),
                *there.begin(), *there.rbegin());
  std::erase_if(run.ranks, [&](import::RankSource const& process) { return process.source.info().rank != rank; });
  return {};
}

/// What is kept of one process, trace time: steps, or a time.
struct Part {
  std::vector<model::ThreadSteps> steps;
  Interval time{INT64_MIN, INT64_MAX};
  model::WholeSteps whole;
};
/// Beside the run's ranks; none = nothing of it.
using Parts = std::vector<std::optional<Part>>;

/// The ranges of a thread that its name says are steps, under a name that says no more.
Expected<void> add_named_steps(import::TraceSource const& source, model::TrackId thread, model::TraceBuilder& builder) {
  auto const trace = source.read({.tracks = std::vector{thread}, .columns = {.correlation = false, .tables = 0}});
  if (!trace) return base::fail_with(trace);
  auto const rows = (*trace)->rows_of(thread);
  for (uint32_t row = rows.first; row < rows.last; ++row) {
    if (!model::is_range((*trace)->kind(row))) continue;
    if (auto const step = analyzer::step_number((*trace)->name(row)))
      builder.events(thread).add_range((*trace)->start(row), (*trace)->columns().dur[row],
                                       builder.intern(fmt::format("step {}", *step)));
  }
  return {};
}

/// A trace of nothing but the process's steps.
Expected<model::Trace> steps_alone(import::TraceSource const& source, bool by_name) {
  model::TraceBuilder builder;
  for (model::Track const& track : source.tracks()) builder.add_track(track);
  if (by_name) {
    for (uint32_t track = 0; track < source.tracks().size(); ++track) {
      if (source.tracks()[track].kind != model::TrackKind::kThread) continue;
      if (auto const added = add_named_steps(source, model::TrackId{track}, builder); !added) return base::fail_with(added);
    }
  } else {
    auto const steps = source.steps();
    if (!steps) return base::fail_with(steps);
    for (file::StepSpan const& step : *steps)
      builder.events(step.track).add(model::EventKind::kStep, step.start, step.dur, {}, 0, model::StepDetail{step.index});
  }
  return std::move(builder).finish();
}

/// The steps of all processes, as the analysis sees them.
Expected<analyzer::HostSteps> find_steps(import::RunSources const& run) {
  for (bool const by_name : {false, true}) {
    model::Run alone;
    for (import::RankSource const& rank : run.ranks) {
      auto trace = steps_alone(rank.source, by_name);
      if (!trace) return base::fail_with(trace);
      alone.ranks.push_back({std::move(*trace), rank.offset_ns, rank.file});
    }
    analyzer::HostSteps steps = analyzer::find_host_steps(alone);
    if (by_name || steps.source != analyzer::StepSource::kNone) return steps;
  }
  return analyzer::HostSteps{};
}

/// First and last number of all steps.
std::optional<std::pair<int64_t, int64_t>> range_of(analyzer::HostSteps const& host) {
  std::optional<std::pair<int64_t, int64_t>> range;
  for (auto const& threads : host.threads)
    for (auto const& steps : threads)
      for (analyzer::HostStep const& step : steps)
        range = range ? std::pair(std::min(range->first, step.index), std::max(range->second, step.index))
                      : std::pair(step.index, step.index);
  return range;
}

/// The wanted steps in every process that has them.
Expected<Parts> parts_of_steps(import::RunSources const& run, analyzer::HostSteps const& host, std::pair<int64_t, int64_t> wanted,
                               std::string const& text) {
  Parts parts(run.ranks.size());
  bool found = false;
  for (size_t r = 0; r < run.ranks.size(); ++r) {
    auto steps = analyzer::steps_between(host.threads[r], wanted, run.ranks[r].offset_ns);
    if (steps.empty()) continue;
    parts[r] = Part{.steps = std::move(steps), .whole = analyzer::whole_steps(host.threads[r])};
    found = true;
  }
  if (found) return parts;
  auto const there = range_of(host);
  if (!there) return fail("--steps {}: the run has no steps, choose a part with --time", text);
  return fail("--steps {}: are not in the run, it has steps {} to {}", text, there->first, there->second);
}

Expected<Parts> parts_of_time(import::RunSources const& run, analyzer::HostSteps const& host, Interval time) {
  Parts parts;
  for (size_t r = 0; r < run.ranks.size(); ++r) {
    int64_t const offset = run.ranks[r].offset_ns;
    parts.emplace_back(Part{.time = {time.begin - offset, time.end - offset}, .whole = analyzer::whole_steps(host.threads[r])});
  }
  return parts;
}

/// `range`: of the whole run, from which --time counts.
Expected<Parts> parts_of(import::RunSources const& run, Interval range, SliceOptions const& options) {
  if (options.steps.empty() && options.time.empty()) return Parts(run.ranks.size(), Part{});
  std::optional<Interval> time;
  if (!options.time.empty()) {
    auto const parsed = base::parse_time_range(options.time);
    if (!parsed) return base::fail_with(parsed);
    if (parsed->begin_ns >= static_cast<double>(range.length()))
      return fail("--time {}: is behind the run's end, it has {:.6f} s", options.time, static_cast<double>(range.length()) / 1e9);
    time = {range.begin + std::llround(parsed->begin_ns), range.begin + std::llround(parsed->end_ns)};
  }
  Expected<std::pair<int64_t, int64_t>> const steps = time ? std::pair<int64_t, int64_t>{} : parse_steps(options.steps);
  if (!steps) return base::fail_with(steps);
  auto const host = find_steps(run);
  if (!host) return base::fail_with(host);
  return time ? parts_of_time(run, *host, *time) : parts_of_steps(run, *host, *steps, options.steps);
}

/// What the analysis reads in a range's name (Pseudonyms::Meaning).
std::string meaning_of_range(std::string_view name) {
  if (auto const step = analyzer::step_number(name)) return fmt::format("step {}", *step);
  return analyzer::is_input_wait_name(name) ? "DataLoader.__next__" : "";
}

/// Takes the names out of one process after the other, the same ones for the same texts.
class Anonymizer {
 public:
  explicit Anonymizer(import::RunSources const& run) : pseudonyms_(meaning_of_range) {
    for (import::RankSource const& rank : run.ranks)
      if (int64_t const origin = rank.source.info().origin_epoch_ns; origin > 0) earliest_ns_ = std::min(earliest_ns_, origin);
  }
  model::Trace operator()(model::Trace const& trace) {
    constexpr int64_t kAnonymousEpochNs = 1'000'000'000;  // one second after 1970: the time of no recording
    return model::anonymize(trace, pseudonyms_, kAnonymousEpochNs - earliest_ns_);
  }

 private:
  model::Pseudonyms pseudonyms_;
  int64_t earliest_ns_ = INT64_MAX;
};

/// Whether writing to `output` could touch what is read.
bool is_source(std::string const& output, std::vector<std::string> const& runs) {
  std::error_code error;
  fs::path const target = fs::weakly_canonical(output, error);
  for (std::string const& run : runs) {
    fs::path const source = fs::weakly_canonical(run, error);
    if (source == target || source.parent_path() == target) return true;
  }
  return false;
}

/// The run that is written, one process after the other. The folder is made, or what was in it overwritten, when the first event
/// comes; unless finish() is called nothing of it stays.
class PartialRun {
 public:
  PartialRun(std::string folder, bool force) : folder_(std::move(folder)), force_(force) {}
  PartialRun(PartialRun const&) = delete;
  PartialRun& operator=(PartialRun const&) = delete;
  ~PartialRun() {
    if (finished_) return;
    std::error_code ignored;
    for (std::string const& name : names_) fs::remove(path_of(name), ignored);
    if (made_folder_) fs::remove(folder_, ignored);
  }

  Expected<void> add(model::Trace trace) {
    events_ += trace.event_count();
    waiting_.push_back(std::move(trace));
    if (events_ == 0) return {};  // a process that did nothing then is a part of the run, but no reason to make one
    if (names_.empty()) {
      auto const made = base::prepare_run_folder(folder_, force_);
      if (!made) return base::fail_with(made);
      made_folder_ = *made;
    }
    for (model::Trace const& next : std::exchange(waiting_, {}))
      if (auto const written = write(next); !written) return written;
    return {};
  }
  void finish() { finished_ = true; }
  [[nodiscard]] uint64_t events() const { return events_; }
  [[nodiscard]] size_t ranks() const { return names_.size(); }

 private:
  [[nodiscard]] std::string path_of(std::string const& name) const {
    return fmt::format("{}/{}{}", folder_, name, base::kTraceSuffix);
  }
  Expected<void> write(model::Trace const& trace) {
    std::string name = fmt::format("rank-{}", trace.info().rank);
    for (int copy = 2; names_.contains(name); ++copy) name = fmt::format("rank-{}-{}", trace.info().rank, copy);
    names_.insert(name);
    return file::write_trace(trace, path_of(name));
  }

  std::string folder_;
  bool force_, made_folder_ = false, finished_ = false;
  std::vector<model::Trace> waiting_;
  std::set<std::string> names_;
  uint64_t events_ = 0;
};

Expected<void> write_parts(import::RunSources const& run, Parts const& parts, bool anonymous, PartialRun& output) {
  Anonymizer anonymizer(run);
  for (size_t r = 0; r < run.ranks.size(); ++r) {
    if (!parts[r]) continue;
    Part const& part = *parts[r];
    auto trace = part.steps.empty() ? import::slice_of_time(run.ranks[r].source, part.time, part.whole)
                                    : import::slice_of_steps(run.ranks[r].source, part.steps, part.whole);
    if (!trace) return base::fail_with(trace);
    if (auto const added = output.add(anonymous ? anonymizer(*trace) : std::move(*trace)); !added) return added;
  }
  return {};
}

Expected<void> slice_into(SliceOptions const& options, PartialRun& output) {
  auto run = open_sources_and_warn(options.runs);
  if (!run) return base::fail_with(run);
  Interval const range = import::time_range(*run);
  if (options.rank)
    if (auto const kept = keep_rank(*run, *options.rank); !kept) return kept;
  auto const parts = parts_of(*run, range, options);
  if (!parts) return base::fail_with(parts);
  if (auto const written = write_parts(*run, *parts, options.anonymize, output); !written) return written;
  if (output.events() == 0)
    return fail("nothing to keep: no event lies there, the run has {:.6f} s", static_cast<double>(range.length()) / 1e9);
  return {};
}

int slice_run(SliceOptions const& options) {
  if (options.steps.empty() && options.time.empty() && !options.rank && !options.anonymize)
    return report_error({"slice: say what to keep with --steps, --time or --rank, or what to take out with --anonymize"});
  if (is_source(options.output, options.runs))
    return report_error({fmt::format("{}: is where the run itself lies, choose another folder with -o", options.output)});
  PartialRun output(options.output, options.force);
  if (auto const sliced = slice_into(options, output); !sliced) return report_error(sliced.error());
  output.finish();
  std::fprintf(stderr, "stepscope: kept %s of %s, in %s\n", base::format_count(output.events(), "event").c_str(),
               base::format_count(output.ranks(), "rank").c_str(), options.output.c_str());
  return kGood;
}

}  // namespace

Action add_slice(CLI::App& app) {
  auto const options = std::make_shared<SliceOptions>();
  app.footer(
      "Events are kept whole where any part of them lies in what was asked for; so are the launches of kept device ops and what "
      "encloses those. The steps that were asked for analyze as in the whole run: stepscope analyze OUT --steps A:B");
  app.add_option("RUN", options->runs, "a trace file or a run folder")->required();
  app.add_option("-o,--output", options->output, "the run folder to write")->required();
  auto* const steps = app.add_option("--steps", options->steps, "only steps first:last");
  app.add_option("--time", options->time, "only the time begin:end since the run's first event, such as 1.5s:1600ms")
      ->excludes(steps);
  app.add_option("--rank", options->rank, "only this rank")->check(whole_number(0, INT32_MAX));
  app.add_flag("--anonymize", options->anonymize, "replace every name: of ranges, kernels, threads, hosts, devices");
  app.add_flag("--force", options->force, "overwrite a run that is there");
  return [options] { return slice_run(*options); };
}

}  // namespace stepscope::cli
