// Turns the track events of programs and other tools into the Chrome trace events that say the
// same. So one place decides for both formats what a category, a name, an argument or the name of a
// track means.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/base/hash_number.h"
#include "trace/import/formats/chrome/merged_events.h"
#include "trace/import/formats/perfetto/annotation_json.h"
#include "trace/import/formats/perfetto/intern_table.h"
#include "trace/import/formats/perfetto/trace_index.h"
#include "trace/import/formats/perfetto/track_event.h"

namespace stepscope::import::perfetto {

class ForeignEvents {
 public:
  /// `is_sorted`: events of each track come by time. If they turn out not to, is_unsorted() says so
  /// and the trace has to be read once more, without the promise.
  ForeignEvents(TraceIndex const& index, std::string const& file, bool is_sorted);
  /// In the order of the file; `time` is on the trace's clock.
  void add(Packet const& packet, std::optional<int64_t> time);
  [[nodiscard]] bool is_unsorted() const { return is_unsorted_; }
  [[nodiscard]] uint64_t event_count() const { return events_; }
  model::ImportLog& log() { return merged_.log(); }
  model::Trace finish() &&;

 private:
  struct Sequence {
    InternTable<JsonText> names, categories, stages;
    AnnotationNames annotations;
    std::vector<uint64_t> extra_counters, extra_real_counters;
    std::optional<uint64_t> track;
  };
  struct OpenEvent {
    int64_t time = 0;
    bool is_begin = false;
    std::string text;  ///< what the event says but its times
  };
  struct Track {
    std::string where;  ///< "pid":…,"tid":…
    std::string name;   ///< of a counter, as in JSON
    std::optional<int64_t> device, stream;
    std::string group;  ///< name of the process or group that it is below
    bool is_incremental = false;
    int64_t multiplier = 1;
    int64_t total = 0;  ///< of an incremental counter
    int64_t last_time = INT64_MIN, end = INT64_MIN;
    std::vector<OpenEvent> events;  ///< that are open; all, when the order is not known
  };
  struct LegacyEvent {
    std::optional<uint64_t> name, id;
    std::optional<int64_t> pid, tid;
    int64_t duration_us = 0;
    char phase = '\0';
  };
  static constexpr size_t kMostNameBytes = size_t{1} << 14U;

  void set_defaults(std::string_view defaults, Sequence& sequence);
  static InternTable<JsonText>* table_of(uint32_t field, Sequence& sequence);
  void add_names(std::string_view interned, Sequence& sequence);
  Track& track(uint64_t uuid);
  Track describe(uint64_t uuid);
  void add_metadata(char const* what, std::string const& where, std::string_view name);
  void add_event(Sequence& sequence, int64_t time);
  void check_order(Track& track, int64_t time);
  void begin_slice(Track& track, int64_t time, std::string text);
  void end_slice(Track& track, int64_t time);
  void add_counters(Sequence const& sequence, int64_t time);
  void add_sample(Track& track, int64_t time, double value);
  static LegacyEvent read_legacy(std::string_view bytes);
  void add_legacy(Sequence& sequence, Track& track, int64_t time);
  void add_gpu_stage(std::string_view stage, Sequence const& sequence, int64_t time);
  void write_arguments(std::string& text, std::string_view category, Sequence const& sequence,
                       Track const& track);
  std::string text_of(Sequence const& sequence, Track const& track,
                      std::optional<uint64_t> name_iid);
  void write_complete(Track const& track, int64_t begin, int64_t end, std::string_view text);
  void write_instant(Track const& track, int64_t time, std::string_view text);
  void write_async(Track const& track, LegacyEvent const& event, int64_t time,
                   std::string_view text);
  void close_all();
  void end_event();
  void flush();

  TraceIndex const& index_;
  std::string const& file_;
  bool is_sorted_, is_unsorted_ = false;
  MergedEvents merged_;
  std::unordered_map<uint64_t, Sequence, base::HashNumber> sequences_;
  std::unordered_map<uint64_t, Track, base::HashNumber> tracks_;
  uint64_t last_uuid_ = 0;
  Track* last_track_ = nullptr;
  std::map<int64_t, std::string>
      devices_;  ///< names, as groups of tracks with their work bear them
  std::map<std::string, std::string> groups_;  ///< pid of a group of tracks, by its place
  TrackEvent event_;
  std::string block_;
  int64_t last_ = INT64_MIN;
  uint64_t events_ = 0, open_bytes_ = 0, texts_left_out_ = 0;
  uint64_t untimed_ = 0, unopened_ = 0, unclosed_ = 0;
};

}  // namespace stepscope::import::perfetto
