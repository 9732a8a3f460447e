#include "trace/import/formats/xplane/space_trace.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "trace/base/format.h"
#include "trace/import/formats/xplane/async_ops.h"

namespace stepscope::import {
namespace {

using model::EventBatch;
using model::EventKind;
using model::StringId;

/// No process has more threads and streams; what a damaged profile has beyond is put on one track.
constexpr size_t kMostSpaceTracks = size_t{1} << 16U;
constexpr size_t kMostTrackNameBytes = 256;

std::string shown(std::string_view text, size_t most_bytes) {
  return base::printable(text.substr(0, most_bytes));
}

/// What a profiler that only knows a thread's number calls it.
constexpr std::string_view kNumberedThread = "host thread ";

/// "python/1234" of thread 1234 → "python".
std::string thread_name(LineIndex const& line) {
  std::string_view name = line.shown_name();
  if (name.starts_with("Host Threads/") || name.empty())
    return fmt::format("{}{}", kNumberedThread, line.id);
  std::string const suffix = fmt::format("/{}", line.id);
  if (name.size() > suffix.size() && name.ends_with(suffix)) name.remove_suffix(suffix.size());
  return shown(name, kMostTrackNameBytes);
}

model::Track thread_track(std::string name, int64_t id) {
  model::Track track;
  track.name = std::move(name);
  track.id = id;
  return track;
}

}  // namespace

SpaceTrace::SpaceTrace(SpaceIndex const& index, std::vector<PlannedPlane> const& planes)
    : index_(index), planes_(planes), names_(planes.size()) {
  for (size_t i = 0; i < planes.size(); ++i) {
    if (planes[i].tables == nullptr) continue;
    names_[i].resize(planes[i].tables->events.metadata().size());
    for (size_t line = 0; line < planes[i].plan.lines.size(); ++line)
      if (planes[i].plan.lines[line] == LineRole::kDerived)
        derived_ += index.planes[i].lines[line].events;
  }
}

SpaceTrace::SpaceTrack& SpaceTrace::track(TrackKey key, model::Track track) {
  if (tracks_.size() >= kMostSpaceTracks && !numbers_.contains(key)) {
    ++folded_tracks_;
    key = {TrackKey::Sort::kOthers, static_cast<int64_t>(track.kind), 0};
    track = {track.kind, "others", -1, -1, model::StreamKind::kCompute, 0};
  }

  auto const [place, is_new] = numbers_.try_emplace(key, tracks_.size());
  if (is_new) {
    if (track.kind == model::TrackKind::kStream && track.id < 0)
      track.id = next_stream_[track.device]++;
    tracks_.push_back({builder_.add_track({}), std::move(track)});
  } else if (model::Track& known = tracks_[place->second].track;
             known.name.starts_with(kNumberedThread) && !track.name.starts_with(kNumberedThread)) {
    known.name = std::move(track.name);
  }

  return tracks_[place->second];
}

model::Track SpaceTrace::beside_device(uint32_t plane, std::string_view what) const {
  model::Track track = thread_track(fmt::format("{} ({})", what, planes_[plane].plan.label), 0);
  track.device = planes_[plane].plan.device;
  return track;
}

SpaceTrace::SpaceTrack& SpaceTrace::track_of_line(DecodedPiece const& piece) {
  using Sort = TrackKey::Sort;
  PlanePlan const& plan = planes_[piece.plane].plan;
  LineIndex const& line = index_.planes[piece.plane].lines[piece.line];
  std::string const name = shown(line.shown_name(), kMostTrackNameBytes);

  switch (plan.lines[piece.line]) {
    case LineRole::kStream:
    case LineRole::kOverhead: {  // only the ops of a stream are left: its number is the line's id
      bool const is_overhead = plan.lines[piece.line] == LineRole::kOverhead;
      auto const number = is_overhead ? std::optional(line.id) : stream_number(line.name);
      model::Track stream{model::TrackKind::kStream,   name, number.value_or(line.id), plan.device,
                          model::StreamKind::kCompute, 0};
      if (number) stream.name = fmt::format("stream {}", *number);
      TrackKey const key{Sort::kStream, plan.device, stream.id};
      return track(key, std::move(stream));
    }
    case LineRole::kOps: {
      std::string const of_part = plan.part.empty() ? name : fmt::format("{} {}", plan.part, name);
      return track(
          {Sort::kOps, piece.plane, line.id},
          {model::TrackKind::kStream, of_part, -1, plan.device, model::StreamKind::kCompute, 0});
    }
    case LineRole::kRanges:
      return track({Sort::kRanges, piece.plane, line.id}, beside_device(piece.plane, name));
    default:
      break;
  }

  if (plan.role == PlaneRole::kHostThreads)
    return track({Sort::kHostThread, 0, line.id}, thread_track(thread_name(line), line.id));
  return track({Sort::kPlaneThread, piece.plane, line.id},
               thread_track(fmt::format("{}: {}", plan.label, thread_name(line)), line.id));
}

StringId SpaceTrace::name_of(uint32_t plane, uint32_t name) {
  StringId& id = names_[plane][name];
  if (id.valid()) return id;
  std::string_view const text = planes_[plane].tables->events.metadata()[name].name;
  cut_names_ += text.size() > kMostNameBytes ? 1 : 0;
  id = builder_.intern(shown(text, kMostNameBytes));
  return id;
}

void SpaceTrace::append(SpaceTrack& track, uint32_t plane, EventBatch rows) {
  std::vector<StringId> const& ids = names_[plane];
  for (StringId& name : rows.name) {
    StringId const known = ids[name.value];
    name = known.valid() ? known : name_of(plane, name.value);
  }

  track.copies +=
      static_cast<uint64_t>(std::count(rows.kind.begin(), rows.kind.end(), EventKind::kMemcpy));
  track.collectives +=
      static_cast<uint64_t>(std::count(rows.kind.begin(), rows.kind.end(), EventKind::kCollective));
  track.events += rows.size();

  if (!called_copies_.empty() && track.copies > 0) complete_copies(rows);
  builder_.append(track.id, std::move(rows));
}

/// Where a device's profiler does not say what a copy copies, the call that enqueued it may.
void SpaceTrace::complete_copies(EventBatch& rows) const {
  auto& details = std::get<model::DetailColumn<model::CopyDetail>>(rows.details);

  size_t next = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (kind_info(rows.kind[i]).table != model::DetailTable::kCopies) continue;
    model::CopyDetail& detail = details[next++];
    bool const is_complete = detail.direction != model::CopyDirection::kUnknown && detail.bytes > 0;
    if (is_complete || rows.kind[i] != EventKind::kMemcpy || rows.correlation[i] == 0) continue;

    auto const called = called_copies_.find(rows.correlation[i]);
    if (called == called_copies_.end()) continue;
    if (detail.direction == model::CopyDirection::kUnknown)
      detail.direction = called->second.direction;
    if (detail.bytes == 0) detail.bytes = called->second.bytes;
  }
}

