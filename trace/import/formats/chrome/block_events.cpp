#include "trace/import/formats/chrome/block_events.h"

#include <algorithm>
#include <tuple>
#include <unordered_set>
#include <utility>

#include <xxhash.h>

#include "trace/import/formats/chrome/name_traits.h"
#include "trace/import/formats/chrome/track_roles.h"
#include "trace/model/build/communication_names.h"

namespace stepscope::import {
namespace {

using model::EventBatch;
using model::EventKind;
using model::StringId;

class BlockReader {
 public:
  explicit BlockReader(BlockEvents& block) : block_(block) {}

  void add(ChromeEvent const& event) {
    if (event.phase == 'f') return add_arrow(event);
    is_first_ = false;
    block_.last_op.reset();
    switch (event.phase) {
      case 'X':
        return add_complete(event);
      case 'i':
      case 'I':
      case 'R':
        return add_instant(event);
      case 'B':
      case 'E':
      case 'b':
      case 'e':
      case 'S':
      case 'F':
        return add_bracket(event);
      case 'C':
        return add_counter(event);
      case 'M':
        return add_metadata(event);
      case 's':
      case 't':
        return;
      default:
        ++block_.unknown;
    }
  }

 private:
  struct Times {
    int64_t start = 0, dur = 0;
  };

  /// False: the event is counted as untimed.
  bool read_times(ChromeEvent const& event, Times& times) {
    auto const start = parse_microseconds(event.time);
    auto const dur = event.duration.empty() ? 0 : parse_microseconds(event.duration);
    if (start && dur) {
      times = {*start, *dur};
      return true;
    }
    ++block_.untimed;
    return false;
  }

  uint32_t name_of(std::string_view text) { return block_.names.id_of(text); }
  NameTraits const& traits(uint32_t name, std::string_view text) {
    if (name >= traits_.size()) traits_.resize(name + size_t{1});
    if (!traits_[name].is_known) traits_[name] = traits_of_name(text);
    return traits_[name];
  }

  uint32_t track(TrackKey key) {
    if (block_.tracks.size() >= kMostTracks && !track_numbers_.contains(key))
      key = key_of_others(key.kind);

    auto const [place, is_new] =
        track_numbers_.try_emplace(std::move(key), static_cast<uint32_t>(block_.tracks.size()));
    if (is_new) {
      block_.tracks.push_back(place->first);
      block_.rows.emplace_back();
      block_.undecided.push_back(0);
    }
    return place->second;
  }
  /// Most events are of the thread of the one before.
  uint32_t thread(ChromeEvent const& event) {
    if (has_last_ && event.process == last_process_ && event.thread == last_thread_)
      return last_track_;
    last_process_ = event.process;
    last_thread_ = event.thread;
    has_last_ = true;
    last_track_ = track({TrackKey::Kind::kThread, std::string(event.process),
                         std::string(thread_of(event.thread))});
    return last_track_;
  }
  uint32_t stream(std::string_view process, int32_t device, int64_t number) {
    bool const is_last =
        device == last_device_ && number == last_stream_ && process == last_stream_process_;
    if (is_last && has_last_stream_) return last_stream_track_;
    last_stream_process_ = process;
    last_device_ = device;
    last_stream_ = number;
    has_last_stream_ = true;
    last_stream_track_ = track({TrackKey::Kind::kStream, std::string(process), "", device, number});
    return last_stream_track_;
  }
  uint32_t stream_of(ChromeEvent const& event, KinetoArguments const& arguments) {
    int64_t const device =
        arguments.device ? *arguments.device : parse_integer(event.process).value_or(-1);
    int64_t const number =
        arguments.stream ? *arguments.stream : trailing_number(event.thread).value_or(0);
    return stream(event.process, static_cast<int32_t>(std::clamp<int64_t>(device, -1, INT32_MAX)),
                  number);
  }

  EventBatch& rows(uint32_t track) { return block_.rows[track]; }

