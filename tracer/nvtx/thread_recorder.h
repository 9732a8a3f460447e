// The recorder of one thread: what the callbacks of a source call. Writes records into the thread's
// ring, so that a range is either recorded whole or dropped and counted whole:
//
//   push/pop, the outer kBitLevels levels   a push that is recorded keeps room free for its pop
//   push/pop, deeper levels                 records name their level, so that the decoder finds
//                                           what lost its other end; programs that forget to pop
//                                           get there, and keep no room free for what never comes
//   start/end                               a start keeps room for its end, within bounds; a lost
//                                           end is reported outside the ring
//
// A signal handler may annotate while it interrupts its own thread. Where it interrupts a call of
// the recorder, whose record is half written, its events are dropped and counted.
#pragma once

#include <array>
#include <atomic>
#include <climits>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "tracer/core/capture_window.h"
#include "tracer/core/clock.h"
#include "tracer/core/ring.h"
#include "tracer/core/turns/interleave.h"
#include "tracer/nvtx/payload/record_layout.h"
#include "tracer/nvtx/range_trigger.h"
#include "tracer/nvtx/unmatched_range_ends.h"

namespace stepscope::tracer {

/// Domains with a meaning of their own; all others are numbered from kFirstOtherDomain.
inline constexpr uint16_t kDefaultDomain = 0;
inline constexpr uint16_t kAnnotationDomain = 1;  ///< "stepscope"
inline constexpr uint16_t kDeviceDomain = 2;      ///< "stepscope.device"
inline constexpr uint16_t kFirstOtherDomain = 3;

/// What NVTX wants to be returned where no nesting is tracked.
inline constexpr int kNoNesting = -2;
/// Levels of push/pop ranges, from 0, whose pops always find room.
inline constexpr int32_t kBitLevels = 64;
/// Bit of the ids of start/end ranges that were not recorded.
inline constexpr uint64_t kUnrecordedRange = uint64_t{1} << 63;

/// As the system keeps it: 15 characters at most, ended by a 0.
using ThreadName = std::array<char, 16>;

/// Called by its thread alone, but for the accessors marked "writer".
class ThreadRecorder {
 public:
  /// `number` tells the session's recorders apart; the ring has `ring_bytes` and grows up to
  /// `max_ring_bytes` when `budget` has more. 0 = no memory left: every event is dropped and
  /// counted. `trigger`: of the range that opens the window; null = none. `turns`: null = the
  /// program has none.
  ThreadRecorder(CaptureWindow& window, TickSource ticks, uint32_t number, int64_t thread_id,
                 size_t ring_bytes, size_t max_ring_bytes = 0, RingBudget* budget = nullptr,
                 RangeTrigger* trigger = nullptr, Turns* turns = nullptr);

  /// A recorder in pages of the system's: a signal handler may make the first event of its thread,
  /// and the heap may be in use by what it interrupted. Null when there are no pages.
  template <class... Arguments>
  static ThreadRecorder* make(Arguments&&... arguments) {
    void* const memory = take_pages();
    return memory != nullptr ? new (memory) ThreadRecorder(std::forward<Arguments>(arguments)...)
                             : nullptr;
  }
  /// Destroys what make() returned.
  struct Destroy {
    void operator()(ThreadRecorder* recorder) const;
  };

  /// Level of the range in its domain and thread, from 0; as nvtxRangePush returns it.
  int push(EventArgs const& args);
  /// The same for a range that has a name and nothing else: the hot path. `text` ends with a 0, a
  /// null pointer is an empty text.
  int push_text(uint16_t domain, char const* text);
  int push_handle(uint16_t domain, uint32_t handle);
  /// Level of the range that ends, -1 when there is none; a payload of the end replaces that of the
  /// begin.
  int pop(uint16_t domain, std::span<PayloadView const> payloads);
  int pop(uint16_t domain);  ///< without a payload: the hot path
  void mark(EventArgs const& args);
  /// An id for end(), on any thread.
  uint64_t start(EventArgs const& args);
  void end(uint16_t domain, uint64_t range, std::span<PayloadView const> payloads = {});
  /// A call of its thread is under way, which a signal handler has interrupted.
  [[nodiscard]] bool is_inside() const { return user_.load(std::memory_order_relaxed) != 0; }
  /// The thread exits; nothing may be called afterwards. `name`: at its end.
  void close(ThreadName const& name);

  [[nodiscard]] int64_t thread_id() const { return thread_id_; }
  [[nodiscard]] uint32_t number() const { return number_; }
  [[nodiscard]] Ring& ring() { return ring_; }  ///< writer
  /// Events dropped here; a range whose end alone was lost on a deep level is dropped and counted
  /// by the decoder.
  [[nodiscard]] uint64_t dropped() const {  ///< writer
    return dropped_.load(std::memory_order_relaxed) + interrupting();
  }
  /// Calls of signal handlers that interrupted another call.
  [[nodiscard]] uint64_t interrupting() const {
    return interrupting_.load(std::memory_order_relaxed);
  }  ///< writer
  [[nodiscard]] UnmatchedRangeEnds& unmatched_range_ends() {
    return unmatched_range_ends_;
  }  ///< writer
  /// Pops of deep levels were lost that no later record has told of.
  [[nodiscard]] bool has_lost_pops() const {
    return untold_domains_.load(std::memory_order_relaxed) != 0;
  }                                                                                      ///< writer
  [[nodiscard]] bool closed() const { return closed_.load(std::memory_order_acquire); }  ///< writer
  [[nodiscard]] std::string final_name() const {
    return final_name_.data();
  }                                                                       ///< writer, once closed()
  [[nodiscard]] int64_t closing_ticks() const { return closing_ticks_; }  ///< writer, once closed()

