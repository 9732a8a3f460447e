// A run whose files are analyzed a few processes at a time (analyzer/metrics/core/streamed_run.h).
// The skeleton of each process stays in memory; other columns are read on demand. All commands and
// windows use it for large runs.
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
#include "run_loading/loading_progress.h"
#include "run_loading/process_reading.h"
#include "run_loading/team/team_files.h"
#include "trace/base/expected.h"
#include "trace/import/open/trace_source.h"
#include "trace/model/run.h"

namespace stepscope::run_loading {

/// How to treat a process that cannot be read while others can.
enum class Unreadable : uint8_t {
  kLeftOut,        ///< the run does not have it
  kWithoutEvents,  ///< it has its place among the others, and no events
};

struct StreamedOptions {
  Unreadable unreadable = Unreadable::kLeftOut;
  /// Every process will also be read whole, which completes its skeleton.
  bool is_all_analyzed = true;
  std::shared_ptr<ReadingProgress> progress;  ///< may be null
  Team* team = nullptr;  ///< who reads what other processes have opened (team_files.h); may be null
};

/// Not thread-safe, but for read().
class StreamedFiles {
 public:
  using Sources = std::shared_ptr<import::RunSources const>;

  /// Reads the skeletons of all processes; their notes name processes that cannot be read.
  /// No source stays in memory. Errors: no process can be read, or no thread waits any more.
  static base::Expected<StreamedFiles> open(Sources sources, StreamedOptions options);

  /// The rows of each process that skeleton_rows() (analyzer/metrics/steps/skeleton_rows.h) keeps;
  /// logs and time ranges after its analysis.
  [[nodiscard]] model::Run const& skeleton() const { return skeleton_; }
  [[nodiscard]] model::Run take_skeleton() && { return std::move(skeleton_); }
  /// Notes about processes that could not be read.
  [[nodiscard]] std::vector<std::string> const& unreadable() const { return unreadable_; }
  /// Where a process of skeleton() is among the sources.
  [[nodiscard]] std::vector<size_t> const& source_of() const { return source_of_; }
  /// The analysis of the run, which needs steps that are marked (analyzer::has_marked_steps()) to
  /// find any. Errors: those of reading.
  [[nodiscard]] base::Expected<analyzer::Analysis> analyze(
      analyzer::AnalyzeOptions const& analysis = {});

 private:
  StreamedFiles(Sources sources, StreamedOptions options);
  /// Who reads what a helper has opened: the helper, or this process too where it sees the file.
  enum class Reader : uint8_t { kOwner, kHere };
  [[nodiscard]] base::Expected<model::Trace> copy(size_t source, file::Selection const& selection,
                                                  Reader reader) const;
  [[nodiscard]] base::Expected<model::Trace> read_skeleton(size_t source) const;
  [[nodiscard]] base::Expected<model::Trace> skeleton_there(SourceOwner owner,
                                                            import::RankSource const& of,
                                                            bool is_analyzed) const;
  /// The reader observes, too.
  [[nodiscard]] base::Expected<analyzer::ObservedProcess> observe(
      size_t process, analyzer::ProcessQuestion question, Reader reader);
  [[nodiscard]] std::vector<uint32_t> owners_of(std::vector<size_t> const& processes) const;
  [[nodiscard]] base::Expected<model::RankTrace> read(size_t process,
                                                      file::Selection const& selection,
                                                      Reader reader = Reader::kOwner) const;
  /// Parts of the processes, in their order.
  [[nodiscard]] std::vector<base::Expected<model::RankTrace>> read_windows(
      std::vector<size_t> const& processes, model::Interval window) const;

  Sources sources_;
  StreamedOptions options_;
  model::Run skeleton_;
  std::vector<std::string> unreadable_;
  std::vector<size_t> source_of_;    ///< by process of skeleton()
  std::vector<bool> has_no_events_;  ///< by process: it could not be read
};

}  // namespace stepscope::run_loading
