#include "cli/run_parts.h"

#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "analyzer/metrics/steps/step_names.h"
#include "analyzer/metrics/steps/steps.h"
#include "cli/command.h"
#include "trace/base/format.h"
#include "trace/base/parse_time.h"
#include "trace/import/open/slice_source.h"
#include "trace/model/build/trace_builder.h"

namespace stepscope::cli {
namespace {

using base::Expected;
using base::fail;
using model::Interval;

Expected<void> keep_rank(import::RunSources& run, int32_t rank) {
  std::set<int32_t> there;
  for (import::RankSource const& process : run.ranks) there.insert(process.source.info().rank);
  if (!there.contains(rank))
    return fail("--rank {}: is not in the run, it has {}", rank, ranks_there(there));
  std::erase_if(run.ranks, [&](import::RankSource const& process) {
    return process.source.info().rank != rank;
  });
  return {};
}

/// Threads that have events, in groups of about kEventsAtOnce: of a run of many threads the file is
/// not looked through once a thread.
std::vector<std::vector<model::TrackId>> groups_of_threads(import::TraceSource const& source) {
  constexpr uint64_t kEventsAtOnce = 4'000'000;
  std::vector<uint64_t> const events = source.event_counts();
  std::vector<std::vector<model::TrackId>> groups;
  uint64_t sum = 0;

  for (uint32_t track = 0; track < events.size(); ++track) {
    if (source.tracks()[track].kind != model::TrackKind::kThread || events[track] == 0) continue;
    if (groups.empty() || sum + events[track] > kEventsAtOnce) {
      groups.emplace_back();
      sum = 0;
    }

    groups.back().push_back(model::TrackId{track});
    sum += events[track];
  }

  return groups;
}

/// A name that says no more than the range's own, which may be a step's.
std::optional<std::string> plain_step_name(std::string_view name) {
  auto const step = analyzer::step_name(name);
  if (!step) return std::nullopt;
  return step->is_certain ? fmt::format("step {}", step->number.value_or(0)) : std::string(name);
}

/// The ranges of threads whose names say that they are steps, or may say so, under a name that says
/// no more.
Expected<void> add_named_steps(import::TraceSource const& source,
                               std::vector<model::TrackId> const& threads,
                               model::TraceBuilder& builder) {
  auto const trace =
      source.read({.tracks = threads, .columns = {.correlation = false, .tables = 0}});
  if (!trace) return base::fail_with(trace);

  for (model::TrackId const thread : threads) {
    auto const rows = (*trace)->rows_of(thread);
    for (uint32_t row = rows.first; row < rows.last; ++row) {
      if (!model::is_range((*trace)->kind(row))) continue;
      if (auto const step = plain_step_name((*trace)->name(row)))
        builder.events(thread).add_range((*trace)->start(row), (*trace)->columns().dur[row],
                                         builder.intern(*step));
    }
  }
  return {};
}

/// A trace of nothing but the process's steps.
Expected<model::Trace> steps_alone(import::TraceSource const& source, bool by_name) {
  model::TraceBuilder builder;
  for (model::Track const& track : source.tracks()) builder.add_track(track);

  if (by_name) {
    for (auto const& threads : groups_of_threads(source))
      if (auto const added = add_named_steps(source, threads, builder); !added)
        return base::fail_with(added);
  } else {
    auto const steps = source.steps();
    if (!steps) return base::fail_with(steps);
    for (file::StepSpan const& step : *steps)
      builder.events(step.track)
          .add(model::EventKind::kStep, step.start, step.dur, {}, 0, model::StepDetail{step.index});
  }

  return std::move(builder).finish();
}

/// The steps of all processes, as the analysis sees them.
Expected<analyzer::HostSteps> find_steps(import::RunSources const& run) {
  for (bool const by_name : {false, true}) {
    model::Run alone;
    alone.clock = run.clock;
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
        range = range ? std::pair(std::min(range->first, step.index),
                                  std::max(range->second, step.index))
                      : std::pair(step.index, step.index);
  return range;
}

/// The wanted steps in every process that has them.
Expected<Parts> parts_of_steps(import::RunSources const& run, analyzer::HostSteps const& host,
                               PartOptions const& options) {
  auto const wanted = parse_steps(options.steps);
  if (!wanted) return base::fail_with(wanted);
  std::pair const kept(wanted->first - std::min(wanted->first, options.steps_before),
                       wanted->second);

  Parts parts(run.ranks.size());
  bool found = false;
  for (size_t r = 0; r < run.ranks.size(); ++r) {
    int64_t const offset = run.ranks[r].offset_ns;
    if (analyzer::steps_between(host.threads[r], *wanted, offset).empty()) continue;

    std::vector<model::ThreadSteps> const steps =
        analyzer::steps_between(host.threads[r], kept, offset);
    auto const first =
        std::min_element(steps.begin(), steps.end(),
                         [](auto const& a, auto const& b) { return a.when.begin < b.when.begin; });

    parts[r] =
        Part{.steps = steps,
             .whole = analyzer::whole_steps(host.threads[r], first->when.begin + offset, *wanted)};
    found = true;
  }

  auto const there = range_of(host);
  if (found) {
    warn_of_missing_steps(
        *wanted, {std::max(wanted->first, there->first), std::min(wanted->second, there->second)});
    return parts;
  }

  if (!there)
    return fail("--steps {}: the run has no steps, choose a part with --time", options.steps);
  return fail("--steps {}: are not in the run, it has steps {} to {}", options.steps, there->first,
              there->second);
}

/// The steps that lie in the time whole, in all processes that have steps. Where none does, steps
/// that the run does not have: those that the time cuts are not measured.
std::pair<int64_t, int64_t> steps_to_measure(import::RunSources const& run,
                                             analyzer::HostSteps const& host, Interval time) {
  auto const all = range_of(host);
  if (!all) return {0, -1};
  std::pair<int64_t, int64_t> const none(all->second + 1, all->second + 1);

  std::pair chosen = *all;
  for (size_t r = 0; r < run.ranks.size(); ++r) {
    auto const& threads = host.threads[r];
    if (std::all_of(threads.begin(), threads.end(),
                    [](auto const& steps) { return steps.empty(); }))
      continue;
    auto const whole =
        analyzer::whole_steps_in(threads, time, run.ranks[r].source.info().whole_steps);
    if (!whole) return none;
    chosen = {std::max(chosen.first, whole->first), std::min(chosen.second, whole->second)};
  }
  return chosen.first <= chosen.second ? chosen : none;
}

Expected<Parts> parts_of_time(import::RunSources const& run, analyzer::HostSteps const& host,
                              Interval time) {
  std::pair const chosen = steps_to_measure(run, host, time);
  Parts parts;
  for (size_t r = 0; r < run.ranks.size(); ++r) {
    int64_t const offset = run.ranks[r].offset_ns;
    parts.emplace_back(Part{.time = {time.begin - offset, time.end - offset},
                            .whole = analyzer::whole_steps(host.threads[r], time.begin, chosen)});
  }
  return parts;
}

/// `range`: of the whole run, from which --time counts.
Expected<Parts> parts_of(import::RunSources const& run, Interval range,
                         PartOptions const& options) {
  if (options.steps.empty() && options.time.empty()) return Parts(run.ranks.size(), Part{});

  std::optional<Interval> time;
  if (!options.time.empty()) {
    auto const parsed = base::parse_time_range(options.time);
    if (!parsed) return base::fail_with(parsed);
    if (parsed->begin_ns >= static_cast<double>(range.length()))
      return fail("--time {}: is behind the run's end, it has {:.6f} s", options.time,
                  static_cast<double>(range.length()) / 1e9);
    time = {range.begin + std::llround(parsed->begin_ns),
            range.begin + std::llround(parsed->end_ns)};
  }

  auto const host = find_steps(run);
  if (!host) return base::fail_with(host);
  return time ? parts_of_time(run, *host, *time) : parts_of_steps(run, *host, options);
}

}  // namespace

void add_part_options(CLI::App& app, PartOptions& options) {
  auto* const steps = app.add_option("--steps", options.steps, "use only the steps first:last");
  app.add_option("--time", options.time,
                 "only the time begin:end since the run's first event, such as 1.5s:1600ms")
      ->excludes(steps);
  app.add_option("--rank", options.rank, "use only this rank")->check(whole_number(0, INT32_MAX));
}

Expected<Parts> choose_parts(import::RunSources& run, PartOptions const& options) {
  Interval const range = import::time_range(run);
  if (options.rank)
    if (auto const kept = keep_rank(run, *options.rank); !kept) return base::fail_with(kept);
  return parts_of(run, range, options);
}

Expected<model::Trace> read_part(import::TraceSource const& source, Part const& part) {
  return part.steps.empty() ? import::slice_of_time(source, part.time, part.whole)
                            : import::slice_of_steps(source, part.steps, part.whole);
}

}  // namespace stepscope::cli
