#include "viewer/far/far_analysis.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include <tbb/parallel_for.h>

#include "analyzer/outline.h"
#include "analyzer/streamed_run.h"
#include "trace/base/freed_memory.h"
#include "trace/model/outline.h"
#include "viewer/at_work.h"

namespace stepscope::viewer {
namespace {

using base::Expected;

model::RankTrace with_clock(import::RankSource const& rank, model::Trace trace) {
  return {std::move(trace), rank.offset_ns, rank.file, rank.drift};
}

/// What outlines are made of. The kernels of collectives are found by all that a recording says of communication.
file::Selection outline_selection(import::TraceSource const& source) {
  file::Selection selection;
  auto const kinds = source.kinds();
  bool const has_calls = std::any_of(kinds.begin(), kinds.end(), [](uint64_t of_track) {
    return (of_track & file::kind_bit(model::EventKind::kCollectiveCall)) != 0;
  });
  if (has_calls) return selection;
  selection.columns.tables = 0;
  for (auto const table : {model::DetailTable::kSteps, model::DetailTable::kCollectives, model::DetailTable::kRanges})
    selection.columns.tables |= uint32_t{1} << static_cast<unsigned>(table);
  return selection;
}

}  // namespace

struct FarAnalysis::Shared {
  FarRun::Sources sources;
  std::atomic<bool> given_up = false;
  std::atomic<size_t> reads = 0;  ///< of processes: each is read twice
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Expected<Result>> result;  ///< under the mutex

  /// The process, or an error when nobody waits for it any more.
  Expected<model::Trace> read(size_t process, file::Selection const& selection) {
    if (given_up) return base::fail("given up");
    auto trace = sources->ranks[process].source.copy(selection);
    ++reads;
    return trace;
  }

  /// By the number of their process; of one that cannot be read nothing but its description.
  Expected<model::Run> outlines() {
    std::vector<std::optional<Expected<model::Trace>>> traces(sources->ranks.size());
    size_t const at_once = analyzer::processes_at_once();
    for (size_t first = 0; first < traces.size() && !given_up; first += at_once)
      tbb::parallel_for(first, std::min(first + at_once, traces.size()), [&](size_t i) {
        auto trace = read(i, outline_selection(sources->ranks[i].source));
        if (trace) {
          std::vector<uint32_t> const rows = analyzer::outline_rows(*trace);
          trace = model::outline_of(std::move(*trace), rows);
        }
        traces[i].emplace(std::move(trace));
      });
    if (given_up) return base::fail("given up");
    model::Run run{sources->name, {}, sources->clock, sources->notes};
    for (size_t i = 0; i < traces.size(); ++i) {
      if (!*traces[i]) return base::fail_with(*traces[i]);
      run.ranks.push_back(with_clock(sources->ranks[i], std::move(**traces[i])));
    }
    return run;
  }

  Expected<Result> analyze() {
    auto const outline = outlines();
    if (!outline) return base::fail_with(outline);
    auto const read_rank = [this](size_t process, file::Selection const& selection) -> Expected<model::RankTrace> {
      auto trace = read(process, selection);
      if (!trace) return base::fail_with(trace);
      return with_clock(sources->ranks[process], std::move(*trace));
    };
    analyzer::StreamedRun const streamed{*outline, [&](size_t process) { return read_rank(process, {}); },
                                         [&](size_t process, model::Interval window) {
                                           int64_t const offset = sources->ranks[process].offset_ns;
                                           return read_rank(process, {.window = {window.begin - offset, window.end - offset}});
                                         }};
    auto analysis = analyzer::analyze(streamed);
    if (!analysis) return base::fail_with(analysis);
    if (!analyzer::has_marked_steps(*outline))
      analysis->quality.notes.emplace_back("no step is marked, and in a run of this size steps are not detected");
    auto participations = find_participations(*outline, *analysis, true);
    std::map<analyzer::DeviceRef, GapGrid> grids;
    for (analyzer::DeviceGaps const& gaps : analysis->gaps.devices()) grids.emplace(gaps.ref(), GapGrid(gaps));
    return Result{std::move(*analysis), std::move(participations), std::move(grids)};
  }

  void work() {
    Expected<Result> made = base::fail("given up");
    try {
      made = analyze();
    } catch (std::bad_alloc const&) {
      made = base::fail("the analysis does not fit into memory, open a part of the run (stepscope slice)");
    }
    // The processes that were read are gone: a program that lives long gives their memory back.
    base::give_back_freed_memory();
    std::lock_guard const lock(mutex);
    result.emplace(std::move(made));
    changed.notify_all();
  }
};

FarAnalysis::FarAnalysis(FarRun::Sources sources) : shared_(std::make_shared<Shared>()) {
  shared_->sources = std::move(sources);
  std::thread([shared = shared_, at_work = std::make_shared<AtWork>()]() mutable {
    shared->work();
    // What nobody waits for any more is freed here, on this thread.
    shared.reset();
  }).detach();
}

FarAnalysis::~FarAnalysis() { shared_->given_up = true; }

void take_analysis(Scene& scene, FarAnalysis::Result result) {
  // Its thread looks at the analysis.
  scene.far->stop_tiles();
  scene.analysis = std::move(result.analysis);
  scene.participations = std::move(result.participations);
  scene.far->take_gap_grids(std::move(result.gap_grids));
  scene.is_analyzed = true;
  std::map<analyzer::DeviceRef, uint32_t> index_of;
  for (uint32_t i = 0; i < scene.analysis.devices.size(); ++i) index_of.emplace(scene.analysis.devices[i].ref, i);
  Node const* of = nullptr;
  for (Node& node : scene.nodes) {
    if (node.kind == NodeKind::kDevice) {
      auto const tracks = scene.trace(node.rank).tracks();
      int32_t const device = node.streams.empty() ? -1 : tracks[node.streams.front()].device;
      auto const found = index_of.find({static_cast<int32_t>(node.rank), device});
      if (found != index_of.end()) show_device(scene, node, found->second);
      of = &node;
    } else if (node.kind == NodeKind::kMemory && of != nullptr && of->device) {
      show_memory(scene, node, *of->device);
    }
  }
  scene.far->read_tiles(scene.origin, &scene.analysis.gaps);
}

double FarAnalysis::share() const {
  double const all = 2.0 * static_cast<double>(std::max<size_t>(shared_->sources->ranks.size(), 1));
  return std::min(static_cast<double>(shared_->reads) / all, 1.0);
}

bool FarAnalysis::is_done() const {
  std::lock_guard const lock(shared_->mutex);
  return shared_->result.has_value();
}

void FarAnalysis::finish() const {
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait(lock, [&] { return shared_->result.has_value(); });
}

base::Expected<FarAnalysis::Result> FarAnalysis::take() {
  std::lock_guard const lock(shared_->mutex);
  return std::move(*shared_->result);
}

}  // namespace stepscope::viewer
