#include "viewer/event_store/out_of_core/analysis.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include <tbb/parallel_for.h>

#include "analyzer/analyze.h"
#include "analyzer/metrics/core/streamed_run.h"
#include "run_loading/streamed_files.h"
#include "trace/base/malloc_tuning.h"
#include "viewer/async/detached_threads.h"
#include "viewer/event_store/out_of_core/out_of_core_store.h"

namespace stepscope::viewer {
namespace {

using base::Expected;

}  // namespace

struct OutOfCoreAnalysis::Shared {
  OutOfCoreRun::Sources sources;
  bool wants_sample = false;
  std::shared_ptr<run_loading::ReadingProgress> progress =
      std::make_shared<run_loading::ReadingProgress>();
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Expected<Result>> result;  ///< under the mutex

  Expected<Result> analyze() {
    // One that cannot be read keeps its place: ranks are known by their number.
    auto files = run_loading::StreamedFiles::open(
        sources, {run_loading::Unreadable::kWithoutEvents, true, progress});
    if (!files) return base::fail_with(files);
    auto analysis = files->analyze();
    if (!analysis) return base::fail_with(analysis);

    model::Run const& skeleton = files->skeleton();
    if (!analyzer::has_marked_steps(skeleton))
      analysis->integrity.notes.emplace_back(
          "no step is marked, and in a run of this size steps are not detected");

    Result made{std::move(*analysis), {}, {}, {}, {}, {}, {}};
    made.periods = analyzer::step_periods(made.analysis);
    made.verdict = verdict_of(skeleton, made.analysis);
    made.participations = find_participations(skeleton, made.analysis, true);
    made.communicators =
        find_out_of_core_communicators(skeleton, made.analysis, made.participations);

    auto const& devices = made.analysis.gaps.devices();
    std::vector<GapGrid> grids(devices.size());
    tbb::parallel_for(size_t{0}, devices.size(), [&](size_t i) { grids[i] = GapGrid(devices[i]); });
    for (size_t i = 0; i < devices.size(); ++i)
      made.gap_grids.emplace(devices[i].ref(), std::move(grids[i]));

    int64_t const origin = import::time_range(*sources).begin;
    made.memory_curves.resize(made.analysis.devices.size());
    tbb::parallel_for(size_t{0}, made.memory_curves.size(), [&](size_t i) {
      made.memory_curves[i] = memory_curve(made.analysis.devices[i].memory, origin);
    });

    if (wants_sample) made.sample = analyzer::sample_run(skeleton, made.analysis);
    return made;
  }

  void work() {
    Expected<Result> made = base::fail("given up");
    try {
      made = analyze();
    } catch (std::bad_alloc const&) {
      made = base::fail(
          "the analysis does not fit into memory, open a part of the run (stepscope slice)");
    }

    // The processes that were read are gone: a program that lives long gives their memory back.
    base::give_back_freed_memory();

    std::lock_guard const lock(mutex);
    result.emplace(std::move(made));
    changed.notify_all();
  }
};

OutOfCoreAnalysis::OutOfCoreAnalysis(OutOfCoreRun::Sources sources, bool wants_sample)
    : shared_(std::make_shared<Shared>()) {
  shared_->sources = std::move(sources);
  shared_->wants_sample = wants_sample;
  std::thread([shared = shared_, detached = std::make_shared<DetachedThread>()]() mutable {
    shared->work();
    // Results that no caller waits for any more are freed here, on this thread.
    shared.reset();
  }).detach();
}

OutOfCoreAnalysis::~OutOfCoreAnalysis() { shared_->progress->given_up = true; }

std::vector<uint32_t> take_analysis(Scene& scene, OutOfCoreAnalysis::Result result) {
  scene.analysis = std::move(result.analysis);
  scene.periods = std::move(result.periods);
  scene.verdict = std::move(result.verdict);
  scene.participations = std::move(result.participations);
  out_of_core_run(scene).take_gap_grids(std::move(result.gap_grids));
  out_of_core_run(scene).take_communicators(std::move(result.communicators));
  scene.missing_analysis.reset();

  std::vector<uint32_t> nodes_now = rebuild_nodes(scene);
  std::map<analyzer::DeviceRef, uint32_t> index_of;
  for (uint32_t i = 0; i < scene.analysis.devices.size(); ++i)
    index_of.emplace(scene.analysis.devices[i].ref, i);

  Node const* of = nullptr;
  for (Node& node : scene.nodes) {
    if (node.kind == NodeKind::kDevice) {
      auto const tracks = scene.trace(node.rank).tracks();
      int32_t const device = node.streams.empty() ? -1 : tracks[node.streams.front()].device;
      auto const found = index_of.find({static_cast<int32_t>(node.rank), device});
      if (found != index_of.end()) show_device(scene, node, found->second);
      of = &node;
    } else if (node.kind == NodeKind::kMemory && of != nullptr && of->device) {
      show_memory(scene, node, *of->device, std::move(result.memory_curves[*of->device]));
    }
  }

  out_of_core_run(scene).read_tiles(scene.origin, &scene.analysis.gaps);
  return nodes_now;
}

double OutOfCoreAnalysis::share() const {
  double const all = 2.0 * static_cast<double>(std::max<size_t>(shared_->sources->ranks.size(), 1));
  return std::min(static_cast<double>(shared_->progress->processes_read) / all, 1.0);
}

bool OutOfCoreAnalysis::is_done() const {
  std::lock_guard const lock(shared_->mutex);
  return shared_->result.has_value();
}

void OutOfCoreAnalysis::finish() const {
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait(lock, [&] { return shared_->result.has_value(); });
}

base::Expected<OutOfCoreAnalysis::Result> OutOfCoreAnalysis::take() {
  std::lock_guard const lock(shared_->mutex);
  return std::move(*shared_->result);
}

}  // namespace stepscope::viewer
