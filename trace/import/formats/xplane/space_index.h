// Where in an XSpace its planes, lines and events stand: one walk over the bytes, of many lines at
// once, that looks into no event. Everything else is decoded from what is found here, many pieces
// at once.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace stepscope::import {

/// A part of a line's message that begins and ends between fields.
struct LinePiece {
  std::string_view bytes;
  uint32_t events = 0;
};

/// Views of the file.
struct LineIndex {
  int64_t id = 0;
  int64_t timestamp_ns = 0;
  std::string_view name, display_name;
  uint64_t events = 0;
  std::vector<LinePiece> pieces;  ///< the events are in them

  [[nodiscard]] std::string_view shown_name() const {
    return display_name.empty() ? name : display_name;
  }
};

struct PlaneIndex {
  std::string_view bytes;  ///< the plane's message: its metadata and stats are read from it
  std::string_view name;
  std::vector<LineIndex> lines;
};

struct SpaceIndex {
  std::vector<PlaneIndex> planes;
  std::vector<std::string_view> hosts, errors, warnings;
  uint64_t events = 0;
  uint64_t broken =
      0;  ///< messages that end in what is no field, or claim to be longer than what holds them
  uint64_t left_out =
      0;                ///< planes, lines and messages of the profiler beyond what any profile has
  bool is_cut = false;  ///< the last bytes are the begin of something
};

/// `piece_bytes`: so long is a piece of a line, about.
SpaceIndex index_space(std::string_view bytes, size_t piece_bytes);

/// Whether these bytes, the first of a file, begin an XSpace: a plane that has a name, whose fields
/// are those of a plane.
bool looks_like_space(std::string_view head);

}  // namespace stepscope::import
