// Tracks whose events have no known category: once the whole file is read, the names of their
// processes and threads decide which are streams of a device.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "trace/import/formats/chrome/merged_events.h"
#include "trace/import/formats/xplane/plane_roles.h"
#include "trace/model/build/communication_names.h"

namespace stepscope::import {
namespace {

using model::EventBatch;
using model::EventKind;
using model::StringId;

constexpr std::string_view kAscend = "ascend hardware";
/// The streams of an Ascend device have lower numbers than its communication groups get.
constexpr int64_t kFirstGroupStream = 1'000'000;

}  // namespace

ProcessMeaning MergedEvents::meaning_of(std::string const& process) const {
  auto const name = process_names_.find(process);
  auto const label = process_labels_.find(process);
  ProcessMeaning meaning;
  if (name != process_names_.end()) meaning = meaning_of_process(name->second);

  ProcessMeaning by_label;
  if (label != process_labels_.end()) by_label = meaning_of_process(label->second);
  if (meaning.role == ProcessRole::kHost && by_label.role == ProcessRole::kDevice &&
      by_label.number)
    return by_label;

  if (meaning.device == kAscend) {
    // torch_npu: the process, then the layer, then five bits of the device's number.
    constexpr int64_t kProcess = 1024, kDevices = 32;
    int64_t const id = parse_integer(process).value_or(0);
    if (id >= kProcess) {
      meaning.number = static_cast<int32_t>(id % kDevices);
      meaning.device += " " + std::to_string(id / kProcess) + " " + std::to_string(id % kDevices);
    }
    if (by_label.number) meaning.number = by_label.number;
  }

  return meaning;
}

bool MergedEvents::has_numbered_streams(std::string const& device) const {
  return std::any_of(process_names_.begin(), process_names_.end(), [&](auto const& known) {
    ProcessMeaning const meaning = meaning_of_process(known.second);
    return meaning.role == ProcessRole::kDevice && meaning.stream && meaning.device == device;
  });
}

bool MergedEvents::has_stream_lanes(std::string const& process) const {
  return std::any_of(tracks_.begin(), tracks_.end(), [&](MergedTrack const& track) {
    if (track.key.kind != TrackKey::Kind::kThread || track.key.process != process) return false;
    auto const name = thread_names_.find({process, track.key.thread});
    return name != thread_names_.end() && stream_of_lane(name->second).has_value();
  });
}

/// Where a track of no known category says device, stream and correlation with each event: which
/// track uses each correlation first.
void MergedEvents::find_first_uses() {
  bool const may_tell = std::any_of(tracks_.begin(), tracks_.end(), [](MergedTrack const& track) {
    return is_undecided(track) && track.sayings.size() == track.events &&
           track.sayings.front().is_placed;
  });
  if (!may_tell) return;

  for (MergedTrack const& track : tracks_) {
    for (EventBatch const& rows : track.batches) {
      for (size_t row = 0; row < rows.size(); ++row) {
        if (rows.correlation[row] == 0) continue;

        auto const [use, is_new] =
            first_uses_.try_emplace(rows.correlation[row], FirstUse{rows.start[row], &track});
        if (!is_new && rows.start[row] < use->second.start_ns)
          use->second = {rows.start[row], &track};
      }
    }
  }
}

/// Another track has the same correlation before: the call that launched it.
bool MergedEvents::is_called_elsewhere(MergedTrack const& track, Saying const& saying) const {
  auto const use = first_uses_.find(track.batches[saying.batch].correlation[saying.row]);
  return saying.is_placed && use != first_uses_.end() && use->second.track != &track;
}

/// Each event says its stream and its launch shape or bytes, or its device, its stream and a call's
/// correlation; none is a call of the host.
bool MergedEvents::is_device_by_arguments(MergedTrack const& track) const {
  if (track.sayings.size() != track.events) return false;
  return std::all_of(track.sayings.begin(), track.sayings.end(), [&](Saying const& saying) {
    std::string_view const name = builder_.text(track.batches[saying.batch].name[saying.row]);
    bool const is_kernel = saying.op.kernel.grid_x > 0 && saying.op.kernel.block_x > 0;
    bool const is_copy = kind_of_device_work(name) == EventKind::kMemcpy &&
                         copy_of_name(name).direction != model::CopyDirection::kUnknown;

    bool const is_work =
        (saying.is_op && (is_kernel || is_copy)) || is_called_elsewhere(track, saying);
    return is_work && model::classify(model::plain_name(name)) == model::ApiClass::kOther;
  });
}

MergedEvents::Decision MergedEvents::decide(MergedTrack const& track) const {
  using What = Decision::What;
  Decision decision;
  std::string const& process = track.key.process;
  auto const known = thread_names_.find({process, track.key.thread});
  std::string const lane = known == thread_names_.end() ? std::string() : known->second;
  ProcessMeaning meaning = meaning_of(process);

  if (meaning.role == ProcessRole::kHost) {
    if (auto const by_lane = meaning_of_host_lane(lane)) {
      meaning = *by_lane;
    } else if (is_device_by_arguments(track)) {
      int32_t const device = track.sayings.front().device;
      meaning.role = ProcessRole::kDevice;
      meaning.device =
          device < 0 ? "device of arguments" : "device of arguments " + std::to_string(device);
      if (device >= 0) meaning.number = device;
    } else {
      return decision;
    }
  }

  decision.device = meaning.device;
  decision.wanted = meaning.number.value_or(0);
  decision.stream = meaning.stream.value_or(
      stream_of_lane(lane).value_or(trailing_number(track.key.thread).value_or(0)));

  LaneRole const role = role_of_lane(lane);
  decision.what = What::kDerived;
  if (role == LaneRole::kSteps) decision.what = What::kSteps;
  if (role == LaneRole::kStream || (role == LaneRole::kPrograms && !has_stream_lanes(process)))
    decision.what = What::kStream;

  if (meaning.role == ProcessRole::kDerived) decision.what = What::kDerived;
  if (meaning.role == ProcessRole::kAllStreams && has_numbered_streams(meaning.device))
    decision.what = What::kDerived;

  if (meaning.role == ProcessRole::kCommunication) {
    bool const has_hardware =
        std::any_of(process_names_.begin(), process_names_.end(), [](auto const& name) {
          return meaning_of_process(name.second).device == kAscend &&
                 meaning_of_process(name.second).role == ProcessRole::kDevice;
        });
    if (!has_hardware) decision.what = What::kHost;
    decision.stream += kFirstGroupStream;
  }

  return decision;
}

bool MergedEvents::is_undecided(MergedTrack const& track) {
  bool const is_thread =
      track.key.kind == TrackKey::Kind::kThread || track.key.kind == TrackKey::Kind::kAsync;
  return is_thread && track.events > 0 && track.undecided == track.events;
}

void MergedEvents::make_stream(MergedTrack& track) {
  std::unordered_map<uint32_t, DeviceOp> op_of_name;
  auto const op_of = [&](StringId name) -> DeviceOp const& {
    auto const [place, is_new] = op_of_name.try_emplace(name.value);
    if (!is_new) return place->second;
    std::string_view const text = builder_.text(name);
    place->second.kind = kind_of_device_work(text);
    place->second.copy = copy_of_name(text);
    if (place->second.kind == EventKind::kCollective)
      place->second.collective = model::collective_of_kernel(text);
    return place->second;
  };

  auto saying = track.sayings.begin();
  for (size_t batch = 0; batch < track.batches.size(); ++batch) {
    EventBatch const rows = std::exchange(track.batches[batch], {});
    track.batches[batch].reserve(rows.size());

    for (uint32_t row = 0; row < rows.size(); ++row) {
      DeviceOp op = op_of(rows.name[row]);
      op.correlation = rows.correlation[row];
      if (saying != track.sayings.end() && saying->batch == batch && saying->row == row) {
        op.kernel = saying->op.kernel;
        op.copy.bytes = saying->op.copy.bytes;
        ++saying;
      }

      track.copies += op.kind == EventKind::kMemcpy ? 1 : 0;
      track.collectives += op.kind == EventKind::kCollective ? 1 : 0;
      op.add_to(track.batches[batch], rows.start[row], rows.dur[row], rows.name[row]);
    }
  }
}

/// Turns ranges with a step number into steps. On a device's own lane a range may have the number
/// as its name.
void MergedEvents::make_steps(MergedTrack& track, bool is_device) {
  auto saying = track.sayings.begin();
  for (size_t batch = 0; batch < track.batches.size(); ++batch) {
    EventBatch const rows = std::exchange(track.batches[batch], {});

    for (uint32_t row = 0; row < rows.size(); ++row) {
      int64_t step = is_device ? parse_integer(builder_.text(rows.name[row])).value_or(-1) : -1;
      if (saying != track.sayings.end() && saying->batch == batch && saying->row == row)
        step = std::max(step, (saying++)->step);

      if (step >= 0) {
        track.batches[batch].add(EventKind::kStep, rows.start[row], rows.dur[row], rows.name[row],
                                 0, model::StepDetail{step});
      } else {
        track.batches[batch].add(EventKind::kRange, rows.start[row], rows.dur[row], rows.name[row],
                                 rows.correlation[row]);
      }
    }
  }
}

void MergedEvents::decide_roles() {
  std::set<std::string>
      by_category;  // processes whose device work has categories: what else they hold is no op
  for (auto const& [device, processes] : device_users_)
    if (device >= 0) by_category.insert(processes.begin(), processes.end());

  find_first_uses();
  std::vector<Decision> decisions(tracks_.size());
  bool device_steps = false;
  for (size_t i = 0; i < tracks_.size(); ++i) {
    MergedTrack const& track = tracks_[i];
    if (is_undecided(track) && !by_category.contains(track.key.process))
      decisions[i] = decide(track);
    device_steps = device_steps || decisions[i].what == Decision::What::kSteps;
  }

  // Steps in the device's own time need no launch to be found on it: they are the better ones.
  DeviceNumbers numbers;
  for (size_t i = 0; i < tracks_.size(); ++i) {
    MergedTrack& track = tracks_[i];
    if (!is_undecided(track)) continue;
    Decision const& decision = decisions[i];

    if (decision.what == Decision::What::kHost) {
      bool const has_steps = std::any_of(track.sayings.begin(), track.sayings.end(),
                                         [](Saying const& saying) { return saying.step >= 0; });
      if (has_steps && !device_steps) make_steps(track, false);
      continue;
    }

    int32_t const device =
        decision.device.empty() ? -1 : numbers.of(decision.device, decision.wanted);
    if (decision.what == Decision::What::kStream) {
      make_stream(track);
      auto const name = thread_names_.find({track.key.process, track.key.thread});
      if (name != thread_names_.end()) track.name = name->second;
      track.key = {TrackKey::Kind::kStream, track.key.process, track.key.thread, device,
                   decision.stream};
    } else {
      track.device = device;
      if (decision.what == Decision::What::kSteps) make_steps(track, true);
      for (EventBatch& rows : track.batches)
        std::fill(rows.correlation.begin(), rows.correlation.end(), 0);
    }
  }

  link_ranges();
}

/// A range of the host that says the correlation of a device op is the call that launched it. No
/// other range keeps one.
void MergedEvents::link_ranges() {
  std::unordered_set<uint64_t> of_ops;
  bool const are_any = std::any_of(tracks_.begin(), tracks_.end(), [](MergedTrack const& track) {
    return track.key.kind == TrackKey::Kind::kThread && track.undecided > 0;
  });
  if (!are_any) return;

  for (MergedTrack const& track : tracks_) {
    if (track.key.kind != TrackKey::Kind::kStream) continue;
    for (EventBatch const& rows : track.batches)
      of_ops.insert(rows.correlation.begin(), rows.correlation.end());
  }

  for (MergedTrack& track : tracks_) {
    if (track.key.kind != TrackKey::Kind::kThread || track.undecided == 0) continue;

    for (EventBatch& rows : track.batches) {
      for (size_t row = 0; row < rows.size(); ++row) {
        if (rows.correlation[row] == 0 || rows.kind[row] != EventKind::kRange) continue;
        if (of_ops.contains(rows.correlation[row])) {
          rows.kind[row] = EventKind::kLaunch;
        } else {
          rows.correlation[row] = 0;
        }
      }
    }
  }
}

bool MergedEvents::has_steps() const {
  return std::any_of(tracks_.begin(), tracks_.end(), [](MergedTrack const& track) {
    return std::any_of(track.batches.begin(), track.batches.end(), [](EventBatch const& rows) {
      return !std::get<model::DetailColumn<model::StepDetail>>(rows.details).empty();
    });
  });
}

/// From the first event of each number to the last one. Nothing where numbers fall, so that they
/// count something else, or are fewer than three.
std::map<int64_t, model::Interval> MergedEvents::steps_of_parts(MergedTrack const& track) {
  struct Event {
    int64_t begin, end, step;
  };
  std::vector<Event> events;
  for (Part const& part : track.parts) {
    EventBatch const& rows = track.batches[part.batch];
    int64_t const begin = std::clamp(rows.start[part.row], -model::kMaxTime, model::kMaxTime);
    events.push_back(
        {begin, begin + std::clamp<int64_t>(rows.dur[part.row], 0, model::kMaxTime), part.step});
  }
  std::stable_sort(events.begin(), events.end(),
                   [](Event const& a, Event const& b) { return a.begin < b.begin; });
  auto const falls = [](Event const& a, Event const& b) { return b.step < a.step; };
  if (std::adjacent_find(events.begin(), events.end(), falls) != events.end()) return {};

  std::map<int64_t, model::Interval> steps;
  for (Event const& event : events) {
    model::Interval& step =
        steps.try_emplace(event.step, model::Interval{event.begin, event.end}).first->second;
    step.end = std::max(step.end, event.end);
  }
  constexpr size_t kFewest = 3;
  return steps.size() < kFewest ? std::map<int64_t, model::Interval>() : steps;
}

/// Timelines without steps whose threads say with each event in which one it is: steps of the
/// process, on a track of their own. Each ends where the next begins, at the latest.
void MergedEvents::add_steps_of_parts() {
  auto const says_all = [](MergedTrack const& track) {
    return is_undecided(track) && track.device < 0 && !track.parts.empty() &&
           track.parts.size() == track.events;
  };
  if (is_kineto_ || std::none_of(tracks_.begin(), tracks_.end(), says_all) || has_steps()) return;

  std::map<std::string, std::map<int64_t, model::Interval>> processes;
  for (MergedTrack const& track : tracks_) {
    if (!says_all(track)) continue;
    for (auto const& [number, when] : steps_of_parts(track)) {
      model::Interval& step = processes[track.key.process].try_emplace(number, when).first->second;
      step = {std::min(step.begin, when.begin), std::max(step.end, when.end)};
    }
  }

  StringId const name = builder_.intern("step");
  for (auto const& [process, steps] : processes) {
    EventBatch batch;
    for (auto step = steps.begin(); step != steps.end(); ++step) {
      auto const next = std::next(step);
      int64_t const end =
          next == steps.end() ? step->second.end : std::min(step->second.end, next->second.begin);
      if (end > step->second.begin)
        batch.add(EventKind::kStep, step->second.begin, end - step->second.begin, name, 0,
                  model::StepDetail{step->first});
    }
    MergedTrack& track = tracks_[track_of({TrackKey::Kind::kThread, process, "Steps"})];
    track.id = builder_.add_track({});
    track.batches.push_back(std::move(batch));
  }
  if (!processes.empty())
    log().notes.emplace_back(
        "steps are from the argument \"step\" of events: each from its first event to its last");
}

/// Steps of one thread that overlap in part, as no calls can: the earlier one ends where the later
/// begins. Tools that round begins, and steps whose device is still at work, cause it.
void MergedEvents::part_steps(MergedTrack& track) {
  struct Step {
    int64_t start;
    int64_t* dur;
  };
  std::vector<Step> steps;
  for (EventBatch& rows : track.batches) {
    if (std::get<model::DetailColumn<model::StepDetail>>(rows.details).empty()) continue;
    for (size_t row = 0; row < rows.size(); ++row)
      if (rows.kind[row] == EventKind::kStep) steps.push_back({rows.start[row], &rows.dur[row]});
  }

  std::stable_sort(steps.begin(), steps.end(),
                   [](Step const& a, Step const& b) { return a.start < b.start; });

  for (size_t i = 1; i < steps.size(); ++i) {
    Step const &step = steps[i - 1], &next = steps[i];
    // Times of damaged traces are any: compared without sums that overflow.
    int64_t distance = 0;
    if (__builtin_sub_overflow(next.start, step.start, &distance) || distance == 0 ||
        distance >= *step.dur)
      continue;
    if (*next.dur > *step.dur - distance) *step.dur = distance;
  }
}

void MergedEvents::send_tracks() {
  for (MergedTrack& track : tracks_) part_steps(track);
  for (MergedTrack& track : tracks_)
    for (EventBatch& rows : track.batches) builder_.append(track.id, std::move(rows));
}

}  // namespace stepscope::import
