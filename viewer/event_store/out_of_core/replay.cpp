#include "viewer/event_store/out_of_core/replay.h"

#include <utility>

#include "run_loading/streamed_files.h"
#include "viewer/event_store/out_of_core/out_of_core_run.h"
#include "viewer/event_store/out_of_core/out_of_core_store.h"

namespace stepscope::viewer {

base::Expected<std::shared_ptr<analyzer::ReplaySession const>> open_replay_of_files(
    Scene const& scene, std::stop_token const& stop) {
  OutOfCoreRun const& run = out_of_core_run(scene);
  auto const progress = std::make_shared<run_loading::ReadingProgress>();
  std::stop_callback const give_up(stop, [&progress] { progress->given_up = true; });

  // As in the analysis, a process that cannot be read keeps its place.
  auto const files = run_loading::StreamedFiles::open(
      run.shared_sources(), {run_loading::Unreadable::kWithoutEvents, false, progress});
  if (!files) return base::fail_with(files);

  auto const read_window = [&](size_t process,
                               model::Interval window) -> base::Expected<model::RankTrace> {
    if (stop.stop_requested()) return base::fail("given up");
    auto read = run_loading::read_path_window(run.sources().ranks[process], window);
    if (!read) return model::RankTrace();
    return read;
  };
  auto session = analyzer::open_replay(analyzer::StreamedRun{files->skeleton(), {}, read_window},
                                       scene.analysis);
  if (!session) return base::fail_with(session);
  return std::shared_ptr<analyzer::ReplaySession const>(std::move(*session));
}

}  // namespace stepscope::viewer
