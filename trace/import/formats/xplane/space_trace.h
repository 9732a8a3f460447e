// The decoded pieces of an XSpace become one trace: tracks, devices, what is known of the process.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/base/hash_number.h"
#include "trace/import/formats/xplane/line_events.h"
#include "trace/import/formats/xplane/plane_roles.h"
#include "trace/import/formats/xplane/space_index.h"
#include "trace/model/build/trace_builder.h"

namespace stepscope::import {

/// A plane with what its events need to be decoded.
struct PlannedPlane {
  PlanePlan plan;
  std::unique_ptr<PlaneTables> tables;
};

/// A piece of a line of a plane.
struct DecodedPiece {
  uint32_t plane = 0, line = 0;
  PieceEvents events;
};

class SpaceTrace {
 public:
  /// Longer names are cut, and counted.
  static constexpr size_t kMostNameBytes = size_t{1} << 14U;

  /// Both outlive it.
  SpaceTrace(SpaceIndex const& index, std::vector<PlannedPlane> const& planes);
  model::ImportLog& log() { return builder_.log(); }
  /// In the order of the file.
  void add(std::vector<DecodedPiece> pieces);
  /// `origin_ns`: time 0 of the trace on the file's clock. `file`: its name may tell the host and
  /// the rank.
  model::Trace finish(int64_t origin_ns, std::string const& file) &&;

 private:
  /// What a track is of: threads and lines by their ids, streams by their numbers.
  struct TrackKey {
    enum class Sort : uint8_t {
      kHostThread,
      kPlaneThread,
      kStream,
      kOps,
      kAsyncLane,
      kSteps,
      kRanges,
      kControlFlow,
      kCounter,
      kOverhead,
      kOthers
    };
    Sort sort;
    int64_t owner, id;
    friend auto operator<=>(TrackKey const&, TrackKey const&) = default;
  };
  struct SpaceTrack {
    model::TrackId id;
    model::Track track;
    uint64_t events = 0, copies = 0, collectives = 0;
  };

  SpaceTrack& track(TrackKey key, model::Track track);
  SpaceTrack& track_of_line(DecodedPiece const& piece);
  [[nodiscard]] model::Track beside_device(uint32_t plane, std::string_view what) const;
  model::StringId name_of(uint32_t plane, uint32_t name);
  void append(SpaceTrack& track, uint32_t plane, model::EventBatch rows);
  void add_piece(DecodedPiece& piece);
  void add_samples(uint32_t plane, model::EventBatch const& rows);
  void complete_copies(model::EventBatch& rows) const;
  void add_async_ops(uint32_t plane);
  void add_device_steps(uint32_t plane);
  void name_tracks();
  void add_devices();
  void add_environment(int64_t origin_ns);
  void add_info(std::string const& file);
  void note_losses();

  SpaceIndex const& index_;
  std::vector<PlannedPlane> const& planes_;
  model::TraceBuilder builder_;
  std::vector<SpaceTrack> tracks_;
  std::map<TrackKey, size_t> numbers_;
  std::map<int32_t, int64_t> next_stream_;           ///< by device, of streams that have no number
  std::vector<std::vector<model::StringId>> names_;  ///< by plane and place in its table
  std::unordered_map<uint64_t, model::CopyDetail, base::HashNumber>
      called_copies_;  ///< by correlation
  std::map<uint32_t, std::vector<PieceEvents::AsyncOp>> async_lines_,
      async_parts_;  ///< by plane; of the line for it, of the ops'
  std::map<uint32_t, std::vector<PieceEvents::DeviceStep>> steps_;  ///< by plane
  bool has_host_steps_ = false;
  uint64_t aggregated_ = 0, unnamed_ = 0, broken_ = 0, cut_names_ = 0, folded_tracks_ = 0,
           derived_ = 0, whole_graphs_ = 0;
};

}  // namespace stepscope::import
