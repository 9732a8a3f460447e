// Records → rows: pairs the begins and ends of ranges, gives each event its kind, name, track and
// details, and adds it to the store. A pure function of the records, the registry and the clock
// fit.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tracer/core/clock.h"
#include "tracer/core/trace_store.h"
#include "tracer/nvtx/name_cache.h"
#include "tracer/nvtx/note_curves.h"
#include "tracer/nvtx/payload/device_events.h"
#include "tracer/nvtx/payload/record_reader.h"
#include "tracer/nvtx/registry.h"

namespace stepscope::tracer {

/// Used by the writer thread alone.
class Decoder {
 public:
  /// `only_launched`: device ops are kept only when their launch was recorded (a window of steps is
  /// recorded).
  Decoder(Registry const& registry, bool only_launched)
      : registry_(registry), only_launched_(only_launched) {}

  /// Records of the thread with that number, in their order, from the first word on. Returns the
  /// words that were decoded: whole records, all of them or a slice, so that the ring gets room
  /// again soon. Records that contradict themselves are counted, and what follows them is passed
  /// over: where the next one begins is not known.
  size_t decode(uint32_t number, std::span<uint64_t const> words, ClockFit const& clock,
                TraceStore& store);
  /// All threads were drained up to one moment: what waited for a record of another thread is
  /// settled.
  void end_round(TraceStore& store);
  /// The end of this start/end range was lost: the range is dropped. It was counted by its
  /// recorder.
  void lose_end(uint64_t range);
  /// The ends of `counted` more were lost, the last of them at `last_ns`: any range begun before
  /// may be one of them.
  void lose_ends_before(int64_t last_ns, uint64_t counted);
  /// Pops of the thread's deep levels were lost, and which is not known: what is open there is
  /// dropped.
  void lose_deep_pops(uint32_t number);
  /// The thread has exited: its open push/pop ranges end at `end_ns`.
  void close_thread(uint32_t number, int64_t end_ns);
  /// The window has ended: every open range ends at `end_ns`, and its own end means nothing any
  /// more.
  void end_window(int64_t end_ns, TraceStore& store);
  /// Capture ends: every open range ends at `end_ns`.
  void finish(int64_t end_ns, TraceStore& store);
  /// Ids of the store's names mean nothing any more.
  void forget_names() {
    text_names_ = NameCache();
    for (auto& known : handle_names_) known.clear();
  }
  /// Ranges dropped here, and not counted by their recorder, because their ends were lost.
  [[nodiscard]] uint64_t dropped() const { return dropped_; }

  /// The thread's track, made when it is needed first.
  model::TrackId thread_track(uint32_t number, TraceStore& store);
  [[nodiscard]] bool has_track(uint32_t thread) const;
  /// Nothing of this thread will come any more.
  void forget_thread(uint32_t number);
  void describe_thread(uint32_t number, int64_t thread_id) { thread(number).thread_id = thread_id; }
  /// Recorded launches whose device op has not ended; only counted when only_launched.
  [[nodiscard]] size_t outstanding_ops() const { return outstanding_.size(); }

 private:
  struct OpenRange {
    TrackRows* rows;  ///< of its track
    TrackRows::Open row;
    bool is_memory_category = false;
  };
  /// A push/pop range on a level ≥ kBitLevels.
  struct DeepRange {
    int32_t level;
    OpenRange range;
  };
  using DeepRanges = std::deque<DeepRange>;  ///< the innermost is last, levels ascend
  struct Thread {
    int64_t thread_id = 0;
    model::TrackId track;
    TrackRows* rows = nullptr;                 ///< of its track; null until the track is needed
    std::vector<std::vector<OpenRange>> open;  ///< by domain; the innermost is last
    std::map<uint16_t, DeepRanges> deep;       ///< by domain, only those that have some
    /// The ranges of earlier windows that the program has not popped, by domain: whether each is a
    /// memory category. The innermost is last.
    std::map<uint16_t, std::vector<bool>> of_earlier_window;
    std::vector<model::MemoryPurpose> memory_purpose;  ///< of the open memory categories
  };
  /// What a record says of its range.
  struct Meaning {
    model::EventKind kind = model::EventKind::kRange;
    uint64_t correlation = 0;
    model::TrackId track;  ///< invalid = the thread's
    Detail detail;
    bool is_memory_category = false;
  };
  /// A device op that has ended while its launch is not known.
  struct EndedOp {
    OpenRange range;
    uint64_t correlation = 0;
    int64_t end_ns = 0;
  };
  /// The end of a start/end range whose begin is still in another thread's ring.
  struct WaitingEnd {
    std::vector<uint64_t> words;
    int64_t end_ns = 0;
    int rounds = 0;
  };

