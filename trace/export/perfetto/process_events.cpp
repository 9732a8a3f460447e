#include "trace/export/perfetto/process_events.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <xxhash.h>

#include "trace/base/format.h"
#include "trace/export/details.h"
#include "trace/file/description.h"

namespace stepscope::exporting {
namespace {

using model::EventKind;

/// Perfetto has no times before 0. Ranks whose first event comes so much before the first rank's
/// still have theirs.
constexpr int64_t kHeadroomNs = 60'000'000'000;
/// So that neither a time nor a difference of two overflows in a reader.
constexpr int64_t kLastTime = model::kMaxTime * 2;

int64_t plus(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

/// The number of the annotation that is no field of a detail.
constexpr size_t kCorrelation = kFieldCount;

class AnnotationWriter {
 public:
  explicit AnnotationWriter(ProtobufWriter& out) : out_(out) {}
  void operator()(size_t field, char const* /*name*/, uint64_t value) {
    size_t const place = begin(field);
    out_.varint(AnnotationField::kUnsigned, value);
    out_.end(place);
  }
  void operator()(size_t field, char const* /*name*/, int64_t value) {
    size_t const place = begin(field);
    out_.signed_varint(AnnotationField::kSigned, value);
    out_.end(place);
  }
  void operator()(size_t field, char const* /*name*/, double value) {
    size_t const place = begin(field);
    out_.real(AnnotationField::kReal, value);
    out_.end(place);
  }
  void operator()(size_t field, char const* /*name*/, char const* value) {
    size_t const place = begin(field);
    out_.text(AnnotationField::kText, value);
    out_.end(place);
  }

 private:
  [[nodiscard]] size_t begin(size_t field) {
    size_t const place = out_.begin(EventField::kDebugAnnotations);
    out_.varint(AnnotationField::kNameIid, field + 1);
    return place;
  }
  ProtobufWriter& out_;
};

/// The same for all participants of a collective, 0 where the trace does not identify them.
/// Messages have their own numbers on either side.
uint64_t collective_flow(model::CollectiveDetail const& detail) {
  bool const is_joint =
      detail.op != model::CollectiveOp::kUnknown && !model::is_point_to_point(detail.op);
  if (!is_joint || detail.communicator == 0 || detail.sequence == 0) return 0;
  uint64_t const numbers[] = {detail.communicator, detail.sequence,
                              static_cast<uint64_t>(detail.op)};
  return XXH3_64bits(numbers, sizeof numbers) |
         (uint64_t{1} << 63U);  // those of launches have no such bit
}

}  // namespace

ProcessEvents::ProcessEvents(model::Trace const& trace, int64_t offset_ns, PacketFile& file)
    : trace_(trace),
      offset_ns_(offset_ns),
      file_(file),
      out_(file.out()),
      sequence_(file.new_sequence()),
      tracks_(trace, file, sequence_),
      totals_(trace),
      is_name_known_(trace.strings().size()) {}

void ProcessEvents::write() {
  choose_shift();
  write_fixed_names();
  write_clock();
  write_model();
  tracks_.describe();
  for (uint32_t track = 0; track < trace_.tracks().size() && file_.status(); ++track)
    write_track(track);
  note_moved();
}

void ProcessEvents::choose_shift() {
  if (file_.shift_ns) return;
  int64_t const first = plus(trace_.time_range().first, offset_ns_);
  file_.shift_ns =
      kHeadroomNs + (first < 0 ? std::min(-std::max(first, -kLastTime), kLastTime) : 0);
}

int64_t ProcessEvents::time_of(int64_t trace_time) {
  int64_t const time = plus(plus(trace_time, offset_ns_), *file_.shift_ns);
  if (time >= 0 && time <= kLastTime) return time;
  ++moved_;
  return std::clamp<int64_t>(time, 0, kLastTime);
}

/// Writes when the run was, so that readers show the time of day.
void ProcessEvents::write_clock() {
  int64_t const origin = trace_.info().origin_epoch_ns;
  if (file_.has_wall_clock || origin <= 0 || origin > kLastTime) return;
  int64_t run_begin = 0;
  if (__builtin_sub_overflow(origin, offset_ns_, &run_begin) || run_begin <= 0) return;

  file_.has_wall_clock = true;
  size_t const packet = file_.begin_packet();
  out_.varint(PacketField::kSequenceId, sequence_);
  size_t const snapshot = out_.begin(PacketField::kClockSnapshot);

  auto const clock = [&](uint64_t id, int64_t time) {
    size_t const place = out_.begin(ClockField::kClocks);
    out_.varint(ClockField::kClockId, id);
    out_.signed_varint(ClockField::kTimestamp, time);
    out_.end(place);
  };

  clock(ClockField::kBootTime, *file_.shift_ns);
  clock(ClockField::kRealTime, run_begin);
  out_.varint(ClockField::kPrimaryClock, ClockField::kBootTime);
  out_.end(snapshot);
  file_.end_packet(packet);
}

/// The sequence's state begins here: categories are the kinds, annotations the fields of their
/// details.
void ProcessEvents::write_fixed_names() {
  size_t const packet = file_.begin_packet();
  out_.varint(PacketField::kSequenceId, sequence_);
  size_t const interned = out_.begin(PacketField::kInternedData);

  auto const name = [&](uint32_t list, uint64_t iid, std::string_view text) {
    size_t const place = out_.begin(list);
    out_.varint(InternedField::kIid, iid);
    out_.text(InternedField::kName, text);
    out_.end(place);
  };

  for (size_t kind = 0; kind < model::kKindCount; ++kind)
    name(InternedField::kCategories, kind + 1, model::kKindTable[kind].name);
  for_each_field([&](size_t field, char const* text) {
    name(InternedField::kAnnotationNames, field + 1, text);
  });
  name(InternedField::kAnnotationNames, kCorrelation + 1, "correlation");

  out_.end(interned);
  out_.varint(PacketField::kSequenceFlags, kStateCleared | kNeedsState);
  out_.varint(PacketField::kFirstOnSequence, 1);
  file_.end_packet(packet);
}

/// So that nothing of the model is lost when our own importer reads the file. As .stepscope files
/// have it: readers add the tracks' losses to the log's own.
void ProcessEvents::write_model() {
  model::ImportLog log = trace_.log();
  for (model::Track const& track : trace_.tracks())
    log.dropped -= std::min(log.dropped, track.dropped);
  write_text(StepscopeField::kDescriptionPiece,
             file::encode_description(trace_.info(), trace_.devices(), log));

  constexpr uint32_t kTracksAtOnce = 1024;
  for (size_t first = 0; first < trace_.tracks().size(); first += kTracksAtOnce) {
    auto const tracks = trace_.tracks().subspan(
        first, std::min<size_t>(kTracksAtOnce, trace_.tracks().size() - first));
    write_text(StepscopeField::kTracksPiece,
               file::encode_tracks(static_cast<uint32_t>(first), tracks));
  }
}

void ProcessEvents::write_text(uint32_t field, std::string_view text) {
  constexpr size_t kPieceBytes = ProtobufWriter::kMostMessageBytes / 2;
  int64_t const shift = plus(offset_ns_, *file_.shift_ns);

  while (true) {
    std::string_view const piece = text.substr(0, kPieceBytes);
    text.remove_prefix(piece.size());

    size_t const packet = file_.begin_packet();
    out_.varint(PacketField::kSequenceId, sequence_);
    size_t const message = out_.begin(PacketField::kStepscope);
    out_.text(field, piece);
    out_.signed_varint(StepscopeField::kTimeShift, shift);
    if (trace_.log().truncated) out_.varint(StepscopeField::kTruncated, 1);
    if (text.empty()) out_.varint(StepscopeField::kTextEnds, 1);

    out_.end(message);
    file_.end_packet(packet);
    if (text.empty()) return;
  }
}

void ProcessEvents::write_track(uint32_t track) {
  auto const rows = trace_.rows_of(model::TrackId{track});
  Lanes lanes;
  auto const ended = [&](uint32_t lane, int64_t time) {
    write_end(time, tracks_.lane(track, lane));
  };

  for (uint32_t row = rows.first; row < rows.last && file_.status(); ++row) {
    EventKind const kind = trace_.kind(row);
    if (kind == EventKind::kSample) {
      write_sample(time_of(trace_.start(row)), tracks_.counter(track),
                   trace_.detail<model::SampleDetail>(row).value, trace_.columns().name[row].value);
    } else if (model::is_mark(kind)) {
      lanes.close_until(0, trace_.start(row), ended);
      write_instant(row, tracks_.lane(track, 0));
    } else {
      write_begin(row, tracks_.lane(track, lanes.open(trace_.start(row), trace_.end(row), ended)));
      if (kind == EventKind::kMemory) write_memory(row);
    }
  }

  lanes.close_all(ended);
}

void ProcessEvents::begin_event(int64_t time, uint64_t type, uint64_t uuid) {
  packet_ = file_.begin_packet();
  out_.signed_varint(PacketField::kTimestamp, time);
  out_.varint(PacketField::kSequenceId, sequence_);
  out_.varint(PacketField::kSequenceFlags, kNeedsState);
  event_ = out_.begin(PacketField::kTrackEvent);
  out_.varint(EventField::kType, type);
  out_.varint(EventField::kTrackUuid, uuid);
}

/// Category, name and details.
void ProcessEvents::describe_event(uint32_t row) {
  out_.varint(EventField::kCategoryIids, static_cast<uint64_t>(trace_.kind(row)) + 1);
  if (uint32_t const name = trace_.columns().name[row].value; name != 0)
    out_.varint(EventField::kNameIid, name + uint64_t{1});
  AnnotationWriter annotations(out_);
  visit_details(trace_, row, annotations);
  if (uint64_t const correlation = trace_.columns().correlation[row]; correlation != 0)
    annotations(kCorrelation, "", correlation);
}

/// A name comes with the first packet that uses it.
void ProcessEvents::end_event(uint32_t name) {
  out_.end(event_);

  if (name != 0 && !is_name_known_[name]) {
    is_name_known_[name] = true;
    size_t const interned = out_.begin(PacketField::kInternedData);
    size_t const entry = out_.begin(InternedField::kEventNames);
    out_.varint(InternedField::kIid, name + uint64_t{1});
    out_.text(InternedField::kName, bounded_name(trace_.text(model::StringId{name})));
    out_.end(entry);
    out_.end(interned);
  }

  file_.end_packet(packet_);
}

void ProcessEvents::write_begin(uint32_t row, uint64_t uuid) {
  begin_event(time_of(trace_.start(row)), EventField::kSliceBegin, uuid);
  describe_event(row);
  write_flows(row);
  end_event(trace_.columns().name[row].value);
}

void ProcessEvents::write_end(int64_t time, uint64_t uuid) {
  begin_event(time_of(time), EventField::kSliceEnd, uuid);
  out_.end(event_);
  file_.end_packet(packet_);
}

void ProcessEvents::write_instant(uint32_t row, uint64_t uuid) {
  begin_event(time_of(trace_.start(row)), EventField::kInstant, uuid);
  describe_event(row);
  end_event(trace_.columns().name[row].value);
}

/// Readers draw a counter under its track's name; ours keeps the event's own.
void ProcessEvents::write_sample(int64_t time, uint64_t uuid, double value, uint32_t name) {
  begin_event(time, EventField::kCounter, uuid);
  if (name != 0) out_.varint(EventField::kNameIid, name + uint64_t{1});
  out_.real(EventField::kDoubleCounterValue, value);
  end_event(name);
}

/// Writes what the device holds from the call's end on, as far as the trace knows it.
void ProcessEvents::write_memory(uint32_t row) {
  auto const& detail = trace_.detail<model::MemoryDetail>(row);
  if (detail.op == model::MemoryOp::kUnknown) return;
  int64_t const time = time_of(trace_.end(row));
  if (totals_.has_allocated(detail.device))
    write_sample(time, tracks_.allocated_bytes(detail.device),
                 static_cast<double>(detail.allocated_bytes));
  if (totals_.has_reserved(detail.device))
    write_sample(time, tracks_.reserved_bytes(detail.device),
                 static_cast<double>(detail.reserved_bytes));
}

/// From a launch to its (first) device op, and between the participants of a collective. Readers
/// put the events of a flow in the order of their times.
void ProcessEvents::write_flows(uint32_t row) {
  EventKind const kind = trace_.kind(row);
  if (is_linked_both_ways(trace_, row)) {
    uint32_t const launch = model::is_device_op(kind) ? trace_.columns().link[row].value : row;
    out_.fixed64(EventField::kFlowIds, ((uint64_t{sequence_} & 0x7FFF'FFFFU) << 32U) + launch + 1);
  }
  if (kind != EventKind::kCollective) return;
  if (uint64_t const flow = collective_flow(trace_.detail<model::CollectiveDetail>(row)); flow != 0)
    out_.fixed64(EventField::kFlowIds, flow);
}

void ProcessEvents::note_moved() {
  if (moved_ == 0) return;
  begin_event(*file_.shift_ns, EventField::kInstant, tracks_.process());
  out_.text(EventField::kName,
            fmt::format("{} outside of what a trace can hold: moved to its border",
                        base::format_count(moved_, "time")));
  out_.end(event_);
  file_.end_packet(packet_);
}

}  // namespace stepscope::exporting
