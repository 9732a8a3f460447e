#include "analyzer/metrics/critical_path/streamed_path.h"

#include <algorithm>
#include <limits>
#include <optional>

#include <tbb/parallel_for.h>

namespace stepscope::analyzer {

base::Expected<std::optional<CriticalPathStats>> find_streamed_path(StreamedRun const& run,
                                                                    FactsBeforePath const& known,
                                                                    AnalyzeOptions const& options,
                                                                    ReadRange& read) {
  std::vector<bool> const is_chosen = chosen_for_path(run.skeleton, known.facts);
  PathPart const part = choose_part(known.facts, part_of_path(run.skeleton, is_chosen));
  if (part.devices.empty()) return std::nullopt;
  Interval const range = part.is_all ? kAllTime : range_of(part);
  auto ranks = read_range(run, is_chosen, range, std::stop_token());
  if (!ranks) return base::fail_with(ranks);
  read = {range, std::make_shared<model::Run const>(std::move(*ranks))};

  std::vector<DeviceOps> const devices = index_devices(*read.run);
  std::vector<CollectiveStats> const collectives =
      part.is_all ? collectives_of_whole(known.facts.collectives, known.devices, devices)
                  : collectives_in_range(known.facts.collectives, devices, is_chosen, range);
  return find_critical_path({devices, known.host_steps, collectives, part.devices, part.steps,
                             options.launch_latency_limit_ns});
}

base::Expected<PathOfStretch> find_path_of_stretch(StreamedRun const& run, Analysis const& facts,
                                                   Interval stretch, int64_t around,
                                                   std::stop_token const& stop) {
  PathOfStretch found;
  PathPart part;

  for (DeviceStats const& device : facts.devices) {
    Interval const inside{std::max(device.window.begin, stretch.begin),
                          std::min(device.window.end, stretch.end + around)};
    if (inside.begin >= inside.end) continue;
    part.devices.push_back(facts_for_path(device, inside));
  }

  if (part.devices.empty()) return found;
  Interval range = range_of(part);
  range.begin -= around;

  std::vector<bool> const all(run.skeleton.ranks.size(), true);
  auto read = read_range(run, all, range, stop);
  if (!read) return base::fail_with(read);
  found.run = std::move(*read);

  std::vector<DeviceOps> const devices = index_devices(found.run);
  HostSteps const steps = find_host_steps(found.run);
  std::vector<CollectiveStats> const collectives =
      collectives_in_range(facts.collectives, devices, all, range);

  CriticalPathInput input{devices, steps, collectives, part.devices, part.steps};
  input.wants_slack = false;
  input.stop = stop;
  if (!find_critical_path(input, &found.pieces)) found.pieces.clear();

  for (PathPiece& piece : found.pieces)
    piece.when = {std::max(piece.when.begin, stretch.begin), std::min(piece.when.end, stretch.end)};
  std::erase_if(found.pieces,
                [](PathPiece const& piece) { return piece.when.begin >= piece.when.end; });
  return found;
}

}  // namespace stepscope::analyzer