  ThreadName first_name{};  ///< at its first event; set before the writer knows of the recorder
  ThreadRecorder* attached_before =
      nullptr;  ///< the source's list of recorders that are new to the writer

 private:
  static void* take_pages();

  /// Push/pop state of one domain on this thread.
  struct Nesting {
    int32_t level = 0;
    /// The lowest deep level whose pop was lost since a record told of it.
    int32_t lost_from = kNoLevel;
    uint64_t recorded = 0;  ///< bit l: the open range of level l is in the ring
  };
  static constexpr uint32_t kPopWords = 2;  ///< of the longest pop without payload
  static constexpr uint32_t kEndWords = 3;  ///< of the end of a start/end range
  static constexpr uint64_t kEndsShare =
      8;  ///< of the ring: what is kept free for ends of start/end ranges at most

  /// Everything is recorded now, whatever it is.
  [[nodiscard]] bool wants_all() const {
    return window_.mode() == CaptureMode::kRecording && (!filtered_ || !annotating_ || inside_);
  }
  /// Runs `call` unless this thread is inside of another call already; then the event is counted
  /// and `otherwise` returned.
  template <class Result, class Call>
  [[gnu::always_inline]] Result alone(Result otherwise, Call const& call) {
    auto const frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    if (uintptr_t const user = user_.load(std::memory_order_relaxed);
        user != 0 && !was_left(user, frame)) [[unlikely]] {
      interrupting_.fetch_add(1, std::memory_order_relaxed);
      return otherwise;
    }

    user_.store(frame, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    Result const result = call();
    std::atomic_signal_fence(std::memory_order_seq_cst);
    user_.store(0, std::memory_order_relaxed);
    return result;
  }
  static bool was_left(uintptr_t user, uintptr_t frame);
  // The calls of the same names, inside of alone().
  int record_push(EventArgs const& args);
  int record_push_text(uint16_t domain, char const* text);
  int record_push_handle(uint16_t domain, uint32_t handle);
  int record_pop(uint16_t domain, std::span<PayloadView const> payloads);
  int record_pop(uint16_t domain);
  uint64_t record_start(EventArgs const& args);
  void record_end(uint16_t domain, uint64_t range, std::span<PayloadView const> payloads);

  uint64_t* compact_room(uint16_t domain, uint32_t max_words);
  int end_compact_push(uint16_t domain, uint64_t* record, unsigned tag, uint32_t words);
  int push_general(uint16_t domain, char const* text, uint32_t handle);
  [[nodiscard]] bool wants(EventArgs const& args) const;
  [[nodiscard]] bool wants_baseline(EventArgs const& args) const;
  [[nodiscard]] bool wants_ending(EventArgs const& args) const;
  bool write(RecordType type, EventArgs const& args, uint64_t range, uint64_t keep_free);
  void write_plain_pop(uint16_t domain, uint8_t flags);
  bool write_deep(RecordType type, EventArgs const& args, Nesting& nesting, int32_t level);
  void pop_deep(EventArgs const& args, Nesting& nesting, int32_t level);
  void pop_recorded(EventArgs const& args);
  [[nodiscard]] bool is_own(uint64_t range) const {
    return range >> kRangeNumberShift == number_ + uint64_t{1};
  }
  void count_drop() {
    dropped_.store(dropped_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  void wait_for_turn();
  void range_begins(EventArgs const& args, int32_t level);
  void range_ends(uint16_t domain, int32_t level);
  [[nodiscard]] bool triggers(EventArgs const& args) const;
  void step_begins(EventArgs const& args, int32_t level);
  void step_ends(int32_t level);

  CaptureWindow& window_;
  TickSource const tick_source_;
  bool const filtered_;
  uint32_t const number_;
  int64_t const thread_id_;
  Ring ring_;
  /// Words that stay free for the ends of open ranges. They cover one push more than are open and
  /// one wrap-around, so that the pop of a recorded push never gets lost.
  uint64_t end_room_ = 2 * kPopWords;
  uint64_t started_room_ = 0;  ///< of end_room_: for ends of start/end ranges
  uint64_t next_range_ = 1;
  std::atomic<uint32_t> untold_domains_{0};  ///< those with a Nesting::lost_from
  std::atomic<uintptr_t> user_{
      0};  ///< frame of the call that is inside, which a signal handler may have interrupted
  std::atomic<uint64_t> interrupting_{0};  ///< events of such handlers
  std::atomic<uint64_t> dropped_{0};
  std::array<Nesting, kMaxDomains> nesting_{};
  RangeTrigger* const trigger_;
  Turns* const turns_;
  Turns::Member member_;
  std::pair<uint16_t, int32_t> opened_by_ = {
      0, kNoLevel};  ///< domain and level of the range that opened the window
  // Steps of this thread, when they open the window.
  bool annotating_ = false, inside_ = false, done_ = false;
  uint16_t window_number_ = 0;  ///< of the window that these are about
  int32_t step_level_ = -1;
  int64_t step_index_ = 0, last_step_ = 0;
  std::atomic<bool> closed_{false};
  ThreadName final_name_{};
  int64_t closing_ticks_ = 0;
  UnmatchedRangeEnds unmatched_range_ends_;  ///< large and rarely used: behind everything
};

using RecorderPointer = std::unique_ptr<ThreadRecorder, ThreadRecorder::Destroy>;

}  // namespace stepscope::tracer
