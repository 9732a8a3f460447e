// Threads of a pipeline's workers become devices with streams and steps, once the whole file is
// read: names and arguments tell which, as pipeline_workers.h says.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "trace/import/formats/chrome/merged_events.h"

namespace stepscope::import {
namespace {

using model::EventBatch;
using model::EventKind;

/// A job is cut where there are two workers.
constexpr size_t kFewestWorkers = 2;

}  // namespace

/// Its events have no known category, and at least one tells its step.
bool MergedEvents::is_pipeline_track(MergedTrack const& track) const {
  return track.key.kind == TrackKey::Kind::kThread && is_undecided(track) && !track.parts.empty() &&
         thread_names_.contains({track.key.process, track.key.thread});
}

/// The data-parallel rank is in the name of the thread or of its process, or the process's number.
std::optional<model::PipelinePlace> MergedEvents::place_in_pipeline(
    MergedTrack const& track, PipelineLane const& lane) const {
  std::optional<int32_t> data = lane.data;
  auto const process = process_names_.find(track.key.process);
  if (!data && process != process_names_.end()) data = data_rank_of(process->second);

  if (!data) {
    constexpr int64_t kMostRank = 1 << 20;
    auto const number = parse_integer(track.key.process);
    if (!number || *number < 0 || *number > kMostRank) return std::nullopt;
    data = static_cast<int32_t>(*number);
  }
  return model::PipelinePlace{lane.stage, *data, lane.tensor};
}

void MergedEvents::take_pipeline_ops(MergedTrack const& track, PipelineLane const& lane,
                                     std::vector<PipelineOp>& ops) {
  constexpr int64_t kMostChunk = 1 << 16;
  auto part = track.parts.begin();
  for (size_t batch = 0; batch < track.batches.size(); ++batch) {
    EventBatch const& rows = track.batches[batch];
    for (uint32_t row = 0; row < rows.size(); ++row) {
      PipelineOp op{rows.start[row], rows.dur[row], rows.name[row]};
      op.work = lane.work;
      op.chunk = lane.chunk.value_or(0);

      if (part != track.parts.end() && part->batch == batch && part->row == row) {
        op.step = part->step;
        op.sequence = part->sequence;
        if (!lane.chunk)
          op.chunk = static_cast<int32_t>(std::clamp<int64_t>(part->model_chunk, 0, kMostChunk));
        ++part;
      }
      ops.push_back(op);
    }
  }
}

void MergedEvents::add_pipeline_tracks(PipelineWorker worker, int32_t device,
                                       std::string const& process) {
  for (auto& [stream, rows] : worker.streams) {
    MergedTrack& track = tracks_.emplace_back();
    track.key = {TrackKey::Kind::kStream, process, "", device, stream};
    track.name = name_of_pipeline_stream(stream);
    track.events = rows.size();
    track.collectives = static_cast<uint64_t>(
        std::count(rows.kind.begin(), rows.kind.end(), EventKind::kCollective));
    track.batches.push_back(std::move(rows));
  }

  if (worker.steps.empty()) return;
  MergedTrack& steps = tracks_.emplace_back();
  steps.key = {TrackKey::Kind::kThread, process, "Steps of " + model::device_name_of(worker.place)};
  steps.device = device;
  steps.batches.push_back(std::move(worker.steps));
}

void MergedEvents::take_pipeline() {
  bool const has_streams = std::any_of(
      tracks_.begin(), tracks_.end(),
      [](MergedTrack const& track) { return track.key.kind == TrackKey::Kind::kStream; });
  if (is_kineto_ || has_streams) return;

  std::map<model::PipelinePlace, std::vector<PipelineOp>> ops;
  std::map<model::PipelinePlace, std::string> processes;
  std::vector<bool> is_taken(tracks_.size());
  for (size_t t = 0; t < tracks_.size(); ++t) {
    if (!is_pipeline_track(tracks_[t])) continue;
    TrackKey const& key = tracks_[t].key;
    auto const lane = pipeline_lane_of(thread_names_.at({key.process, key.thread}));
    auto const place = lane ? place_in_pipeline(tracks_[t], *lane) : std::nullopt;
    if (!place) continue;

    is_taken[t] = true;
    processes.try_emplace(*place, key.process);
    take_pipeline_ops(tracks_[t], *lane, ops[*place]);
  }
  if (ops.size() < kFewestWorkers) return;

  size_t kept = 0;
  for (size_t t = 0; t < is_taken.size(); ++t)
    if (!is_taken[t] && kept++ != t) tracks_[kept - 1] = std::move(tracks_[t]);
  tracks_.resize(kept);

  int32_t device = 0;
  for (PipelineWorker& worker : make_pipeline_workers(std::move(ops), builder_)) {
    pipeline_devices_[device] = model::device_name_of(worker.place);
    std::string const process = processes.at(worker.place);
    add_pipeline_tracks(std::move(worker), device++, process);
  }

  log().notes.emplace_back(
      "threads that name a stage (PP rank) are read as devices; steps are from the argument "
      "\"step\": each from a device's first event to its last");
}

}  // namespace stepscope::import