  void add_complete(ChromeEvent const& event) {
    Times times;
    if (!read_times(event, times)) return;
    if (event.name.ends_with(']')) {
      ChromeEvent named = event;
      named.name = without_duration(event.name, times.dur);
      return add_complete(named, times);
    }
    add_complete(event, times);
  }
  void add_complete(ChromeEvent const& event, Times const& times) {
    uint32_t const name = name_of(event.name);
    StringId const id{name};
    switch (category(event.category)) {
      case KinetoCategory::kHostRange:
        return add_host_range(event, times, name);
      case KinetoCategory::kInputWait:
        return rows(thread(event)).add(EventKind::kInputWait, times.start, times.dur, id);
      case KinetoCategory::kRuntime:
        return add_call(event, times, name);
      case KinetoCategory::kKernel:
      case KinetoCategory::kMemcpy:
      case KinetoCategory::kMemset:
      case KinetoCategory::kDeviceOp:
        return add_device_op(event, times, name);
      case KinetoCategory::kOverhead:
        return rows(thread(event)).add(EventKind::kOverhead, times.start, times.dur, id);
      case KinetoCategory::kDeviceSync:
        return add_device_sync(event, times, id);
      case KinetoCategory::kDeviceRange: {
        uint32_t const ranges = track(
            {TrackKey::Kind::kDeviceRanges, std::string(event.process), std::string(event.thread)});
        return rows(ranges).add_range(times.start, times.dur, id);
      }
      case KinetoCategory::kFlow:
      case KinetoCategory::kOther:
        return add_undecided(event, times, name);
    }
  }

  void add_undecided(ChromeEvent const& event, Times const& times, uint32_t name) {
    uint32_t const where = thread(event);
    EventBatch& to = rows(where);
    ++block_.undecided[where];

    constexpr size_t kEmptyObject = 2;
    if (event.arguments.size() <= kEmptyObject)
      return to.add_range(times.start, times.dur, StringId{name});

    KinetoArguments const a = read_kineto_arguments(event.arguments);
    to.add(EventKind::kRange, times.start, times.dur, StringId{name}, a.correlation);
    if (a.step_around)
      block_.parts.push_back({where, static_cast<uint32_t>(to.size() - 1), *a.step_around,
                              a.sequence.value_or(-1), a.model_chunk.value_or(-1)});

    bool const has_shape = a.kernel.grid_x > 0 || a.bytes > 0;
    bool const is_placed = a.stream && a.device && a.correlation != 0;
    if (!has_shape && !a.step && !is_placed) return;

    BlockEvents::Saying saying{where,
                               static_cast<uint32_t>(to.size() - 1),
                               {},
                               a.step.value_or(-1),
                               a.stream && has_shape,
                               is_placed,
                               a.device.value_or(-1)};
    saying.op.kernel = a.kernel;
    saying.op.copy.bytes = a.bytes;
    saying.op.copy.peer_device = a.peer_device;
    block_.sayings.push_back(saying);
  }

  /// The step number in an annotation's arguments, as JAX writes it. There are few annotations.
  static std::optional<int64_t> step_of_annotation(ChromeEvent const& event) {
    if (event.category != "user_annotation" ||
        event.arguments.find("step_num") == std::string_view::npos)
      return std::nullopt;
    auto const step = read_kineto_arguments(event.arguments).step;
    return step && *step >= 0 ? step : std::nullopt;
  }

  void add_host_range(ChromeEvent const& event, Times const& times, uint32_t name) {
    NameTraits const& known = traits(name, event.name);
    EventBatch& to = rows(thread(event));

    if (known.host_kind == EventKind::kStep) {
      to.add(EventKind::kStep, times.start, times.dur, StringId{name}, 0,
             model::StepDetail{known.step});
    } else if (auto const step = step_of_annotation(event)) {
      to.add(EventKind::kStep, times.start, times.dur, StringId{name}, 0, model::StepDetail{*step});
    } else {
      to.add(known.host_kind, times.start, times.dur, StringId{name});
    }
  }

