// Opens a run on another thread: finds its files, reads and analyzes them and makes the scene
// ready. Tells how far it is, and is given up by destroying it.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "trace/base/expected.h"
#include "viewer/event_store/out_of_core/out_of_core_run.h"
#include "viewer/loading/run_files.h"
#include "viewer/loading/run_series.h"
#include "viewer/scene/scene.h"

namespace stepscope::viewer {

class OpenTask {
 public:
  enum class Stage : uint8_t { kFiles, kEvents, kAnalysis, kScene };
  struct Progress {
    Stage stage = Stage::kFiles;
    uint64_t processes = 0, processes_read = 0;
    uint64_t events = 0, events_read = 0;  ///< known once the files are open
    double seconds = 0;                    ///< since it began
  };

  /// Begins at once. `paths`: one run, as for import::open_run(), or a series: then one of its runs
  /// is opened. Runs of more events than `most_in_memory_events` are opened out of core, and not
  /// analyzed yet.
  explicit OpenTask(std::vector<std::string> paths,
                    uint64_t most_in_memory_events = kMostInMemoryEvents,
                    SeriesOptions series = {});
  /// Does not wait: what is still at work ends by itself, soon.
  ~OpenTask();
  OpenTask(OpenTask const&) = delete;
  OpenTask& operator=(OpenTask const&) = delete;

  [[nodiscard]] std::vector<std::string> const& paths() const { return paths_; }
  [[nodiscard]] Progress progress() const;
  [[nodiscard]] bool is_done() const;
  /// The scene; only once, when it is done. Errors: nothing there, or nothing that can be read.
  base::Expected<std::unique_ptr<Scene>> take();
  /// The run's files as they were before they were read; only once, when it is done.
  RunFiles take_files();
  /// Waits until it is done.
  void finish() const;
  /// Whether any thread is still at work, also for those that were given up: the program must not
  /// take itself down around it.
  [[nodiscard]] static bool is_any_running();

 private:
  struct Shared;
  std::vector<std::string> paths_;
  std::chrono::steady_clock::time_point begin_;
  std::shared_ptr<Shared> shared_;  ///< with the thread, which outlives a task that was given up
};

/// Whether a run is opened out of core.
bool is_out_of_core(import::RunSources const& sources,
                    uint64_t most_in_memory_events = kMostInMemoryEvents);
/// The scene without analysis. Errors: those of reading.
base::Expected<std::unique_ptr<Scene>> open_out_of_core(OutOfCoreRun::Sources const& sources);

/// "Reading 12,345,678 events": what is being done.
std::string words_of(OpenTask::Progress const& progress);
/// How much of it is done, 0 to 1; reading takes most of the time.
double share_of(OpenTask::Progress const& progress);

}  // namespace stepscope::viewer
