// What our own export wrote, read back: a sequence of packets a process. Kinds are its categories,
// the fields of details its annotations, under the names that the model has for them.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/import/formats/perfetto/intern_table.h"
#include "trace/import/formats/perfetto/trace_index.h"
#include "trace/import/formats/perfetto/track_event.h"
#include "trace/model/build/trace_builder.h"

namespace stepscope::import::perfetto {

/// What a name of an annotation stands for: by detail table the number of its field, −1 = none.
struct FieldMeaning {
  std::array<int8_t, model::kDetailTableCount> field;
  bool is_correlation = false;
  FieldMeaning() { field.fill(-1); }
};
FieldMeaning meaning_of(std::string_view annotation);

class OwnProcess {
 public:
  OwnProcess(TraceIndex const& index, uint64_t sequence);
  /// In the order of the file; `time` is on the trace's clock.
  void add(Packet const& packet, std::optional<int64_t> time);
  [[nodiscard]] uint64_t event_count() const { return events_; }
  model::ImportLog& log() { return log_; }
  /// `processes`: of the file. `shift_ns`: what the file calls time 0, where the export does not
  /// say it.
  model::Trace finish(uint32_t processes, int64_t shift_ns) &&;

 private:
  struct Target {
    model::EventBatch rows;
    uint64_t copies = 0, collectives = 0;
    bool is_of_device = false;
  };
  struct Lane {
    bool is_known = false;
    uint32_t track = 0;          ///< kNoTrack: nothing of the model
    std::vector<uint32_t> open;  ///< rows whose end did not come yet, the innermost last
  };
  static constexpr uint32_t kNoTrack = UINT32_MAX;
  /// As many as a file of our own may have.
  static constexpr uint32_t kMostTracks = 1U << 16U;

  void add_text(std::string_view message);
  void add_names(std::string_view interned);
  void describe_tracks();
  void describe_track(TrackDescription const& described);
  uint32_t new_track(model::Track track);
  Lane& lane(uint64_t uuid);
  model::StringId name_of(TrackEvent const& event);
  void add_event(TrackEvent const& event, int64_t time);
  void add_row(Lane& lane, TrackEvent const& event, int64_t time);
  void close_open(int64_t time);
  void complete_tracks();
  void complete_info(uint32_t processes, int64_t shift_ns);

  TraceIndex const& index_;
  uint64_t sequence_;
  model::TraceBuilder builder_;
  model::ImportLog log_;
  model::TraceInfo info_;
  std::vector<model::Device> devices_;
  std::string description_, tracks_text_;
  bool has_description_ = false, was_truncated_ = false;
  std::optional<int64_t> shift_ns_;
  std::vector<model::Track> tracks_;
  std::deque<Target> targets_;
  std::map<std::pair<uint64_t, std::string>, uint32_t>
      named_;                ///< by parent: tracks of files that do not number them
  InternTable<Lane> lanes_;  ///< by uuid
  InternTable<std::pair<bool, model::StringId>> names_;
  InternTable<uint8_t> categories_;  ///< kind + 1
  InternTable<FieldMeaning> fields_;
  TrackEvent event_;
  int64_t first_ = INT64_MAX, last_ = INT64_MIN;
  uint64_t events_ = 0, unopened_ = 0, untimed_ = 0, unnamed_ = 0;
  bool are_tracks_known_ = false;
};

}  // namespace stepscope::import::perfetto
