// A small training with random times on two devices. Copies, compute and all-reduces run on streams
// of their own, with waits between the streams. The host is late, waits for data, waits for the
// device or runs ahead of it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "trace/model/build/trace_builder.h"
#include "trace/model/run.h"

namespace stepscope::analyzer::testing_support {

class RandomTraining {
 public:
  explicit RandomTraining(uint32_t seed)
      : random_(seed),
        syncs_(chance(60)),
        sync_in_step_(chance(50)),
        waits_(!syncs_ || chance(60)),
        copies_last_(chance(50)) {}

  model::Run make(int steps) {
    using namespace model;
    thread_ = builder_.add_track({TrackKind::kThread, "main", 1, -1, StreamKind::kCompute, 0});
    for (int32_t device = 0; device < 2; ++device) {
      builder_.add_device({device, "GPU", 0, 1, 0});
      for (size_t kind = 0; kind < 3; ++kind)
        streams_[static_cast<size_t>(device)][kind].track =
            builder_.add_track({TrackKind::kStream, "stream", static_cast<int64_t>(kind), device,
                                StreamKind::kCompute, 0});
    }
    for (int64_t step = 0; step < steps; ++step) add_step(step);

    Run run;
    run.ranks.push_back({std::move(builder_).finish(), pick(-50, 50), "random"});
    return run;
  }

 private:
  struct Stream {
    model::TrackId track;
    int64_t free = 0;           ///< end of the last op that was launched
    int64_t blocked_until = 0;  ///< end of the stream waits; the next launch starts after it
  };
  enum Kind : size_t { kCompute, kComm, kCopy };

  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  bool chance(int percent) { return pick(1, 100) <= percent; }
  /// A random time in ns from the given µs.
  int64_t us(int64_t low, int64_t high) { return pick(1000 * low, 1000 * high); }
  Stream& stream(size_t device, Kind kind) { return streams_[device][kind]; }

  void host_event(model::EventKind kind, int64_t length, std::string_view name) {
    builder_.events(thread_).add(kind, now_, length, builder_.intern(name));
    now_ += length;
  }

  /// Launches an op and returns the earliest time at which it can begin.
  int64_t launch(Stream const& on) {
    now_ += chance(80) ? us(0, 3) : us(10, 120);
    builder_.events(thread_).add(model::EventKind::kLaunch, now_, 2000, builder_.intern("launch"),
                                 ++correlation_);
    now_ += 2000;
    return std::max({now_ + us(0, 3), on.free, on.blocked_until});
  }
  template <class Detail>
  void run(Stream& on, model::EventKind kind, int64_t begin, int64_t end, std::string_view name,
           uint64_t correlation, Detail const& detail) {
    builder_.events(on.track).add(kind, begin, end - begin, builder_.intern(name), correlation,
                                  detail);
    on.free = end;
  }
  void compute(size_t device, std::string_view name) {
    Stream& on = stream(device, kCompute);
    int64_t const begin = launch(on);
    run(on, model::EventKind::kKernel, begin, begin + us(12, 60), name, correlation_,
        model::KernelDetail{});
  }
  void copy(size_t device, std::string_view name) {
    Stream& on = stream(device, kCopy);
    int64_t const begin = launch(on);
    run(on, model::EventKind::kMemcpy, begin, begin + us(1, 90), name, correlation_,
        model::CopyDetail{});
  }

  /// The next op of the stream `waiting` waits for all earlier ops of the stream `source`.
  void wait_for(size_t device, Kind waiting, Kind source) {
    Stream& on = stream(device, waiting);
    int64_t const until = stream(device, source).free, begin = std::max(now_, on.free);
    on.blocked_until = std::max(on.blocked_until, until);
    model::StreamWaitDetail const detail{static_cast<int32_t>(device), static_cast<int32_t>(source),
                                         0};
    builder_.events(on.track).add(model::EventKind::kStreamWait, begin,
                                  std::max<int64_t>(0, until - begin), builder_.intern("wait"), 0,
                                  detail);
    on.free = std::max(begin, on.free);
  }

  void all_reduce() {
    std::array<int64_t, 2> begins{};
    std::array<uint64_t, 2> correlations{};
    for (size_t device = 0; device < 2; ++device) {
      wait_for(device, kComm, kCompute);
      begins[device] = launch(stream(device, kComm));
      correlations[device] = correlation_;
    }

    int64_t const end = std::max(begins[0], begins[1]) + us(5, 100);
    ++sequence_;
    for (size_t device = 0; device < 2; ++device)
      run(stream(device, kComm), model::EventKind::kCollective, begins[device], end + us(0, 3),
          "sum", correlations[device],
          model::CollectiveDetail{100, 1, sequence_, model::CollectiveOp::kAllReduce, 2,
                                  static_cast<int32_t>(device), -1});
  }

  void sync() {
    // Without waits, each all-reduce would follow the last one at once, and a delay of one would
    // delay all later ones.
    if (waits_ && chance(20)) return;

    bool const for_copies = chance(50);
    int64_t until = 0;
    for (size_t device = 0; device < 2; ++device)
      until = std::max(
          {until, stream(device, kComm).free, for_copies ? stream(device, kCopy).free : 0});

    int64_t const length = std::max<int64_t>(1000, until - now_ + us(0, 3));
    builder_.events(thread_).add(model::EventKind::kSync, now_, length, builder_.intern("sync"), 0,
                                 model::SyncDetail{});
    now_ += length;
  }

  /// Keeps the host at most one step ahead, as a slice keeps only one step before the requested
  /// ones. A wait of an older step could determine since when a collective was ready.
  void wait_for_step_before_last() {
    now_ = std::max(now_, last_ends_);
    for (auto const& device : streams_)
      for (Stream const& on : device) last_ends_ = std::max(last_ends_, on.free);
  }

  void add_step(int64_t step) {
    wait_for_step_before_last();
    int64_t const begin = now_;
    if (chance(40)) host_event(model::EventKind::kInputWait, us(1, 80), "next batch");

    for (size_t device = 0; device < 2; ++device) copy(device, "batch");
    for (int64_t layer = pick(1, 3); layer > 0; --layer) {
      for (size_t device = 0; device < 2; ++device) compute(device, "layer");
      all_reduce();
    }

    for (size_t device = 0; device < 2; ++device) {
      if (waits_) wait_for(device, kCompute, kComm);
      compute(device, "update");
      if (copies_last_) copy(device, "loss");
    }

    if (syncs_ && sync_in_step_) sync();
    builder_.events(thread_).add(model::EventKind::kStep, begin, now_ - begin,
                                 builder_.intern("step"), 0, model::StepDetail{step});
    if (syncs_ && !sync_in_step_) sync();
    now_ += chance(50) ? us(0, 60) : 0;
  }

  std::mt19937 random_;
  bool syncs_, sync_in_step_, waits_, copies_last_;
  model::TraceBuilder builder_;
  model::TrackId thread_;
  std::array<std::array<Stream, 3>, 2> streams_;
  int64_t now_ = 0;
  int64_t last_ends_ = 0;  ///< of what the steps before the last one launched
  uint64_t correlation_ = 0, sequence_ = 0;
};

}  // namespace stepscope::analyzer::testing_support
