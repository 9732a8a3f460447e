// The tracks of CUDA's streams and threads, found again in a few ns: every record asks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "tracer/core/trace_store.h"

namespace stepscope::tracer {

/// A track and where its rows go.
struct TrackRef {
  model::TrackId id;
  TrackRows* rows = nullptr;
};

/// What was looked up last, by the low bits of a key; a key that is not there, or no more, is asked
/// for again.
template <class Key>
class TrackCache {
 public:
  template <class Make>
  TrackRef const& find(Key const& key, uint64_t hash, Make&& make) {
    Entry& entry = entries_[hash % kEntries];
    if (entry.track.rows == nullptr || entry.key != key) [[unlikely]]
      entry = {key, make()};
    return entry.track;
  }

 private:
  /// More than the streams and threads of a process that are busy at once; a thousand of them still
  /// fit the processor's cache.
  static constexpr size_t kEntries = 1024;
  struct Entry {
    Key key{};
    TrackRef track;
  };
  std::array<Entry, kEntries> entries_{};
};

/// Streams by device, context and number. CUDA numbers them anew in each context: those of a
/// device's first context keep their number, others carry their context's in the upper half.
class StreamTracks {
 public:
  TrackRef const& find(uint32_t device, uint32_t context, uint32_t stream, TraceStore& store) {
    Key const key{device, context, stream};
    return cache_.find(key, stream + uint64_t{37} * context + uint64_t{331} * device,
                       [&] { return look_up(key, store); });
  }
  /// As tracks number it.
  int64_t stream_number(uint32_t device, uint32_t context, uint32_t stream);

  /// A context record came: the device of its records, and which of its streams is the one that
  /// CUDA makes itself. From CUDA 13.2 on green contexts have no record: their first op shows their
  /// device.
  void describe_context(uint32_t device, uint32_t context, uint32_t default_stream,
                        TraceStore& store);
  /// The program's own name for a stream; one without ops gets no track.
  void name(uint32_t context, uint32_t stream, std::string name, TraceStore& store);
  /// -1 = not known.
  [[nodiscard]] int32_t device_of(uint32_t context) const;

 private:
  struct Key {
    uint32_t device = 0, context = 0, stream = 0;
    bool operator==(Key const&) const = default;
  };
  struct Context {
    uint32_t device = 0, default_stream = UINT32_MAX;
  };
  TrackRef look_up(Key const& key, TraceStore& store);
  [[nodiscard]] std::optional<model::TrackId> find_track(uint32_t device, uint32_t context,
                                                         uint32_t stream, TraceStore const& store);
  void name_default_stream(uint32_t context, TraceStore& store);

  TrackCache<Key> cache_;
  std::unordered_map<uint32_t, uint32_t> first_context_;  ///< by device
  std::unordered_map<uint32_t, Context> contexts_;
  std::map<std::pair<uint32_t, uint32_t>, std::string>
      names_;  ///< that the program gave, by context and stream
};

/// Threads by the system's number.
class ThreadTracks {
 public:
  TrackRef const& find(uint32_t thread_id, TraceStore& store) {
    return cache_.find(thread_id, thread_id, [&] {
      model::TrackId const id = store.thread_track(thread_id);
      return TrackRef{id, &store.rows(id)};
    });
  }

 private:
  TrackCache<uint32_t> cache_;
};

/// Adds an event that has ended. An end before the start is counted and becomes a duration of 0.
template <class... Detail>
void add_row(TrackRef const& track, TraceStore& store, model::EventKind kind, int64_t start_ns,
             int64_t end_ns, model::StringId name, uint64_t correlation, Detail const&... detail) {
  int64_t dur_ns = end_ns - start_ns;
  if (dur_ns < 0) [[unlikely]] {
    ++store.log.negative_durations;
    dur_ns = 0;
  }
  track.rows->add(kind, start_ns, dur_ns, name, correlation, detail...);
  store.row_begun(track.id, *track.rows);
}

}  // namespace stepscope::tracer
