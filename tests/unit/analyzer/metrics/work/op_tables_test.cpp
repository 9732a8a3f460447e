// Device time by host range: the ranges of a launch, and rows that sum to all device ops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "analyzer/analyze.h"
#include "analyzer/metrics/work/op_tables.h"
#include "analyzer/results/analysis.h"
#include "tests/unit/analyzer/random_run.h"
#include "tests/unit/analyzer/rules/work/work_run.h"

namespace stepscope::analyzer {
namespace {

using model::EventKind;
using testing_support::WorkRun;

/// "name: count total", the name of a special row in brackets.
std::vector<std::string> rows_of(Analysis const& analysis, OpStats::Level level) {
  constexpr std::array kSpecial = {"", "[outside]", "[no launch]", "[rest]"};
  std::vector<std::string> rows;
  for (OpStats const& op : analysis.ops)
    if (op.level == level)
      rows.push_back(
          (op.what == OpStats::What::kRange ? op.name : kSpecial[static_cast<size_t>(op.what)]) +
          ": " + std::to_string(op.count) + " " + std::to_string(op.total_ns));
  return rows;
}

using ::testing::ElementsAre;

TEST(OpTables, TheInnermostRangeIsTheOpAndTheOutermostTheLayer) {
  WorkRun run;
  run.step(0, 10'000, 0).host(EventKind::kPhase, 0, 5'000, "forward");
  run.range(100, 1'000, "block 1").range(200, 300, "conv").range(210, 100, "aten::conv2d");
  run.kernel(1'000, 400, run.launch(250, 10));  // in aten::conv2d
  run.kernel(1'400, 30, run.launch(320, 10));   // in conv, after aten::conv2d
  run.kernel(1'430, 2, run.launch(600, 10));    // in block 1
  run.range(2'000, 100, "loss");
  run.kernel(2'100, 5, run.launch(2'000, 10));

  Analysis const analysis = analyze(run.finish());
  EXPECT_THAT(rows_of(analysis, OpStats::Level::kOp),
              ElementsAre("aten::conv2d: 1 400", "conv: 1 30", "loss: 1 5", "block 1: 1 2"));
  EXPECT_THAT(rows_of(analysis, OpStats::Level::kLayer),
              ElementsAre("block 1: 3 432", "loss: 1 5"));
  EXPECT_DOUBLE_EQ(analysis.ops[0].share, 400.0 / 437);
}

TEST(OpTables, WhatIsInNoRangeIsInItsPhaseElseOutside) {
  WorkRun run;
  run.range(0, 10, "op");
  run.kernel(100, 1, run.launch(5, 1));
  run.host(EventKind::kPhase, 20, 10, "optimizer");
  run.kernel(110, 2, run.launch(25, 1));
  run.kernel(120, 4, run.launch(40, 1));
  run.kernel(130, 8, 0);

  Analysis const analysis = analyze(run.finish());
  for (OpStats::Level const level : {OpStats::Level::kOp, OpStats::Level::kLayer})
    EXPECT_THAT(rows_of(analysis, level),
                ElementsAre("optimizer: 1 2", "op: 1 1", "[outside]: 1 4", "[no launch]: 1 8"));
}

TEST(OpTables, StepsAndPythonFramesAreNoRanges) {
  WorkRun run;
  run.range(0, 1'000, "ProfilerStep#3")
      .range(0, 900, "train.py(12): main")
      .range(10, 800, "<built-in method conv2d of type>");
  run.range(20, 100, "aten::add");
  run.kernel(1'000, 10, run.launch(30, 5));
  run.kernel(1'010, 20, run.launch(200, 5));

  Analysis const analysis = analyze(run.finish());
  for (OpStats::Level const level : {OpStats::Level::kOp, OpStats::Level::kLayer})
    EXPECT_THAT(rows_of(analysis, level), ElementsAre("aten::add: 1 10", "[outside]: 1 20"));
}

TEST(OpTables, PartsOfAStepAsProgramsForPyTorchMarkThemArePhases) {
  WorkRun run;
  run.range(0, 1'000, "## forward ##").range(20, 100, "aten::add");
  run.kernel(1'000, 10, run.launch(30, 5));
  run.kernel(1'010, 20, run.launch(200, 5));
  EXPECT_THAT(rows_of(analyze(run.finish()), OpStats::Level::kLayer),
              ElementsAre("## forward ##: 1 20", "aten::add: 1 10"));
}

TEST(OpTables, ModulesThatAreNamedAreTheLayers) {
  WorkRun run;
  run.range(0, 1'000, "DistributedDataParallel.forward").range(0, 900, "nn.Module: ResNet_0");
  run.range(10, 400, "nn.Module: Conv2d_1").range(20, 100, "aten::conv2d");
  run.kernel(1'000, 10, run.launch(30, 5));
  run.kernel(1'010, 20, run.launch(500, 5));
  run.kernel(1'030, 40, run.launch(950, 5));

  Analysis const analysis = analyze(run.finish());
  EXPECT_THAT(rows_of(analysis, OpStats::Level::kLayer),
              ElementsAre("DistributedDataParallel.forward: 1 40", "nn.Module: ResNet_0: 1 20",
                          "nn.Module: Conv2d_1: 1 10"));
}

TEST(OpTables, NodesOfAGraphBelongToItsLaunch) {
  WorkRun run;
  run.range(0, 100, "replay");
  uint64_t const call = run.launch(10, 20, "cudaGraphLaunch");
  run.kernel(100, 10, call).kernel(120, 30, call, "other", 8);
  EXPECT_THAT(rows_of(analyze(run.finish()), OpStats::Level::kOp), ElementsAre("replay: 2 40"));
}

TEST(OpTables, WithoutRangesThereIsNoTable) {
  WorkRun run;
  run.kernel(100, 10, run.launch(0, 5)).kernel(110, 10, 0);
  EXPECT_TRUE(analyze(run.finish()).ops.empty());
}

TEST(OpTables, FurtherRangesAreCountedTogether) {
  WorkRun run;
  for (int64_t i = 0; i < static_cast<int64_t>(kMostRanges) + 3; ++i) {
    run.range(i * 100, 50, "op " + std::to_string(i));
    run.kernel(i * 100 + 20, 10 + i % 5, run.launch(i * 100 + 5, 5));
  }

  Analysis const analysis = analyze(run.finish());
  for (OpStats::Level const level : {OpStats::Level::kOp, OpStats::Level::kLayer}) {
    int64_t total = 0;
    std::vector<OpStats> rows;
    for (OpStats const& op : analysis.ops)
      if (op.level == level) {
        rows.push_back(op);
        total += op.total_ns;
      }

    ASSERT_EQ(rows.size(), kMostRanges + 1);
    EXPECT_EQ(rows.back().what, OpStats::What::kRest);
    EXPECT_EQ(rows.back().count, 3U);
    EXPECT_EQ(total, analysis.kernels.at(0).total_ns);
  }
}

/// Properly nested ranges with launches between them, on two threads. Some kernels have no launch.
model::Run nested_run(uint32_t seed) {
  std::mt19937 random(seed);
  auto const pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };

  WorkRun run;
  int64_t device_time = 1'000;
  for (int64_t thread = 1; thread <= 2; ++thread) {
    std::vector<std::pair<int64_t, int64_t>> spaces = {{0, 900}};
    for (int i = 0; i < 14 && !spaces.empty(); ++i) {
      auto const at = static_cast<size_t>(pick(0, static_cast<int64_t>(spaces.size()) - 1));
      auto const [begin, end] = spaces[at];
      if (end - begin < 20) continue;

      int64_t const first = pick(begin, end - 10), last = pick(first + 5, end);
      int64_t const kind = pick(0, 5);
      std::string name = "phase";
      if (kind == 0) name = "step " + std::to_string(i);
      if (kind > 1) name = "op " + std::to_string(pick(0, 4));
      run.host(kind == 1 ? EventKind::kPhase : EventKind::kRange, first, last - first, name,
               thread);

      spaces[at] = {begin, first};
      spaces.emplace_back(first, last);
      spaces.emplace_back(last, end);
    }

    for (int i = 0; i < 8; ++i) {
      uint64_t const call =
          pick(0, 9) == 0 ? 0 : run.launch(pick(0, 890), 1, "cudaLaunchKernel", thread);
      int64_t const dur = pick(0, 50);
      run.kernel(device_time, dur, call, "k", pick(7, 8));
      device_time += dur;
    }
  }
  return run.finish(pick(-100, 100));
}

TEST(NaiveTwin, EveryLaunchIsInTheRangesAroundIt) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    model::Run const run = nested_run(seed);
    model::Trace const& trace = run.ranks[0].trace;

    // Level → name ("" = outside, "-" = no launch) → (count, ns).
    std::map<std::string, std::pair<uint64_t, int64_t>> expected[2];
    bool has_ranges = false;
    for (uint32_t op = 0; op < trace.event_count(); ++op) {
      if (trace.kind(op) != EventKind::kKernel) continue;
      std::string names[2] = {"-", "-"};

      if (trace.columns().link[op].valid()) {
        uint32_t const call = trace.columns().link[op].value;
        names[0] = names[1] = "";
        int64_t inner = -1, outer = INT64_MAX;
        std::string phase;
        for (uint32_t host = 0; host < trace.event_count(); ++host) {
          bool const covers = trace.columns().track[host] == trace.columns().track[call] &&
                              trace.start(host) <= trace.start(call) &&
                              trace.start(call) < trace.end(host);
          if (covers && trace.kind(host) == EventKind::kPhase) phase = trace.name(host);
          if (!covers || trace.kind(host) != EventKind::kRange ||
              trace.name(host).starts_with("step"))
            continue;
          int64_t const depth = trace.columns().depth[host];
          if (depth > inner) names[0] = trace.name(host), inner = depth;
          if (depth < outer) names[1] = trace.name(host), outer = depth;
        }
        if (names[0].empty()) names[0] = names[1] = phase;
        has_ranges = has_ranges || !names[0].empty();
      }

      for (size_t level = 0; level < 2; ++level) {
        ++expected[level][names[level]].first;
        expected[level][names[level]].second += trace.columns().dur[op];
      }
    }

    Analysis const analysis = analyze(run);
    if (!has_ranges) {
      EXPECT_TRUE(analysis.ops.empty());
      continue;
    }

    std::map<std::string, std::pair<uint64_t, int64_t>> found[2];
    for (OpStats const& op : analysis.ops) {
      std::string const name = op.what == OpStats::What::kUnlaunched ? "-" : op.name;
      EXPECT_TRUE(found[static_cast<size_t>(op.level)]
                      .emplace(name, std::pair(op.count, op.total_ns))
                      .second);
    }

    ASSERT_EQ(found[0], expected[0]) << "seed " << seed;
    ASSERT_EQ(found[1], expected[1]) << "seed " << seed;
  }
}

TEST(RandomRuns, RowsOfALevelSumToAllDeviceOps) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    Analysis const analysis = analyze(testing_support::RandomRun(seed, seed % 2 == 0).make());
    int64_t all = 0;
    for (KernelStats const& kernel : analysis.kernels) all += kernel.total_ns;
    std::map<OpStats::Level, int64_t> sums;
    for (OpStats const& op : analysis.ops) sums[op.level] += op.total_ns;
    for (auto const& [level, sum] : sums) EXPECT_EQ(sum, all) << "seed " << seed;
  }
}

}  // namespace
}  // namespace stepscope::analyzer