  void add_call(ChromeEvent const& event, Times const& times, uint32_t name) {
    block_.is_kineto = true;
    add_user(-1, event.process);
    KinetoArguments const arguments = read_kineto_arguments(event.arguments);
    NameTraits const& known = traits(name, event.name);
    EventBatch& to = rows(thread(event));
    StringId const id{name};

    switch (known.api_class) {
      case model::ApiClass::kLaunch:
        return to.add(EventKind::kLaunch, times.start, times.dur, id, arguments.correlation);
      case model::ApiClass::kSync: {
        model::SyncDetail detail;
        detail.sync = known.sync;
        return to.add(EventKind::kSync, times.start, times.dur, id, arguments.correlation, detail);
      }
      case model::ApiClass::kMemory:
        // "[memory]" tells what was allocated, where the profiler writes it.
        return to.add(EventKind::kMemory, times.start, times.dur, id, arguments.correlation,
                      model::MemoryDetail());
      case model::ApiClass::kNoise:
      case model::ApiClass::kOther:
        return to.add(EventKind::kApi, times.start, times.dur, id, arguments.correlation);
    }
  }

  void add_device_op(ChromeEvent const& event, Times const& times, uint32_t name) {
    block_.is_kineto = true;
    KinetoArguments const a = read_kineto_arguments(event.arguments);
    uint32_t const stream = stream_of(event, a);
    add_user(std::max(0, last_device_), event.process);
    if (a.correlation == 0) block_.last_op = {event.process, event.thread, times.start, 0, stream};
    device_op(event, a, name, stream).add_to(rows(stream), times.start, times.dur, StringId{name});
  }

  EventKind kind_of_op(ChromeEvent const& event, KinetoArguments const& a, uint32_t name) {
    switch (category(event.category)) {
      case KinetoCategory::kMemcpy:
        return EventKind::kMemcpy;
      case KinetoCategory::kMemset:
        return EventKind::kMemset;
      case KinetoCategory::kDeviceOp:
        if (EventKind const kind = kind_of_device_work(event.name); kind != EventKind::kKernel)
          return kind;
        break;
      default:
        break;
    }
    return a.is_collective || traits(name, event.name).communicates ? EventKind::kCollective
                                                                    : EventKind::kKernel;
  }

  DeviceOp device_op(ChromeEvent const& event, KinetoArguments const& a, uint32_t name,
                     uint32_t stream) {
    DeviceOp op;
    op.kind = kind_of_op(event, a, name);
    op.track = stream;
    op.correlation = a.correlation;
    op.kernel = a.kernel;
    if (op.kind == EventKind::kMemcpy || op.kind == EventKind::kMemset) {
      op.copy = copy_of_name(event.name);
      op.copy.bytes = a.bytes;
      op.copy.peer_device = a.peer_device;
      op.copy.graph = a.kernel.graph;
      op.copy.graph_node = a.kernel.graph_node;
    }
    if (op.kind != EventKind::kCollective) return op;

    model::CollectiveDetail detail = model::collective_of_kernel(event.name);
    if (a.is_collective) {
      auto const [kind, algorithm, protocol] =
          std::tuple(detail.op, detail.algorithm, detail.protocol);
      detail = a.collective;
      if (detail.rank < 0) add_group(detail.communicator, a.group);
      if (detail.op == model::CollectiveOp::kUnknown) detail.op = kind;
      detail.algorithm = algorithm;
      detail.protocol = protocol;
    }

    detail.channels = a.kernel.grid_x;
    detail.graph = a.kernel.graph;
    detail.graph_node = a.kernel.graph_node;
    op.collective = detail;
    return op;
  }

  /// Most are of the one that the last was of.
  void add_user(int32_t device, std::string_view process) {
    auto const is_it = [&](BlockEvents::DeviceUser const& user) {
      return user.device == device && user.process == process;
    };
    BlockEvents::DeviceUser& last = device < 0 ? last_caller_ : last_user_;
    if (last.process.data() != nullptr && is_it(last)) return;
    last = {device, process};
    if (block_.users.size() < kMostDeviceUsers &&
        std::none_of(block_.users.begin(), block_.users.end(), is_it))
      block_.users.push_back(last);
  }