void SpaceTrace::add(std::vector<DecodedPiece> pieces) {
  for (DecodedPiece const& piece : pieces) {
    has_host_steps_ = has_host_steps_ || piece.events.has_host_steps;
    for (PieceEvents::CalledCopy const& copy : piece.events.copies)
      called_copies_.emplace(copy.correlation, copy.detail);
  }

  for (DecodedPiece& piece : pieces) add_piece(piece);
  for (uint32_t plane = 0; plane < planes_.size(); ++plane) {
    add_async_ops(plane);
    add_device_steps(plane);
  }
}

void SpaceTrace::add_piece(DecodedPiece& piece) {
  PieceEvents& events = piece.events;
  aggregated_ += events.aggregated;
  unnamed_ += events.unnamed;
  broken_ += events.broken;
  whole_graphs_ += events.whole_graphs;
  log().unknown_events += events.unknown;
  auto const extend = [](auto& to, auto const& from) {
    to.insert(to.end(), from.begin(), from.end());
  };

  switch (planes_[piece.plane].plan.lines[piece.line]) {
    case LineRole::kDerived:
      return;
    case LineRole::kSteps:
      return extend(steps_[piece.plane], events.steps);
    case LineRole::kAsyncOps:
      return extend(async_lines_[piece.plane], events.async);
    case LineRole::kCounters:
      return add_samples(piece.plane, events.rows);
    case LineRole::kOps:
      if (!events.async.empty()) extend(async_parts_[piece.plane], events.async);
      if (!events.beside.empty()) {
        SpaceTrack& beside = track({TrackKey::Sort::kControlFlow, piece.plane, 0},
                                   beside_device(piece.plane, "loops, branches and calls"));
        append(beside, piece.plane, std::move(events.beside));
      }
      break;
    case LineRole::kOverhead:
      if (!events.beside.empty()) {
        LineIndex const& line = index_.planes[piece.plane].lines[piece.line];
        append(track({TrackKey::Sort::kOverhead, piece.plane, line.id},
                     beside_device(piece.plane, line.name)),
               piece.plane, std::move(events.beside));
      }
      if (events.rows.empty()) return;
      break;
    default:
      break;
  }

  append(track_of_line(piece), piece.plane, std::move(events.rows));
}

/// Each name is a counter of its own.
void SpaceTrace::add_samples(uint32_t plane, EventBatch const& rows) {
  auto const& details = std::get<model::DetailColumn<model::SampleDetail>>(rows.details);
  for (size_t i = 0; i < rows.size(); ++i) {
    StringId const name = name_of(plane, rows.name[i].value);

    std::string const text = shown(
        planes_[plane].tables->events.metadata()[rows.name[i].value].name, kMostTrackNameBytes);
    SpaceTrack& counter = track({TrackKey::Sort::kCounter, plane, rows.name[i].value},
                                {model::TrackKind::kCounter, text, 0, planes_[plane].plan.device,
                                 model::StreamKind::kCompute, 0});
    ++counter.events;
    builder_.events(counter.id).add(EventKind::kSample, rows.start[i], 0, name, 0, details[i]);
  }
}

