#include "trace/import/formats/xplane/xplane_importer.h"

#include <algorithm>
#include <string>
#include <utility>

#include <tbb/parallel_for.h>

#include "trace/base/protobuf_reader.h"
#include "trace/file/trace_file.h"
#include "trace/import/formats/importers.h"
#include "trace/import/formats/xplane/profile_folder.h"
#include "trace/import/formats/xplane/space_trace.h"

namespace stepscope::import {
namespace {

/// Long against the fixed cost of a piece, short against the work of a core.
constexpr size_t kPieceBytes = size_t{1} << 19U;
/// Protocol Buffers have no messages of 2 GiB.
constexpr size_t kMostUnpackedBytes = size_t{1} << 31U;
/// Times since the Unix epoch are later than this, the year 2001; others are since the profile
/// began.
constexpr int64_t kEarliestEpochNs = 1'000'000'000'000'000'000;

/// All that unpacks.
std::string unpack(Input const& input, std::optional<std::string>& damage) {
  auto const stream = input.stream();
  std::string bytes;
  size_t size = 0;
  do {
    constexpr size_t kFirstBytes = size_t{1} << 20U;
    bytes.resize(std::max(kFirstBytes, 2 * bytes.size()));
    size += stream->read(std::span(bytes).subspan(size));
  } while (size == bytes.size() && size < kMostUnpackedBytes);

  bytes.resize(size);
  damage = stream->damage();
  return bytes;
}

/// Time 0 of the trace on the clock of the lines: their first time, where that is the epoch's, else
/// where the clock begins.
int64_t origin_of(SpaceIndex const& index) {
  int64_t first = 0;
  for (PlaneIndex const& plane : index.planes) {
    for (LineIndex const& line : plane.lines) {
      if (line.events == 0 || line.timestamp_ns < kEarliestEpochNs) continue;
      first = first == 0 ? line.timestamp_ns : std::min(first, line.timestamp_ns);
    }
  }
  return first;
}

/// Decides what the planes are, and reads their names.
std::vector<PlannedPlane> plan_planes(SpaceIndex const& index) {
  std::vector<PlannedPlane> planes(index.planes.size());
  DeviceNumbers numbers;
  for (size_t i = 0; i < planes.size(); ++i) planes[i].plan = plan_plane(index.planes[i], numbers);
  tbb::parallel_for(size_t{0}, planes.size(), [&](size_t i) {
    if (planes[i].plan.role == PlaneRole::kLeftOut) return;
    planes[i].tables =
        std::make_unique<PlaneTables>(index.planes[i].bytes, planes[i].plan.vocabulary);
  });
  return planes;
}

struct PieceToRead {
  uint32_t plane, line;
  LinePiece piece;
};

std::vector<PieceToRead> pieces_of(SpaceIndex const& index,
                                   std::vector<PlannedPlane> const& planes) {
  std::vector<PieceToRead> pieces;

  for (uint32_t plane = 0; plane < planes.size(); ++plane) {
    if (planes[plane].tables == nullptr) continue;
    for (uint32_t line = 0; line < index.planes[plane].lines.size(); ++line) {
      if (planes[plane].plan.lines[line] == LineRole::kDerived) continue;
      for (LinePiece const& piece : index.planes[plane].lines[line].pieces)
        pieces.push_back({plane, line, piece});
    }
  }

  return pieces;
}

std::vector<DecodedPiece> decode(SpaceIndex const& index, std::vector<PlannedPlane> const& planes,
                                 int64_t origin_ns) {
  std::vector<PieceToRead> const pieces = pieces_of(index, planes);

  std::vector<DecodedPiece> decoded(pieces.size());
  tbb::parallel_for(size_t{0}, pieces.size(), [&](size_t i) {
    auto const [plane, line, piece] = pieces[i];

    PieceContext context;
    context.role = planes[plane].plan.lines[line];
    context.tables = planes[plane].tables.get();
    context.begin_ns =
        saturated_difference(index.planes[plane].lines[line].timestamp_ns, origin_ns);
    context.device = planes[plane].plan.device;

    decoded[i] = {plane, line, read_piece(piece, context)};
  });
  return decoded;
}

/// A whole message of another type than a profile's. Only the end of a file that needs no unpacking
/// is seen; a name that announces a trace is believed more.
bool is_other_message(Input const& input, std::string_view file_name) {
  if (claims_to_be_trace(file_name)) return false;
  base::ProtobufReader reader(input.plain().value_or(input.head()));
  base::ProtobufField field;
  bool is_cut = false;
  while (reader.next(field)) is_cut = field.is_cut;

  using End = base::ProtobufReader::End;
  return input.plain() ? !is_cut && reader.end() == End::kWhole : reader.end() != End::kBroken;
}

}  // namespace

bool is_xplane(Input const& input) { return looks_like_space(input.head()); }

base::Expected<model::Trace> read_xplane(Input const& input) {
  return read_xplane(input, kPieceBytes);
}

base::Expected<model::Trace> read_xplane(Input const& input, size_t piece_bytes) {
  std::string unpacked;
  std::optional<std::string> damage;
  auto plain = input.plain();
  if (!plain) {
    unpacked = unpack(input, damage);
    plain = unpacked;
  }

  SpaceIndex const index = index_space(*plain, piece_bytes);
  if (index.events > file::events_that_fit()) {
    return base::fail(
        "{}: holds {} events, more than the {} that fit into this machine's memory, record for a "
        "shorter time",
        input.name(), index.events, file::events_that_fit());
  }
  if (index.events == 0) {
    return damage
               ? base::fail("{}: {}", input.name(), *damage)
               : base::fail(
                     "{}: is an XLA profile without events, record again while the program works",
                     input.name());
  }

  std::vector<PlannedPlane> const planes = plan_planes(index);
  int64_t const origin_ns = origin_of(index);
  SpaceTrace trace(index, planes);
  if (damage) {
    trace.log().truncated = true;
    trace.log().notes.push_back(*damage);
  }

  trace.add(decode(index, planes, origin_ns));
  return std::move(trace).finish(origin_ns, input.name());
}

Importer xplane_importer() {
  return {.name = "XLA profile (.xplane.pb)",
          .file_suffix = ".pb",
          .sniff = is_xplane,
          .read = [](Input const& input) { return one_trace(read_xplane(input)); },
          .is_other_kind = is_other_message,
          .newest_capture = newest_profile,
          .drop_copies = drop_copies_for_browsers};
}

}  // namespace stepscope::import
