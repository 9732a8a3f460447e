#include "trace/import/formats/xplane/space_index.h"

#include <algorithm>

#include <tbb/parallel_for.h>

#include "trace/base/protobuf_reader.h"

namespace stepscope::import {
namespace {

using base::ProtobufField;
using base::ProtobufReader;
using base::WireType;

/// A host has some hundreds of threads and some tens of devices; a damaged file may have a plane
/// every two bytes.
constexpr size_t kMostPlanes = size_t{1} << 14U;
constexpr size_t kMostLines = size_t{1} << 18U;
constexpr size_t kMostMessages = 64;

class SpaceIndexer {
 public:
  explicit SpaceIndexer(size_t piece_bytes) : piece_bytes_(piece_bytes) {}

  SpaceIndex index(std::string_view bytes) {
    ProtobufReader reader(bytes);
    ProtobufField field;

    while (reader.next(field)) {
      if (field.is_bytes(1)) add_plane(field);
      if (field.is_bytes(2)) add_message(space_.errors, field);
      if (field.is_bytes(3)) add_message(space_.warnings, field);
      if (field.is_bytes(4)) add_message(space_.hosts, field);
    }

    space_.is_cut = reader.end() == ProtobufReader::End::kCut;
    space_.broken += is_broken_end(reader, true) ? 1 : 0;
    read_lines();
    return std::move(space_);
  }

 private:
  /// A line's message, where its index will be.
  struct FoundLine {
    size_t plane, line;
    ProtobufField message;
  };

  /// `is_cut`: it is known that the end of the message is not there.
  static bool is_broken_end(ProtobufReader const& reader, bool is_cut) {
    bool const is_broken = reader.end() == ProtobufReader::End::kBroken;
    return is_broken || (reader.end() == ProtobufReader::End::kCut && !is_cut);
  }

  void add_message(std::vector<std::string_view>& to, ProtobufField const& field) {
    if (field.is_cut) return;
    if (to.size() < kMostMessages) {
      to.push_back(field.bytes);
    } else {
      ++space_.left_out;
    }
  }

  void add_plane(ProtobufField const& message) {
    if (space_.planes.size() >= kMostPlanes) {
      ++space_.left_out;
      return;
    }

    PlaneIndex& plane = space_.planes.emplace_back();
    plane.bytes = message.bytes;
    ProtobufReader reader(plane.bytes);
    ProtobufField field;
    while (reader.next(field)) {
      if (field.is_bytes(2) && !field.is_cut) plane.name = field.bytes;
      if (field.is_bytes(3)) add_line(plane, field);
    }

    space_.broken += is_broken_end(reader, message.is_cut) ? 1 : 0;
  }

  void add_line(PlaneIndex& plane, ProtobufField const& message) {
    if (lines_.size() >= kMostLines) {
      ++space_.left_out;
      return;
    }
    lines_.push_back({space_.planes.size() - 1, plane.lines.size(), message});
    plane.lines.emplace_back();
  }

  /// Events are most of a profile's bytes.
  void read_lines() {
    std::vector<unsigned char> broken(lines_.size());
    tbb::parallel_for(size_t{0}, lines_.size(), [&](size_t i) {
      FoundLine const& found = lines_[i];
      broken[i] = read_line(found.message, space_.planes[found.plane].lines[found.line]) ? 0 : 1;
    });
    for (FoundLine const& found : lines_)
      space_.events += space_.planes[found.plane].lines[found.line].events;
    space_.broken += static_cast<uint64_t>(std::count(broken.begin(), broken.end(), 1));
  }

  /// False: it ends in what is no field.
  bool read_line(ProtobufField const& message, LineIndex& line) const {
    std::string_view const bytes = message.bytes;
    ProtobufReader reader(bytes);
    ProtobufField field;
    size_t piece_begin = 0, piece_end = 0;  // of events, from the first to behind the last
    size_t field_begin = 0;
    uint32_t piece_events = 0;

    auto const end_piece = [&] {
      if (piece_end > piece_begin)
        line.pieces.push_back({bytes.substr(piece_begin, piece_end - piece_begin), piece_events});
      piece_begin = piece_end;
      piece_events = 0;
    };

    for (; reader.next(field); field_begin = reader.offset()) {
      if (field.is_bytes(4) && !field.is_cut) {
        if (piece_end == piece_begin) piece_begin = field_begin;
        piece_end = reader.offset();
        ++line.events;
        ++piece_events;
        if (piece_end - piece_begin >= piece_bytes_) end_piece();
      } else if (field.is_varint(1)) {
        line.id = field.signed_value();
      } else if (field.is_varint(3)) {
        line.timestamp_ns = field.signed_value();
      } else if (field.is_bytes(2) && !field.is_cut) {
        line.name = field.bytes;
      } else if (field.is_bytes(11) && !field.is_cut) {
        line.display_name = field.bytes;
      }
    }
    end_piece();
    return !is_broken_end(reader, message.is_cut);
  }

  size_t piece_bytes_;
  std::vector<FoundLine> lines_;
  SpaceIndex space_;
};

bool is_name_byte(char c) { return static_cast<unsigned char>(c) >= ' ' && c != '\x7F'; }

/// A plane whose end may not be there.
bool looks_like_plane(std::string_view bytes) {
  ProtobufReader reader(bytes);
  ProtobufField field;
  bool has_name = false;

  while (reader.next(field)) {
    constexpr uint32_t kLastField = 6;
    if (field.number > kLastField) return false;
    if (field.type != (field.number == 1 ? WireType::kVarint : WireType::kBytes)) return false;
    if (field.number != 2) continue;
    has_name =
        !field.bytes.empty() && std::all_of(field.bytes.begin(), field.bytes.end(), is_name_byte);
    if (!has_name) return false;
  }

  return has_name && reader.end() != ProtobufReader::End::kBroken;
}

}  // namespace

SpaceIndex index_space(std::string_view bytes, size_t piece_bytes) {
  return SpaceIndexer(piece_bytes).index(bytes);
}

bool looks_like_space(std::string_view head) {
  ProtobufReader reader(head);
  ProtobufField field;
  bool has_plane = false;

  while (reader.next(field)) {
    constexpr uint32_t kLastField = 4;
    if (field.type != WireType::kBytes || field.number > kLastField) return false;
    if (field.number != 1) continue;
    // A profiler that found nothing writes planes with nothing in them.
    if (!field.bytes.empty() && !looks_like_plane(field.bytes)) return false;
    has_plane = has_plane || !field.bytes.empty();
  }

  return has_plane && reader.end() != ProtobufReader::End::kBroken;
}

}  // namespace stepscope::import
