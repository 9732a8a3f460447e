#include "analyzer/whatif/replay_part.h"

#include <utility>

#include "analyzer/metrics/communication/collectives.h"
#include "analyzer/metrics/steps/measured_steps.h"

namespace stepscope::analyzer {
namespace {

/// The measured periods of the chosen devices that end in their windows.
std::vector<std::vector<Interval>> periods_in(Analysis const& analysis,
                                              std::vector<DeviceStats> const& chosen) {
  auto const all = measured_periods(analysis);
  std::vector<std::vector<Interval>> periods(chosen.size());

  for (size_t c = 0; c < chosen.size(); ++c) {
    for (size_t d = 0; d < analysis.devices.size(); ++d) {
      if (analysis.devices[d].ref != chosen[c].ref) continue;
      for (MeasuredPeriod const& period : all[d])
        if (period.when.end > chosen[c].window.begin && period.when.end <= chosen[c].window.end)
          periods[c].push_back(period.when);
    }
  }
  return periods;
}

}  // namespace

double part_within(model::Run const& skeleton, std::vector<bool> const& is_chosen, uint64_t most) {
  uint64_t const events = chosen_events(skeleton, is_chosen);
  return events <= most ? 1 : static_cast<double>(most) / static_cast<double>(events);
}

base::Expected<ReplayPart> read_part(StreamedRun const& run, HostSteps const& steps,
                                     Analysis const& analysis, double share, ReadRange before) {
  std::vector<bool> const is_chosen = chosen_for_path(run.skeleton, analysis);
  PathPart const chosen = choose_part(analysis, share);
  ReplayPart part;
  part.is_all = chosen.is_all;
  part.chosen = chosen.devices;
  if (part.chosen.empty()) return part;

  Interval const range = part.is_all ? kAllTime : range_of(chosen);
  if (before.run && before.range == range) {
    part.owned = std::move(before.run);
  } else {
    auto read = read_range(run, is_chosen, range, before);
    if (!read) return base::fail_with(read);
    part.owned = std::make_shared<model::Run const>(std::move(*read));
    before = {};  // memory for the replay
  }
  part.run = part.owned.get();

  part.devices = index_devices(*part.run);
  part.host_steps = steps;

  // A step waits for what happens before it: the collectives of all steps are replayed.
  bool const is_matched = !analysis.is_of_chosen_steps;
  std::vector<DeviceOps> skeleton;
  if (part.is_all || !is_matched) skeleton = index_devices(run.skeleton);
  if (part.is_all)
    part.collectives = collectives_of_whole(
        is_matched ? analysis.collectives : match_collectives(skeleton), skeleton, part.devices);
  else if (is_matched)
    part.collectives = collectives_in_range(analysis.collectives, part.devices, is_chosen, range);
  else
    part.collectives =
        collectives_in_range(match_collectives(skeleton), part.devices, is_chosen, range);

  part.periods = periods_in(analysis, part.chosen);
  return part;
}

ReplayPart whole_part(model::Run const& run, HostSteps const& steps, Analysis const& analysis) {
  ReplayPart part;
  part.run = &run;
  part.devices = index_devices(run);
  part.host_steps = steps;
  part.collectives =
      analysis.is_of_chosen_steps ? match_collectives(part.devices) : analysis.collectives;

  for (DeviceStats const& device : analysis.devices)
    part.chosen.push_back(facts_for_path(device, device.window));
  part.periods = periods_in(analysis, part.chosen);
  return part;
}

}  // namespace stepscope::analyzer
