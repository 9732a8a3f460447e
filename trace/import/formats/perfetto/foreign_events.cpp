#include "trace/import/formats/perfetto/foreign_events.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "trace/base/format.h"
#include "trace/import/common/rank_from_name.h"
#include "trace/import/common/whole_input.h"
#include "trace/import/formats/chrome/block_events.h"
#include "trace/import/formats/chrome/kineto_arguments.h"

namespace stepscope::import::perfetto {
namespace {

using base::ProtobufField;
using base::ProtobufReader;
using E = EventNumber;

/// Long against the fixed cost of a block.
constexpr size_t kBlockBytes = size_t{4} << 20U;
/// Threads of systems have lower numbers.
constexpr uint64_t kFirstMadeId = 5'000'000'000;

int64_t end_of_legacy(int64_t time, int64_t duration_us) {
  int64_t duration = 0, end = 0;
  if (__builtin_mul_overflow(duration_us, int64_t{1000}, &duration)) duration = 0;
  return __builtin_add_overflow(time, duration, &end) ? time : end;
}

}  // namespace

ForeignEvents::ForeignEvents(TraceIndex const& index, std::string const& file, bool is_sorted)
    : index_(index), file_(file), is_sorted_(is_sorted) {
  merged_.set_rank(rank_of_name(file), 0);
}

void ForeignEvents::add(Packet const& packet, std::optional<int64_t> time) {
  Sequence& sequence = sequences_[packet.sequence];
  if (packet.is_cleared) {
    sequence = {};
  }
  if (!packet.defaults.empty()) set_defaults(packet.defaults, sequence);
  if (!packet.interned.empty()) add_names(packet.interned, sequence);

  bool const has_event = !packet.track_event.empty() || !packet.gpu_stage.empty();
  if (!has_event) return;
  if (!time) {
    ++untimed_;
    return;
  }

  if (!packet.gpu_stage.empty()) return add_gpu_stage(packet.gpu_stage, sequence, *time);

  event_.read(packet.track_event);
  if (!event_.has_track) {
    auto const thread = index_.default_threads.find(packet.sequence);
    event_.track =
        sequence.track.value_or(thread == index_.default_threads.end() ? 0 : thread->second);
  }

  add_event(sequence, *time);
  if (block_.size() > kBlockBytes) flush();
}

void ForeignEvents::set_defaults(std::string_view defaults, Sequence& sequence) {
  using D = DefaultsNumber;
  ProtobufReader reader(defaults);

  ProtobufField field, of_event;
  while (reader.next(field)) {
    if (!field.is_bytes(D::kTrackEvent)) continue;
    sequence.extra_counters.clear();
    sequence.extra_real_counters.clear();
    sequence.track.reset();

    ProtobufReader event(field.bytes);
    while (event.next(of_event)) {
      if (of_event.is_varint(D::kTrackUuid)) sequence.track = of_event.value;
      if (of_event.number == D::kExtraCounters)
        for_each_number(of_event, false,
                        [&](uint64_t uuid) { sequence.extra_counters.push_back(uuid); });
      if (of_event.number == D::kExtraDoubleCounters)
        for_each_number(of_event, false,
                        [&](uint64_t uuid) { sequence.extra_real_counters.push_back(uuid); });
    }
  }
}

InternTable<JsonText>* ForeignEvents::table_of(uint32_t field, Sequence& sequence) {
  using I = InternedNumber;
  switch (field) {
    case I::kEventNames:
      return &sequence.names;
    case I::kCategories:
      return &sequence.categories;
    case I::kAnnotationNames:
      return &sequence.annotations.names;
    case I::kTexts:
      return &sequence.annotations.texts;
    case I::kGpuStages:
      return &sequence.stages;
    default:
      return nullptr;
  }
}

void ForeignEvents::add_names(std::string_view interned, Sequence& sequence) {
  using I = InternedNumber;
  ProtobufReader reader(interned);

  ProtobufField field, entry;
  while (reader.next(field)) {
    if (field.type != base::WireType::kBytes) continue;
    InternTable<JsonText>* const table = table_of(field.number, sequence);
    if (table == nullptr) continue;

    uint64_t iid = 0;
    std::string_view text;
    ProtobufReader of_entry(field.bytes);
    while (of_entry.next(entry)) {
      if (entry.is_varint(I::kIid)) iid = entry.value;
      if (entry.is_bytes(I::kText)) text = entry.bytes;
    }

    constexpr size_t kMostOtherBytes = 1024;
    (*table)[iid] = {
        true,
        escaped(text.substr(0, field.number == I::kEventNames ? kMostNameBytes : kMostOtherBytes))};
  }
}

ForeignEvents::Track& ForeignEvents::track(uint64_t uuid) {
  if (last_track_ != nullptr && last_uuid_ == uuid) return *last_track_;
  auto const [place, is_new] = tracks_.try_emplace(uuid);
  if (is_new) place->second = describe(uuid);
  last_uuid_ = uuid;
  last_track_ = &place->second;
  return place->second;
}

void ForeignEvents::add_metadata(char const* what, std::string const& where,
                                 std::string_view name) {
  if (name.empty()) return;
  fmt::format_to(std::back_inserter(block_),
                 R"({{"ph":"M","name":"{}",{},"args":{{"name":"{}"}}}},)", what, where,
                 escaped(name));
  end_event();
}

/// A thread has its own numbers. Any other track gets some: of its process, or, below a group of
/// tracks, of that group, which traces with devices name after the device.
ForeignEvents::Track ForeignEvents::describe(uint64_t uuid) {
  Track track;
  TrackDescription const* const found = index_.find(uuid);
  uint64_t const made_id = kFirstMadeId + tracks_.size();
  if (found == nullptr) {
    track.where = fmt::format(R"("tid":{})", made_id);
    add_metadata("thread_name", track.where, uuid == 0 ? "" : fmt::format("track {}", uuid));
    return track;
  }

  TrackDescription const& own = *found;
  track.name = escaped(own.name);
  track.is_incremental = own.is_incremental;
  track.multiplier = own.unit_multiplier;

  TrackDescription const* parent = index_.find(own.parent);
  std::string process, process_name;
  auto const take_process = [&](int64_t pid) {
    process = std::to_string(pid);
    process_name = index_.process_name(pid);
  };

  if (own.is_thread || own.is_process) {
    take_process(own.pid);
    if (own.is_process) process_name = own.name;
  } else if (parent != nullptr && !parent->is_process && !parent->is_thread) {
    std::string const place = fmt::format("{} {}", parent->parent, parent->name);
    process =
        groups_.try_emplace(place, std::to_string(kFirstMadeId + groups_.size())).first->second;
    process_name = parent->name;
  } else if (parent != nullptr) {
    take_process(parent->pid);
    if (parent->is_process) process_name = parent->name;
  }

  std::string const in_process = process.empty() ? "" : fmt::format(R"("pid":{},)", process);
  if (!process.empty())
    add_metadata("process_name", fmt::format(R"("pid":{})", process), process_name);
  if (own.is_thread) {
    track.where = fmt::format(R"({}"tid":{})", in_process, own.tid);
  } else {
    track.where = fmt::format(R"({}"tid":{})", in_process, made_id);
  }

  add_metadata("thread_name", track.where, own.is_process ? "events of the process" : own.name);
  track.device = trailing_number(std::string_view(process_name).substr(0, process_name.find(": ")));
  track.stream = trailing_number(own.name);
  if (!track.stream && !own.is_thread) track.stream = static_cast<int64_t>(made_id - kFirstMadeId);
  track.group = process_name;
  return track;
}

void ForeignEvents::add_event(Sequence& sequence, int64_t time) {
  last_ = std::max(last_, time);
  Track& at = track(event_.track);
  add_counters(sequence, time);

  if (event_.type == E::kSliceBegin || event_.type == E::kSliceEnd) check_order(at, time);
  switch (event_.type) {
    case E::kSliceBegin:
      return begin_slice(at, time, text_of(sequence, at, std::nullopt));
    case E::kSliceEnd:
      return end_slice(at, time);
    case E::kInstant:
      return write_instant(at, time, text_of(sequence, at, std::nullopt));
    case E::kCounter: {
      if (!event_.has_value) return;
      return add_sample(at, time,
                        event_.is_real ? event_.real_value : static_cast<double>(event_.value));
    }
    default:
      if (!event_.legacy.empty()) return add_legacy(sequence, at, time);
      ++merged_.log().unknown_events;
  }
}

void ForeignEvents::check_order(Track& track, int64_t time) {
  if (is_sorted_ && time < track.last_time) is_unsorted_ = true;
  track.last_time = time;
}

void ForeignEvents::begin_slice(Track& track, int64_t time, std::string text) {
  // Names are short in the file and long here: a damaged one may open any number of events with the
  // longest.
  if (open_bytes_ > WholeInput::most_unpacked_bytes()) {
    ++texts_left_out_;
    text = R"(,"name":"","cat":"","args":{})";
  }
  open_bytes_ += text.size();
  track.events.push_back({time, true, std::move(text)});
}

void ForeignEvents::end_slice(Track& track, int64_t time) {
  if (!is_sorted_) return track.events.push_back({time, false, {}});
  if (track.events.empty()) {
    ++unopened_;
    return;
  }
  write_complete(track, track.events.back().time, time, track.events.back().text);
  open_bytes_ -= track.events.back().text.size();
  track.events.pop_back();
}

void ForeignEvents::add_counters(Sequence const& sequence, int64_t time) {
  auto const add = [&](auto const& own, auto const& defaults, auto const& values) {
    auto const& uuids = own.empty() ? defaults : own;
    for (size_t i = 0; i < values.size() && i < uuids.size(); ++i)
      add_sample(track(uuids[i]), time, static_cast<double>(values[i]));
  };
  add(event_.extra_counters, sequence.extra_counters, event_.extra_values);
  add(event_.extra_real_counters, sequence.extra_real_counters, event_.extra_real_values);
}

void ForeignEvents::add_sample(Track& track, int64_t time, double value) {
  if (track.is_incremental) {
    track.total +=
        std::isfinite(value) && std::fabs(value) < 9e15 ? static_cast<int64_t>(value) : 0;
    value = static_cast<double>(track.total);
  }
  value *= static_cast<double>(track.multiplier);

  fmt::format_to(std::back_inserter(block_), R"({{"ph":"C","name":"{}",{},"ts":)",
                 track.name.empty() ? "counter" : track.name, track.where);
  write_us(block_, time);
  block_ += R"(,"args":{"value":)";
  write_real(block_, value);
  block_ += "}},";
  end_event();
}

void ForeignEvents::write_complete(Track const& track, int64_t begin, int64_t end,
                                   std::string_view text) {
  fmt::format_to(std::back_inserter(block_), R"({{"ph":"X",{},"ts":)", track.where);
  write_us(block_, begin);
  block_ += R"(,"dur":)";
  int64_t duration = 0;
  write_us(block_, __builtin_sub_overflow(end, begin, &duration) ? 0 : duration);
  block_ += text;
  block_ += "},";
  end_event();
}

void ForeignEvents::write_instant(Track const& track, int64_t time, std::string_view text) {
  fmt::format_to(std::back_inserter(block_), R"({{"ph":"i",{},"ts":)", track.where);
  write_us(block_, time);
  block_ += text;
  block_ += "},";
  end_event();
}

/// An event of JSON that Chrome's tracing took over as it was.
ForeignEvents::LegacyEvent ForeignEvents::read_legacy(std::string_view bytes) {
  using L = LegacyNumber;
  LegacyEvent event;
  ProtobufReader reader(bytes);
  ProtobufField field;

  while (reader.next(field)) {
    if (field.is_varint(L::kNameIid)) event.name = field.value;
    if (field.is_varint(L::kPhase)) event.phase = static_cast<char>(field.value & 0x7FU);
    if (field.is_varint(L::kDurationUs)) event.duration_us = field.signed_value();
    if (field.is_varint(L::kUnscopedId) || field.is_varint(L::kLocalId) ||
        field.is_varint(L::kGlobalId))
      event.id = field.value;
    if (field.is_varint(L::kPid)) event.pid = static_cast<int32_t>(field.value);
    if (field.is_varint(L::kTid)) event.tid = field.signed_value();
  }
  return event;
}

void ForeignEvents::add_legacy(Sequence& sequence, Track& own, int64_t time) {
  LegacyEvent const event = read_legacy(event_.legacy);
  int64_t const pid = event.pid.value_or(0);
  Track& at = event.tid ? track(uuid_of_thread(pid, *event.tid)) : own;
  if (event.tid && index_.find(uuid_of_thread(pid, *event.tid)) == nullptr)
    at.where = fmt::format(R"("pid":{},"tid":{})", pid, *event.tid);
  std::string text = text_of(sequence, at, event.name);

  switch (event.phase) {
    case 'B':
      check_order(at, time);
      return begin_slice(at, time, std::move(text));
    case 'E':
      check_order(at, time);
      return end_slice(at, time);
    case 'X': {
      int64_t const end = end_of_legacy(time, event.duration_us);
      last_ = std::max(last_, end);
      return write_complete(at, time, end, text);
    }
    case 'i':
    case 'I':
    case 'R':
      return write_instant(at, time, text);
    case 'b':
    case 'e':
    case 'S':
    case 'F':
      return write_async(at, event, time, text);
    case 's':
    case 't':
    case 'f':
    case 'M':
    case '(':
    case ')':
      return;
    default:
      ++merged_.log().unknown_events;
  }
}

void ForeignEvents::write_async(Track const& track, LegacyEvent const& event, int64_t time,
                                std::string_view text) {
  fmt::format_to(std::back_inserter(block_), R"({{"ph":"{}",{},"id":{},"ts":)",
                 phase_of_async(event.phase), track.where, event.id.value_or(0));
  write_us(block_, time);
  block_ += text;
  block_ += "},";
  end_event();
}

/// The time that a queue of a GPU spent on one stage of a frame, or on one kernel.
void ForeignEvents::add_gpu_stage(std::string_view stage, Sequence const& sequence, int64_t time) {
  using G = GpuStageNumber;
  uint64_t duration = 0, gpu = 0, queue = 0, name = 0;
  ProtobufReader reader(stage);
  ProtobufField field;
  while (reader.next(field)) {
    if (field.is_varint(G::kDuration)) duration = field.value;
    if (field.is_varint(G::kGpuId)) gpu = field.value;
    if (field.is_varint(G::kQueueId) || field.is_varint(G::kQueueIid)) queue = field.value;
    if (field.is_varint(G::kStageIid) || field.is_varint(G::kStageId)) name = field.value;
  }

  constexpr uint64_t kMostNs = uint64_t{1} << 60U;
  JsonText const* const known = sequence.stages.find(name);
  Track at;
  at.where = fmt::format(R"("pid":{},"tid":{})", gpu & INT32_MAX, queue & INT32_MAX);
  int64_t const end = time > 0 && duration < kMostNs
                          ? time + static_cast<int64_t>(std::min(duration, kMostNs))
                          : time;
  write_complete(at, time, end,
                 fmt::format(R"(,"name":"{}","cat":"kernel","args":{{"device":{},"stream":{}}})",
                             known == nullptr || !known->is_known ? fmt::format("stage {}", name)
                                                                  : known->text,
                             gpu & INT32_MAX, queue & INT32_MAX));

  if (block_.size() > kBlockBytes) flush();
}

void ForeignEvents::end_event() {
  block_ += '\n';
  ++events_;
}

void ForeignEvents::flush() {
  if (block_.empty()) return;
  merged_.add(read_block(block_));
  block_.clear();
}

void ForeignEvents::close_all() {
  for (auto& [uuid, track] : tracks_) {
    std::vector<OpenEvent> events = std::exchange(track.events, {});
    if (is_sorted_) {
      track.events = std::move(events);
    } else {
      // Ends before begins at the same time would end what has not begun; the order of the file
      // tells.
      std::stable_sort(events.begin(), events.end(),
                       [](OpenEvent const& a, OpenEvent const& b) { return a.time < b.time; });
      for (OpenEvent& event : events) {
        if (event.is_begin) {
          track.events.push_back(std::move(event));
        } else if (track.events.empty()) {
          ++unopened_;
        } else {
          write_complete(track, track.events.back().time, event.time, track.events.back().text);
          track.events.pop_back();
        }
        if (block_.size() > kBlockBytes) flush();
      }
    }

    unclosed_ += track.events.size();
    for (OpenEvent const& open : track.events)
      write_complete(track, open.time, std::max(last_, open.time), open.text);
  }

  flush();
}

model::Trace ForeignEvents::finish() && {
  close_all();

  TraceHeader header;
  header.facts.emplace_back("format", "Perfetto trace");
  header.base_ns = std::max<int64_t>(0, index_.clocks.epoch_ns());
  for (auto const& [id, name] : devices_) {
    if (id < 0 || id > INT32_MAX) continue;
    model::Device device;
    device.id = static_cast<int32_t>(id);
    device.name = name;
    header.devices.push_back(std::move(device));
  }

  std::optional<std::string> only_process;
  size_t processes = 0;
  for (TrackDescription const& described : index_.tracks) {
    if (!described.is_process || index_.own.contains(described.sequence)) continue;
    ++processes;
    only_process = described.name;
  }
  if (processes == 1 && only_process) header.rank = rank_of_name(*only_process);

  auto const note = [&](uint64_t count, char const* what) {
    if (count > 0) merged_.log().notes.push_back(base::count_sentence(count, what));
  };
  note(untimed_, "events are timed by a clock that the trace does not describe and were left out");
  note(texts_left_out_, "events that never end are too many: their names were left out");
  note(unopened_, "ends of ranges have no begin and were left out");
  note(unclosed_, "ranges never end; they are shown until the end of the trace");

  merged_.log().dropped += untimed_;
  return std::move(merged_).finish(std::move(header));
}

}  // namespace stepscope::import::perfetto
