// stepscope slice RUN -o OUT: a small part of a run to share: some steps, some time, one rank, without names.
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>

#include "analyzer/facts/host_activity.h"
#include "analyzer/facts/step_names.h"
#include "analyzer/facts/steps.h"
#include "cli/commands.h"
#include "reports/labels.h"
#include "trace/base/format.h"
#include "trace/base/run_folder.h"
#include "trace/file/writer.h"
#include "trace/model/anonymize.h"
#include "trace/model/slice.h"

namespace stepscope::cli {
namespace {

namespace fs = std::filesystem;
using base::Expected;
using base::fail;
using model::Interval;

struct Options {
  std::vector<std::string> runs;
  std::string output, steps, time;
  int32_t rank = -1;
  bool anonymize = false, force = false;
};

/// "A:B" in seconds as an interval of ns. Errors: not that form, or B ≤ A.
Expected<Interval> parse_time(std::string const& text) {
  double begin = 0, end = 0;
  char const* const last = text.data() + text.size();
  auto parsed = std::from_chars(text.data(), last, begin);
  if (parsed.ec == std::errc() && parsed.ptr != last && *parsed.ptr == ':') {
    parsed = std::from_chars(parsed.ptr + 1, last, end);
    constexpr double kMostSeconds = 1e9;  // 31 years: what fits into the ns of a trace
    if (parsed.ec == std::errc() && parsed.ptr == last && begin >= 0 && end > begin && end <= kMostSeconds)
      return Interval{std::llround(begin * 1e9), std::llround(end * 1e9)};
  }
  return fail("--time {}: not a range of time, write begin:end in seconds, for example 1.5:2.25", text);
}

Expected<void> keep_rank(model::Run& run, int32_t rank) {
  std::set<int32_t> there;
  for (model::RankTrace const& process : run.ranks) there.insert(process.trace.info().rank);
  if (!there.contains(rank))
    return fail("--rank {}: is not in the run, it has {} rank{} from {} to {}", rank, there.size(), there.size() == 1 ? "" : "s",
                *there.begin(), *there.rbegin());
  std::erase_if(run.ranks, [&](model::RankTrace const& process) { return process.trace.info().rank != rank; });
  return {};
}

/// What every process of a run keeps, in its trace time; none = nothing.
using Windows = std::vector<std::optional<model::SliceWindow>>;

/// The wanted steps in every process that has them.
Expected<Windows> windows_of_steps(model::Run const& run, std::pair<int64_t, int64_t> wanted) {
  analyzer::HostSteps const host = analyzer::find_host_steps(run);
  Windows windows(run.ranks.size());
  std::optional<std::pair<int64_t, int64_t>> there;
  bool found = false;
  for (size_t r = 0; r < run.ranks.size(); ++r) {
    std::vector<model::ThreadSteps> steps;
    for (uint32_t thread = 0; thread < host.threads[r].size(); ++thread) {
      std::optional<Interval> when;
      for (analyzer::HostStep const& step : host.threads[r][thread]) {
        there = there ? std::pair(std::min(there->first, step.index), std::max(there->second, step.index))
                      : std::pair(step.index, step.index);
        if (step.index < wanted.first || step.index > wanted.second) continue;
        when = {when ? std::min(when->begin, step.when.begin) : step.when.begin,
                when ? std::max(when->end, step.when.end) : step.when.end};
      }
      int64_t const offset = run.ranks[r].offset_ns;
      if (when) steps.push_back({model::TrackId{thread}, {when->begin - offset, when->end - offset}});
    }
    if (steps.empty()) continue;
    windows[r] = model::window_of_steps(run.ranks[r].trace, steps);
    found = true;
  }
  if (found) return windows;
  if (!there) return fail("--steps {}:{}: the run has no steps, choose a part with --time", wanted.first, wanted.second);
  return fail("--steps {}:{}: are not in the run, it has steps {} to {}", wanted.first, wanted.second, there->first,
              there->second);
}

Expected<Windows> windows_of(model::Run const& run, Interval range, Options const& options) {
  if (!options.steps.empty()) {
    auto const steps = parse_steps(options.steps);
    return steps ? windows_of_steps(run, *steps) : Expected<Windows>(base::fail_with(steps));
  }
  Interval window{INT64_MIN, INT64_MAX};
  if (!options.time.empty()) {
    auto const time = parse_time(options.time);
    if (!time) return base::fail_with(time);
    if (time->begin >= range.length())
      return fail("--time {}: is behind the run's end, it has {:.6f} s", options.time, static_cast<double>(range.length()) / 1e9);
    window = {time->begin + range.begin, time->end + range.begin};
  }
  Windows windows;
  for (model::RankTrace const& process : run.ranks) {
    Interval const own =
        options.time.empty() ? window : Interval{window.begin - process.offset_ns, window.end - process.offset_ns};
    windows.push_back(model::SliceWindow{own, own});
  }
  return windows;
}

/// What the analysis reads in a range's name (Pseudonyms::Meaning).
std::string meaning_of_range(std::string_view name) {
  if (auto const step = analyzer::step_number(name)) return fmt::format("step {}", *step);
  return analyzer::is_input_wait_name(name) ? "DataLoader.__next__" : "";
}

void anonymize_all(std::vector<model::Trace>& traces) {
  constexpr int64_t kAnonymousEpochNs = 1'000'000'000;  // one second after 1970: the time of no recording
  int64_t earliest = INT64_MAX;
  for (model::Trace const& trace : traces)
    if (trace.info().origin_epoch_ns > 0) earliest = std::min(earliest, trace.info().origin_epoch_ns);
  model::Pseudonyms pseudonyms(meaning_of_range);
  for (model::Trace& trace : traces) trace = model::anonymize(trace, pseudonyms, kAnonymousEpochNs - earliest);
}

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

Expected<void> write_all(std::vector<model::Trace> const& traces, std::string const& folder) {
  std::set<std::string> names;
  Expected<void> done;
  for (model::Trace const& trace : traces) {
    std::string name = fmt::format("rank-{}", trace.info().rank);
    for (int copy = 2; names.contains(name); ++copy) name = fmt::format("rank-{}-{}", trace.info().rank, copy);
    names.insert(name);
    done = file::write_trace(trace, fmt::format("{}/{}{}", folder, name, base::kTraceSuffix));
    if (!done) break;
  }
  std::error_code ignored;
  if (!done)
    for (std::string const& name : names) fs::remove(fmt::format("{}/{}{}", folder, name, base::kTraceSuffix), ignored);
  return done;
}

Expected<std::vector<model::Trace>> slices_of(Options const& options) {
  auto run = open_run_and_warn(options.runs);
  if (!run) return base::fail_with(run);
  Interval const range = reports::run_range(*run);
  if (options.rank >= 0)
    if (auto const kept = keep_rank(*run, options.rank); !kept) return base::fail_with(kept);
  auto const windows = windows_of(*run, range, options);
  if (!windows) return base::fail_with(windows);
  std::vector<model::Trace> traces;
  uint64_t events = 0;
  for (size_t r = 0; r < run->ranks.size(); ++r) {
    if (!(*windows)[r]) continue;
    traces.push_back(model::slice(run->ranks[r].trace, *(*windows)[r]));
    events += traces.back().event_count();
  }
  if (events == 0)
    return fail("nothing to keep: no event lies there, the run has {:.6f} s", static_cast<double>(range.length()) / 1e9);
  if (options.anonymize) anonymize_all(traces);
  return traces;
}

int slice_run(Options const& options) {
  if (options.steps.empty() && options.time.empty() && options.rank < 0 && !options.anonymize)
    return report_error({"slice: say what to keep with --steps, --time or --rank, or what to take out with --anonymize"});
  if (is_source(options.output, options.runs))
    return report_error({fmt::format("{}: is where the run itself lies, choose another folder with -o", options.output)});
  auto const traces = slices_of(options);
  if (!traces) return report_error(traces.error());
  auto const made_folder = base::prepare_run_folder(options.output, options.force);
  if (!made_folder) return report_error(made_folder.error());
  if (auto const written = write_all(*traces, options.output); !written) {
    std::error_code ignored;
    if (*made_folder) fs::remove(options.output, ignored);
    return report_error(written.error());
  }
  uint64_t events = 0;
  for (model::Trace const& trace : *traces) events += trace.event_count();
  std::fprintf(stderr, "stepscope: kept %s events of %zu ranks, in %s\n", base::format_count(events).c_str(), traces->size(),
               options.output.c_str());
  return kGood;
}

}  // namespace

Action add_slice(CLI::App& app) {
  auto const options = std::make_shared<Options>();
  app.footer(
      "Events are kept whole where any part of them lies in what was asked for; so are the launches of kept device ops and what "
      "encloses those. The steps that were asked for analyze as in the whole run: stepscope analyze OUT --steps A:B");
  app.add_option("RUN", options->runs, "a trace file or a run folder")->required();
  app.add_option("-o,--output", options->output, "the run folder to write")->required();
  auto* const steps = app.add_option("--steps", options->steps, "only steps first:last");
  app.add_option("--time", options->time, "only the time begin:end, seconds since the run's first event")->excludes(steps);
  app.add_option("--rank", options->rank, "only this rank")->check(CLI::NonNegativeNumber);
  app.add_flag("--anonymize", options->anonymize, "replace every name: of ranges, kernels, threads, hosts, devices");
  app.add_flag("--force", options->force, "overwrite a run that is there");
  return [options] { return slice_run(*options); };
}

}  // namespace stepscope::cli
