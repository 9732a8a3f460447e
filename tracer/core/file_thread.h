// The thread that encodes and writes what the session's thread has decoded, in the order in which
// it is handed over. It alone opens, writes and closes the trace file, in a table of descriptors of
// its own (private_descriptors.h).
//
// Why a second one: decoding and encoding a range take about 17 and 20 ns of processor time
// (docs/design/BENCHMARKS.md, Recorder). One thread for both would just keep up with 20 million
// ranges a second, with nothing left for a disk that stalls or a core that is shared. The session's
// thread cannot have descriptors of its own: it calls CUPTI, whose driver uses those of the
// program.
//
// A forked child that ends at once needs no second thread: its session's thread writes the file
// itself (here()).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "trace/base/expected.h"
#include "trace/file/writer.h"
#include "tracer/core/rows/row_batch.h"
#include "tracer/core/threads/own_thread.h"

namespace stepscope::tracer {

/// Everything but the thread itself is called by one thread, the session's.
class FileThread {
 public:
  using Open = std::function<base::Expected<file::TraceWriter>()>;
  using Job = std::function<base::Expected<void>(file::TraceWriter&)>;
  /// What became of the file.
  struct Result {
    uint64_t written_rows = 0;
    uint64_t lost_rows = 0;
    std::string failure;  ///< of the first job that failed; empty = none
  };

  /// Starts the thread and waits until `open` was called there. Errors: those of `open`; the system
  /// gives no thread, or no descriptors of its own.
  static base::Expected<std::unique_ptr<FileThread>> start(Open open);
  /// Starts the thread and does not wait; jobs may be submitted already.
  static base::Expected<std::unique_ptr<FileThread>> begin(Open open);
  /// The calling thread, one of ours, leaves the program's table of descriptors for good; submit()
  /// runs the job there. Errors: those of `open`; the system gives no descriptors of its own.
  static base::Expected<std::unique_ptr<FileThread>> here(Open const& open);
  /// Waits until `open` was called. Errors: as above; a thread that does not start in time must be
  /// left alone, it may come back.
  base::Expected<void> wait_until_open();
  [[nodiscard]] bool did_not_start() const { return did_not_start_; }
  ~FileThread();  ///< waits for the jobs; the file is left without its index unless finish() was
                  ///< called
  FileThread(FileThread const&) = delete;
  FileThread& operator=(FileThread const&) = delete;

  /// `rows` is how many events the job writes. Waits while kMaxWaitingRows are waiting: the rings
  /// then fill, and what does not fit them is counted.
  void submit(size_t rows, Job job);
  /// Waits until everything that was submitted is done.
  void wait_until_idle();
  /// The same, without waiting: done, or the file could not be opened.
  [[nodiscard]] bool is_idle();
  /// A job failed: later ones can only fail too.
  [[nodiscard]] bool failed() const { return failed_.load(std::memory_order_relaxed); }
  /// As end_with_index(), without waiting for it: has_ended() tells.
  void begin_to_end();
  [[nodiscard]] bool has_ended() const;
  /// Does what waits, writes the file's index unless a job failed, and ends the thread. Nothing may
  /// be submitted afterwards.
  void end_with_index() { end_thread(Ending::kWithIndex); }
  /// The same, and what became of it.
  Result finish();

  // Memory of batches goes round, so that a flood of events takes no page faults.
  /// An empty batch, with the memory of an earlier one where there is one.
  RowBatch spare_batch();
  /// Called by jobs.
  void give_back(RowBatch batch);

 private:
  /// About 30 MB of rows: what a file system that stalls for a tenth of a second leaves behind at
  /// 10 M events/s.
  static constexpr size_t kMaxWaitingRows = 16 * file::kMaxBlockRows;
  /// 15 MB: new pages for a batch take as long as half of its decoding, and a burst that outlasts
  /// these is rare.
  static constexpr size_t kMaxSpareBatches = 8;
  struct Waiting {
    size_t rows;
    Job job;
  };
  enum class Ending : uint8_t { kNotYet, kWithoutIndex, kWithIndex };

  FileThread() = default;
  base::Expected<file::TraceWriter> open_privately(Open const& open);
  void run(Open const& open);
  void run_jobs(file::TraceWriter& writer);
  void execute(Waiting const& waiting, file::TraceWriter& writer);
  void write_index(file::TraceWriter& writer);
  void fail_because(std::string const& reason);
  void end_thread(Ending ending);

  std::optional<file::TraceWriter>
      writer_here_;  ///< of here(), until the end: its descriptor means nothing on another thread
  bool did_not_start_ = false;
  Result result_;  ///< the thread's, until it has ended
  std::atomic<bool> failed_{false};

  std::mutex mutex_;  ///< all below but the thread
  std::condition_variable wake_, room_;
  std::optional<base::Expected<void>> opened_;  ///< set once open() was called
  std::deque<Waiting> queue_;
  size_t waiting_rows_ = 0;
  bool is_working_ = false;  ///< at a job that is not in the queue any more
  Ending ending_ = Ending::kNotYet;
  std::vector<RowBatch> spare_;
  std::optional<OwnThread> thread_;
};

}  // namespace stepscope::tracer
