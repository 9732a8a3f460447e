// What a record says of its range or mark: name, kind, details, and the rows that begin with them.
#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>
#include <utility>

#include "tracer/api/annotate.h"
#include "tracer/nvtx/decoder.h"
#include "tracer/nvtx/thread_recorder.h"

namespace stepscope::tracer {
namespace {

/// Bytes of the sequence that begins with this byte.
size_t utf8_length(unsigned char lead) {
  if (lead >= 0xF0U) return 4;
  if (lead >= 0xE0U) return 3;
  return lead >= 0xC0U ? 2 : 1;
}

/// A text cut at its bound may end in half a UTF-8 sequence: without it.
std::string_view whole_characters(std::string_view text) {
  if (text.size() < kMaxTextBytes) return text;
  size_t end = text.size();
  while (end > 0 && (static_cast<unsigned char>(text[end - 1]) & 0xC0U) == 0x80U) --end;
  if (end == 0) return text;
  auto const lead = static_cast<unsigned char>(text[end - 1]);
  size_t const length = utf8_length(lead);
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

double real_of(model::NumberType type, uint64_t bits) {
  if (type == model::NumberType::kReal) return std::bit_cast<double>(bits);
  if (type == model::NumberType::kSigned) return static_cast<double>(static_cast<int64_t>(bits));
  return static_cast<double>(bits);
}

}  // namespace

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

bool Decoder::is_stream_event(model::EventKind kind) {
  return model::is_device_op(kind) || kind == model::EventKind::kStreamWait;
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

/// A note is a point of a curve, too: of its thread and name.
void Decoder::add_note_sample(Thread const& thread, Record const& record, int64_t now,
                              TraceStore& store) {
  auto const [type, bits] = number_of(record.value_type, record.value);
  if (type == model::NumberType::kNone || record.category != 0) return;
  notes_.add(thread.thread_id, std::string(message(record)), real_of(type, bits), now, store);
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

}  // namespace stepscope::tracer
