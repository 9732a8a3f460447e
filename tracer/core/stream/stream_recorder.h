// Writes a record of each training step while the program runs (trace/stream): sums, for weeks.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trace/stream/step_meter.h"
#include "trace/stream/stream_file.h"
#include "tracer/core/file_thread.h"
#include "tracer/core/options.h"
#include "tracer/core/trace_store.h"

namespace stepscope::tracer {

/// Used by the writer thread alone.
class StreamRecorder : public RowWatcher {
 public:
  /// Both must outlive it.
  StreamRecorder(CaptureOptions const& options, TraceStore& store);

  /// Nothing but the stream is wanted: what `thread` writes goes nowhere.
  static file::TraceWriter writer_to_nowhere();
  /// Has `shared` write the file; null: a thread of its own, as a file system that hangs must not
  /// hold up what else is kept. False when the system gives none.
  bool begin(FileThread* shared);
  void see(model::TrackId track, RowBatch const& rows) override;
  void names_begin_anew(Renamed const& /*renamed*/) override {}
  /// Each round: hands over the steps whose events have all come. `dropped`: events that were lost
  /// since the program began.
  void look(int64_t now_ns, uint64_t dropped);
  /// When all sources have finished and the store is flushed: the other steps, too. Waits for
  /// them.
  void finish(uint64_t dropped);

  /// Any thread: those of its own.
  [[nodiscard]] int64_t threads() const { return threads_.load(std::memory_order_relaxed); }
  /// The file, which the first step makes; empty before it and where it cannot be made.
  [[nodiscard]] std::string path() const;
  /// Why steps are missing; empty = none are.
  [[nodiscard]] std::string failure() const;

 private:
  class File;
  void write(std::vector<stream::StepRecord> const& records);
  void submit(std::vector<std::byte> bytes);

  CaptureOptions const& options_;
  TraceStore& store_;
  FileThread* thread_ = nullptr;
  std::unique_ptr<FileThread> own_thread_;  ///< `thread_`, where that is not shared
  std::atomic<int64_t> threads_{0};
  std::shared_ptr<File> file_;
  stream::StepMeter meter_;
  std::vector<model::Device> named_;  ///< devices that the file names
  uint64_t records_ = 0;              ///< since it named all of them
};

}  // namespace stepscope::tracer
