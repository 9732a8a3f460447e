// stepscope info RUN: who recorded what, where and how much of it there is. Reads indexes and
// descriptions, no events.
#include <cstdio>
#include <memory>
#include <numeric>
#include <set>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/pager.h"
#include "reports/text/layout.h"
#include "reports/words/labels.h"
#include "trace/base/format.h"

namespace stepscope::cli {
namespace {

using base::printable;
using reports::shown;

char const* kind_of(model::Track const& track) {
  switch (track.kind) {
    case model::TrackKind::kThread:
      return "thread";
    case model::TrackKind::kStream:
      return "stream";
    case model::TrackKind::kCounter:
      return "counter";
  }
  return "track";
}

uint64_t sum_of(std::vector<uint64_t> const& counts) {
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

/// The numbers of the marked steps; those that only names tell need a look at all events.
std::set<int64_t> step_numbers(import::TraceSource const& source) {
  std::set<int64_t> numbers;
  if (auto const steps = source.steps())
    for (file::StepSpan const& step : *steps) numbers.insert(step.index);
  return numbers;
}

std::string range_of(int64_t first, int64_t last) {
  return first == last ? fmt::format("{}", first) : fmt::format("{} to {}", first, last);
}

/// The steps that a slice was made for, as far as they are there. The last may be before the first:
/// then none is.
std::optional<std::pair<int64_t, int64_t>> chosen_of(std::set<int64_t> const& steps,
                                                     model::WholeSteps const& whole) {
  if (steps.empty() || !whole.has_choice()) return std::nullopt;
  return std::pair(std::max(whole.chosen_first, *steps.begin()),
                   std::min(whole.chosen_last, *steps.rbegin()));
}

/// "12, numbers 100 to 111"; empty without. A slice names the steps that it was made for.
std::string words_of(std::set<int64_t> const& steps, model::WholeSteps const& whole) {
  if (steps.empty()) return {};
  std::string const text = fmt::format("{}, numbers {}", base::format_count(steps.size()),
                                       range_of(*steps.begin(), *steps.rbegin()));
  auto const chosen = chosen_of(steps, whole);
  if (!chosen || *chosen == std::pair(*steps.begin(), *steps.rbegin())) return text;
  if (chosen->first > chosen->second) return text + "; none of them whole";
  return text + fmt::format("; cut out for {}, the others are context",
                            range_of(chosen->first, chosen->second));
}

nlohmann::json json_of(import::RankSource const& rank) {
  import::TraceSource const& source = rank.source;
  model::TraceInfo const& info = source.info();
  std::vector<uint64_t> const events = source.event_counts();
  model::ImportLog const log = source.log();

  nlohmann::json tracks = nlohmann::json::array();
  for (size_t t = 0; t < events.size(); ++t) {
    model::Track const& track = source.tracks()[t];
    tracks.push_back({{"kind", kind_of(track)},
                      {"name", track.name},
                      {"events", events[t]},
                      {"dropped", track.dropped}});
  }

  nlohmann::json steps = nullptr, cut_for = nullptr;
  if (auto const numbers = step_numbers(source); !numbers.empty()) {
    steps = {{"count", numbers.size()}, {"first", *numbers.begin()}, {"last", *numbers.rbegin()}};
    auto const chosen = chosen_of(numbers, info.whole_steps);
    if (chosen && chosen->first <= chosen->second)
      cut_for = {{"first", chosen->first}, {"last", chosen->second}};
  }

  return {{"file", rank.file},        {"rank", info.rank},
          {"host", info.host},        {"command", info.command},
          {"tool", info.tool},        {"process_id", info.process_id},
          {"events", sum_of(events)}, {"duration_ns", source.time_range().length()},
          {"dropped", log.dropped},   {"truncated", log.truncated},
          {"tracks", tracks},         {"facts", info.facts},
          {"steps", steps},           {"cut_out_for_steps", cut_for}};
}

/// Command lines are long, and names of megabytes exist.
constexpr size_t kMostShownBytes = 4000;
constexpr size_t kValueColumn = 17;

void print(import::RankSource const& rank) {
  import::TraceSource const& source = rank.source;
  model::TraceInfo const& info = source.info();
  std::vector<uint64_t> const events = source.event_counts();
  std::printf("%s\n", printable(rank.file).c_str());

  auto const line = [](std::string const& key, std::string const& value) {
    if (value.empty()) return;
    // A command is there to be copied.
    int const width = key == "command" ? 0 : wrap_width();
    std::fputs(reports::list_line("  " + shown(key, kMostShownBytes), shown(value, kMostShownBytes),
                                  kValueColumn, width)
                   .c_str(),
               stdout);
  };

  line("rank", fmt::format("{} of {}", info.rank, info.world_size));
  line("host", info.host);
  line("command", info.command);
  line("recorded by", info.tool);
  line("events", fmt::format("{} over {}", base::format_count(sum_of(events)),
                             base::format_duration(source.time_range().length())));
  line("steps", words_of(step_numbers(source), info.whole_steps));
  if (uint64_t const dropped = source.log().dropped; dropped > 0)
    line("dropped", base::format_count(dropped));
  for (auto const& [key, value] : info.facts) line(key, value);

  for (model::Device const& device : source.devices())
    line("device", fmt::format("{} {}{}", device.id, device.name,
                               device.capacity_bytes > 0
                                   ? ", memory " + base::format_bytes(device.capacity_bytes)
                                   : ""));

  for (size_t t = 0; t < events.size(); ++t) {
    model::Track const& track = source.tracks()[t];
    line(kind_of(track),
         fmt::format("{:>10} events  {}", base::format_count(events[t]), track.name));
  }
}

}  // namespace

Action add_info(CLI::App& app) {
  struct Options {
    std::vector<std::string> runs;
    bool json = false, is_one_run = false;
  };
  auto const options = std::make_shared<Options>();

  app.add_option("RUN", options->runs, "a trace file or a run folder")->required();
  app.add_flag("--json", options->json, "print the result as JSON");
  add_one_run_option(app, options->is_one_run);

  return [options] {
    auto const run = open_sources_and_warn(options->runs, options->is_one_run);
    if (!run) return report_error(run.error());

    begin_paging();
    nlohmann::json all = nlohmann::json::array();
    for (import::RankSource const& rank : run->ranks) {
      if (options->json)
        all.push_back(json_of(rank));
      else
        print(rank);
    }

    if (options->json)
      std::printf("%s\n", all.dump(2, ' ', true, nlohmann::json::error_handler_t::replace).c_str());
    return kGood;
  };
}

}  // namespace stepscope::cli
