#include "viewer/loading/curve_task.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "run_loading/replayed_series.h"
#include "trace/base/malloc_tuning.h"
#include "viewer/async/detached_threads.h"

namespace stepscope::viewer {

struct CurveTask::Shared {
  analyzer::ScalingSeries series;
  std::vector<analyzer::RunMeasurements> samples;
  std::atomic<bool> given_up = false;
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<base::Expected<analyzer::ReplayedCurve>> result;  ///< under the mutex

  void work() {
    base::Expected<analyzer::ReplayedCurve> made = base::fail("given up");
    try {
      made = run_loading::replay_series(series, samples, [this] { return given_up.load(); });
    } catch (std::bad_alloc const&) {
      made = base::fail("the replay does not fit into memory");
    }

    base::give_back_freed_memory();
    std::lock_guard const lock(mutex);
    result.emplace(std::move(made));
    changed.notify_all();
  }
};

CurveTask::CurveTask(analyzer::ScalingSeries series, std::vector<SharedSample> const& samples)
    : shared_(std::make_shared<Shared>()) {
  shared_->series = std::move(series);
  for (SharedSample const& sample : samples) shared_->samples.push_back(*sample);

  std::thread([shared = shared_, detached = std::make_shared<DetachedThread>()]() mutable {
    shared->work();
    shared.reset();
  }).detach();
}

CurveTask::~CurveTask() { shared_->given_up = true; }

bool CurveTask::is_done() const {
  std::lock_guard const lock(shared_->mutex);
  return shared_->result.has_value();
}

void CurveTask::finish() const {
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait(lock, [&] { return shared_->result.has_value(); });
}

base::Expected<analyzer::ReplayedCurve> CurveTask::take() {
  std::lock_guard const lock(shared_->mutex);
  return std::move(*shared_->result);
}

}  // namespace stepscope::viewer
