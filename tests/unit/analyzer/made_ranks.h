// Runs of several ranks with one device each, written event by event, for metrics and rules about
// devices that wait for each other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analyzer/results/analysis.h"
#include "trace/model/build/trace_builder.h"
#include "trace/model/run.h"

namespace stepscope::analyzer::testing_support {

class MadeRanks {
 public:
  explicit MadeRanks(int32_t ranks) {
    using namespace model;
    for (int32_t r = 0; r < ranks; ++r) {
      Rank& rank = ranks_.emplace_back();
      rank.builder.info().rank = r;
      rank.builder.info().world_size = ranks;
      rank.builder.add_device({0, "gpu", 0, 1, 0});

      rank.thread =
          rank.builder.add_track({TrackKind::kThread, "main", 1, -1, StreamKind::kCompute, 0});
      rank.compute =
          rank.builder.add_track({TrackKind::kStream, "compute", 0, 0, StreamKind::kCompute, 0});
      for (int64_t s = 1; s <= 4; ++s)
        rank.comm.push_back(rank.builder.add_track(
            {TrackKind::kStream, "comm", s, 0, StreamKind::kCommunication, 0}));
    }
  }

  void step(int32_t rank, int64_t begin, int64_t end, int64_t index) {
    host(rank, model::EventKind::kStep, begin, end, "step", model::StepDetail{index});
  }
  template <class... Detail>
  void host(int32_t rank, model::EventKind kind, int64_t begin, int64_t end,
            std::string const& name, Detail... detail) {
    Rank& to = at(rank);
    to.builder.events(to.thread).add(kind, begin, end - begin, to.builder.intern(name), 0,
                                     detail...);
  }
  /// Its launch takes no time, at `launched`.
  void kernel(int32_t rank, int64_t begin, int64_t end, int64_t launched) {
    Rank& to = at(rank);
    to.builder.events(to.compute)
        .add(model::EventKind::kKernel, begin, end - begin, to.builder.intern("kernel"),
             launch(to, launched), model::KernelDetail{});
  }
  void copy(int32_t rank, int64_t begin, int64_t end, int64_t launched) {
    Rank& to = at(rank);
    to.builder.events(to.comm[3])
        .add(model::EventKind::kMemcpy, begin, end - begin, to.builder.intern("copy"),
             launch(to, launched), model::CopyDetail{});
  }
  void collective(int32_t rank, int64_t begin, int64_t end, int64_t launched,
                  model::CollectiveDetail const& detail, size_t stream = 0) {
    Rank& to = at(rank);
    to.builder.events(to.comm[stream])
        .add(model::EventKind::kCollective, begin, end - begin, to.builder.intern("collective"),
             launch(to, launched), detail);
  }
  /// The stream of collectives waited for an event of the compute stream.
  void stream_wait(int32_t rank, int64_t begin, int64_t end, size_t stream = 0) {
    Rank& to = at(rank);
    to.builder.events(to.comm[stream])
        .add(model::EventKind::kStreamWait, begin, end - begin, to.builder.intern("wait"), 0,
             model::StreamWaitDetail{0, 0});
  }
  model::Run finish() {
    model::Run run;
    run.name = "made";
    for (Rank& rank : ranks_) run.ranks.push_back({std::move(rank.builder).finish(), 0, "made"});
    return run;
  }

 private:
  struct Rank {
    model::TraceBuilder builder;
    model::TrackId thread, compute;
    std::vector<model::TrackId> comm;
    uint64_t correlation = 0;
  };
  Rank& at(int32_t rank) { return ranks_[static_cast<size_t>(rank)]; }
  static uint64_t launch(Rank& rank, int64_t when) {
    rank.builder.events(rank.thread)
        .add(model::EventKind::kLaunch, when, 0, rank.builder.intern("launch"), ++rank.correlation);
    return rank.correlation;
  }
  std::vector<Rank> ranks_;
};

inline model::CollectiveDetail all_reduce_of(int32_t rank, int32_t ranks, uint64_t sequence,
                                             uint64_t communicator = 7) {
  return {1000,
          communicator,
          sequence,
          model::CollectiveOp::kAllReduce,
          static_cast<uint32_t>(ranks),
          rank,
          -1};
}

/// Data-parallel steps: each rank computes, then all reduce, then the next step begins. `work(rank,
/// step)` in ns.
inline MadeRanks made_steps(int32_t ranks, int64_t steps,
                            std::function<int64_t(int32_t, int64_t)> const& work,
                            int64_t transfer_ns = 1000) {
  MadeRanks made(ranks);
  int64_t begin = 1'000'000;

  for (int64_t step = 0; step < steps; ++step) {
    int64_t last = 0;
    for (int32_t r = 0; r < ranks; ++r) last = std::max(last, begin + work(r, step));
    int64_t const end = last + transfer_ns;

    for (int32_t r = 0; r < ranks; ++r) {
      int64_t const arrival = begin + work(r, step);
      made.step(r, begin, end, step);
      made.kernel(r, begin, arrival, begin);
      made.collective(r, arrival, end, begin,
                      all_reduce_of(r, ranks, static_cast<uint64_t>(step) + 1));
    }
    begin = end;
  }
  return made;
}

inline Finding const* finding_of(Analysis const& analysis, std::string const& rule) {
  auto const found = std::find_if(analysis.findings.begin(), analysis.findings.end(),
                                  [&](Finding const& finding) { return finding.rule == rule; });
  return found == analysis.findings.end() ? nullptr : &*found;
}

/// The metric's value, −1 without it.
inline double metric_of(Finding const& finding, std::string const& key) {
  for (auto const& [name, value] : finding.metrics)
    if (name == key) return value;
  return -1;
}
inline std::string subject_of(Finding const& finding, std::string const& key) {
  for (auto const& [name, value] : finding.subjects)
    if (name == key) return value;
  return {};
}

}  // namespace stepscope::analyzer::testing_support
