// The replay of a graph: it gives back the recording, agrees with a twin that relaxes every edge
// until nothing changes, and never gets later where something gets shorter.
#include "analyzer/whatif/replay/replay.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/metrics/host/innermost_host_events.h"
#include "tests/support/sanitized.h"
#include "tests/support/synthetic_run.h"
#include "tests/unit/analyzer/made_ranks.h"
#include "tests/unit/analyzer/metrics/critical_path/random_path_run.h"
#include "tests/unit/analyzer/random_run.h"
#include "tests/unit/analyzer/random_training.h"
#include "tests/unit/analyzer/whatif/recorded_replay.h"

namespace stepscope::analyzer {
namespace {

using model::TrackId;
using testing::Contains;
using testing_support::does_only;
using testing_support::RandomPathRun;
using testing_support::RandomRun;
using testing_support::RandomTraining;
using testing_support::RecordedReplay;

constexpr int64_t kLatencyLimit = 10'000;
constexpr int64_t kShortLatencyLimit = 12;  // of runs within some hundred ns

/// Synthetic runs: healthy, and with each fault that changes what waits for what.
std::vector<std::pair<std::string, support::SyntheticOptions>> synthetic_runs() {
  support::SyntheticOptions base;
  base.devices = 3;
  base.steps = 4;
  std::vector<std::pair<std::string, support::SyntheticOptions>> runs(8, {"", base});

  runs[0].first = "healthy";
  runs[1] = {"one process a device", base};
  runs[1].second.process_per_device = true;
  runs[1].second.rank_clock_offset_ns = 3'000'000;
  runs[2] = {"runs ahead", runs[1].second};
  runs[2].second.sync_each_step = false;
  runs[3] = {"waits for each kernel", runs[1].second};
  runs[3].second.sync_every_op = true;
  runs[4] = {"straggler", runs[1].second};
  runs[4].second.straggler_device = 1;
  runs[5] = {"messages", runs[1].second};
  runs[5].second.devices = 2;
  runs[5].second.messages = true;
  runs[6] = {"launch-bound", runs[1].second};
  runs[6].second.host_delay_ns = 3'000'000;
  runs[6].second.overlap = false;
  runs[7] = {"without steps", base};
  runs[7].second.marks = support::StepMarks::kNone;
  return runs;
}

using VisitReplay = std::function<void(RecordedReplay const& made)>;

/// The first run that fails is the last one that is visited.
void visit_run(model::Run run, int64_t launch_latency_limit_ns, std::string const& name,
               VisitReplay const& visit) {
  if (testing::Test::HasFatalFailure()) return;
  SCOPED_TRACE(name);
  visit(RecordedReplay(std::move(run), launch_latency_limit_ns));
}

/// Runs that do not contradict themselves.
void visit_plausible_runs(VisitReplay const& visit) {
  for (auto const& [name, options] : synthetic_runs())
    visit_run(support::make_synthetic_run(options), kLatencyLimit, name, visit);

  for (uint32_t seed = 0; seed < (support::kSanitized ? 10U : 60U); ++seed)
    visit_run(RandomTraining(seed).make(6), kLatencyLimit, fmt::format("training {}", seed), visit);

  for (int32_t ranks = 1; ranks < 5; ++ranks)
    for (int64_t const scale : {100, 1'000'000}) {
      auto const work = [&](int32_t rank, int64_t step) { return scale * (3 + (rank + step) % 4); };
      visit_run(testing_support::made_steps(ranks, 6, work).finish(), kLatencyLimit,
                fmt::format("{} ranks, work {}", ranks, scale), visit);
    }
}

/// Small runs that contradict themselves wherever traces can.
void visit_random_runs(VisitReplay const& visit) {
  for (uint32_t seed = 0; seed < (support::kSanitized ? 60U : 500U); ++seed) {
    visit_run(RandomPathRun(seed).make(), kShortLatencyLimit, fmt::format("path run {}", seed),
              visit);
    visit_run(RandomRun(seed, seed % 3 == 0).make(), kShortLatencyLimit,
              fmt::format("run {}", seed), visit);
  }
}

void visit_all_runs(VisitReplay const& visit) {
  visit_plausible_runs(visit);
  visit_random_runs(visit);
}

// The recorded weights give back the recording.

void expect_recorded_device_times(RecordedReplay const& made, ReplayTimes const& times) {
  size_t ops = 0;
  for (uint32_t number = 1; number < made.graph.nodes.size(); ++number) {
    ReplayNode const& node = made.graph.nodes[number];
    if (node.kind == ReplayNodeKind::kArrival) {
      ASSERT_EQ(times.over[number], made.device_of(node).start(node.row));
    }
    if (node.kind != ReplayNodeKind::kOp && node.kind != ReplayNodeKind::kDeparture) continue;
    ASSERT_EQ(times.over[number], made.device_of(node).end(node.row))
        << "op " << node.row << " of process " << node.process;
    ++ops;
  }

  size_t recorded = 0;
  for (DeviceOps const& device : made.devices) recorded += device.ops.size();
  ASSERT_EQ(ops, recorded);
}

using ThreadNodes = std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>>;

/// The nodes of each thread, by process and track.
ThreadNodes threads_of(ReplayGraph const& graph) {
  ThreadNodes threads;
  for (uint32_t number = 1; number < graph.nodes.size(); ++number)
    if (ReplayNode const& node = graph.nodes[number]; node.kind == ReplayNodeKind::kHost)
      threads[{node.process, node.track}].push_back(number);
  return threads;
}

/// Begin of the thread's first activity and end of its last.
Interval activity_of(DeviceOps const& device, uint32_t track) {
  Interval activity{INT64_MAX, INT64_MIN};
  model::Trace::Rows const rows = device.trace().rows_of(TrackId{track});
  for (uint32_t row = rows.first; row < rows.last; ++row) {
    if (!is_host_activity(device.trace().kind(row))) continue;
    activity.begin = std::min(activity.begin, device.start(row));
    activity.end = std::max(activity.end, device.end(row));
  }
  return activity;
}

/// Each stretch of the replay is one in which the recorded thread did the same. Together they fill
/// the thread, but for the host's own work behind the last call.
void expect_recorded_host_times(RecordedReplay const& made, ReplayTimes const& times) {
  for (auto const& [thread, nodes] : threads_of(made.graph)) {
    DeviceOps const& device = made.device_of(made.graph.nodes[nodes.front()]);
    Interval const activity = activity_of(device, thread.second);
    HostClasses classes(device.trace());
    InnermostHostEvents events(*device.rank, TrackId{thread.second}, classes);

    int64_t at = activity.begin;
    for (uint32_t const number : nodes) {
      ReplayNode const& node = made.graph.nodes[number];
      ASSERT_LT(at, times.over[number]) << "thread " << thread.second;
      ASSERT_TRUE(does_only(events, {at, times.over[number]}, node.path_class))
          << "thread " << thread.second << " at " << times.over[number];
      if (node.path_class != PathClass::kHost) {
        ASSERT_LE(device.start(node.row), at) << "thread " << thread.second;
      }
      at = times.over[number];
    }

    ASSERT_LE(at, activity.end) << "thread " << thread.second;
    ASSERT_TRUE(does_only(events, {at, activity.end}, PathClass::kHost));
  }
}

void expect_recorded_steps(RecordedReplay const& made, ReplayTimes const& times) {
  std::vector<double> recorded;
  for (ReplayStep const& step : made.graph.steps) {
    if (!step.is_measured) continue;
    recorded.push_back(static_cast<double>(step.when.length()));

    auto const device =
        std::find_if(made.chosen.begin(), made.chosen.end(),
                     [&](DeviceStats const& facts) { return facts.ref == step.ref; });
    ASSERT_NE(device, made.chosen.end());
    ASSERT_THAT(made.periods[static_cast<size_t>(device - made.chosen.begin())],
                Contains(step.when));
  }
  ASSERT_EQ(step_lengths(made.graph, times), recorded);
}

TEST(Replay, OfTheRecordedWeightsIsTheRecording) {
  size_t runs = 0, whole = 0;
  visit_all_runs([&](RecordedReplay const& made) {
    ++runs;
    if (!made.graph.is_whole) return;
    ++whole;

    ReplayTimes const times = made.recorded_times();
    expect_recorded_device_times(made, times);
    expect_recorded_host_times(made, times);
    expect_recorded_steps(made, times);
  });

  EXPECT_GT(whole, runs / 2);
}

TEST(Replay, MeasuresEveryPeriodOfPlausibleRuns) {
  visit_plausible_runs([](RecordedReplay const& made) {
    ASSERT_TRUE(made.graph.is_whole);
    size_t periods = 0;
    for (auto const& of_device : made.periods) periods += of_device.size();
    EXPECT_EQ(step_lengths(made.graph, made.recorded_times()).size(), periods);
    EXPECT_GT(periods, 0U);
  });
}

// The order of nodes.

TEST(Replay, EveryNodeComesBehindWhatItWaitsFor) {
  visit_all_runs([](RecordedReplay const& made) {
    ReplayGraph const& graph = made.graph;
    ASSERT_EQ(graph.first_edge.size(), graph.nodes.size() + 1);
    ASSERT_EQ(graph.first_edge.back(), graph.source.size());
    ASSERT_EQ(graph.recorded.own.size(), graph.nodes.size());
    ASSERT_EQ(graph.recorded.lag.size(), graph.source.size());

    for (uint32_t node = 0; node < graph.nodes.size(); ++node)
      for (uint32_t e = graph.first_edge[node]; e < graph.first_edge[node + 1]; ++e)
        ASSERT_LT(graph.source[e], node) << "edge " << e;
  });
}

// The twin.

/// When each node would be over: relaxes all of them, in any order, until nothing changes.
base::Column<int64_t> relaxed_times(ReplayGraph const& graph, ReplayWeights const& weights,
                                    std::mt19937& random) {
  constexpr int64_t kNever = std::numeric_limits<int64_t>::min() / 2;
  base::Column<int64_t> over(graph.nodes.size(), 0);
  std::vector<uint32_t> order(graph.nodes.size());
  std::iota(order.begin(), order.end(), 0U);
  std::shuffle(order.begin(), order.end(), random);

  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (uint32_t const node : order) {
      if (node == 0) continue;
      int64_t ready = kNever;
      for (uint32_t e = graph.first_edge[node]; e < graph.first_edge[node + 1]; ++e)
        ready = std::max(ready, over[graph.source[e]] + weights.lag[e]);

      int64_t const end = ready + weights.own[node];
      has_changed = has_changed || end != over[node];
      over[node] = end;
    }
  }
  return over;
}

ReplayWeights random_weights(ReplayGraph const& graph, std::mt19937& random) {
  std::uniform_int_distribution<int64_t> own(0, 1000), lag(-100, 1000);
  std::uniform_int_distribution<int> percent(1, 100);
  ReplayWeights weights = graph.recorded;
  for (int64_t& ns : weights.own)
    if (percent(random) <= 70) ns = own(random);

  for (int64_t& ns : weights.lag) {
    int const chance = percent(random);
    if (chance <= 50) ns = lag(random);
    if (chance > 90) ns = kNoEdge;
  }
  return weights;
}

TEST(Replay, AgreesWithATwinThatRelaxesEveryEdge) {
  std::mt19937 random(1);
  visit_random_runs([&](RecordedReplay const& made) {
    for (int i = 0; i < 3; ++i) {
      ReplayWeights const weights = random_weights(made.graph, random);
      ReplayTimes const times = replay(made.graph, weights.own, weights.lag);
      ASSERT_EQ(times.over, relaxed_times(made.graph, weights, random));

      for (size_t step = 0; step < made.graph.steps.size(); ++step) {
        // A step ends no earlier than the one before it.
        int32_t const before = made.graph.steps[step].before;
        int64_t end = before < 0 ? std::numeric_limits<int64_t>::min() / 2
                                 : times.step_end[static_cast<size_t>(before)];
        for (size_t node = 0; node < made.graph.nodes.size(); ++node)
          if (made.graph.nodes[node].step == static_cast<int32_t>(step))
            end = std::max(end, times.over[node]);
        ASSERT_EQ(times.step_end[step], end);
      }
    }
  });
}

// What shorter and longer durations do.

void expect_none_earlier(ReplayTimes const& times, ReplayTimes const& than) {
  for (size_t node = 0; node < times.over.size(); ++node)
    ASSERT_GE(times.over[node], than.over[node]) << "node " << node;
  for (size_t step = 0; step < times.step_end.size(); ++step)
    ASSERT_GE(times.step_end[step], than.step_end[step]) << "step " << step;
}

TEST(Replay, NothingEndsEarlierWhereOneDurationIsLonger) {
  std::mt19937 random(2);
  visit_all_runs([&](RecordedReplay const& made) {
    ReplayTimes const recorded = made.recorded_times();
    std::uniform_int_distribution<size_t> place(0, made.graph.nodes.size() - 1);

    for (int i = 0; i < 5; ++i) {
      base::Column<int64_t> own = made.graph.recorded.own;
      own[place(random)] += 1'000'000;
      expect_none_earlier(replay(made.graph, own, made.graph.recorded.lag), recorded);
    }
  });
}

TEST(Replay, NothingEndsLaterWithoutDurations) {
  visit_all_runs([](RecordedReplay const& made) {
    std::vector<int64_t> const none(made.graph.nodes.size(), 0);
    expect_none_earlier(made.recorded_times(), replay(made.graph, none, made.graph.recorded.lag));
  });
}

TEST(Replay, NothingEndsLaterWithoutAnEdge) {
  std::mt19937 random(3);
  visit_all_runs([&](RecordedReplay const& made) {
    if (made.graph.source.empty()) return;
    std::uniform_int_distribution<size_t> place(0, made.graph.source.size() - 1);

    for (int i = 0; i < 5; ++i) {
      base::Column<int64_t> lag = made.graph.recorded.lag;
      lag[place(random)] = kNoEdge;
      expect_none_earlier(made.recorded_times(), replay(made.graph, made.graph.recorded.own, lag));
    }
  });
}

}  // namespace
}  // namespace stepscope::analyzer
