#include "viewer/loading/run_series.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <span>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "analyzer/analyze.h"
#include "trace/base/format.h"
#include "trace/base/malloc_tuning.h"
#include "trace/import/open/open_run.h"
#include "viewer/async/detached_threads.h"
#include "viewer/event_store/out_of_core/analysis.h"
#include "viewer/loading/open_task.h"

namespace stepscope::viewer {
namespace {

using base::Expected;

std::string sizes_of(RunSeries const& series) {
  std::string text;
  uint64_t last = 0;
  for (RunSeries::Member const& run : series.runs) {
    if (!text.empty() && run.devices == last) continue;
    text += (text.empty() ? "" : ", ") + base::format_count(run.devices);
    last = run.devices;
  }
  return text;
}

Expected<size_t> choose_shown(RunSeries const& series, std::optional<uint64_t> devices) {
  uint64_t const wanted = devices.value_or(series.runs.back().devices);
  auto const found = std::find_if(series.runs.begin(), series.runs.end(),
                                  [&](auto const& run) { return run.devices == wanted; });
  if (found == series.runs.end())
    return base::fail("--devices {}: no run of the series is on so many, they are on {}", wanted,
                      sizes_of(series));
  return static_cast<size_t>(found - series.runs.begin());
}

}  // namespace

size_t RunSeries::read() const {
  return static_cast<size_t>(
      std::count_if(runs.begin(), runs.end(), [](Member const& run) { return run.is_read(); }));
}

std::optional<size_t> RunSeries::next() const {
  for (size_t i = 0; i < runs.size(); ++i)
    if (i != shown && !runs[i].is_read()) return i;
  return std::nullopt;
}

void RunSeries::take(std::string const& path, Expected<SharedSample> sample) {
  for (Member& run : runs) {
    if (run.path != path || run.is_read()) continue;
    if (sample)
      run.sample = *sample;
    else
      run.error = sample.error().message;
  }
}

void RunSeries::take_samples(RunSeries const& other) {
  for (Member& run : runs) {
    if (run.is_read()) continue;

    auto const same = [&](Member const& known) {
      return known.path == run.path && known.is_read();
    };
    auto const known = std::find_if(other.runs.begin(), other.runs.end(), same);
    if (known == other.runs.end()) continue;

    run.sample = known->sample;
    run.error = known->error;
  }
}

Expected<std::shared_ptr<RunSeries>> find_series(std::vector<std::string> const& paths,
                                                 SeriesOptions const& options) {
  if (options.known) return options.known;

  auto const found = import::find_runs(paths, options.paths_are);
  if (!found) return base::fail_with(found);
  if (!found->is_series) {
    if (options.devices)
      return base::fail(
          "--devices: is for runs on different numbers of devices, and this is one run");
    return std::shared_ptr<RunSeries>();
  }

  auto const series = std::make_shared<RunSeries>();
  series->options = options.scaling;
  for (std::string const& path : found->paths) {
    auto const devices = import::count_devices(path);
    RunSeries::Member& run = series->runs.emplace_back();
    run.path = path;
    if (devices)
      run.devices = *devices;
    else
      run.error = devices.error().message;
  }

  std::stable_sort(series->runs.begin(), series->runs.end(),
                   [](auto const& a, auto const& b) { return a.devices < b.devices; });

  auto const shown = choose_shown(*series, options.devices);
  if (!shown) return base::fail_with(shown);
  series->shown = *shown;
  return series;
}

SharedSample named_sample(analyzer::RunMeasurements sample, std::string const& path) {
  sample.name = path;
  return std::make_shared<analyzer::RunMeasurements const>(std::move(sample));
}

struct SampleReading::Shared {
  std::atomic<bool> given_up = false;
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Expected<SharedSample>> result;  ///< under the mutex

  /// As large runs are shown: process by process.
  Expected<SharedSample> read_out_of_core(import::RunSources sources, std::string const& path) {
    OutOfCoreAnalysis analysis(std::make_shared<import::RunSources const>(std::move(sources)),
                               true);
    // A thread that gives this up gives the analysis up, too.
    while (!analysis.is_done()) {
      if (given_up) return base::fail("given up");
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    auto made = analysis.take();
    if (!made) return base::fail_with(made);
    return named_sample(std::move(*made->sample), path);
  }

  Expected<SharedSample> read(std::string const& path) {
    auto sources = import::open_sources(std::span(&path, 1));
    if (!sources) return base::fail_with(sources);
    if (is_out_of_core(*sources)) return read_out_of_core(std::move(*sources), path);
    auto const run = import::load_run(std::move(*sources));
    if (!run) return base::fail_with(run);
    if (given_up) return base::fail("given up");
    return named_sample(analyzer::sample_run(*run, analyzer::analyze(*run)), path);
  }

  void work(std::string const& path) {
    Expected<SharedSample> made = base::fail("given up");
    try {
      made = read(path);
    } catch (std::bad_alloc const&) {
      made = base::fail("{}: does not fit into memory", path);
    }

    base::give_back_freed_memory();
    std::lock_guard const lock(mutex);
    result.emplace(std::move(made));
    changed.notify_all();
  }
};

SampleReading::SampleReading(std::string path)
    : path_(std::move(path)), shared_(std::make_shared<Shared>()) {
  std::thread([shared = shared_, of = path_,
               detached = std::make_shared<DetachedThread>()]() mutable {
    shared->work(of);
    shared.reset();
  }).detach();
}

SampleReading::~SampleReading() { shared_->given_up = true; }

bool SampleReading::is_done() const {
  std::lock_guard const lock(shared_->mutex);
  return shared_->result.has_value();
}

void SampleReading::finish() const {
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait(lock, [&] { return shared_->result.has_value(); });
}

Expected<SharedSample> SampleReading::take() {
  std::lock_guard const lock(shared_->mutex);
  return std::move(*shared_->result);
}

void finish_reading(RunSeries& series) {
  for (RunSeries::Member& run : series.runs) {
    if (run.is_read()) continue;
    SampleReading reading(run.path);
    reading.finish();
    series.take(run.path, reading.take());
  }
}

void show_series(Scene const& scene, ViewState& state) {
  constexpr float kChartsHeight = 330;  ///< charts that can be read, below two lines of words
  if (!scene.series || scene.series->runs.size() < 2) return;
  state.panels.tab = Tab::kScaling;
  state.panels.bottom_height = std::max(state.panels.bottom_height, kChartsHeight);
}

}  // namespace stepscope::viewer
