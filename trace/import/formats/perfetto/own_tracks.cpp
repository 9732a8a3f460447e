// The tracks, devices and facts of a process in our own exports.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "trace/import/formats/chrome/kineto_arguments.h"
#include "trace/import/formats/perfetto/own_events.h"
#include "trace/import/formats/perfetto/saturating.h"

namespace stepscope::import::perfetto {
namespace {

/// 3 of "device 3" and "device 3: NVIDIA H100".
std::optional<std::pair<int32_t, std::string>> device_of_name(std::string_view name) {
  constexpr std::string_view kPrefix = "device ";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  int32_t id = 0;
  auto const [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
  if (error != std::errc() || id < 0) return std::nullopt;
  name.remove_prefix(static_cast<size_t>(end - name.data()));
  return std::pair(id, name.starts_with(": ") ? std::string(name.substr(2)) : std::string());
}

}  // namespace

uint32_t OwnProcess::new_track(model::Track track) {
  if (tracks_.size() >= kMostTracks) return kNoTrack;
  tracks_.push_back(std::move(track));
  return static_cast<uint32_t>(tracks_.size() - 1);
}

void OwnProcess::describe_tracks() {
  are_tracks_known_ = true;
  if (auto const tracks = index_.by_sequence.find(sequence_); tracks != index_.by_sequence.end())
    for (uint32_t const track : tracks->second) describe_track(index_.tracks[track]);
}

/// Older exports do not number their tracks: the place of a track tells what it is.
void OwnProcess::describe_track(TrackDescription const& described) {
  Lane& lane = lanes_[described.uuid];
  lane.is_known = true;
  lane.track = kNoTrack;
  if (described.own_track > 0 && described.own_track <= tracks_.size() && has_description_) {
    lane.track = described.own_track - 1;
    return;
  }

  bool const is_derived = described.is_counter && described.is_in_bytes &&
                          (described.name.starts_with("memory allocated") ||
                           described.name.starts_with("memory reserved"));
  if (described.is_process || is_derived || has_description_) return;

  TrackDescription const* const parent = index_.find(described.parent);
  bool const is_in_process = parent == nullptr || parent->is_process;
  auto const device =
      parent == nullptr || is_in_process ? std::nullopt : device_of_name(parent->name);

  if (!described.is_thread && !described.is_counter && is_in_process &&
      device_of_name(described.name)) {
    auto const [id, name] = *device_of_name(described.name);
    model::Device of_trace;
    of_trace.id = id;
    of_trace.name = name;
    devices_.push_back(std::move(of_trace));
    return;
  }

  // A further lane of a track bears its name, next to it, or below it when it is a thread.
  if (parent != nullptr && parent->is_thread && parent->name == described.name) {
    if (Lane const* const first = lanes_.find(parent->uuid); first != nullptr && first->is_known)
      lane.track = first->track;
    return;
  }

  std::pair key(described.parent, described.name);
  if (auto const known = named_.find(key); known != named_.end() && !described.is_thread) {
    lane.track = known->second;
    return;
  }

  model::Track track;
  track.name = described.name;
  track.id = described.is_thread ? described.tid : trailing_number(described.name).value_or(0);
  if (device) track.device = device->first;
  if (described.is_counter) track.kind = model::TrackKind::kCounter;
  lane.track = new_track(std::move(track));
  if (!described.is_thread && lane.track != kNoTrack) named_.emplace(std::move(key), lane.track);
}

void OwnProcess::complete_tracks() {
  for (size_t i = 0; i < tracks_.size() && i < targets_.size() && !has_description_; ++i) {
    Target const& target = targets_[i];
    if (!target.is_of_device) continue;

    model::Track& track = tracks_[i];
    track.kind = model::TrackKind::kStream;
    track.device = std::max(track.device, 0);
    if (2 * target.copies > target.rows.size()) track.stream_kind = model::StreamKind::kCopy;
    if (2 * target.collectives > target.rows.size())
      track.stream_kind = model::StreamKind::kCommunication;
  }

  for (model::Track& track : tracks_) {
    bool const has_device = std::any_of(devices_.begin(), devices_.end(),
                                        [&](auto const& d) { return d.id == track.device; });
    if (track.kind == model::TrackKind::kStream && !has_device && !has_description_) {
      model::Device device;
      device.id = track.device;
      device.name = fmt::format("GPU {}", track.device);
      devices_.push_back(std::move(device));
    }

    builder_.add_track(std::move(track));
  }

  while (builder_.track_count() < targets_.size()) builder_.add_track({});
  for (model::Device& device : devices_) builder_.add_device(std::move(device));
}

/// Reads the labels that older exports wrote: "rank 3", "process 4100 on node-0".
void OwnProcess::complete_info(uint32_t processes, int64_t shift_ns) {
  if (has_description_) return;
  info_.tool = "Stepscope (exported to Perfetto)";
  info_.rank = -1;
  info_.world_size = static_cast<int32_t>(processes);
  if (int64_t const epoch = index_.clocks.epoch_ns(); epoch > 0)
    info_.origin_epoch_ns = saturated_minus(shift_ns, saturated_minus(0, epoch));

  auto const tracks = index_.by_sequence.find(sequence_);
  for (uint32_t const track :
       tracks == index_.by_sequence.end() ? std::vector<uint32_t>() : tracks->second) {
    TrackDescription const& described = index_.tracks[track];
    if (!described.is_process) continue;
    if (auto const rank = trailing_number(described.name); rank && *rank >= 0 && *rank <= INT32_MAX)
      info_.rank = static_cast<int32_t>(*rank);
    info_.command = described.command;

    if (described.labels.empty()) continue;
    std::string_view const label = described.labels.front();
    size_t const on = label.find(" on ");
    info_.process_id = trailing_number(label.substr(0, on)).value_or(0);
    if (on != std::string_view::npos) info_.host = label.substr(on + 4);
  }

  info_.world_size =
      std::max(info_.world_size, info_.rank < INT32_MAX ? info_.rank + 1 : info_.rank);
}

}  // namespace stepscope::import::perfetto
