// Small runs written op by op: one process, one GPU of 100 multiprocessors, launches on named
// threads. Times are ns.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "trace/model/build/trace_builder.h"
#include "trace/model/run.h"

namespace stepscope::analyzer::testing_support {

class WorkRun {
 public:
  static constexpr uint32_t kMultiprocessors = 100;

  explicit WorkRun(std::string const& device = "GPU", uint32_t multiprocessors = kMultiprocessors,
                   double peak_flops = 0) {
    builder_.add_device({0, device, 0, multiprocessors, peak_flops});
  }

  model::TrackId thread(int64_t id = 1) {
    return track(threads_, id,
                 {model::TrackKind::kThread, "thread", id, -1, model::StreamKind::kCompute, 0});
  }
  model::TrackId stream(int64_t id) {
    return track(streams_, id,
                 {model::TrackKind::kStream, "stream", id, 0, model::StreamKind::kCompute, 0});
  }
  WorkRun& host(model::EventKind kind, int64_t start, int64_t dur, std::string const& name,
                int64_t on_thread = 1) {
    builder_.events(thread(on_thread)).add(kind, start, dur, builder_.intern(name));
    return *this;
  }
  WorkRun& range(int64_t start, int64_t dur, std::string const& name, int64_t on_thread = 1) {
    return host(model::EventKind::kRange, start, dur, name, on_thread);
  }
  WorkRun& step(int64_t start, int64_t dur, int64_t index) {
    builder_.events(thread()).add(model::EventKind::kStep, start, dur, builder_.intern("step"), 0,
                                  model::StepDetail{index});
    return *this;
  }
  /// A launch call; returns its correlation.
  uint64_t launch(int64_t start, int64_t dur, std::string const& name = "cudaLaunchKernel",
                  int64_t on_thread = 1) {
    builder_.events(thread(on_thread))
        .add(model::EventKind::kLaunch, start, dur, builder_.intern(name), ++correlation_);
    return correlation_;
  }
  WorkRun& kernel(int64_t start, int64_t dur, uint64_t correlation,
                  std::string const& name = "kernel", int64_t on_stream = 7,
                  model::KernelDetail const& detail = {}) {
    builder_.events(stream(on_stream))
        .add(model::EventKind::kKernel, start, dur, builder_.intern(name), correlation, detail);
    return *this;
  }
  WorkRun& copy(int64_t start, int64_t dur, uint64_t correlation, std::string const& name,
                model::CopyDetail const& detail, int64_t on_stream = 9) {
    builder_.events(stream(on_stream))
        .add(model::EventKind::kMemcpy, start, dur, builder_.intern(name), correlation, detail);
    return *this;
  }
  WorkRun& collective(int64_t start, int64_t dur, uint64_t correlation,
                      model::CollectiveDetail const& detail, int64_t on_stream = 7) {
    builder_.events(stream(on_stream))
        .add(model::EventKind::kCollective, start, dur, builder_.intern("all_reduce"), correlation,
             detail);
    return *this;
  }
  model::TraceBuilder& builder() { return builder_; }

  model::Run finish(int64_t offset = 0) {
    model::Run run;
    run.ranks.push_back({std::move(builder_).finish(), offset, ""});
    return run;
  }

 private:
  model::TrackId track(std::map<int64_t, model::TrackId>& tracks, int64_t id,
                       model::Track const& described) {
    auto const found = tracks.find(id);
    return found != tracks.end() ? found->second
                                 : tracks.emplace(id, builder_.add_track(described)).first->second;
  }

  model::TraceBuilder builder_;
  std::map<int64_t, model::TrackId> threads_, streams_;
  uint64_t correlation_ = 0;
};

/// A kernel of this many blocks.
inline model::KernelDetail grid_of(uint32_t blocks) {
  model::KernelDetail detail;
  detail.grid_x = blocks;
  detail.grid_y = detail.grid_z = detail.block_x = detail.block_y = detail.block_z = 1;
  return detail;
}

}  // namespace stepscope::analyzer::testing_support
