#include "query/part.h"
#include "analyzer/analyze.h"

#include <algorithm>
#include <map>
#include <vector>

namespace stepscope::query {
namespace {

using base::fail;
using model::Interval;

/// From the first begin to the last end of steps.
struct Span {
  std::optional<Interval> window;
  void add(Interval when) {
    window = window ? Interval{std::min(window->begin, when.begin), std::max(window->end, when.end)}
                    : when;
  }
};

/// Run time.
struct SpansOfSteps {
  std::map<analyzer::DeviceRef, Span> devices;
  std::map<int32_t, Span> hosts;  ///< by place in the run
  Span all;
};

SpansOfSteps spans_of(analyzer::Analysis const& analysis) {
  SpansOfSteps spans;
  for (analyzer::StepStats const& step : analysis.steps) {
    spans.devices[step.ref].add(step.window);
    spans.hosts[step.ref.rank_index].add(step.host_window);
    spans.all.add(step.window);
    spans.all.add(step.host_window);
  }
  return spans;
}

Interval moved(Interval when, int64_t offset_ns) {
  return {when.begin - offset_ns, when.end - offset_ns};
}

/// What the run has instead.
std::string steps_there(model::Run const& run, Part const& part) {
  analyzer::Analysis const whole = analyzer::analyze(run, {.rank = part.rank});
  if (whole.steps.empty()) return "it has none";
  auto const [first, last] =
      std::minmax_element(whole.steps.begin(), whole.steps.end(),
                          [](auto const& a, auto const& b) { return a.step < b.step; });
  return fmt::format("it has steps {} to {}", first->step, last->step);
}

}  // namespace

analyzer::AnalyzeOptions Part::analyze_options() const {
  analyzer::AnalyzeOptions options;
  options.steps = steps;
  options.rank = rank;
  return options;
}

base::Expected<Processes> processes_of(model::Run const& run, Part const& part) {
  Processes processes;
  std::optional<int32_t> first, last;
  for (uint32_t r = 0; r < run.ranks.size(); ++r) {
    int32_t const rank = run.ranks[r].trace.info().rank;
    first = std::min(first.value_or(rank), rank);
    last = std::max(last.value_or(rank), rank);
    if (!part.rank || rank == *part.rank)
      processes.push_back(std::make_unique<Process>(run.ranks[r].trace, run.ranks[r].offset_ns, r));
  }

  if (part.rank && processes.empty())
    return fail("rank {} is not in the run, it has ranks {} to {}", *part.rank, first.value_or(0),
                last.value_or(0));
  return processes;
}

base::Expected<void> keep_steps(Processes& processes, model::Run const& run,
                                analyzer::Analysis const& analysis, Part const& part) {
  if (!part.steps) return {};
  SpansOfSteps const spans = spans_of(analysis);
  if (!spans.all.window)
    return fail("the run has no steps {} to {}, {}", part.steps->first, part.steps->second,
                steps_there(run, part));

  for (auto const& process : processes) {
    auto const place = static_cast<int32_t>(process->place());
    auto const host = spans.hosts.find(place);
    std::vector<Interval> kept;
    for (model::Track const& track : process->trace().tracks()) {
      auto const device = track.kind == model::TrackKind::kStream
                              ? spans.devices.find({place, track.device})
                              : spans.devices.end();

      Span const* span = host != spans.hosts.end() ? &host->second : &spans.all;
      if (device != spans.devices.end()) span = &device->second;
      kept.push_back(moved(*span->window, process->cells().offset_ns()));
    }
    process->keep_starts(std::move(kept));
  }

  return {};
}

}  // namespace stepscope::query
