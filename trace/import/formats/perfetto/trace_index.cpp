#include "trace/import/formats/perfetto/trace_index.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "trace/base/format.h"
#include "trace/model/kinds.h"

namespace stepscope::import::perfetto {
namespace {

using base::ProtobufField;
using base::ProtobufReader;
using T = TrackNumber;

constexpr size_t kMostTextBytes = size_t{1} << 14U;
constexpr size_t kMostLabels = 16;

std::string text_of(std::string_view bytes) { return base::valid_utf8(bytes, kMostTextBytes); }

void read_process(std::string_view bytes, TrackDescription& track) {
  track.is_process = true;
  ProtobufReader reader(bytes);
  ProtobufField field;

  while (reader.next(field)) {
    if (field.is_varint(T::kProcessPid)) track.pid = static_cast<int32_t>(field.value);
    if (field.is_bytes(T::kProcessName)) track.name = text_of(field.bytes);
    if (field.is_bytes(T::kProcessLabels) && track.labels.size() < kMostLabels)
      track.labels.push_back(text_of(field.bytes));
    if (field.is_bytes(T::kCommandLine) && track.command.size() < kMostTextBytes)
      track.command += (track.command.empty() ? "" : " ") + text_of(field.bytes);
  }
}

void read_thread(std::string_view bytes, TrackDescription& track) {
  track.is_thread = true;
  ProtobufReader reader(bytes);
  ProtobufField field;
  while (reader.next(field)) {
    if (field.is_varint(T::kThreadPid)) track.pid = static_cast<int32_t>(field.value);
    if (field.is_varint(T::kThreadTid)) track.tid = field.signed_value();
    if (field.is_bytes(T::kThreadName)) track.name = text_of(field.bytes);
  }
}

void read_counter(std::string_view bytes, TrackDescription& track) {
  track.is_counter = true;
  ProtobufReader reader(bytes);
  ProtobufField field;
  while (reader.next(field)) {
    if (field.is_varint(T::kUnit)) track.is_in_bytes = field.value == T::kUnitBytes;
    if (field.is_varint(T::kUnitMultiplier) && field.value != 0)
      track.unit_multiplier = field.signed_value();
    if (field.is_varint(T::kCounterIsIncremental)) track.is_incremental = field.value != 0;
  }
}

/// Our own export calls its categories as the kinds of events are called, in their order.
bool names_our_kinds(std::string_view interned) {
  constexpr size_t kEnough = 16;  // kinds that the first version had
  ProtobufReader reader(interned);
  ProtobufField field, entry;
  size_t same = 0;

  while (reader.next(field) && field.is_bytes(InternedNumber::kCategories)) {
    uint64_t iid = 0;
    std::string_view name;
    ProtobufReader of_entry(field.bytes);
    while (of_entry.next(entry)) {
      if (entry.is_varint(InternedNumber::kIid)) iid = entry.value;
      if (entry.is_bytes(InternedNumber::kText)) name = entry.bytes;
    }

    if (same < model::kKindCount && (iid != same + 1 || name != model::kKindTable[same].name))
      return false;
    ++same;
  }

  return same >= kEnough;
}

}  // namespace

uint64_t uuid_of_thread(int64_t pid, int64_t tid) {
  return base::mixed_bits(static_cast<uint64_t>(pid) * 0x9E37'79B9'7F4A'7C15U +
                          static_cast<uint64_t>(tid)) |
         1U;
}

std::string name_of_message(uint32_t number) {
  static constexpr std::array<std::pair<uint32_t, std::string_view>, 17> kNames = {
      {{1, "ftrace events"},
       {2, "process trees"},
       {9, "process statistics"},
       {37, "heap profiles"},
       {38, "battery counters"},
       {39, "graphics frames"},
       {40, "power rails"},
       {52, "GPU counters"},
       {54, "call stacks"},
       {63, "Vulkan memory"},
       {64, "GPU logs"},
       {65, "Vulkan calls"},
       {66, "performance samples"},
       {71, "GPU memory totals"},
       {74, "network packets"},
       {76, "frame timelines"},
       {7, "CPU frequencies"}}};

  auto const found = std::find_if(kNames.begin(), kNames.end(),
                                  [&](auto const& known) { return known.first == number; });
  return found == kNames.end() ? fmt::format("messages of number {}", number)
                               : std::string(found->second);
}

TrackDescription& TraceIndex::track(uint64_t uuid, uint64_t sequence) {
  auto const [place, is_new] = by_uuid.try_emplace(uuid, static_cast<uint32_t>(tracks.size()));
  if (is_new) {
    tracks.emplace_back();
    tracks.back().uuid = uuid;
    tracks.back().sequence = sequence;
    by_sequence[sequence].push_back(place->second);
  }
  return tracks[place->second];
}

/// What is described again is as the last description says.
void TraceIndex::add_track(std::string_view descriptor, uint64_t sequence) {
  uint64_t uuid = 0;
  ProtobufReader reader(descriptor);
  ProtobufField field;
  while (reader.next(field))
    if (field.is_varint(T::kUuid)) uuid = field.value;

  TrackDescription& to = track(uuid, sequence);
  std::string name;
  ProtobufReader again(descriptor);
  while (again.next(field)) {
    if (field.is_varint(T::kParent)) to.parent = field.value == uuid ? 0 : field.value;
    if (field.is_varint(T::kStepscopeTrack))
      to.own_track = static_cast<uint32_t>(std::min<uint64_t>(field.value, UINT32_MAX));

    if (field.type != base::WireType::kBytes) continue;
    if (field.number == T::kName || field.number == T::kStaticName ||
        field.number == T::kAtraceName)
      name = text_of(field.bytes);
    if (field.number == T::kProcess) {
      to.labels.clear();
      to.command.clear();
      read_process(field.bytes, to);
      processes[to.pid] = by_uuid[uuid];
    }

    if (field.number == T::kThread) read_thread(field.bytes, to);
    if (field.number == T::kCounter) read_counter(field.bytes, to);
  }

  if (!name.empty() && (to.name.empty() || !to.is_process)) to.name = std::move(name);
}

/// Traces from before tracks: all events of the sequence are of this thread.
void TraceIndex::add_old_thread(std::string_view thread, uint64_t sequence) {
  TrackDescription read;
  read_thread(thread, read);
  uint64_t const uuid = uuid_of_thread(read.pid, read.tid);
  TrackDescription& to = track(uuid, sequence);
  to.is_thread = true;
  to.pid = read.pid;
  to.tid = read.tid;
  if (!read.name.empty()) to.name = read.name;
  default_threads[sequence] = uuid;
}

void TraceIndex::add(Packet const& packet) {
  if (!packet.track_event.empty() || !packet.gpu_stage.empty()) {
    ++events;
    if (packet.interned.empty()) return;
  }

  if (!packet.track_descriptor.empty()) add_track(packet.track_descriptor, packet.sequence);
  if (!packet.clock_snapshot.empty()) clocks.add_snapshot(packet.clock_snapshot, packet.sequence);
  if (own.size() < kMostOwn &&
      (!packet.stepscope.empty() ||
       (!packet.interned.empty() && packet.is_cleared && names_our_kinds(packet.interned))))
    own.insert(packet.sequence);

  if (!packet.thread.empty()) add_old_thread(packet.thread, packet.sequence);

  if (!packet.process.empty()) {
    TrackDescription read;
    read_process(packet.process, read);
    TrackDescription& to = track(uuid_of_thread(read.pid, -1), packet.sequence);
    uint64_t const uuid = to.uuid;
    to = std::move(read);
    to.uuid = uuid;
    to.sequence = packet.sequence;
    processes[to.pid] = by_uuid[uuid];
  }

  // Statistics of the recorder, its settings and marks between packets tell of nothing that the
  // program did.
  static constexpr std::array<uint32_t, 14> kSilent = {33, 35, 36, 45, 46, 47, 55,
                                                       56, 69, 72, 78, 87, 89, 90};
  if (packet.other != 0 &&
      std::find(kSilent.begin(), kSilent.end(), packet.other) == kSilent.end() &&
      (not_modelled.size() < 64 || not_modelled.contains(packet.other)))
    ++not_modelled[packet.other];
}

}  // namespace stepscope::import::perfetto
