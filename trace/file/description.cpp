#include "trace/file/description.h"

#include <limits>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

#include "trace/file/claims.h"
#include "trace/file/codec/json_text.h"

namespace stepscope::file {
namespace {

using nlohmann::json;

/// The member as T, or the default when it is missing, of another type or out of range.
template <class T>
void get_to(json const& object, char const* key, T& value) {
  auto const found = object.find(key);
  if (found == object.end()) return;

  if constexpr (std::is_same_v<T, std::string>) {
    if (found->is_string()) value = found->get<std::string>();
  } else if constexpr (std::is_same_v<T, bool>) {
    if (found->is_boolean()) value = found->get<bool>();
  } else if constexpr (std::is_same_v<T, double>) {
    if (found->is_number()) value = found->get<double>();
  } else if constexpr (std::is_unsigned_v<T>) {
    if (found->is_number_unsigned() && found->get<uint64_t>() <= std::numeric_limits<T>::max())
      value = static_cast<T>(found->get<uint64_t>());
  } else {
    if (!found->is_number_integer()) return;
    auto const number = found->get<int64_t>();
    if (number >= std::numeric_limits<T>::min() && number <= std::numeric_limits<T>::max())
      value = static_cast<T>(number);
  }
}

/// Nesting is bounded by the payload's size; nlohmann's parser keeps its stack on the heap.
json parsed(base::ByteSpan bytes) {
  auto const* const begin = reinterpret_cast<char const*>(bytes.data());
  return json::parse(begin, begin + bytes.size(), nullptr, false);
}

void add_info(model::TraceInfo const& info, JsonText& out) {
  out.key("info").begin_object().member("command", info.command).key("facts").begin_array();
  for (auto const& [key, value] : info.facts) out.begin_array().value(key).value(value).end_array();
  out.end_array();

  out.member("host", info.host)
      .member("origin_epoch_ns", info.origin_epoch_ns)
      .member("process_id", info.process_id)
      .member("rank", info.rank)
      .member("tool", info.tool);
  if (info.whole_steps.count > 0)
    out.member("whole_first_step", info.whole_steps.first)
        .member("whole_step_count", info.whole_steps.count);
  if (info.whole_steps.has_choice())
    out.member("chosen_first_step", info.whole_steps.chosen_first)
        .member("chosen_last_step", info.whole_steps.chosen_last);
  out.member("world_size", info.world_size).end_object();
}

void add_device(model::Device const& device, JsonText& out) {
  out.begin_object()
      .member("capacity_bytes", device.capacity_bytes)
      .member("id", device.id)
      .member("name", device.name)
      .member("peak_flops", device.peak_flops)
      .member("threads", device.threads)
      .end_object();
}

void add_log(model::ImportLog const& log, JsonText& out) {
  out.key("log")
      .begin_object()
      .member("dropped", log.dropped)
      .member("lost_blocks", log.lost_blocks)
      .member("negative_durations", log.negative_durations)
      .member("notes", std::span<std::string const>(log.notes))
      .member("unknown_events", log.unknown_events)
      .end_object();
}

void add_columns(ColumnNames const& names, JsonText& out) {
  out.key("columns").begin_object().member("events", std::span<std::string const>(names.base));
  for (int table = 0; table < model::kDetailTableCount; ++table)
    out.member(detail_table_name(table),
               std::span<std::string const>(names.details[static_cast<size_t>(table)]));
  out.end_object();
}

std::vector<std::string> strings_of(json const& object, std::string_view key) {
  std::vector<std::string> result;
  auto const found = object.find(std::string(key));
  if (found == object.end() || !found->is_array()) return result;
  for (json const& text : *found)
    result.push_back(text.is_string() ? text.get<std::string>() : std::string());
  return result;
}

void decode_info(json const& object, model::TraceInfo& info) {
  get_to(object, "tool", info.tool);
  get_to(object, "host", info.host);
  get_to(object, "command", info.command);
  get_to(object, "process_id", info.process_id);
  get_to(object, "rank", info.rank);
  get_to(object, "world_size", info.world_size);
  get_to(object, "origin_epoch_ns", info.origin_epoch_ns);
  get_to(object, "whole_step_count", info.whole_steps.count);
  get_to(object, "whole_first_step", info.whole_steps.first);
  get_to(object, "chosen_first_step", info.whole_steps.chosen_first);
  get_to(object, "chosen_last_step", info.whole_steps.chosen_last);

  constexpr int64_t kMostSteps = int64_t{1} << 53;  // more than any job has: damage
  if (info.whole_steps.count < 0 || info.whole_steps.count > kMostSteps ||
      info.whole_steps.first < -kMostSteps || info.whole_steps.first > kMostSteps)
    info.whole_steps = {};
  if (info.whole_steps.chosen_first < -kMostSteps || info.whole_steps.chosen_last > kMostSteps)
    std::tie(info.whole_steps.chosen_first, info.whole_steps.chosen_last) = std::pair(0, -1);

  auto const facts = object.find("facts");
  if (facts == object.end() || !facts->is_array()) return;
  for (json const& fact : *facts)
    if (fact.is_array() && fact.size() == 2 && fact[0].is_string() && fact[1].is_string())
      info.facts.emplace_back(fact[0].get<std::string>(), fact[1].get<std::string>());
}

model::Device decode_device(json const& object) {
  model::Device device;
  get_to(object, "id", device.id);
  get_to(object, "name", device.name);
  get_to(object, "capacity_bytes", device.capacity_bytes);
  get_to(object, "threads", device.threads);
  get_to(object, "peak_flops", device.peak_flops);
  return device;
}

model::Track decode_track(json const& object) {
  model::Track track;

  uint8_t kind = 0;
  uint8_t stream_kind = 0;
  get_to(object, "kind", kind);
  get_to(object, "stream_kind", stream_kind);

  if (kind <= static_cast<uint8_t>(model::TrackKind::kCounter))
    track.kind = static_cast<model::TrackKind>(kind);
  if (stream_kind <= static_cast<uint8_t>(model::StreamKind::kCommunication))
    track.stream_kind = static_cast<model::StreamKind>(stream_kind);

  get_to(object, "name", track.name);
  get_to(object, "id", track.id);
  get_to(object, "device", track.device);
  get_to(object, "dropped", track.dropped);
  return track;
}

}  // namespace

std::string encode_description(model::TraceInfo const& info, std::span<model::Device const> devices,
                               model::ImportLog const& log) {
  JsonText out;
  out.begin_object();
  add_columns(current_columns(), out);

  out.key("devices").begin_array();
  for (model::Device const& device : devices) add_device(device, out);
  out.end_array();

  add_info(info, out);
  add_log(log, out);
  return out.end_object().take();
}

bool decode_description(base::ByteSpan bytes, Description& description) {
  json const root = parsed(bytes);
  if (!root.is_object()) return false;

  description = Description{};
  if (auto const info = root.find("info"); info != root.end() && info->is_object())
    decode_info(*info, description.info);

  if (auto const list = root.find("devices"); list != root.end() && list->is_array())
    for (json const& device : *list)
      if (device.is_object() && description.devices.size() < kMaxDevices)
        description.devices.push_back(decode_device(device));

  if (auto const log = root.find("log"); log != root.end() && log->is_object()) {
    get_to(*log, "negative_durations", description.log.negative_durations);
    get_to(*log, "unknown_events", description.log.unknown_events);
    get_to(*log, "lost_blocks", description.log.lost_blocks);
    get_to(*log, "dropped", description.log.dropped);
    description.log.notes = strings_of(*log, "notes");
  }

  if (auto const columns = root.find("columns"); columns != root.end() && columns->is_object()) {
    description.columns.base = strings_of(*columns, "events");
    for (int table = 0; table < model::kDetailTableCount; ++table)
      description.columns.details[static_cast<size_t>(table)] =
          strings_of(*columns, detail_table_name(table));
  }

  return true;
}

std::string encode_tracks(uint32_t first, std::span<model::Track const> tracks) {
  JsonText out;

  out.begin_object().member("first", first).key("tracks").begin_array();
  for (model::Track const& track : tracks)
    out.begin_object()
        .member("device", track.device)
        .member("dropped", track.dropped)
        .member("id", track.id)
        .member("kind", static_cast<uint8_t>(track.kind))
        .member("name", track.name)
        .member("stream_kind", static_cast<uint8_t>(track.stream_kind))
        .end_object();
  return out.end_array().end_object().take();
}

bool decode_tracks(base::ByteSpan bytes, uint32_t max_tracks, std::vector<model::Track>& tracks) {
  json const root = parsed(bytes);
  if (!root.is_object()) return false;

  uint32_t number = 0;
  get_to(root, "first", number);
  auto const list = root.find("tracks");
  if (list == root.end() || !list->is_array()) return true;

  for (json const& track : *list) {
    if (number >= max_tracks) return false;
    if (tracks.size() <= number) tracks.resize(size_t{number} + 1);
    tracks[number++] = track.is_object() ? decode_track(track) : model::Track{};
  }
  return true;
}

}  // namespace stepscope::file
