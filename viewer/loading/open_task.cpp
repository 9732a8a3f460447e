#include "viewer/loading/open_task.h"

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "analyzer/analyze.h"
#include "analyzer/results/analysis.h"
#include "trace/base/format.h"
#include "trace/import/open/open_run.h"
#include "viewer/async/detached_threads.h"
#include "viewer/event_store/out_of_core/out_of_core_run.h"

namespace stepscope::viewer {
namespace {

/// Shares of the time that opening takes, so that the bar moves about evenly. Estimates for files,
/// events and analysis; the scene takes the rest.
constexpr double kFilesShare = 0.03, kEventsShare = 0.27, kAnalysisShare = 0.60;

uint64_t events_of(import::TraceSource const& source) {
  uint64_t count = 0;
  for (uint64_t const of_track : source.event_counts()) count += of_track;
  return count;
}

/// Such that they mean the same in any folder.
std::vector<std::string> whole_paths(std::vector<std::string> const& paths) {
  std::vector<std::string> whole;
  for (std::string const& path : paths) {
    std::error_code error;
    auto const full = std::filesystem::absolute(path, error);
    whole.push_back(error ? path : full.lexically_normal().string());
  }
  return whole;
}

}  // namespace

struct OpenTask::Shared {
  std::atomic<Stage> stage = Stage::kFiles;
  std::atomic<uint64_t> processes = 0, processes_read = 0, events = 0, events_read = 0;
  std::atomic<bool> given_up = false;
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<base::Expected<std::unique_ptr<Scene>>> result;  ///< under the mutex
  uint64_t most_in_memory_events = kMostInMemoryEvents;
  SeriesOptions series_options;
  RunFiles files;  ///< of the thread that opens, until there is a result

  base::Expected<model::Run> read(import::RunSources sources) {
    std::vector<uint64_t> counts;
    for (auto const& rank : sources.ranks) counts.push_back(events_of(rank.source));
    model::Run run{std::move(sources.name), {}, std::move(sources.clock), std::move(sources.notes)};

    std::string first_error;
    for (size_t i = 0; i < counts.size(); ++i) {
      if (given_up) return base::fail("given up");

      import::RunSources one;
      one.ranks.push_back(std::move(sources.ranks[i]));
      auto part = import::load_run(std::move(one));
      if (part) {
        run.ranks.push_back(std::move(part->ranks.front()));
      } else {
        if (first_error.empty()) first_error = part.error().message;
        run.notes.push_back(part.error().message);
      }

      events_read += counts[i];
      ++processes_read;
    }

    if (run.ranks.empty()) return base::fail("{}", first_error);
    return run;
  }

  base::Expected<std::unique_ptr<Scene>> make(std::vector<std::string> const& paths) {
    auto const series = find_series(paths, series_options);
    if (!series) return base::fail_with(series);
    if (*series == nullptr) return make_run(paths, nullptr);
    auto made = make_run({(*series)->shown_path()}, series->get());
    if (made) (*made)->series = *series;
    return made;
  }

  /// `series`: the paths are one run of it; null: of none.
  base::Expected<std::unique_ptr<Scene>> make_run(std::vector<std::string> const& paths,
                                                  RunSeries* series) {
    auto made = make_scene_of(paths, series);
    if (made) (*made)->files = whole_paths(paths);
    return made;
  }

  base::Expected<std::unique_ptr<Scene>> make_scene_of(std::vector<std::string> const& paths,
                                                       RunSeries* series) {
    files = RunFiles(paths);
    auto sources =
        import::open_sources(paths, {}, series_options.paths_are == import::PathsAre::kOneRun);
    if (!sources) return base::fail_with(sources);
    for (auto const& rank : sources->ranks) files.add({rank.file});
    processes = sources->ranks.size();
    for (auto const& rank : sources->ranks) events += events_of(rank.source);

    stage = Stage::kEvents;
    if (is_out_of_core(*sources, most_in_memory_events))
      return open_out_of_core(std::make_shared<import::RunSources>(std::move(*sources)));

    auto run = read(std::move(*sources));
    if (!run) return base::fail_with(run);

    stage = Stage::kAnalysis;
    auto analysis = analyzer::analyze(*run);
    if (given_up) return base::fail("given up");
    if (series != nullptr)
      series->runs[series->shown].sample =
          named_sample(analyzer::sample_run(*run, analysis), series->shown_path());

    stage = Stage::kScene;
    return std::make_unique<Scene>(make_scene(std::move(*run), std::move(analysis)));
  }

