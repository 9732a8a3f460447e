#include "tracer/nvtx/decoder.h"

#include <utility>

#include <fmt/format.h>

#include "tracer/api/annotate.h"
#include "tracer/nvtx/thread_recorder.h"

namespace stepscope::tracer {
namespace {

/// Rounds for which the end of a start/end range waits for its begin: rings are drained one after the other, so the begin may be
/// decoded one round later; after two it was dropped.
constexpr int kWaitRounds = 2;

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

bool is_stream_event(model::EventKind kind) { return model::is_device_op(kind) || kind == model::EventKind::kStreamWait; }

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
  if (auto const known = handles_.find(record.handle); known != handles_.end()) return known->second;
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

bool Decoder::apply_annotation(Record const& record, OpenRange& range) {
  switch (static_cast<api::AnnotationCategory>(record.category)) {
    case api::AnnotationCategory::kStep:
      range.kind = model::EventKind::kStep;
      range.detail = model::StepDetail{integer_value(record.value_type, record.value)};
      return true;
    case api::AnnotationCategory::kPhase:
      range.kind = model::EventKind::kPhase;
      return true;
    case api::AnnotationCategory::kInputWait:
      range.kind = model::EventKind::kInputWait;
      return true;
    case api::AnnotationCategory::kMemory:
      range.is_memory_category = true;
      return false;
    default:  // kNone: a range with a name and no further meaning
      return record.category == 0;
  }
}

void Decoder::apply_payload(Record const& record, OpenRange& range, TraceStore& store) {
  if (record.domain != kDeviceDomain || record.payloads.empty()) return;
  PayloadView const& payload = record.payloads.front();
  Schema const* const layout = schema(record.domain, payload.schema);
  auto const event =
      layout == nullptr ? std::nullopt : decode_device_range(payload.schema, FieldReader(*layout, payload.bytes()));
  if (!event) {
    ++store.log.unknown_events;
    return;
  }
  range.kind = event->kind;
  range.correlation = event->correlation;
  range.detail = event->detail;
  if (event->on_stream && is_stream_event(event->kind)) range.track = store.stream_track(event->device, event->stream);
  if (only_launched_ && event->kind == model::EventKind::kLaunch && event->correlation != 0) {
    launched_.insert(event->correlation);
    outstanding_.insert(event->correlation);
  }
}

Decoder::OpenRange Decoder::open_range(Thread& thread, Record const& record, int64_t start_ns, TraceStore& store) {
  OpenRange range;
  range.start_ns = start_ns;
  std::string_view prefix;
  if (record.domain == kAnnotationDomain) {
    if (!apply_annotation(record, range))
      prefix = range.is_memory_category ? std::string_view("memory: ") : std::string_view(domain_prefix(record.domain));
  } else if (record.domain != kDeviceDomain) {
    prefix = domain_prefix(record.domain);
  }
  range.name = name_of(record, store, prefix);
  if (range.is_memory_category) thread.memory_purpose.push_back(memory_purpose(message(record)));
  apply_payload(record, range, store);
  return range;
}

void Decoder::push(Thread& thread, Record const& record, int64_t now, TraceStore& store) {
  OpenRange range = open_range(thread, record, now, store);
  thread.open[record.domain].push_back(std::move(range));
}

void Decoder::pop(uint32_t thread_number, Record const& record, int64_t now, TraceStore& store) {
  Thread& own = thread(thread_number);
  auto& open = own.open[record.domain];
  if (open.empty()) {  // recorders record both ends of a range or none
    ++store.log.unknown_events;
    return;
  }
  OpenRange range = std::move(open.back());
  open.pop_back();
  if (range.is_memory_category && !own.memory_purpose.empty()) own.memory_purpose.pop_back();
  if ((record.flags & kPayloadLost) != 0) return;  // counted by the recorder
  apply_payload(record, range, store);
  close_range(thread_number, std::move(range), now, store);
}

bool Decoder::end(uint32_t thread_number, Record const& record, int64_t now, TraceStore& store) {
  auto const found = started_.find(record.range);
  if (found == started_.end()) return false;
  StartedRange started = std::move(found->second);
  started_.erase(found);
  apply_payload(record, started.range, store);
  static_cast<void>(thread_number);  // the range belongs to the thread that started it
  close_range(started.thread, std::move(started.range), now, store);
  return true;
}

void Decoder::mark(uint32_t thread_number, Record const& record, int64_t now, TraceStore& store) {
  if (record.domain == kDeviceDomain && describe_device(record, store)) return;
  OpenRange range = open_range(thread(thread_number), record, now, store);
  if (range.is_memory_category) thread(thread_number).memory_purpose.pop_back();
  if (range.kind == model::EventKind::kRange) range.kind = model::EventKind::kMark;
  if (range.kind == model::EventKind::kMark) range.detail = std::monostate();
  close_range(thread_number, std::move(range), now, store);
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
    model::Track& track = store.track(store.stream_track(stream->device, stream->id));
    if (!stream->name.empty()) track.name = stream->name;
    track.stream_kind = stream->stream_kind;
    store.describe_again();
    return true;
  }
  return false;
}

void Decoder::decode(uint32_t number, std::span<uint64_t const> words, ClockFit const& clock, TraceStore& store) {
  if (!read_record(words, record_)) {
    ++store.log.unknown_events;
    return;
  }
  int64_t const now = clock.to_trace_ns(record_.ticks);
  switch (record_.type) {
    case RecordType::kPush:
      return push(thread(number), record_, now, store);
    case RecordType::kPop:
      return pop(number, record_, now, store);
    case RecordType::kMark:
      return mark(number, record_, now, store);
    case RecordType::kStart: {
      OpenRange range = open_range(thread(number), record_, now, store);
      if (range.is_memory_category) thread(number).memory_purpose.pop_back();  // nesting is push/pop's alone
      started_[record_.range] = {std::move(range), number};
      return;
    }
    case RecordType::kEnd:
      if (!end(number, record_, now, store)) waiting_ends_.push_back({{words.begin(), words.end()}, now, number, 0});
      return;
    case RecordType::kPadding:
      return;
  }
  ++store.log.unknown_events;
}

void Decoder::close_range(uint32_t thread_number, OpenRange range, int64_t end_ns, TraceStore& store) {
  if (!range.track.valid()) range.track = thread_track(thread_number, store);
  if (auto* const memory = std::get_if<model::MemoryDetail>(&range.detail)) {
    auto const& purposes = thread(thread_number).memory_purpose;
    if (memory->purpose == model::MemoryPurpose::kOther && !purposes.empty()) memory->purpose = purposes.back();
  }
  bool const is_op = is_stream_event(range.kind) && range.correlation != 0;
  if (only_launched_ && is_op && !launched_.contains(range.correlation)) {
    waiting_ops_.push_back({std::move(range), end_ns});
    return;
  }
  emit(range, end_ns, store);
}

void Decoder::emit(OpenRange const& range, int64_t end_ns, TraceStore& store) {
  if (only_launched_ && is_stream_event(range.kind)) outstanding_.erase(range.correlation);
  model::EventBatch& events = store.events(range.track);
  int64_t const dur = end_ns > range.start_ns ? end_ns - range.start_ns : 0;
  std::visit(
      [&](auto const& detail) {
        if constexpr (std::is_same_v<std::decay_t<decltype(detail)>, std::monostate>)
          events.add(range.kind, range.start_ns, dur, range.name, range.correlation);
        else
          events.add(range.kind, range.start_ns, dur, range.name, range.correlation, detail);
      },
      range.detail);
}

void Decoder::end_round(TraceStore& store) {
  std::vector<WaitingEnd> still_waiting;
  for (WaitingEnd& waiting : waiting_ends_) {
    if (!read_record(waiting.words, record_) || end(waiting.thread, record_, waiting.end_ns, store)) continue;
    if (++waiting.rounds < kWaitRounds) still_waiting.push_back(std::move(waiting));
  }
  waiting_ends_ = std::move(still_waiting);
  // An op that came before its launch did has seen one whole round since: its launch was outside the window.
  for (FinishedRange const& op : waiting_ops_before_) {
    if (launched_.contains(op.range.correlation)) emit(op.range, op.end_ns, store);
  }
  waiting_ops_before_ = std::exchange(waiting_ops_, {});
}

void Decoder::close_thread(uint32_t thread, int64_t end_ns, TraceStore& store) {
  auto const found = threads_.find(thread);
  if (found == threads_.end()) return;
  for (auto& [domain, open] : found->second.open) {
    closed_ranges_ += open.size();
    while (!open.empty()) {
      OpenRange range = std::move(open.back());
      open.pop_back();
      close_range(thread, std::move(range), end_ns, store);
    }
  }
}

void Decoder::finish(int64_t end_ns, TraceStore& store) {
  std::vector<uint32_t> numbers;
  for (auto const& [number, thread] : threads_) numbers.push_back(number);
  for (uint32_t const number : numbers) close_thread(number, end_ns, store);
  closed_ranges_ += started_.size();
  for (auto& [id, started] : started_) close_range(started.thread, std::move(started.range), end_ns, store);
  started_.clear();
  end_round(store);
  end_round(store);
  if (closed_ranges_ != 0)
    store.log.notes.push_back(fmt::format("{} ranges were still open when capture ended and end there", closed_ranges_));
}

model::TrackId Decoder::thread_track(uint32_t number, TraceStore& store) {
  Thread& known = thread(number);
  if (!known.track.valid()) {
    model::Track track;
    track.kind = model::TrackKind::kThread;
    track.id = known.thread_id;
    track.name = fmt::format("thread {}", known.thread_id);
    known.track = store.add_track(std::move(track));
  }
  return known.track;
}

bool Decoder::has_track(uint32_t thread) const {
  auto const found = threads_.find(thread);
  return found != threads_.end() && found->second.track.valid();
}

}  // namespace stepscope::tracer