void SpaceTrace::add_async_ops(uint32_t plane) {
  auto const on_line = async_lines_.find(plane);
  auto const in_parts = async_parts_.find(plane);
  bool const has_line = on_line != async_lines_.end() && !on_line->second.empty();
  if (!has_line && in_parts == async_parts_.end()) return;

  std::vector<EventMetadata> const& metadata = planes_[plane].tables->events.metadata();
  PlanePlan const& plan = planes_[plane].plan;
  std::string const name = plan.part.empty() ? "Async XLA Ops" : plan.part + " Async XLA Ops";
  std::vector<AsyncOp> beside = has_line ? on_line->second : in_parts->second;
  if (has_line && in_parts != async_parts_.end()) add_transfers(beside, in_parts->second, metadata);
  std::vector<AsyncOp> const ops = pair_async_ops(std::move(beside), metadata);

  EventBatch ranges;
  std::vector<EventBatch> lanes;
  std::vector<int64_t> lane_ends;
  for (AsyncOp const& op : ops) {
    OpMeaning const& meaning = metadata[op.name].op;
    bool const is_work = meaning.role == OpRole::kCollective || meaning.role == OpRole::kMemcpy;
    int64_t const dur = saturated_difference(op.end, op.start);
    if (!is_work) {
      // It is not known what other operations next to the core keep busy.
      ranges.add_range(op.start, dur, StringId{op.name});
      continue;
    }

    size_t const lane = free_lane(lane_ends, op);
    if (lane == lanes.size()) lanes.emplace_back();
    if (meaning.role == OpRole::kMemcpy) {
      model::CopyDetail copy;
      copy.direction = meaning.direction;
      lanes[lane].add(EventKind::kMemcpy, op.start, dur, StringId{op.name}, 0, copy);
    } else {
      model::CollectiveDetail detail;
      detail.op = meaning.collective;
      lanes[lane].add(EventKind::kCollective, op.start, dur, StringId{op.name}, 0, detail);
    }
  }

  for (size_t lane = 0; lane < lanes.size(); ++lane) {
    std::string const lane_name = lane == 0 ? name : fmt::format("{} {}", name, lane + 1);
    SpaceTrack& to = track(
        {TrackKey::Sort::kAsyncLane, plane, static_cast<int64_t>(lane)},
        {model::TrackKind::kStream, lane_name, -1, plan.device, model::StreamKind::kCompute, 0});
    append(to, plane, std::move(lanes[lane]));
  }

  if (!ranges.empty())
    append(track({TrackKey::Sort::kRanges, plane, INT64_MIN}, beside_device(plane, name)), plane,
           std::move(ranges));
}

/// On a track of threads, because there steps are; it is the device's own time, which is why the
/// track belongs to the device. A GPU's line of steps is made from those of the host where there
/// are any: then it is not one more.
void SpaceTrace::add_device_steps(uint32_t plane) {
  auto const found = steps_.find(plane);
  if (found == steps_.end() || found->second.empty()) return;
  bool const are_steps = planes_[plane].plan.vocabulary == Vocabulary::kXlaOps || !has_host_steps_;
  auto& steps = found->second;
  std::stable_sort(steps.begin(), steps.end(),
                   [](auto const& a, auto const& b) { return a.start < b.start; });

  EventBatch rows;
  for (size_t i = 0; i < steps.size(); ++i) {
    StringId const name{steps[i].name};
    if (are_steps) {
      int64_t const number = steps[i].number < 0 ? static_cast<int64_t>(i) : steps[i].number;
      rows.add(EventKind::kStep, steps[i].start, steps[i].dur, name, 0, model::StepDetail{number});
    } else {
      rows.add_range(steps[i].start, steps[i].dur, name);
    }
  }

  append(track({TrackKey::Sort::kSteps, plane, 0}, beside_device(plane, "Steps")), plane,
         std::move(rows));
}

void SpaceTrace::name_tracks() {
  std::map<std::string, int> seen;

  for (SpaceTrack& merged : tracks_) {
    model::Track& track = merged.track;
    if (track.kind == model::TrackKind::kStream) {
      if (2 * merged.copies > merged.events) track.stream_kind = model::StreamKind::kCopy;
      if (2 * merged.collectives > merged.events)
        track.stream_kind = model::StreamKind::kCommunication;
    } else if (track.kind == model::TrackKind::kThread) {
      // Threads of a pool have one name.
      if (int const number = ++seen[track.name]; number > 1)
        track.name += fmt::format(" #{}", number);
    }
    builder_.update_track(merged.id, track);
  }
}

model::Trace SpaceTrace::finish(int64_t origin_ns, std::string const& file) && {
  name_tracks();
  add_devices();
  add_environment(origin_ns);
  add_info(file);
  note_losses();
  return std::move(builder_).finish();
}

}  // namespace stepscope::import