  void work(std::vector<std::string> const& paths) {
    base::Expected<std::unique_ptr<Scene>> made = base::fail("given up");
    try {
      made = make(paths);
    } catch (std::bad_alloc const&) {
      made = base::fail("{}: does not fit into memory, open a part of it (stepscope slice)",
                        paths.empty() ? "" : paths.front());
    }

    std::lock_guard const lock(mutex);
    result.emplace(std::move(made));
    changed.notify_all();
  }
};

bool is_out_of_core(import::RunSources const& sources, uint64_t most_in_memory_events) {
  uint64_t events = 0;
  for (auto const& rank : sources.ranks) {
    // Formats without an index are in memory once they are open.
    if (rank.source.is_in_memory()) return false;
    events += events_of(rank.source);
  }
  return events > most_in_memory_events;
}

base::Expected<std::unique_ptr<Scene>> open_out_of_core(OutOfCoreRun::Sources const& sources) {
  auto run = run_without_events(*sources);
  if (!run) return base::fail_with(run);
  auto out_of_core = make_out_of_core_run(sources);
  if (!out_of_core) return base::fail_with(out_of_core);

  return std::make_unique<Scene>(make_scene(std::move(*run), std::move(*out_of_core)));
}

OpenTask::OpenTask(std::vector<std::string> paths, uint64_t most_in_memory_events,
                   SeriesOptions series)
    : paths_(std::move(paths)),
      begin_(std::chrono::steady_clock::now()),
      shared_(std::make_shared<Shared>()) {
  shared_->most_in_memory_events = most_in_memory_events;
  shared_->series_options = std::move(series);

  std::thread([shared = shared_, files = paths_,
               detached = std::make_shared<DetachedThread>()]() mutable {
    shared->work(files);
    // A result that no caller waits for any more is freed here, on this thread.
    shared.reset();
  }).detach();
}

OpenTask::~OpenTask() { shared_->given_up = true; }

OpenTask::Progress OpenTask::progress() const {
  Progress progress;
  progress.stage = shared_->stage;
  progress.processes = shared_->processes;
  progress.processes_read = shared_->processes_read;
  progress.events = shared_->events;
  progress.events_read = shared_->events_read;
  progress.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  return progress;
}

bool OpenTask::is_any_running() { return DetachedThread::any(); }

bool OpenTask::is_done() const {
  std::lock_guard const lock(shared_->mutex);
  return shared_->result.has_value();
}

base::Expected<std::unique_ptr<Scene>> OpenTask::take() {
  std::lock_guard const lock(shared_->mutex);
  return std::move(*shared_->result);
}

RunFiles OpenTask::take_files() {
  std::lock_guard const lock(shared_->mutex);
  return std::move(shared_->files);
}

void OpenTask::finish() const {
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait(lock, [&] { return shared_->result.has_value(); });
}

std::string words_of(OpenTask::Progress const& progress) {
  switch (progress.stage) {
    case OpenTask::Stage::kFiles:
      return "Opening the files";
    case OpenTask::Stage::kEvents:
      return fmt::format("Reading {} events of {}", base::format_count(progress.events),
                         progress.processes == 1
                             ? "1 process"
                             : base::format_count(progress.processes) + " processes");
    case OpenTask::Stage::kAnalysis:
      return fmt::format("Analyzing {} events", base::format_count(progress.events));
    case OpenTask::Stage::kScene:
      return "Arranging the tracks";
  }
  return {};
}

double share_of(OpenTask::Progress const& progress) {
  double const read = progress.events > 0 ? static_cast<double>(progress.events_read) /
                                                static_cast<double>(progress.events)
                                          : 0.0;
  switch (progress.stage) {
    case OpenTask::Stage::kFiles:
      return 0;
    case OpenTask::Stage::kEvents:
      return kFilesShare + kEventsShare * std::min(read, 1.0);
    case OpenTask::Stage::kAnalysis:
      return kFilesShare + kEventsShare;
    case OpenTask::Stage::kScene:
      return kFilesShare + kEventsShare + kAnalysisShare;
  }
  return 0;
}

}  // namespace stepscope::viewer
