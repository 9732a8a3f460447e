// A run of files that is analyzed a few processes at a time (analyzer/metrics/core/streamed_run.h): of each process its outline
// stays in memory, the rest is read when it is asked for, only the columns that are needed. For every command and window that
// does so.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/analyze.h"
#include "analyzer/results/analysis.h"
#include "trace/base/expected.h"
#include "trace/import/open/trace_source.h"
#include "trace/model/run.h"

namespace stepscope::run_loading {

/// Shared between who reads and who waits for it on another thread.
struct ReadingProgress {
  std::atomic<bool> given_up = false;      ///< nobody waits any more: what is still to be read fails
  std::atomic<size_t> processes_read = 0;  ///< each is read twice: for its outline and as a whole
};

/// What becomes of a process that cannot be read beside others that can.
enum class Unreadable : uint8_t {
  kLeftOut,        ///< it is none of the run
  kWithoutEvents,  ///< it has its place among the others, and no events
};

struct StreamedOptions {
  Unreadable unreadable = Unreadable::kLeftOut;
  bool is_all_analyzed = true;  ///< every process will be read whole, too: then the outline is told there what it lacks
  std::shared_ptr<ReadingProgress> progress;  ///< may be null
};

/// Not thread-safe, but for read().
class StreamedFiles {
 public:
  using Sources = std::shared_ptr<import::RunSources const>;

  /// Reads the outlines of all processes; those that cannot be read are told in the outline's notes. No source is in memory.
  /// Errors: none can be read, or nobody waits any more.
  static base::Expected<StreamedFiles> open(Sources sources, StreamedOptions options);

  /// Of each process what outline_rows() (analyzer/metrics/steps/skeleton_rows.h) keeps; logs and time ranges once it is
  /// analyzed.
  [[nodiscard]] model::Run const& outline() const { return outline_; }
  [[nodiscard]] model::Run take_outline() && { return std::move(outline_); }
  /// Of the outline's notes those about processes that could not be read.
  [[nodiscard]] std::vector<std::string> const& unreadable() const { return unreadable_; }
  /// Where a process of the outline is among the sources.
  [[nodiscard]] std::vector<size_t> const& source_of() const { return source_of_; }
  /// The analysis of the run, which needs steps that are marked (analyzer::has_marked_steps()) to find any. Errors: those of
  /// reading.
  [[nodiscard]] base::Expected<analyzer::Analysis> analyze(analyzer::AnalyzeOptions const& analysis = {});

 private:
  StreamedFiles(Sources sources, StreamedOptions options);
  [[nodiscard]] base::Expected<model::Trace> copy(size_t source, file::Selection const& selection) const;
  [[nodiscard]] base::Expected<model::Trace> read_outline(size_t source) const;
  [[nodiscard]] base::Expected<model::RankTrace> read(size_t process, file::Selection const& selection) const;

  Sources sources_;
  StreamedOptions options_;
  model::Run outline_;
  std::vector<std::string> unreadable_;
  std::vector<size_t> source_of_;    ///< by process of the outline
  std::vector<bool> has_no_events_;  ///< beside it: it could not be read
};

/// What the critical path asks of a process in a window of run time, nested: for who draws it. Errors: those of reading.
base::Expected<model::RankTrace> read_path_window(import::RankSource const& source, model::Interval window);

/// A process of an open run with all its events. Errors: those of reading.
base::Expected<model::RankTrace> read_process(import::RankSource const& source, file::Selection const& selection = {});

}  // namespace stepscope::run_loading
