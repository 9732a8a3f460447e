// Writes a record of each training step while the program runs (trace/stream): sums, for weeks.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
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
  /// Makes the file on `thread`, which writes it from now on. The description of the store is
  /// there.
  void begin(FileThread& thread);
  void see(model::TrackId track, RowBatch const& rows) override;
  void names_begin_anew(Renamed const& /*renamed*/) override {}
  /// Each round: hands over the steps whose events have all come. `dropped`: events that were lost
  /// since the program began.
  void look(int64_t now_ns, uint64_t dropped);
  /// When all sources have finished and the store is flushed: the other steps, too. The thread has
  /// written them when it is idle.
  void finish(uint64_t dropped);

  /// Any time after begin(): the file; empty when none could be made.
  [[nodiscard]] std::string path() const;
  /// Why steps are missing; empty = none are.
  [[nodiscard]] std::string failure() const;

 private:
  class File;
  void write(std::vector<stream::StepRecord> const& records);

  CaptureOptions const& options_;
  TraceStore& store_;
  FileThread* thread_ = nullptr;
  std::shared_ptr<File> file_;
  stream::StepMeter meter_;
  std::vector<model::Device> named_;  ///< devices that the file names
};

}  // namespace stepscope::tracer
