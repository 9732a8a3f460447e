#include "tracer/nvtx/decoder.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "tracer/api/annotate.h"
#include "tracer/nvtx/thread_recorder.h"

namespace stepscope::tracer {
namespace {

/// Rounds for which the end of a start/end range waits for its begin. Rings are drained one after
/// the other, so the begin may be decoded one round later; after two it was dropped.
constexpr int kWaitRounds = 2;
/// Open ranges kept of the deep levels of a thread and domain: more are a program that forgets to
/// pop. The outermost of them are then left out.
constexpr size_t kMaxDeepRanges = 65'536;
/// Open start/end ranges kept: more are a program that forgets to end them. Later ones are left
/// out.
constexpr size_t kMaxStartedRanges = 1 << 20;
/// Words decoded before the ring gets their room back: about 10 µs of work.
constexpr size_t kSliceWords = 4096;
/// About 20 records.
constexpr size_t kPrefetchWords = 64;

/// A text cut at its bound may end in half a UTF-8 sequence: without it.
std::string_view whole_characters(std::string_view text) {
  if (text.size() < kMaxTextBytes) return text;
  size_t end = text.size();
  while (end > 0 && (static_cast<unsigned char>(text[end - 1]) & 0xC0U) == 0x80U) --end;
  if (end == 0) return text;
  auto const lead = static_cast<unsigned char>(text[end - 1]);
  size_t const length = lead >= 0xF0U ? 4 : lead >= 0xE0U ? 3 : lead >= 0xC0U ? 2 : 1;
  return end - 1 + length > text.size() ? text.substr(0, end - 1) : text;
}

/// Fields of the payloads of NCCL's ranges, in the domain "NCCL".
constexpr std::string_view kNcclCommunicator = "NCCL communicator ID";
constexpr std::string_view kNcclBytes = "Message size [bytes]";

/// In 64 bits, whatever it was given as.
std::pair<model::NumberType, uint64_t> number_of(ValueType type, uint64_t value) {
  using enum model::NumberType;
  switch (type) {
    case ValueType::kUint64:
      return {kUnsigned, value};
    case ValueType::kUint32:
      return {kUnsigned, static_cast<uint32_t>(value)};
    case ValueType::kInt64:
    case ValueType::kInt32:
      return {kSigned, static_cast<uint64_t>(integer_value(type, value))};
    case ValueType::kDouble:
      return {kReal, value};
    case ValueType::kFloat:
      return {kReal,
              std::bit_cast<uint64_t>(double{std::bit_cast<float>(static_cast<uint32_t>(value))})};
    default:
      return {kNone, 0};
  }
}

bool is_stream_event(model::EventKind kind) {
  return model::is_device_op(kind) || kind == model::EventKind::kStreamWait;
}

}  // namespace

Decoder::Thread& Decoder::thread(uint32_t number) {
  if (last_thread_ == nullptr || last_number_ != number) {
    last_thread_ = &threads_[number];
    last_number_ = number;
  }
  return *last_thread_;
}

Schema const* Decoder::schema(uint16_t domain, uint64_t id) {
  uint64_t const version = registry_.schema_version();
  if (version != schema_version_) {
    schemas_.clear();
    schema_version_ = version;
  }
  auto const [place, is_new] = schemas_.try_emplace({domain, id});
  if (is_new) place->second = registry_.schema(domain, id);
  return place->second.get();
}

std::string_view Decoder::message(Record const& record) {
  if (record.handle == 0) return whole_characters(record.text);
  if (auto const known = handles_.find(record.handle); known != handles_.end())
    return known->second;
  std::string text = registry_.text_of(record.handle);
  if (text.empty()) return {};  // a handle of another tool: not worth remembering
  return handles_.emplace(record.handle, std::move(text)).first->second;
}

std::string const& Decoder::domain_prefix(uint16_t domain) {
  if (prefixes_.size() <= domain) prefixes_.resize(domain + size_t{1});
  std::string& prefix = prefixes_[domain];
  if (prefix.empty() && domain != kDefaultDomain) prefix = registry_.domain_name(domain) + ": ";
  return prefix;
}

model::StringId Decoder::name_of(Record const& record, TraceStore& store, std::string_view prefix) {
  std::string_view text = message(record);
  if (text.empty() && !record.payloads.empty()) {
    Schema const* const layout = schema(record.domain, record.payloads.front().schema);
    if (layout != nullptr) text = layout->name;
  }
  if (text.empty()) text = "unnamed";
  if (prefix.empty()) return store.intern(text);
  name_.assign(prefix).append(text);
  return store.intern(name_);
}

model::StringId Decoder::plain_name(uint16_t domain, std::string_view text, TraceStore& store) {
  if (text.empty()) text = "unnamed";
  if (domain == kDefaultDomain || domain == kAnnotationDomain || domain == kDeviceDomain)
    return store.intern(text);
  name_.assign(domain_prefix(domain)).append(text);
  return store.intern(name_);
}

model::StringId Decoder::new_text_name(uint16_t domain, std::span<uint64_t const> words,
                                       TraceStore& store) {
  auto const* const text = reinterpret_cast<char const*>(words.data());
  model::StringId const name =
      plain_name(domain, {text, ::strnlen(text, words.size_bytes())}, store);
  text_names_.add(domain, words, name);
  return name;
}

model::StringId Decoder::handle_name(uint16_t domain, uint32_t handle, TraceStore& store) {
  auto& known = handle_names_[domain];
  if (handle < known.size() && known[handle].valid()) [[likely]]
    return known[handle];
  std::string const text = registry_.text_of(handle);
  model::StringId const name = plain_name(domain, text, store);
  if (text.empty()) return name;  // a handle of another tool: not worth remembering
  if (handle >= known.size()) known.resize(handle + size_t{1});
  known[handle] = name;
  return name;
}

bool Decoder::apply_annotation(Record const& record, Meaning& meaning) {
  switch (static_cast<api::AnnotationCategory>(record.category)) {
    case api::AnnotationCategory::kStep:
      meaning.kind = model::EventKind::kStep;
      meaning.detail = model::StepDetail{integer_value(record.value_type, record.value)};
      return true;
    case api::AnnotationCategory::kPhase:
      meaning.kind = model::EventKind::kPhase;
      return true;
    case api::AnnotationCategory::kInputWait:
      meaning.kind = model::EventKind::kInputWait;
      return true;
    case api::AnnotationCategory::kMemory:
      meaning.is_memory_category = true;
      return false;
    default:  // kNone: a range with a name and no further meaning
      return record.category == 0;
  }
}

bool Decoder::apply_payload(Thread const* thread, Record const& record, Meaning& meaning,
                            TraceStore& store) {
  if (record.domain != kDeviceDomain || record.payloads.empty()) return false;
  PayloadView const& payload = record.payloads.front();

  Schema const* const layout = schema(record.domain, payload.schema);
  auto const event = layout == nullptr ? std::nullopt
                                       : decode_device_range(payload.schema,
                                                             FieldReader(*layout, payload.bytes()));
  if (!event) {
    ++store.log.unknown_events;
    return false;
  }

  meaning.kind = event->kind;
  meaning.correlation = event->correlation;
  meaning.detail = event->detail;

  if (event->on_stream && is_stream_event(event->kind))
    meaning.track = store.stream_track(event->device, event->stream);
  if (auto* const memory = std::get_if<model::MemoryDetail>(&meaning.detail)) {
    bool const has_category = thread != nullptr && !thread->memory_purpose.empty();
    if (memory->purpose == model::MemoryPurpose::kOther && has_category)
      memory->purpose = thread->memory_purpose.back();
  }

  if (only_launched_ && event->kind == model::EventKind::kLaunch && event->correlation != 0) {
    launched_.insert(event->correlation);
    outstanding_.insert(event->correlation);
  }
  return true;
}

/// What a range of the program's own domains says beside its name.
void Decoder::apply_attributes(Record const& record, Meaning& meaning) {
  model::RangeDetail detail;
  detail.category = record.category;
  detail.color = record.color;
  std::tie(detail.payload_type, detail.payload) = number_of(record.value_type, record.value);

  if (!record.payloads.empty()) {
    PayloadView const& payload = record.payloads.front();
    if (Schema const* const layout = schema(record.domain, payload.schema); layout != nullptr) {
      FieldReader fields(*layout, payload.bytes());
      detail.communicator = fields.get<uint64_t>(kNcclCommunicator);
      detail.bytes = fields.get<uint64_t>(kNcclBytes);
    }
  }

  bool const says_nothing = detail.category == 0 && detail.color == 0 &&
                            detail.payload_type == model::NumberType::kNone && detail.bytes == 0 &&
                            detail.communicator == 0;
  if (says_nothing) return;

  meaning.kind = model::EventKind::kAnnotatedRange;
  meaning.detail = detail;
}

Decoder::OpenRange Decoder::begin_row(model::TrackId track, Meaning const& meaning,
                                      model::StringId name, int64_t start_ns, TraceStore& store) {
  TrackRows& rows = store.rows(track);

  TrackRows::Open const row = std::visit(
      [&](auto const& detail) {
        if constexpr (std::is_same_v<std::decay_t<decltype(detail)>, std::monostate>)
          return rows.begin(meaning.kind, start_ns, name, meaning.correlation);
        else
          return rows.begin(meaning.kind, start_ns, name, meaning.correlation, detail);
      },
      meaning.detail);

  store.row_begun(track, rows);
  return {&rows, row, meaning.is_memory_category};
}

Decoder::OpenRange Decoder::begin(Thread& thread, Record const& record, int64_t now,
                                  TraceStore& store) {
  Meaning meaning;
  std::string_view prefix;
  if (record.domain == kAnnotationDomain) {
    bool const has_meaning = apply_annotation(record, meaning);
    // A note keeps its number.
    if (record.type == RecordType::kMark && meaning.kind == model::EventKind::kRange)
      apply_attributes(record, meaning);
    if (!has_meaning)
      prefix = meaning.is_memory_category ? std::string_view("memory: ")
                                          : std::string_view(domain_prefix(record.domain));
  } else if (record.domain != kDeviceDomain) {
    prefix = domain_prefix(record.domain);
    apply_attributes(record, meaning);
  }

  apply_payload(&thread, record, meaning, store);

  if (record.type == RecordType::kMark) {
    if (model::is_range(meaning.kind))
      meaning.kind = meaning.kind == model::EventKind::kRange ? model::EventKind::kMark
                                                              : model::EventKind::kAnnotatedMark;
  } else if (record.type == RecordType::kPush && meaning.is_memory_category) {
    thread.memory_purpose.push_back(memory_purpose(message(record)));
  }

  if (!meaning.track.valid()) {
    need_track(thread, store);
    meaning.track = thread.track;
  }
  return begin_row(meaning.track, meaning, name_of(record, store, prefix), now, store);
}

/// Its end has a payload too, which replaces that of the begin.
Decoder::OpenRange Decoder::apply_end_payload(Thread const* thread, Record const& record,
                                              OpenRange const& range, TraceStore& store) {
  TrackRows& rows = *range.rows;
  Meaning meaning;
  if (!apply_payload(thread, record, meaning, store)) return range;

  if (meaning.track.valid() && &store.rows(meaning.track) != range.rows) {
    OpenRange const moved =
        begin_row(meaning.track, meaning, rows.name(range.row), rows.start(range.row), store);
    rows.drop(range.row);
    return moved;
  }

  std::visit(
      [&](auto const& detail) {
        if constexpr (std::is_same_v<std::decay_t<decltype(detail)>, std::monostate>)
          rows.change(range.row, meaning.kind, meaning.correlation);
        else
          rows.change(range.row, meaning.kind, meaning.correlation, detail);
      },
      meaning.detail);

  return range;
}

void Decoder::pop(Thread& thread, Record const& record, int64_t now, TraceStore& store) {
  if (record.range != 0) return pop_deep(thread, record, now, store);

  drop_deep_of(thread, record.domain);
  auto& open = open_ranges(thread, record.domain);
  if (open.empty()) {  // recorders record both ends of a range or none
    ++store.log.unknown_events;
    return;
  }

  OpenRange const range = open.back();
  open.pop_back();
  end_popped(thread, record, range, now, store);
}

void Decoder::end_popped(Thread& thread, Record const& record, OpenRange const& range, int64_t now,
                         TraceStore& store) {
  if (range.is_memory_category) thread.memory_purpose.pop_back();
  if ((record.flags & kPayloadLost) != 0) {  // counted by the recorder
    range.rows->drop(range.row);
    return;
  }
  end_range(record.payloads.empty() ? range : apply_end_payload(&thread, record, range, store),
            now);
}

void Decoder::push(Thread& thread, Record const& record, int64_t now, TraceStore& store) {
  if (record.range != 0) return push_deep(thread, record, now, store);
  OpenRange const range = begin(thread, record, now, store);
  open_ranges(thread, record.domain).push_back(range);
}

void Decoder::push_deep(Thread& thread, Record const& record, int64_t now, TraceStore& store) {
  DeepRanges& deep = thread.deep[record.domain];
  drop_deep(thread, deep, std::min(deep_level(record.range), deep_lost_from(record.range)));
  if (deep.size() == kMaxDeepRanges) forget_outermost(thread, record.domain, deep);
  deep.push_back({deep_level(record.range), begin(thread, record, now, store)});
}

void Decoder::pop_deep(Thread& thread, Record const& record, int64_t now, TraceStore& store) {
  auto const place = thread.deep.find(record.domain);

  if (place == thread.deep.end()) return;  // its push was dropped
  DeepRanges& deep = place->second;
  int32_t const level = deep_level(record.range);
  drop_deep(thread, deep, std::min(level + 1, deep_lost_from(record.range)));

  if (!deep.empty() && deep.back().level == level) {
    OpenRange const range = deep.back().range;
    deep.pop_back();
    end_popped(thread, record, range, now, store);
  }

  if (deep.empty()) thread.deep.erase(place);
}

/// Drops the ranges from this level on: their pops were lost.
void Decoder::drop_deep(Thread& thread, DeepRanges& deep, int32_t from_level) {
  for (; !deep.empty() && deep.back().level >= from_level; deep.pop_back(), ++dropped_) {
    OpenRange const& range = deep.back().range;
    if (range.is_memory_category) thread.memory_purpose.pop_back();
    range.rows->drop(range.row);
  }
}

/// An outer level of the domain was pushed or popped: nothing is open on deep ones.
void Decoder::drop_deep_of(Thread& thread, uint16_t domain) {
  auto const place = thread.deep.find(domain);
  if (place == thread.deep.end()) return;
  drop_deep(thread, place->second, 0);
  thread.deep.erase(place);
}

void Decoder::lose_deep_pops(uint32_t number) {
  Thread& own = thread(number);
  for (auto& [domain, deep] : own.deep) drop_deep(own, deep, 0);
  own.deep.clear();
}

void Decoder::forget_outermost(Thread& thread, uint16_t domain, DeepRanges& deep) {
  OpenRange const range = deep.front().range;
  deep.pop_front();

  if (range.is_memory_category) {
    auto const& outer = open_ranges(thread, domain);
    thread.memory_purpose.erase(thread.memory_purpose.begin() +
                                std::count_if(outer.begin(), outer.end(), [](OpenRange const& one) {
                                  return one.is_memory_category;
                                }));
  }

  range.rows->drop(range.row);
  ++never_popped_;
}

bool Decoder::end(Record const& record, int64_t now, TraceStore& store) {
  auto const found = started_.find(record.range);
  if (found == started_.end()) return false;
  OpenRange const range = found->second;
  started_.erase(found);
  end_range(record.payloads.empty() ? range : apply_end_payload(nullptr, record, range, store),
            now);
  return true;
}

void Decoder::mark(Thread& thread, Record const& record, int64_t now, TraceStore& store) {
  if (record.domain == kDeviceDomain && describe_device(record, store)) return;
  end_range(begin(thread, record, now, store), now);
  if (record.domain == kAnnotationDomain) add_note_sample(thread, record, now, store);
}

/// A note is a point of a curve, too: of its thread and name.
void Decoder::add_note_sample(Thread const& thread, Record const& record, int64_t now,
                              TraceStore& store) {
  auto const [type, bits] = number_of(record.value_type, record.value);
  if (type == model::NumberType::kNone || record.category != 0) return;
  double const value = type == model::NumberType::kReal ? std::bit_cast<double>(bits)
                       : type == model::NumberType::kSigned
                           ? static_cast<double>(static_cast<int64_t>(bits))
                           : static_cast<double>(bits);
  notes_.add(thread.thread_id, std::string(message(record)), value, now, store);
}

bool Decoder::describe_device(Record const& record, TraceStore& store) {
  if (record.payloads.empty()) return false;
  PayloadView const& payload = record.payloads.front();
  Schema const* const layout = schema(record.domain, payload.schema);
  if (layout == nullptr) return false;

  FieldReader const fields(*layout, payload.bytes());
  if (auto device = decode_device_mark(payload.schema, fields, message(record))) {
    store.set_device(std::move(*device));
    return true;
  }

  if (auto const stream = decode_stream_mark(payload.schema, fields, message(record))) {
    model::TrackId const id = store.stream_track(stream->device, stream->id);
    model::Track track = store.track(id);
    if (!stream->name.empty()) track.name = stream->name;
    track.stream_kind = stream->stream_kind;
    store.set_track(id, std::move(track));
    return true;
  }
  return false;
}

size_t Decoder::decode(uint32_t number, std::span<uint64_t const> words, ClockFit const& clock,
                       TraceStore& store) {
  Thread& own = thread(number);
  size_t position = 0;
  while (position < words.size() && position < kSliceWords) {
    // The words come from another core's cache: asked for early, they are here when they are
    // needed.
    __builtin_prefetch(words.data() + position + kPrefetchWords);

    auto const rest = words.subspan(position);
    size_t const used = is_compact(rest[0]) ? decode_compact(own, rest, clock, store)
                                            : decode_general(own, rest, clock, store);

    if (used == 0) [[unlikely]] {
      ++store.log.unknown_events;
      return words.size();
    }
    position += used;
  }
  return position;
}

size_t Decoder::decode_compact(Thread& thread, std::span<uint64_t const> words,
                               ClockFit const& clock, TraceStore& store) {
  int64_t const now = clock.to_trace_ns(compact_ticks(words[0], clock.latest_ticks()));

  uint16_t const domain = compact_domain(words[0]);
  if ((words[0] & kCompactPop) != 0) {
    if (!thread.deep.empty()) [[unlikely]]
      drop_deep_of(thread, domain);
    auto& open = open_ranges(thread, domain);
    if (open.empty()) return 0;
    if (open.back().is_memory_category) [[unlikely]]
      thread.memory_purpose.pop_back();
    end_range(open.back(), now);
    open.pop_back();
    return 1;
  }

  if ((words[0] & kCompactHandle) != 0) {
    if (words.size() < 2) return 0;
    push_plain(thread, domain, handle_name(domain, static_cast<uint32_t>(words[1]), store), now,
               store);
    return 2;
  }

  size_t const limit = std::min<size_t>(words.size(), 1 + kMaxCompactTextWords);
  size_t end = 1;
  while (end < limit && lowest_zero_byte(words[end]) == 0) ++end;
  if (end == limit) return 0;
  push_plain(thread, domain, text_name(domain, words.subspan(1, end), store), now, store);
  return end + 1;
}

size_t Decoder::decode_general(Thread& thread, std::span<uint64_t const> words,
                               ClockFit const& clock, TraceStore& store) {
  RecordHeader header{};
  std::memcpy(&header, words.data(), sizeof header);

  if (header.words == 0 || header.words > words.size()) return 0;
  if (header.type == kPaddingRecord) return header.words;
  auto const own = words.first(header.words);
  if (!read_record(own, record_)) return 0;

  int64_t const now = clock.to_trace_ns(record_.ticks);
  switch (record_.type) {
    case RecordType::kPush:
      push(thread, record_, now, store);
      break;
    case RecordType::kPop:
      pop(thread, record_, now, store);
      break;
    case RecordType::kMark:
      mark(thread, record_, now, store);
      break;
    case RecordType::kStart:
      start(thread, record_, now, store);
      break;
    case RecordType::kEnd:
      if (!end(record_, now, store)) waiting_ends_.push_back({{own.begin(), own.end()}, now, 0});
      break;
    default:
      ++store.log.unknown_events;
      break;
  }
  return header.words;
}

void Decoder::start(Thread& thread, Record const& record, int64_t now, TraceStore& store) {
  if (started_.size() >= kMaxStartedRanges) {
    ++too_many_started_;
    return;
  }
  OpenRange const range = begin(thread, record, now, store);
  auto const [place, is_new] = started_.try_emplace(record.range, range);
  if (is_new) return;
  // Recorders give every range another number: a damaged record.
  ++store.log.unknown_events;
  range.rows->drop(range.row);
}

void Decoder::lose_end(uint64_t range) {
  auto const found = started_.find(range);
  if (found == started_.end()) return;
  found->second.rows->drop(found->second.row);
  started_.erase(found);
}

void Decoder::lose_ends_before(int64_t last_ns, uint64_t counted) {
  size_t const lost = std::erase_if(started_, [&](auto const& one) {
    OpenRange const& range = one.second;
    if (range.rows->start(range.row) > last_ns) return false;
    range.rows->drop(range.row);
    return true;
  });
  dropped_ += lost - std::min<uint64_t>(lost, counted);
}

void Decoder::end_if_launched(OpenRange const& range, int64_t end_ns) {
  if (!is_stream_event(range.rows->kind(range.row))) return range.rows->end(range.row, end_ns);
  EndedOp const op = {range, range.rows->correlation(range.row), end_ns};
  if (op.correlation != 0 && !launched_.contains(op.correlation))
    waiting_ops_.push_back(op);
  else
    end_op(op);
}

void Decoder::end_op(EndedOp const& op) {
  outstanding_.erase(op.correlation);
  op.range.rows->end(op.range.row, op.end_ns);
}

void Decoder::end_round(TraceStore& store) {
  std::vector<WaitingEnd> still_waiting;
  for (WaitingEnd& waiting : waiting_ends_) {
    if (!read_record(waiting.words, record_) || end(record_, waiting.end_ns, store)) continue;
    if (++waiting.rounds < kWaitRounds) still_waiting.push_back(std::move(waiting));
  }
  waiting_ends_ = std::move(still_waiting);

  // An op that came before its launch did has seen one whole round since: its launch was outside
  // the window.
  for (EndedOp const& op : waiting_ops_before_) {
    if (launched_.contains(op.correlation))
      end_op(op);
    else
      op.range.rows->drop(op.range.row);
  }

  waiting_ops_before_ = std::exchange(waiting_ops_, {});
}

void Decoder::close_thread(uint32_t number, int64_t end_ns) {
  auto const found = threads_.find(number);
  if (found == threads_.end()) return;

  Thread& own = found->second;
  for (auto& open : own.open) {
    open_at_end_ += open.size();
    for (OpenRange const& range : open) end_range(range, end_ns);
    open.clear();
  }

  for (auto const& [domain, deep] : own.deep) {
    open_at_end_ += deep.size();
    for (DeepRange const& one : deep) end_range(one.range, end_ns);
  }
  own.deep.clear();
}

void Decoder::finish(int64_t end_ns, TraceStore& store) {
  for (auto const& [number, thread] : threads_) close_thread(number, end_ns);
  open_at_end_ += started_.size();
  for (auto const& [id, range] : started_) end_range(range, end_ns);
  started_.clear();

  end_round(store);
  end_round(store);

  auto const note = [&](uint64_t count, char const* what) {
    if (count != 0) store.log.notes.push_back(fmt::format("{} ranges {}", count, what));
  };
  note(open_at_end_, "were still open when their thread or the capture ended, and end there");
  note(never_popped_,
       "were pushed and not popped while 65,536 others were opened inside them, and are left out: "
       "add nvtxRangePop");
  note(too_many_started_,
       "were started while 1,048,576 others were open, and are left out: add nvtxRangeEnd");
}

void Decoder::add_track(Thread& thread, TraceStore& store) {
  thread.track = store.thread_track(thread.thread_id);
  thread.rows = &store.rows(thread.track);
}

model::TrackId Decoder::thread_track(uint32_t number, TraceStore& store) {
  Thread& known = thread(number);
  need_track(known, store);
  return known.track;
}

void Decoder::forget_thread(uint32_t number) {
  threads_.erase(number);
  last_thread_ = nullptr;
}

bool Decoder::has_track(uint32_t thread) const {
  auto const found = threads_.find(thread);
  return found != threads_.end() && found->second.track.valid();
}

}  // namespace stepscope::tracer