  void add_group(uint64_t communicator, GroupMembers const& members) {
    if (communicator == 0 || communicator == last_group_) return;
    last_group_ = communicator;
    if (groups_.insert(communicator).second) block_.groups.push_back({communicator, members});
  }

  /// Most are of ops that say themselves which call launched them.
  void add_arrow(ChromeEvent const& event) {
    bool const is_first = std::exchange(is_first_, false);
    auto const op = std::exchange(block_.last_op, std::nullopt);
    if ((!op && !is_first) || category(event.category) != KinetoCategory::kFlow) return;

    auto const time = parse_microseconds(event.time);
    auto const id = parse_integer(event.id);
    if (!time || !id || *id <= 0) return;
    BlockEvents::Arrow const arrow = {event.process, event.thread, *time,
                                      static_cast<uint64_t>(*id)};

    if (op && arrow.ends_at(*op)) rows(op->track).correlation.back() = arrow.id;
    if (is_first) block_.first_arrow = arrow;
  }

  /// The host's waits are there as calls already.
  void add_device_sync(ChromeEvent const& event, Times const& times, StringId name) {
    KinetoArguments const a = read_kineto_arguments(event.arguments);
    if (event.name != "Stream Wait Event" && a.sync_kind != "Stream Wait Event") return;
    model::StreamWaitDetail detail;
    detail.source_device = a.device.value_or(-1);
    detail.source_stream =
        static_cast<int32_t>(std::clamp<int64_t>(a.wait_on_stream.value_or(-1), -1, INT32_MAX));
    detail.source_correlation = a.wait_on_correlation;
    rows(stream_of(event, a))
        .add(EventKind::kStreamWait, times.start, times.dur, name, a.correlation, detail);
  }

  void add_instant(ChromeEvent const& event) {
    Times times;
    if (!read_times(event, times)) return;
    EventBatch& to = rows(thread(event));
    StringId const name{name_of(event.name)};

    if (event.name == "[memory]") {
      KinetoMemory const memory = read_kineto_memory(event.arguments);
      // Without the totals, and not knowing what was there before, a row would tell nothing of the
      // device.
      if (memory.device_type != 0 && memory.allocated_bytes)
        return to.add(EventKind::kMemory, times.start, 0, name, 0, memory.detail());
    }
    to.add(EventKind::kMark, times.start, 0, name);
  }

  void add_bracket(ChromeEvent const& event) {
    Times times;
    if (!read_times(event, times)) return;

    char const phase = phase_of_async(event.phase);
    bool const is_async = phase == 'b' || phase == 'e';
    uint32_t const where = is_async ? track({TrackKey::Kind::kAsync, std::string(event.process),
                                             std::string(event.category)})
                                    : thread(event);
    uint32_t const name = name_of(event.name);
    uint32_t const op = phase == 'b' || phase == 'B' ? begun_op(event, name) : 0;
    block_.brackets.push_back({where, times.start, name, phase, event.id, op});
  }
  /// Place + 1 of the device work that the event begins; 0 = none.
  uint32_t begun_op(ChromeEvent const& event, uint32_t name) {
    switch (category(event.category)) {
      case KinetoCategory::kKernel:
      case KinetoCategory::kMemcpy:
      case KinetoCategory::kMemset:
      case KinetoCategory::kDeviceOp: {
        KinetoArguments const a = read_kineto_arguments(event.arguments);
        block_.is_kineto = true;
        uint32_t const stream = stream_of(event, a);
        block_.ops.push_back(device_op(event, a, name, stream));
        return static_cast<uint32_t>(block_.ops.size());
      }
      default:
        return 0;
    }
  }

