// Records → rows: pairs the begins and ends of ranges, gives each event its kind, name, track and details, and adds it to the
// store. A pure function of the records, the registry and the clock fit.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tracer/core/clock.h"
#include "tracer/core/trace_store.h"
#include "tracer/nvtx/device_events.h"
#include "tracer/nvtx/record_reader.h"
#include "tracer/nvtx/registry.h"

namespace stepscope::tracer {

/// Used by the writer thread alone.
class Decoder {
 public:
  /// `only_launched`: device ops are kept only when their launch was recorded (a window of steps is recorded).
  Decoder(Registry const& registry, bool only_launched) : registry_(registry), only_launched_(only_launched) {}

  /// One record of the thread with that number; records of a thread in their order.
  void decode(uint32_t number, std::span<uint64_t const> words, ClockFit const& clock, TraceStore& store);
  /// All threads were drained up to one moment: what waited for a record of another thread is settled.
  void end_round(TraceStore& store);
  /// The thread has exited: its open push/pop ranges end at `end_ns`.
  void close_thread(uint32_t thread, int64_t end_ns, TraceStore& store);
  /// Capture ends: every open range ends at `end_ns`.
  void finish(int64_t end_ns, TraceStore& store);

  /// The thread's track, made when it is needed first.
  model::TrackId thread_track(uint32_t number, TraceStore& store);
  [[nodiscard]] bool has_track(uint32_t thread) const;
  void describe_thread(uint32_t number, int64_t thread_id) { thread(number).thread_id = thread_id; }
  /// Recorded launches whose device op has not ended; only counted when only_launched.
  [[nodiscard]] size_t outstanding_ops() const { return outstanding_.size(); }

 private:
  struct OpenRange {
    int64_t start_ns = 0;
    model::EventKind kind = model::EventKind::kRange;
    model::StringId name{0};
    uint64_t correlation = 0;
    model::TrackId track;  ///< invalid = the thread's
    Detail detail;
    bool is_memory_category = false;
  };
  struct Thread {
    int64_t thread_id = 0;
    model::TrackId track;
    std::map<uint16_t, std::vector<OpenRange>> open;   ///< by domain; the innermost is last
    std::vector<model::MemoryPurpose> memory_purpose;  ///< of the open memory categories
  };
  struct FinishedRange {
    OpenRange range;
    int64_t end_ns = 0;
  };
  /// The end of a start/end range whose begin is still in another thread's ring.
  struct WaitingEnd {
    std::vector<uint64_t> words;
    int64_t end_ns = 0;
    uint32_t thread = 0;
    int rounds = 0;
  };
  struct StartedRange {
    OpenRange range;
    uint32_t thread = 0;
  };

  Thread& thread(uint32_t number);
  OpenRange open_range(Thread& thread, Record const& record, int64_t start_ns, TraceStore& store);
  void apply_payload(Record const& record, OpenRange& range, TraceStore& store);
  bool apply_annotation(Record const& record, OpenRange& range);
  void push(Thread& thread, Record const& record, int64_t now, TraceStore& store);
  void pop(uint32_t thread_number, Record const& record, int64_t now, TraceStore& store);
  void mark(uint32_t thread_number, Record const& record, int64_t now, TraceStore& store);
  bool end(uint32_t thread_number, Record const& record, int64_t now, TraceStore& store);
  bool describe_device(Record const& record, TraceStore& store);
  void close_range(uint32_t thread_number, OpenRange range, int64_t end_ns, TraceStore& store);
  void emit(OpenRange const& range, int64_t end_ns, TraceStore& store);
  Schema const* schema(uint16_t domain, uint64_t id);
  std::string_view message(Record const& record);
  model::StringId name_of(Record const& record, TraceStore& store, std::string_view prefix);
  std::string const& domain_prefix(uint16_t domain);

  Registry const& registry_;
  bool const only_launched_;
  std::unordered_map<uint32_t, Thread> threads_;
  Thread* last_thread_ = nullptr;  ///< of threads_, which never moves its elements; records come in long runs of one thread
  uint32_t last_number_ = 0;
  std::unordered_map<uint64_t, StartedRange> started_;
  std::vector<WaitingEnd> waiting_ends_;
  std::vector<FinishedRange> waiting_ops_, waiting_ops_before_;
  std::unordered_set<uint64_t> launched_, outstanding_;
  uint64_t closed_ranges_ = 0;
  Record record_;
  std::string text_, name_;
  std::vector<std::string> prefixes_;
  std::unordered_map<uint32_t, std::string> handles_;
  uint64_t schema_version_ = 0;
  std::map<std::pair<uint16_t, uint64_t>, std::shared_ptr<Schema const>> schemas_;
};

}  // namespace stepscope::tracer
