// Keeps the last while of a program in memory and writes it to a file when there is a cause. Causes
// are a request, a slow step, a step that does not end, a signal, a number that is not finite, and
// the end. The program is recorded on meanwhile.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tracer/core/file_thread.h"
#include "tracer/core/flight/flight_options.h"
#include "tracer/core/flight/recent_blocks.h"
#include "tracer/core/flight/recent_memory.h"
#include "tracer/core/flight/recent_steps.h"
#include "tracer/core/flight/ring_file.h"
#include "tracer/core/options.h"
#include "tracer/core/trace_store.h"

namespace stepscope::tracer {

/// A ring that is to be written.
struct AskedRing {
  std::string name;                ///< of its folder, in that of the run
  std::string reason;              ///< for people: "step 812 took 1.93 s, 1.31 times …"
  int64_t first_step = INT64_MIN;  ///< not to begin before this step, as other ranks cannot
};

/// The folder of what was kept when the program ended.
inline constexpr char const* kLastRing = "ring-last";

/// What became of one.
struct WrittenRing {
  std::string path;  ///< empty when no file could be made
  FileThread::Result result;
};

/// Used by the writer thread alone.
class FlightRecorder : public RowWatcher {
 public:
  /// `capture` has a ring. Both must outlive it.
  FlightRecorder(CaptureOptions const& capture, TraceStore& store);

  /// Keeps what is written to it; for the thread `keeper`.
  file::TraceWriter writer();
  /// Rows go to `keeper` from now on.
  void begin(FileThread& keeper);

  void see(model::TrackId track, RowBatch const& rows) override;
  void names_begin_anew(Renamed const& renamed) override;

  /// Each round, between flushes. `dropped`: events that were lost since the program began.
  void look(int64_t now_ns, uint64_t dropped);
  /// A ring that is due by what happened in this process.
  std::optional<AskedRing> take_due();
  /// Writes it as soon as the one before is written. Errors of that are in take_written().
  void write(AskedRing asked);
  /// The names of a ring that is being written must stay what they are.
  [[nodiscard]] bool needs_names() const { return writing_ != nullptr && !output_; }
  std::optional<WrittenRing> take_written();
  /// Waits for the one that is being written.
  std::optional<WrittenRing> finish_writing();
  /// After that, when all sources have finished: writes what is kept, and waits. Nothing where no
  /// event is.
  std::optional<WrittenRing> write_last(std::string reason, int64_t now_ns, uint64_t dropped);
  /// After that, when the keeper has ended: gives all memory back.
  void release();

  /// The latest step that has ended; −1 = none.
  [[nodiscard]] int64_t latest_step() const;
  /// The first step that a ring would begin with now; −1 = none.
  [[nodiscard]] int64_t first_step() const;
  /// Any thread: the threads of its own; the keeper is not one of them.
  [[nodiscard]] int64_t threads() const { return threads_; }

 private:
  /// What happens in the process. Each kind has its quiet time: a hang is no part of the slow step
  /// before it.
  enum class Cause : uint8_t { kSlowStep, kHang, kNote, kSignal };
  struct OfCause {
    int64_t quiet_until_ns = INT64_MIN;
    int due = 0;
  };
  /// A ring on its way to a file.
  struct Writing {
    AskedRing asked;
    RingFile ring;
    std::atomic<bool> is_copied{false};  ///< ring.blocks are there, or there is no memory for them
    bool has_blocks = false;
    std::string path;  ///< the output thread's until that is idle
    std::atomic<uint64_t> events{0};
  };
  void see_step(SeenStep const& step);
  void see_notes(RowBatch const& rows);
  [[nodiscard]] bool hangs() const;
  void look_for_hang();
  [[nodiscard]] bool may_be_due(Cause cause) const;
  bool is_due(Cause cause, std::string reason);
  void note_dropped(uint64_t dropped);
  void forget_old();
  void begin_writing(AskedRing asked);
  [[nodiscard]] int64_t wanted_since_ns() const;
  void complete(Writing& writing);
  void begin_output();
  void end_output();
  void wait_for_output();
  void describe(Writing& writing, std::optional<RecentSteps::Begin> begin) const;

  CaptureOptions const& capture_;
  FlightOptions const& options_;
  TraceStore& store_;
  FileThread* keeper_ = nullptr;
  RecentBlocks blocks_;
  RecentSteps steps_;
  RecentMemory memory_;
  std::deque<std::pair<int64_t, uint64_t>> dropped_;  ///< moment and number, where it changed

  int64_t now_ns_ = 0, next_forget_ns_ = 0;
  int64_t latest_ns_ = 0;             ///< when a row began, as the last that was seen
  int64_t last_end_ns_ = -1;          ///< of a step
  int64_t forgotten_ns_ = INT64_MIN;  ///< no moment before is asked for
  bool hang_was_seen_ = false;
  std::array<OfCause, 4> causes_;       ///< by Cause
  int64_t quiet_until_ns_ = INT64_MIN;  ///< for all kinds: another process has told the same
  int left_out_ = 0;
  std::optional<AskedRing> due_ring_;
  std::string unwritten_reason_;  ///< of the one that was due last, until any ring is written

  std::deque<AskedRing> asked_;
  std::shared_ptr<Writing> writing_;
  std::unique_ptr<FileThread> output_;
  std::atomic<int64_t> threads_{0};
  std::optional<WrittenRing> written_;
};

}  // namespace stepscope::tracer