  /// Each member of "args" is a series of its own.
  void add_counter(ChromeEvent const& event) {
    Times times;
    if (!read_times(event, times)) return;
    JsonCursor cursor(event.arguments);

    cursor.object([&](std::string_view series) {
      char const next = cursor.peek();
      if (next == '{' || next == '[') return void(cursor.value());
      bool is_string = false;
      auto const value = parse_real(cursor.scalar(is_string));
      if (!value) {
        block_.unvalued += is_string ? 0 : 1;  // a text next to the values is their label
        return;
      }

      std::string name = event.name.empty() ? std::string(series) : std::string(event.name);
      if (!event.name.empty() && !series.empty() && series != "value" && series != event.name)
        name += " " + std::string(series);
      uint32_t const where = track({TrackKey::Kind::kCounter, std::string(event.process), name});
      rows(where).add(EventKind::kSample, times.start, 0, StringId{name_of(event.name)}, 0,
                      model::SampleDetail{*value});
    });
  }

  void add_metadata(ChromeEvent const& event) {
    JsonCursor cursor(event.arguments);
    cursor.object([&](std::string_view key) {
      char const next = cursor.peek();
      if (next == '{' || next == '[') return void(cursor.value());
      bool is_string = false;
      std::string_view const value = cursor.scalar(is_string);
      if (key == "name" || key == "labels")
        block_.metadata.push_back({event.name, event.process, event.thread, value});
    });
  }

  KinetoCategory category(std::string_view name) {
    if (name.data() == last_category_.data() || name == last_category_) return last_category_of_;
    last_category_ = name;
    last_category_of_ = category_of(name);
    return last_category_of_;
  }

  BlockEvents& block_;
  std::unordered_map<TrackKey, uint32_t, TrackKeyHash> track_numbers_;
  std::vector<NameTraits> traits_;  ///< by name
  std::unordered_set<uint64_t> groups_;
  uint64_t last_group_ = 0;
  BlockEvents::DeviceUser last_caller_ = {}, last_user_ = {};
  bool is_first_ = true;  ///< no event was seen
  bool has_last_ = false, has_last_stream_ = false;
  std::string_view last_process_, last_thread_, last_category_;
  uint32_t last_track_ = 0, last_stream_track_ = 0;
  int32_t last_device_ = -1;
  int64_t last_stream_ = 0;
  std::string_view last_stream_process_;
  KinetoCategory last_category_of_ = category_of({});
};

}  // namespace

void DeviceOp::add_to(EventBatch& rows, int64_t start_ns, int64_t dur_ns, StringId name) const {
  switch (kind) {
    case EventKind::kMemcpy:
    case EventKind::kMemset:
      return rows.add(kind, start_ns, dur_ns, name, correlation, copy);
    case EventKind::kCollective:
      return rows.add(kind, start_ns, dur_ns, name, correlation, collective);
    case EventKind::kStreamWait:
      return rows.add(kind, start_ns, dur_ns, name, correlation, model::StreamWaitDetail());
    default:
      return rows.add(kind, start_ns, dur_ns, name, correlation, kernel);
  }
}

uint32_t RawTexts::id_of(std::string_view text) {
  uint64_t const hash = XXH3_64bits(text.data(), text.size());
  size_t const mask = slots_.size() - 1;

  for (size_t at = hash & mask;; at = (at + 1) & mask) {
    Slot& slot = slots_[at];
    if (slot.id_plus_1 == 0) {
      slot = {hash, static_cast<uint32_t>(texts_.size() + 1)};
      texts_.push_back(text);
      if (texts_.size() * 2 > slots_.size()) grow();
      return static_cast<uint32_t>(texts_.size() - 1);
    }
    if (slot.hash == hash && texts_[slot.id_plus_1 - 1] == text) return slot.id_plus_1 - 1;
  }
}

void RawTexts::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  size_t const mask = slots_.size() - 1;
  for (Slot const& slot : old) {
    if (slot.id_plus_1 == 0) continue;
    size_t at = slot.hash & mask;
    while (slots_[at].id_plus_1 != 0) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

BlockEvents read_block(std::string_view text, bool is_lost) {
  BlockEvents block;
  BlockReader reader(block);
  block.end = read_events(
      text, [&](ChromeEvent const& event) { reader.add(event); }, is_lost);
  return block;
}

}  // namespace stepscope::import
