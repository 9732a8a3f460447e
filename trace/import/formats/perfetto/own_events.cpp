#include "trace/import/formats/perfetto/own_events.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <tuple>
#include <type_traits>

#include "trace/base/format.h"
#include "trace/file/description.h"
#include "trace/import/formats/perfetto/saturating.h"

namespace stepscope::import::perfetto {
namespace {

using base::ProtobufField;
using base::ProtobufReader;
using model::EventKind;

struct Value {
  enum class Type : uint8_t { kNone, kUnsigned, kSigned, kReal, kText } type = Type::kNone;
  uint64_t bits = 0;
  std::string_view text;
};

/// What the exports call an enumerator.
template <class Enum>
std::optional<Enum> enumerator_of(std::string_view text) {
  constexpr uint8_t kMost = 32;
  for (uint8_t number = 0; number < kMost; ++number) {
    auto const value = static_cast<Enum>(number);
    if constexpr (std::is_same_v<Enum, model::MemoryOp>) {
      if (text == "allocate") return model::MemoryOp::kAllocate;
      if (text == "free") return model::MemoryOp::kFree;
      return std::nullopt;
    }
    if (text == model::to_string(value)) return value;
  }

  return std::nullopt;
}

double real_number_of(Value const& value) {
  if (value.type == Value::Type::kReal) return std::bit_cast<double>(value.bits);
  return value.type == Value::Type::kSigned ? static_cast<double>(static_cast<int64_t>(value.bits))
                                            : static_cast<double>(value.bits);
}

template <class Number>
void set_number(Number& to, Value const& value) {
  if (value.type == Value::Type::kText) return;

  if constexpr (std::is_floating_point_v<Number>) {
    to = real_number_of(value);
  } else {
    if (value.type == Value::Type::kReal) return;

    bool const is_negative =
        value.type == Value::Type::kSigned && static_cast<int64_t>(value.bits) < 0;

    if constexpr (std::is_signed_v<Number>) {
      auto const number = static_cast<int64_t>(value.bits);
      bool const fits =
          is_negative ? number >= std::numeric_limits<Number>::min()
                      : value.bits <= static_cast<uint64_t>(std::numeric_limits<Number>::max());
      if (fits) to = static_cast<Number>(number);
    } else {
      if (!is_negative && value.bits <= std::numeric_limits<Number>::max())
        to = static_cast<Number>(value.bits);
    }
  }
}

template <class Row>
void set_field(Row& row, int wanted, Value const& value) {
  int number = 0;
  auto const one = [&](auto const& field) {
    if (number++ != wanted) return;
    auto& member = row.*field.member;

    using Member = std::decay_t<decltype(member)>;
    if constexpr (std::is_enum_v<Member>) {
      if (auto const known = enumerator_of<Member>(value.text)) member = *known;
    } else {
      set_number(member, value);
    }
  };

  std::apply([&](auto const&... fields) { (one(fields), ...); }, model::detail_fields<Row>);
}
model::NumberType payload_type_of(Value::Type type) {
  if (type == Value::Type::kReal) return model::NumberType::kReal;
  return type == Value::Type::kSigned ? model::NumberType::kSigned : model::NumberType::kUnsigned;
}
/// The payload's type is that of its annotation.
void set_field(model::RangeDetail& row, int wanted, Value const& value) {
  constexpr int kPayload = 3;
  static_assert(std::get<kPayload>(model::detail_fields<model::RangeDetail>).member ==
                &model::RangeDetail::payload);
  if (wanted != kPayload) return set_field<model::RangeDetail>(row, wanted, value);
  if (value.type == Value::Type::kText || value.type == Value::Type::kNone) return;
  row.payload = value.bits;
  row.payload_type = payload_type_of(value.type);
}

struct Annotation {
  uint64_t name = 0;
  Value value;
};
Annotation read_annotation(std::string_view bytes) {
  using A = AnnotationNumber;
  Annotation annotation;
  ProtobufReader reader(bytes);
  ProtobufField field;
  auto const set = [&](Value::Type type) { annotation.value = {type, field.value, {}}; };

  while (reader.next(field)) {
    if (field.is_varint(A::kNameIid)) annotation.name = field.value;
    if (field.is_varint(A::kUnsigned)) set(Value::Type::kUnsigned);
    if (field.is_varint(A::kSigned)) set(Value::Type::kSigned);
    if (field.number == A::kReal && field.type == base::WireType::kFixed64) set(Value::Type::kReal);
    if (field.is_bytes(A::kText)) annotation.value = {Value::Type::kText, 0, field.bytes};
  }

  return annotation;
}

template <size_t Table = 0>
void find_fields(std::string_view name, FieldMeaning& meaning) {
  if constexpr (Table < model::kDetailTableCount) {
    using Row = typename std::tuple_element_t<Table, model::DetailTables>::value_type;
    int8_t number = 0;
    auto const one = [&](auto const& field) {
      if (name == field.name) meaning.field[Table] = number;
      ++number;
    };

    std::apply([&](auto const&... fields) { (one(fields), ...); }, model::detail_fields<Row>);
    find_fields<Table + 1>(name, meaning);
  }
}

/// Calls with an empty row of the kind's table; `add(row)`.
template <class Add>
void with_row_of(model::DetailTable table, Add&& add) {
  using model::DetailTable;
  switch (table) {
    case DetailTable::kNone:
      return;
    case DetailTable::kSteps:
      return add(model::StepDetail());
    case DetailTable::kKernels:
      return add(model::KernelDetail());
    case DetailTable::kCopies:
      return add(model::CopyDetail());
    case DetailTable::kCollectives:
      return add(model::CollectiveDetail());
    case DetailTable::kStreamWaits:
      return add(model::StreamWaitDetail());
    case DetailTable::kSyncs:
      return add(model::SyncDetail());
    case DetailTable::kMemory:
      return add(model::MemoryDetail());
    case DetailTable::kSamples:
      return add(model::SampleDetail());
    case DetailTable::kRanges:
      return add(model::RangeDetail());
  }
}

base::ByteSpan bytes_of(std::string const& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// `category`: kind + 1, 0 = of another program; null: the trace does not name it.
EventKind kind_of_event(uint64_t type, uint8_t const* category) {
  if (type == EventNumber::kCounter) return EventKind::kSample;
  if (category != nullptr && *category != 0) {
    auto const kind = static_cast<EventKind>(*category - 1);
    return kind == EventKind::kSample ? EventKind::kRange : kind;
  }
  return type == EventNumber::kInstant ? EventKind::kMark : EventKind::kRange;
}

}  // namespace

FieldMeaning meaning_of(std::string_view annotation) {
  FieldMeaning meaning;
  meaning.is_correlation = annotation == "correlation";
  find_fields(annotation, meaning);
  return meaning;
}

OwnProcess::OwnProcess(TraceIndex const& index, uint64_t sequence)
    : index_(index), sequence_(sequence) {}

void OwnProcess::add(Packet const& packet, std::optional<int64_t> time) {
  if (!packet.stepscope.empty()) add_text(packet.stepscope);
  if (!packet.interned.empty()) add_names(packet.interned);
  if (packet.track_event.empty()) return;

  if (!time) {
    ++untimed_;
    return;
  }

  if (!are_tracks_known_) describe_tracks();
  event_.read(packet.track_event);
  add_event(event_, *time);
}

/// Texts come in pieces, as no packet is that long.
void OwnProcess::add_text(std::string_view message) {
  using S = StepscopeNumber;
  ProtobufReader reader(message);
  ProtobufField field;
  bool ends = false;

  while (reader.next(field)) {
    if (field.is_bytes(S::kDescriptionPiece)) description_ += field.bytes;
    if (field.is_bytes(S::kTracksPiece)) tracks_text_ += field.bytes;
    if (field.is_varint(S::kTextEnds)) ends = field.value != 0;
    if (field.is_varint(S::kTimeShift)) shift_ns_ = field.signed_value();
    if (field.is_varint(S::kTruncated)) was_truncated_ = field.value != 0;
  }
  if (!ends) return;

  file::Description described;
  if (!description_.empty() && file::decode_description(bytes_of(description_), described)) {
    has_description_ = true;
    info_ = std::move(described.info);
    devices_ = std::move(described.devices);
    log_ = std::move(described.log);
  }

  if (!tracks_text_.empty() && !are_tracks_known_)
    file::decode_tracks(bytes_of(tracks_text_), kMostTracks, tracks_);

  description_.clear();
  tracks_text_.clear();
}

void OwnProcess::add_names(std::string_view interned) {
  using I = InternedNumber;
  ProtobufReader reader(interned);
  ProtobufField field, entry;

  while (reader.next(field)) {
    if (field.type != base::WireType::kBytes) continue;
    uint64_t iid = 0;
    std::string_view text;

    ProtobufReader of_entry(field.bytes);
    while (of_entry.next(entry)) {
      if (entry.is_varint(I::kIid)) iid = entry.value;
      if (entry.is_bytes(I::kText)) text = entry.bytes;
    }

    if (field.number == I::kEventNames) names_[iid] = {true, builder_.intern(text)};
    if (field.number == I::kAnnotationNames) fields_[iid] = meaning_of(text);

    if (field.number != I::kCategories) continue;
    auto const known = std::find_if(model::kKindTable.begin(), model::kKindTable.end(),
                                    [&](auto const& kind) { return kind.name == text; });
    categories_[iid] = known == model::kKindTable.end()
                           ? 0
                           : static_cast<uint8_t>(known - model::kKindTable.begin() + 1);
  }
}

OwnProcess::Lane& OwnProcess::lane(uint64_t uuid) {
  Lane& lane = lanes_[uuid];
  if (!lane.is_known) {
    lane.is_known = true;
    model::Track others;
    others.name = "others";
    auto const [place, is_new] = named_.try_emplace({0, others.name}, 0);
    if (is_new) place->second = new_track(std::move(others));
    lane.track = place->second;
  }

  return lane;
}

void OwnProcess::add_event(TrackEvent const& event, int64_t time) {
  using E = EventNumber;
  Lane& at = lane(event.track);
  if (at.track == kNoTrack) return;

  while (targets_.size() <= at.track) targets_.emplace_back();
  first_ = std::min(first_, time);
  last_ = std::max(last_, time);

  if (event.type == E::kSliceEnd) {
    if (at.open.empty()) {
      ++unopened_;
      return;
    }
    model::EventBatch& rows = targets_[at.track].rows;
    uint32_t const row = at.open.back();
    at.open.pop_back();
    rows.dur[row] = saturated_minus(time, rows.start[row]);
    return;
  }
  if (event.type == E::kSliceBegin || event.type == E::kInstant || event.type == E::kCounter)
    add_row(at, event, time);
}

model::StringId OwnProcess::name_of(TrackEvent const& event) {
  if (event.name_iid == 0)
    return event.name.empty() ? model::StringId{0} : builder_.intern(event.name);
  auto const* const known = names_.find(event.name_iid);
  if (known != nullptr && known->first) return known->second;
  ++unnamed_;
  return model::StringId{0};
}

void OwnProcess::add_row(Lane& lane, TrackEvent const& event, int64_t time) {
  Target& target = targets_[lane.track];
  model::EventBatch& rows = target.rows;
  EventKind const kind = kind_of_event(event.type, categories_.find(event.category_iid));
  model::StringId const name = name_of(event);
  model::DetailTable const table = model::kind_info(kind).table;

  target.is_of_device =
      target.is_of_device || model::is_device_op(kind) || kind == EventKind::kStreamWait;
  target.copies += kind == EventKind::kMemcpy ? 1 : 0;
  target.collectives += kind == EventKind::kCollective ? 1 : 0;

  uint64_t correlation = 0;
  auto const for_each_annotation = [&](auto&& set) {
    for (std::string_view const bytes : event.annotations) {
      Annotation const annotation = read_annotation(bytes);
      FieldMeaning const* const meaning = fields_.find(annotation.name);
      if (meaning == nullptr) continue;
      if (meaning->is_correlation) set_number(correlation, annotation.value);
      if (table == model::DetailTable::kNone) continue;
      if (int const field = meaning->field[static_cast<size_t>(table)]; field >= 0)
        set(field, annotation.value);
    }
  };

  if (event.type == EventNumber::kSliceBegin)
    lane.open.push_back(static_cast<uint32_t>(rows.size()));
  ++events_;

  if (table == model::DetailTable::kNone) {
    for_each_annotation([](int, Value const&) {});
    return rows.add(kind, time, 0, name, correlation);
  }

  with_row_of(table, [&](auto row) {
    for_each_annotation([&](int field, Value const& value) { set_field(row, field, value); });
    if constexpr (std::is_same_v<decltype(row), model::SampleDetail>) {
      row.value = event.is_real ? event.real_value : static_cast<double>(event.value);
      if (!std::isfinite(row.value)) row.value = 0;
    }
    rows.add(kind, time, 0, name, correlation, row);
  });
}

void OwnProcess::close_open(int64_t time) {
  uint64_t unclosed = 0;
  lanes_.for_each([&](Lane& lane) {
    if (lane.track == kNoTrack || lane.track >= targets_.size()) return;
    model::EventBatch& rows = targets_[lane.track].rows;
    for (uint32_t const row : lane.open)
      rows.dur[row] = std::max<int64_t>(0, saturated_minus(time, rows.start[row]));
    unclosed += lane.open.size();
  });

  if (unclosed > 0)
    log_.notes.push_back(base::count_sentence(
        unclosed, "ranges never end; they are shown until the end of the trace"));
  if (unopened_ > 0)
    log_.notes.push_back(
        base::count_sentence(unopened_, "ends of ranges have no begin and were left out"));
  if (untimed_ > 0)
    log_.notes.push_back(
        base::count_sentence(untimed_, "events have no time that can be read and were left out"));
  if (unnamed_ > 0)
    log_.notes.push_back(base::count_sentence(unnamed_, "events have lost their names"));

  log_.dropped += untimed_;
  log_.truncated = log_.truncated || was_truncated_;
}

model::Trace OwnProcess::finish(uint32_t processes, int64_t shift_ns) && {
  if (!are_tracks_known_) describe_tracks();
  close_open(last_);
  complete_tracks();

  int64_t const shift = shift_ns_.value_or(shift_ns);
  complete_info(processes, shift);
  for (size_t i = 0; i < targets_.size(); ++i) {
    model::EventBatch& rows = targets_[i].rows;
    for (int64_t& start : rows.start) start = saturated_minus(start, shift);
    builder_.append(model::TrackId{static_cast<uint32_t>(i)}, std::move(rows));
  }

  builder_.info() = std::move(info_);
  builder_.log() = std::move(log_);
  return std::move(builder_).finish();
}

}  // namespace stepscope::import::perfetto