  Thread& thread(uint32_t number);
  static std::vector<OpenRange>& open_ranges(Thread& thread, uint16_t domain) {
    if (domain >= thread.open.size()) [[unlikely]]
      thread.open.resize(domain + size_t{1});
    return thread.open[domain];
  }
  static void need_track(Thread& thread, TraceStore& store) {
    if (thread.rows == nullptr) [[unlikely]]
      add_track(thread, store);
  }
  static void add_track(Thread& thread, TraceStore& store);
  // Each returns the words of the first record, 0 when it contradicts itself.
  size_t decode_compact(Thread& thread, std::span<uint64_t const> words, ClockFit const& clock,
                        TraceStore& store);
  size_t decode_general(Thread& thread, std::span<uint64_t const> words, ClockFit const& clock,
                        TraceStore& store);
  void push_plain(Thread& thread, uint16_t domain, model::StringId name, int64_t now,
                  TraceStore& store) {
    need_track(thread, store);
    open_ranges(thread, domain)
        .push_back({thread.rows, thread.rows->begin_range(now, name), false});
    store.row_begun(thread.track, *thread.rows);
  }
  void push(Thread& thread, Record const& record, int64_t now, TraceStore& store);
  void pop(Thread& thread, Record const& record, int64_t now, TraceStore& store);
  void push_deep(Thread& thread, Record const& record, int64_t now, TraceStore& store);
  void pop_deep(Thread& thread, Record const& record, int64_t now, TraceStore& store);
  void end_popped(Thread& thread, Record const& record, OpenRange const& range, int64_t now,
                  TraceStore& store);
  static bool pop_of_earlier_window(Thread& thread, uint16_t domain);
  void drop_deep(Thread& thread, DeepRanges& deep, int32_t from_level);
  void drop_deep_of(Thread& thread, uint16_t domain);
  void forget_outermost(Thread& thread, uint16_t domain, DeepRanges& deep);
  void mark(Thread& thread, Record const& record, int64_t now, TraceStore& store);
  void add_note_sample(Thread const& thread, Record const& record, int64_t now, TraceStore& store);
  void start(Thread& thread, Record const& record, int64_t now, TraceStore& store);
  bool end(Record const& record, int64_t now, TraceStore& store);
  OpenRange begin(Thread& thread, Record const& record, int64_t now, TraceStore& store);
  static OpenRange begin_row(model::TrackId track, Meaning const& meaning, model::StringId name,
                             int64_t start_ns, TraceStore& store);
  void end_range(OpenRange const& range, int64_t end_ns) {
    if (only_launched_) [[unlikely]]
      return end_if_launched(range, end_ns);
    range.rows->end(range.row, end_ns);
  }
  void end_if_launched(OpenRange const& range, int64_t end_ns);
  void end_op(EndedOp const& op);
  OpenRange apply_end_payload(Thread const* thread, Record const& record, OpenRange const& range,
                              TraceStore& store);
  bool apply_payload(Thread const* thread, Record const& record, Meaning& meaning,
                     TraceStore& store);
  static bool is_stream_event(model::EventKind kind);
  static bool apply_annotation(Record const& record, Meaning& meaning);
  void apply_attributes(Record const& record, Meaning& meaning);
  bool describe_device(Record const& record, TraceStore& store);
  Schema const* schema(uint16_t domain, uint64_t id);
  std::string_view message(Record const& record);
  model::StringId name_of(Record const& record, TraceStore& store, std::string_view prefix);
  model::StringId plain_name(uint16_t domain, std::string_view text, TraceStore& store);
  model::StringId text_name(uint16_t domain, std::span<uint64_t const> words, TraceStore& store) {
    model::StringId const known = text_names_.find(domain, words);
    return known.valid() ? known : new_text_name(domain, words, store);
  }
  model::StringId new_text_name(uint16_t domain, std::span<uint64_t const> words,
                                TraceStore& store);
  model::StringId handle_name(uint16_t domain, uint32_t handle, TraceStore& store);
  std::string const& domain_prefix(uint16_t domain);

  Registry const& registry_;
  bool const only_launched_;
  std::unordered_map<uint32_t, Thread> threads_;
  Thread* last_thread_ = nullptr;  ///< of threads_, which never moves its elements; records come in
                                   ///< long runs of one thread
  uint32_t last_number_ = 0;
  std::unordered_map<uint64_t, OpenRange> started_;
  std::vector<WaitingEnd> waiting_ends_;
  std::vector<EndedOp> waiting_ops_, waiting_ops_before_;
  std::unordered_set<uint64_t> launched_, outstanding_;
  uint64_t dropped_ = 0;
  uint64_t open_at_end_ = 0, never_popped_ = 0, too_many_started_ = 0;
  Record record_;
  NoteCurves notes_;
  std::string text_, name_;
  std::vector<std::string> prefixes_;
  std::unordered_map<uint32_t, std::string> handles_;
  NameCache text_names_;
  std::array<std::vector<model::StringId>, kCompactDomains>
      handle_names_;  ///< by domain and handle; invalid = not looked up yet
  uint64_t schema_version_ = 0;
  std::map<std::pair<uint16_t, uint64_t>, std::shared_ptr<Schema const>> schemas_;
};

}  // namespace stepscope::tracer
