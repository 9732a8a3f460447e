// The trace file of one made rank: events are added track by track and written block by block, so
// that a run of any size needs the memory of a few blocks and of its summaries.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/base/expected.h"
#include "trace/file/writer.h"
#include "trace/model/string_table.h"
#include "trace/model/summary/track_summary.h"
#include "trace/model/trace.h"

namespace stepscope::synth {

class RankFile {
 public:
  /// Creates `path`, which must not exist. At most `block_rows` events of a track are held at the
  /// end of a step.
  static base::Expected<RankFile> create(std::string const& path, model::TraceInfo const& info,
                                         model::Device const& device,
                                         std::vector<model::Track> const& tracks,
                                         model::StringTable const& strings, size_t block_rows);

  /// One that forgets its events.
  static base::Expected<RankFile> create_nowhere(std::vector<model::Track> tracks);

  /// The track's events that are not written yet, by start.
  model::EventBatch& events(uint32_t track) { return pending_[track].events; }
  /// Writes the tracks whose next step might not fit into a block. No row before this call may be
  /// changed after it.
  base::Expected<void> end_step();
  /// So many events of the track were not recorded.
  void set_dropped(uint32_t track, uint64_t count) { tracks_[track].dropped = count; }
  /// Writes everything, the summaries by which the file opens, and closes it.
  base::Expected<void> finish();

  [[nodiscard]] uint64_t event_count() const;

 private:
  struct Pending {
    model::EventBatch events;
    uint64_t written = 0;
    model::TrackSummary summary;  ///< of what is written: less than a byte an event
    size_t before_step = 0;       ///< rows of `events` that the last step found
    size_t longest_step = 0;      ///< most rows that a step added
  };
  RankFile(std::optional<file::TraceWriter> writer, std::vector<model::Track> tracks,
           size_t block_rows);
  base::Expected<void> write(uint32_t track);
  void add_steps(model::TrackId track, model::EventBatch const& events);

  std::optional<file::TraceWriter> writer_;  ///< none: nothing is kept
  std::vector<model::Track> tracks_;
  size_t block_rows_;
  std::vector<Pending> pending_;
  std::vector<file::StepSpan> steps_;  ///< of what is written
};

}  // namespace stepscope::synth
