#include "trace/export/perfetto/process_tracks.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "trace/base/format.h"
#include "trace/export/details.h"

namespace stepscope::exporting {
namespace {

constexpr size_t kMostLabelBytes = 4096;

}  // namespace

void ProcessTracks::describe() {
  describe_process();
  for (model::Track const& track : trace_.tracks()) add_track(track);
}

/// Processes of different hosts may have the same id, which readers take for the same process:
/// their number in the run stands for it. A label has the real id.
void ProcessTracks::describe_process() {
  using D = DescriptorField;
  model::TraceInfo const& info = trace_.info();
  ProtobufWriter& out = file_.out();
  std::string const name = fmt::format("rank {}", info.rank);

  size_t const packet = file_.begin_packet();
  out.varint(PacketField::kSequenceId, sequence_);
  size_t const descriptor = out.begin(PacketField::kTrackDescriptor);
  out.varint(D::kUuid, process_);
  out.text(D::kName, name);

  size_t const process = out.begin(D::kProcess);
  out.varint(D::kProcessPid, sequence_);
  if (!info.command.empty())
    out.text(D::kCommandLine, base::valid_utf8(info.command, kMostLabelBytes));
  out.text(D::kProcessName, name);

  std::string label = fmt::format("process {}", info.process_id);
  if (!info.host.empty()) label += " on " + base::valid_utf8(info.host, kMostLabelBytes);
  out.text(D::kProcessLabels, label);
  if (uint64_t const lost = trace_.log().dropped; lost > 0)
    out.text(D::kProcessLabels,
             fmt::format("{} lost while recording", base::format_count(lost, "event")));

  out.end(process);
  out.end(descriptor);
  file_.end_packet(packet);
}

std::string ProcessTracks::unique_name(uint64_t parent, std::string name) {
  // Where the last copy left off: a damaged trace may have any number of tracks of one name.
  int copy = ++names_[{parent, name}];
  if (copy == 1) return name;
  std::string unique;
  do {
    unique = fmt::format("{} ({})", name, copy++);
  } while (names_[{parent, unique}]++ > 0);
  names_[{parent, name}] = copy - 1;
  return unique;
}

uint64_t ProcessTracks::describe(uint64_t parent, std::string const& name, Form form,
                                 uint32_t number) {
  using D = DescriptorField;
  uint64_t const uuid = file_.new_uuid();
  ProtobufWriter& out = file_.out();

  size_t const packet = file_.begin_packet();
  out.varint(PacketField::kSequenceId, sequence_);
  size_t const descriptor = out.begin(PacketField::kTrackDescriptor);
  out.varint(D::kUuid, uuid);
  out.varint(D::kParentUuid, parent);
  out.text(D::kName, name);

  if (form != Form::kPlain) {
    size_t const counter = out.begin(D::kCounter);
    if (form == Form::kBytes) out.varint(D::kUnit, D::kUnitBytes);
    out.end(counter);
  }

  out.varint(D::kChildOrdering, D::kExplicit);
  out.signed_varint(D::kSiblingOrderRank, ++rank_in_parent_);
  if (number > 0) out.varint(D::kStepscopeTrack, number);

  out.end(descriptor);
  file_.end_packet(packet);

  return uuid;
}

void ProcessTracks::describe_thread(model::Track const& track, Target& target) {
  using D = DescriptorField;
  target.is_thread = true;
  target.lanes.push_back(file_.new_uuid());

  ProtobufWriter& out = file_.out();
  size_t const packet = file_.begin_packet();
  out.varint(PacketField::kSequenceId, sequence_);
  size_t const descriptor = out.begin(PacketField::kTrackDescriptor);
  out.varint(D::kUuid, target.lanes[0]);

  size_t const thread = out.begin(D::kThread);
  out.varint(D::kThreadPid, sequence_);
  out.signed_varint(D::kThreadTid, track.id);
  out.text(D::kThreadName, target.name);
  out.end(thread);

  out.varint(D::kStepscopeTrack, target.number);
  out.end(descriptor);
  file_.end_packet(packet);
}

void ProcessTracks::add_track(model::Track const& track) {
  Target target;
  target.number = static_cast<uint32_t>(targets_.size()) + 1;
  std::string const name = bounded_name(track.name);
  bool const has_thread_id = track.kind == model::TrackKind::kThread && track.id > 0 &&
                             track.id <= INT32_MAX && thread_ids_.insert(track.id).second;

  if (has_thread_id) {
    target.name = name;
    target.parent = process_;
    describe_thread(track, target);
  } else {
    // The tool does not know threads, or has several lists for one.
    target.parent = track.device >= 0 ? device(track.device) : process_;
    target.name = unique_name(target.parent, name);
    bool const is_counter = track.kind == model::TrackKind::kCounter;
    uint64_t const uuid = describe(target.parent, target.name,
                                   is_counter ? Form::kCounter : Form::kPlain, target.number);
    if (is_counter) {
      target.counter = uuid;
    } else {
      target.lanes.push_back(uuid);
    }
  }

  targets_.push_back(std::move(target));
}

uint64_t ProcessTracks::lane(uint32_t track, uint32_t lane) {
  Target& target = targets_[track];
  while (target.lanes.size() <= lane) {
    // Next to the first, under its name, so that they are drawn as one; of a thread, below it.
    uint64_t const parent = target.is_thread ? target.lanes[0] : target.parent;
    target.lanes.push_back(describe(parent, target.name, Form::kPlain, target.number));
  }
  return target.lanes[lane];
}

uint64_t ProcessTracks::counter(uint32_t track) {
  Target& target = targets_[track];
  if (target.counter == 0)
    target.counter = describe(target.parent, target.name, Form::kCounter, target.number);
  return target.counter;
}

uint64_t ProcessTracks::device(int32_t id) {
  auto const known = devices_.find(id);
  if (known != devices_.end()) return known->second;
  auto const devices = trace_.devices();
  auto const found = std::find_if(devices.begin(), devices.end(),
                                  [&](model::Device const& d) { return d.id == id; });
  std::string name = fmt::format("device {}", id);
  if (found != devices.end() && !found->name.empty()) name += ": " + bounded_name(found->name);
  return devices_[id] = describe(process_, unique_name(process_, name), Form::kPlain);
}

uint64_t ProcessTracks::memory(std::map<int32_t, uint64_t>& tracks, int32_t id, char const* name) {
  auto const known = tracks.find(id);
  if (known != tracks.end()) return known->second;
  uint64_t const parent = id >= 0 ? device(id) : process_;
  return tracks[id] = describe(parent, unique_name(parent, name), Form::kBytes);
}

}  // namespace stepscope::exporting
