// Runs for tests of the critical path, written event by event, and what the tests look up in a
// path.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/analyze.h"
#include "analyzer/metrics/communication/collectives.h"
#include "analyzer/metrics/critical_path/critical_path.h"
#include "trace/model/build/trace_builder.h"
#include "trace/model/run.h"

namespace stepscope::analyzer::testing_support {

/// One rank, written event by event.
class PathRank {
 public:
  explicit PathRank(int32_t rank = 0) { builder_.info().rank = rank; }

  model::TrackId thread(int64_t id) {
    return builder_.add_track({model::TrackKind::kThread, "thread " + std::to_string(id), id, -1,
                               model::StreamKind::kCompute, 0});
  }
  model::TrackId stream(int64_t id, int32_t device = 0) {
    return builder_.add_track({model::TrackKind::kStream, "stream " + std::to_string(id), id,
                               device, model::StreamKind::kCompute, 0});
  }
  void host(model::TrackId thread, model::EventKind kind, int64_t begin, int64_t end,
            std::string const& name) {
    builder_.events(thread).add(kind, begin, end - begin, builder_.intern(name));
  }
  void allocate(model::TrackId thread, int64_t begin, int64_t end, std::string const& name) {
    builder_.events(thread).add(model::EventKind::kMemory, begin, end - begin,
                                builder_.intern(name), 0, model::MemoryDetail{});
  }
  void range(model::TrackId thread, int64_t begin, int64_t end, std::string const& name) {
    host(thread, model::EventKind::kRange, begin, end, name);
  }
  void step(model::TrackId thread, int64_t begin, int64_t end, int64_t index) {
    builder_.events(thread).add(model::EventKind::kStep, begin, end - begin,
                                builder_.intern("step"), 0, model::StepDetail{index});
  }
  void sync(model::TrackId thread, int64_t begin, int64_t end, model::SyncDetail const& detail) {
    builder_.events(thread).add(model::EventKind::kSync, begin, end - begin,
                                builder_.intern("synchronize"), 0, detail);
  }
  /// Returns its correlation.
  uint64_t launch(model::TrackId thread, int64_t begin, int64_t end,
                  std::string const& name = "launch") {
    builder_.events(thread).add(model::EventKind::kLaunch, begin, end - begin,
                                builder_.intern(name), ++correlation_);
    return correlation_;
  }
  void kernel(model::TrackId stream, int64_t begin, int64_t end, std::string const& name,
              uint64_t correlation = 0) {
    builder_.events(stream).add(model::EventKind::kKernel, begin, end - begin,
                                builder_.intern(name), correlation, model::KernelDetail{});
  }
  void copy(model::TrackId stream, int64_t begin, int64_t end, std::string const& name,
            uint64_t correlation = 0) {
    builder_.events(stream).add(model::EventKind::kMemcpy, begin, end - begin,
                                builder_.intern(name), correlation, model::CopyDetail{});
  }
  void wait(model::TrackId stream, int64_t begin, int64_t end,
            model::StreamWaitDetail const& detail, uint64_t correlation = 0) {
    builder_.events(stream).add(model::EventKind::kStreamWait, begin, end - begin,
                                builder_.intern("wait"), correlation, detail);
  }
  /// A collective of two participants.
  void all_reduce(model::TrackId stream, int64_t begin, int64_t end, uint64_t sequence,
                  uint64_t correlation = 0) {
    model::CollectiveDetail const detail{
        100, 1, sequence, model::CollectiveOp::kAllReduce, 2, builder_.info().rank, -1};
    builder_.events(stream).add(model::EventKind::kCollective, begin, end - begin,
                                builder_.intern("all-reduce"), correlation, detail);
  }
  model::TraceBuilder& builder() { return builder_; }
  model::RankTrace finish(int64_t offset_ns = 0) && {
    return {std::move(builder_).finish(), offset_ns, "made"};
  }

 private:
  model::TraceBuilder builder_;
  uint64_t correlation_ = 0;
};

template <class... Ranks>
model::Run path_run(Ranks&&... ranks) {
  model::Run run;
  (run.ranks.push_back(std::forward<Ranks>(ranks)), ...);
  return run;
}

/// The pieces of the path of a whole run, from its end to its begin.
inline std::vector<PathPiece> path_pieces(model::Run const& run, Analysis const& analysis,
                                          int64_t launch_latency_limit_ns) {
  std::vector<DeviceOps> const devices = index_devices(run);
  std::vector<PathPiece> pieces;
  find_critical_path({devices, find_host_steps(run), match_collectives(devices), analysis.devices,
                      analysis.steps, launch_latency_limit_ns},
                     &pieces);
  return pieces;
}

inline CriticalPathStats path_of(model::Run const& run, AnalyzeOptions const& options = {}) {
  auto const path = analyze(run, options).critical_path;
  return path.value_or(CriticalPathStats{});
}

inline int64_t ns_of(CriticalPathStats const& path, PathClass path_class) {
  return path.by_class[static_cast<size_t>(path_class)];
}

inline int64_t sum_of(PathSplit const& split) {
  int64_t sum = 0;
  for (int64_t const part : split) sum += part;
  return sum;
}

}  // namespace stepscope::analyzer::testing_support
