#include "trace/model/tables.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "trace/base/format.h"
#include "trace/model/table_fields.h"

namespace stepscope::model {
namespace {

using enum ColumnType;
using Source = TableSource;

Cell text_or_null(std::string_view text) { return text.empty() ? Cell{} : Cell::of(text); }
Cell positive_or_null(uint64_t value) { return value == 0 ? Cell{} : Cell::of(value); }

// Columns that events of every kind have.

Track const& track_of(Source const& source, uint32_t row) { return source.trace().track(row); }

Cell track_device(Track const& track) {
  return track.device < 0 ? Cell{} : Cell::of(int64_t{track.device});
}
Cell track_stream(Track const& track) {
  return track.kind == TrackKind::kStream ? Cell::of(track.id) : Cell{};
}
Cell track_thread(Track const& track) {
  return track.kind == TrackKind::kThread ? Cell::of(track.id) : Cell{};
}

auto const kReadRank = [](Source const& source, uint32_t) {
  return Cell::of(int64_t{source.trace().info().rank});
};
auto const kReadProcess = [](Source const& source, uint32_t) {
  int64_t const process = source.trace().info().process_id;
  return process == 0 ? Cell{} : Cell::of(process);
};

std::string_view op_class_name(OpClass op_class) {
  switch (op_class) {
    case OpClass::kNone:
      break;
    case OpClass::kCompute:
      return "compute";
    case OpClass::kComm:
      return "comm";
    case OpClass::kCopy:
      return "copy";
  }
  return {};
}

auto const kReadLink = [](Source const& source, uint32_t row) {
  EventId const link = source.trace().columns().link[row];
  return link.valid() ? Cell::of(uint64_t{link.value}) : Cell{};
};

/// What an event is, and when it ran.
std::vector<TableColumn> identity_and_time_columns() {
  auto const in_event = ColumnOf::kEvent;

  return {
      {"id", kInteger, in_event, "number of the event in its process",
       [](Source const&, uint32_t row) { return Cell::of(uint64_t{row}); }},
      {"rank", kInteger, ColumnOf::kProcess, "of the process in the job", kReadRank},
      {"process", kInteger, ColumnOf::kProcess, "process id", kReadProcess},

      {"kind", kText, in_event, "'kernel', 'memcpy', 'launch', 'range', 'api', …",
       [](Source const& source, uint32_t row) {
         return Cell::of(kind_info(source.trace().kind(row)).name);
       }},
      {"class", kText, in_event, "of a device op: 'compute', 'comm' or 'copy'",
       [](Source const& source, uint32_t row) {
         return text_or_null(op_class_name(kind_info(source.trace().kind(row)).op_class));
       }},
      {"name", kText, in_event, "kernel, call, range, …",
       [](Source const& source, uint32_t row) {
         return Cell::of(source.text(source.trace().columns().name[row]));
       }},
      {"start_ns", kInteger, in_event, "begin, run time",
       [](Source const& source, uint32_t row) {
         return Cell::of(source.trace().start(row) + source.offset_ns());
       }},
      {"dur_ns", kInteger, in_event, "duration",
       [](Source const& source, uint32_t row) {
         return Cell::of(source.trace().columns().dur[row]);
       }},
      {"end_ns", kInteger, in_event, "start_ns + dur_ns",
       [](Source const& source, uint32_t row) {
         return Cell::of(source.trace().end(row) + source.offset_ns());
       }},
  };
}

/// The track on which an event lies.
std::vector<TableColumn> place_columns() {
  auto const in_track = ColumnOf::kTrack;

  return {
      {"track", kInteger, in_track, "number of the track in its process",
       [](Source const& source, uint32_t row) {
         return Cell::of(uint64_t{source.trace().columns().track[row].value});
       }},
      {"track_name", kText, in_track, "name of the thread, stream or counter",
       [](Source const& source, uint32_t row) {
         return text_or_null(source.track_name(source.trace().columns().track[row].value));
       }},
      {"device", kInteger, in_track, "device of the stream or counter; NULL on host threads",
       [](Source const& source, uint32_t row) { return track_device(track_of(source, row)); }},
      {"stream", kInteger, in_track, "number of the stream on its device; NULL elsewhere",
       [](Source const& source, uint32_t row) { return track_stream(track_of(source, row)); }},
      {"thread", kInteger, in_track, "id of the host thread; NULL elsewhere",
       [](Source const& source, uint32_t row) { return track_thread(track_of(source, row)); }},
  };
}

/// How an event is nested, and which event launched it or was launched by it.
std::vector<TableColumn> relation_columns() {
  auto const in_event = ColumnOf::kEvent;

  return {
      {"depth", kInteger, in_event, "nesting on the track, 0 = outermost",
       [](Source const& source, uint32_t row) {
         return Cell::of(uint64_t{source.trace().columns().depth[row]});
       }},
      {"correlation", kInteger, in_event, "what a launch and its device ops share",
       [](Source const& source, uint32_t row) {
         return positive_or_null(source.trace().columns().correlation[row]);
       }},
      {"linked_id", kInteger, in_event, "id of a launch's first device op, of a device op's launch",
       kReadLink},
  };
}

std::vector<TableColumn> event_columns() {
  std::vector<TableColumn> columns = identity_and_time_columns();
  for (auto const& more : {place_columns(), relation_columns()})
    columns.insert(columns.end(), more.begin(), more.end());
  return columns;
}

// Columns of details.

/// What is nothing because of another field, or of what the event is.
template <class Row>
bool is_moot(Source const&, uint32_t, Row const&, std::string_view) {
  return false;
}
bool is_moot(Source const&, uint32_t, KernelDetail const& kernel, std::string_view field) {
  return (field == "shared_memory_bytes" && kernel.grid_x == 0) ||
         (field == "graph_node" && kernel.graph == 0);
}
bool is_moot(Source const&, uint32_t, CopyDetail const& copy, std::string_view field) {
  return field == "graph_node" && copy.graph == 0;
}
bool is_moot(Source const& source, uint32_t row, CollectiveDetail const& collective,
             std::string_view field) {
  if (field == "bytes") return !is_message_size_known(collective.op, collective.bytes);
  if (field == "sequence") return !source.is_numbered(collective);
  if (field == "launch") return source.trace().kind(row) != EventKind::kCollectiveCall;
  if (field == "graph_node") return collective.graph == 0;
  // NCCL tells all three or none.
  bool const is_wait =
      field == "gpu_wait_ns" || field == "peer_wait_ns" || field == "network_wait_ns";
  return is_wait && collective.gpu_wait_ns == 0 && collective.peer_wait_ns == 0 &&
         collective.network_wait_ns == 0;
}
bool is_moot(Source const&, uint32_t, MemoryDetail const& memory, std::string_view field) {
  return field == "reserved_bytes" && memory.reserved_bytes == 0 && memory.allocated_bytes > 0;
}
bool is_moot(Source const&, uint32_t, RangeDetail const& range, std::string_view field) {
  return field == "payload" && range.payload_type == NumberType::kNone;
}

Cell payload_of(RangeDetail const& range) {
  if (range.payload_type == NumberType::kReal)
    return Cell::of(std::bit_cast<double>(range.payload));
  if (range.payload_type == NumberType::kSigned)
    return Cell::of(std::bit_cast<int64_t>(range.payload));
  return Cell::of(range.payload);
}

template <class Value>
Cell cell_of(Value value, FieldWords const& words) {
  if constexpr (std::is_enum_v<Value>) {
    std::string_view const text = to_string(value);
    bool const absent = (words.absent == Absent::kZero && value == Value{}) ||
                        (words.absent == Absent::kByType && text == "unknown");

    return absent ? Cell{} : Cell::of(text);
  } else if constexpr (std::is_floating_point_v<Value>) {
    return words.absent == Absent::kZero && value == 0 ? Cell{} : Cell::of(double{value});
  } else if constexpr (std::is_signed_v<Value>) {
    bool const by_type = words.absent == Absent::kByType && sizeof(Value) == sizeof(int32_t);
    return (words.absent == Absent::kZero && value == 0) || (by_type && value < 0)
               ? Cell{}
               : Cell::of(int64_t{value});
  } else {
    if (words.absent == Absent::kZero && value == 0) return {};
    return words.shown == Shown::kAddress ? Cell::address(uint64_t{value})
                                          : Cell::of(uint64_t{value});
  }
}

template <class Row, size_t Index>
Cell read_field(Source const& source, uint32_t row) {
  constexpr auto kField = std::get<Index>(detail_fields<Row>);
  constexpr FieldWords kWords = words_of(DetailTableOf<Row>::value, kField.name);
  Row const& detail = source.trace().template detail<Row>(row);
  if (is_moot(source, row, detail, kField.name)) return {};
  if constexpr (std::is_same_v<Row, RangeDetail>)
    if (std::string_view(kField.name) == "payload") return payload_of(detail);
  return cell_of(detail.*kField.member, kWords);
}

template <class Row, size_t Index>
TableColumn field_column() {
  constexpr auto kField = std::get<Index>(detail_fields<Row>);
  constexpr FieldWords kWords = words_of(DetailTableOf<Row>::value, kField.name);
  using Value = std::remove_cvref_t<decltype(std::declval<Row>().*kField.member)>;

  bool const is_text = std::is_enum_v<Value> || kWords.shown == Shown::kAddress;
  bool const is_payload =
      std::is_same_v<Row, RangeDetail> && std::string_view(kField.name) == "payload";
  ColumnType type = kInteger;
  if (is_text) {
    type = kText;
  } else if (is_payload) {
    type = kNumber;
  } else if (std::is_floating_point_v<Value>) {
    type = kReal;
  }

  return {kWords.column.empty() ? std::string_view(kField.name) : kWords.column, type,
          ColumnOf::kDetail, kWords.meaning,
          [](Source const& source, uint32_t row) { return read_field<Row, Index>(source, row); }};
}

/// A detail's own device or stream says more than its track's, which is a host thread: it takes
/// that name.
template <class Row>
TraceTable detail_table() {
  constexpr DetailTable kTable = DetailTableOf<Row>::value;
  constexpr size_t kFields = std::tuple_size_v<std::remove_cvref_t<decltype(detail_fields<Row>)>>;
  auto const& names = kDetailTableNames[static_cast<size_t>(kTable)];

  std::vector<TableColumn> details = [&]<size_t... Index>(std::index_sequence<Index...>) {
    return std::vector<TableColumn>{field_column<Row, Index>()...};
  }
  (std::make_index_sequence<kFields>());

  TraceTable table{names.name, names.meaning, TableRows::kEvents, kTable, event_columns()};
  std::erase_if(table.columns, [&](TableColumn const& column) {
    return std::any_of(details.begin(), details.end(),
                       [&](TableColumn const& detail) { return detail.name == column.name; });
  });

  table.columns.insert(table.columns.end(), details.begin(), details.end());
  return table;
}

// Tables of a process, its devices and its tracks.

template <auto Member>
constexpr auto kReadLog =
    [](Source const& source, uint32_t) { return Cell::of(uint64_t{source.trace().log().*Member}); };

TraceTable process_table() {
  auto const of = ColumnOf::kProcess;
  return {
      "processes",
      "one row a process of the run",
      TableRows::kProcess,
      DetailTable::kNone,
      {{"rank", kInteger, of, "in the job", kReadRank},
       {"process", kInteger, of, "process id", kReadProcess},

       {"host", kText, of, "machine",
        [](Source const& source, uint32_t) { return text_or_null(source.host()); }},
       {"command", kText, of, "command line",
        [](Source const& source, uint32_t) { return text_or_null(source.command()); }},
       {"tool", kText, of, "what recorded it",
        [](Source const& source, uint32_t) { return text_or_null(source.tool()); }},

       {"world_size", kInteger, of, "ranks of the job",
        [](Source const& s, uint32_t) { return Cell::of(int64_t{s.trace().info().world_size}); }},
       {"events", kInteger, of, "in the trace",
        [](Source const& s, uint32_t) { return Cell::of(uint64_t{s.trace().event_count()}); }},

       {"origin_epoch_ns", kInteger, of, "time 0 of its trace, since 1970",
        [](Source const& s, uint32_t) {
          return s.trace().info().origin_epoch_ns == 0 ? Cell{}
                                                       : Cell::of(s.trace().info().origin_epoch_ns);
        }},
       {"offset_ns", kInteger, of, "run time − its trace's time",
        [](Source const& s, uint32_t) { return Cell::of(s.offset_ns()); }},

       {"dropped", kInteger, of, "events lost while recording", kReadLog<&ImportLog::dropped>},
       {"unmatched_launches", kInteger, of, "launches whose device op is not there",
        kReadLog<&ImportLog::unmatched_launches>},
       {"negative_latencies", kInteger, of, "device ops that start before their launch",
        kReadLog<&ImportLog::negative_latencies>},
       {"overlapping_slices", kInteger, of, "device ops that overlap another of their stream",
        kReadLog<&ImportLog::overlapping_slices>},
       {"lost_blocks", kInteger, of, "damaged blocks that were left out",
        kReadLog<&ImportLog::lost_blocks>},
       {"truncated", kInteger, of, "1 = the recording was cut off",
        kReadLog<&ImportLog::truncated>}}};
}

Device const& device_of(Source const& source, uint32_t row) {
  return source.trace().devices()[row];
}

TraceTable device_table() {
  auto const of = ColumnOf::kEvent;
  return {
      "devices",
      "devices that the traces describe",
      TableRows::kDevices,
      DetailTable::kNone,
      {{"rank", kInteger, ColumnOf::kProcess, "of the process", kReadRank},
       {"process", kInteger, ColumnOf::kProcess, "process id", kReadProcess},
       {"device", kInteger, of, "its number in the process",
        [](Source const& s, uint32_t row) { return Cell::of(int64_t{device_of(s, row).id}); }},
       {"name", kText, of, "model",
        [](Source const& s, uint32_t row) { return text_or_null(s.device_name(row)); }},

       {"capacity_bytes", kInteger, of, "memory",
        [](Source const& s, uint32_t row) {
          return positive_or_null(device_of(s, row).capacity_bytes);
        }},
       {"threads", kInteger, of, "multiprocessors or host threads",
        [](Source const& s, uint32_t row) { return positive_or_null(device_of(s, row).threads); }},
       {"peak_flops", kReal, of, "floating-point operations per second at most",
        [](Source const& s, uint32_t row) {
          return device_of(s, row).peak_flops == 0 ? Cell{}
                                                   : Cell::of(device_of(s, row).peak_flops);
        }}}};
}

Track const& track_at(Source const& source, uint32_t row) { return source.trace().tracks()[row]; }

auto const kReadTrackKind = [](Source const& source, uint32_t row) {
  switch (track_at(source, row).kind) {
    case TrackKind::kThread:
      return Cell::of(std::string_view("thread"));
    case TrackKind::kStream:
      return Cell::of(std::string_view("stream"));
    case TrackKind::kCounter:
      return Cell::of(std::string_view("counter"));
  }
  return Cell{};
};

TraceTable track_table() {
  auto const of = ColumnOf::kEvent;
  return {"tracks",
          "threads, streams and counters",
          TableRows::kTracks,
          DetailTable::kNone,
          {{"rank", kInteger, ColumnOf::kProcess, "of the process", kReadRank},
           {"process", kInteger, ColumnOf::kProcess, "process id", kReadProcess},
           {"track", kInteger, of, "its number in the process",
            [](Source const&, uint32_t row) { return Cell::of(uint64_t{row}); }},
           {"name", kText, of, "of the thread, stream or counter",
            [](Source const& s, uint32_t row) { return text_or_null(s.track_name(row)); }},

           {"kind", kText, of, "'thread', 'stream' or 'counter'", kReadTrackKind},
           {"device", kInteger, of, "of a stream or counter",
            [](Source const& s, uint32_t row) { return track_device(track_at(s, row)); }},
           {"stream", kInteger, of, "number of the stream on its device",
            [](Source const& s, uint32_t row) { return track_stream(track_at(s, row)); }},
           {"thread", kInteger, of, "id of the thread",
            [](Source const& s, uint32_t row) { return track_thread(track_at(s, row)); }},
           {"stream_kind", kText, of, "'compute', 'copy' or 'communication'",
            [](Source const& s, uint32_t row) {
              return track_at(s, row).kind == TrackKind::kStream
                         ? Cell::of(std::string_view(to_string(track_at(s, row).stream_kind)))
                         : Cell{};
            }},

           {"events", kInteger, of, "on the track",
            [](Source const& s, uint32_t row) {
              return Cell::of(uint64_t{s.trace().rows_of(TrackId{row}).size()});
            }},
           {"dropped", kInteger, of, "events lost while recording",
            [](Source const& s, uint32_t row) { return Cell::of(track_at(s, row).dropped); }}}};
}

std::vector<TraceTable> make_tables() {
  std::vector<TraceTable> tables = {process_table(),
                                    device_table(),
                                    track_table(),
                                    {"events", "everything that was recorded", TableRows::kEvents,
                                     DetailTable::kNone, event_columns()}};
  [&]<class... Rows>(std::type_identity<std::tuple<DetailColumn<Rows>...>>) {
    (tables.push_back(detail_table<Rows>()), ...);
  }(std::type_identity<DetailTables>{});
  return tables;
}

}  // namespace

void append_text(std::string& line, Cell const& cell) {
  auto const add = [&](auto const& digits) { line.append(digits.data(), digits.size()); };

  switch (cell.type) {
    case Cell::Type::kNull:
      break;
    case Cell::Type::kInteger:
      add(fmt::format_int(cell.integer()));
      break;
    case Cell::Type::kUnsigned:
      add(fmt::format_int(cell.bits));
      break;
    case Cell::Type::kReal:
      add(fmt::format("{}", cell.real()));
      break;
    case Cell::Type::kText:
      line += cell.text;
      break;
    case Cell::Type::kAddress:
      add(fmt::format("0x{:016x}", cell.bits));
      break;
  }
}

std::string to_text(Cell const& cell) {
  std::string text;
  append_text(text, cell);
  return text;
}

TableSource::TableSource(Trace const& trace, int64_t offset_ns)
    : trace_(&trace), offset_ns_(offset_ns) {
  texts_.reserve(trace.strings().size());
  for (uint32_t id = 0; id < trace.strings().size(); ++id)
    texts_.push_back(clean(trace.text(StringId{id})));
  for (Track const& track : trace.tracks()) track_names_.push_back(clean(track.name));
  for (Device const& device : trace.devices()) device_names_.push_back(clean(device.name));

  host_ = clean(trace.info().host);
  command_ = clean(trace.info().command);
  tool_ = clean(trace.info().tool);

  for (CollectiveDetail const& collective : trace.details<CollectiveDetail>())
    if (collective.communicator != 0 && collective.sequence != 0)
      numbered_communicators_.insert(collective.communicator);
}

bool TableSource::is_numbered(CollectiveDetail const& collective) const {
  bool const counts_from_zero = !is_point_to_point(collective.op) &&
                                numbered_communicators_.contains(collective.communicator);
  return collective.sequence != 0 || counts_from_zero;
}

std::string_view TableSource::clean(std::string_view text) {
  std::string printable = base::printable(text);
  if (printable == text) return text;
  replaced_.push_back(std::move(printable));
  return replaced_.back();
}

uint32_t TraceTable::row_count(Trace const& trace) const {
  switch (rows) {
    case TableRows::kProcess:
      return 1;
    case TableRows::kDevices:
      return static_cast<uint32_t>(trace.devices().size());
    case TableRows::kTracks:
      return static_cast<uint32_t>(trace.tracks().size());
    case TableRows::kEvents:
      return trace.event_count();
  }
  return 0;
}

std::span<TraceTable const> trace_tables() {
  static std::vector<TraceTable> const tables = make_tables();
  return tables;
}

}  // namespace stepscope::model
