// Timelines whose threads name the workers of a pipeline: devices, steps, messages, collectives.
#include "trace/import/formats/chrome/pipeline_workers.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/analyze.h"
#include "trace/import/formats/chrome/chrome_importer.h"

namespace stepscope::import {
namespace {

using model::CollectiveDetail;
using model::CollectiveOp;
using model::EventKind;
using testing::ElementsAre;

/// A timeline that is written event by event.
class Timeline {
 public:
  void process(int pid, std::string_view name) {
    text_ += fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":"{}"}}}},)",
                         pid, name);
  }
  void thread(int pid, int tid, std::string_view name) {
    text_ += fmt::format(
        R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"{}"}}}},)", pid, tid,
        name);
  }
  void event(int pid, int tid, std::string_view name, int ts, int dur, std::string_view args) {
    text_ += fmt::format(
        R"({{"ph":"X","cat":"{0}","name":"{0}","pid":{1},"tid":{2},"ts":{3},"dur":{4},"args":{5}}},)",
        name, pid, tid, ts, dur, args);
  }
  [[nodiscard]] model::Trace read() const {
    std::string const text = "[" + text_.substr(0, text_.size() - 1) + "]";
    auto trace = read_chrome_trace(Input(std::as_bytes(std::span(text)), "trace.json"), 128);
    EXPECT_TRUE(trace);
    return trace ? std::move(*trace) : model::Trace();
  }

 private:
  std::string text_;
};

std::string args_of(int step, int sequence, int chunk = 0) {
  return fmt::format(R"({{"step":{},"model_chunk":{},"mb_id":{},"seq_id":{}}})", step, chunk,
                     sequence, sequence);
}

/// Two stages and two data ranks, steps 5 and 9 of one micro-batch.
Timeline two_by_two() {
  Timeline timeline;
  for (int data = 0; data < 2; ++data) {
    timeline.process(data, fmt::format("DP rank [{}]", data));
    for (int stage = 0; stage < 2; ++stage) {
      int const tid = 20 * stage;
      for (auto const& [offset, stream] : {std::pair(0, "compute"), {1, "pp-comm"}, {2, "dp-comm"}})
        timeline.thread(data, tid + offset,
                        fmt::format("PP rank {}, TP rank 0, {}", stage, stream));
    }

    for (int const step : {5, 9}) {
      int const at = 1000 * step;
      std::string const args = args_of(step, 0);
      timeline.event(data, 2, "params-all-gather", at, 10, args);
      timeline.event(data, 22, "params-all-gather", at, 10, args);
      timeline.event(data, 0, "forward-compute", at + 10, 100, args);
      timeline.event(data, 1, "forward-send", at + 110, 5, args);
      timeline.event(data, 21, "forward-recv", at + 110, 5, args);
      timeline.event(data, 20, "forward-compute", at + 115, 100, args);
      timeline.event(data, 22, "optimizer-clip-main-grad", at + 215, 1, args);
      timeline.event(data, 2, "optimizer-clip-main-grad", at + 215, 1, args);
    }
  }
  return timeline;
}

std::vector<std::string> names_of_devices(model::Trace const& trace) {
  std::vector<std::string> names;
  for (model::Device const& device : trace.devices()) names.push_back(device.name);
  return names;
}

/// Devices that take part, by what all participants share.
std::map<std::pair<uint64_t, uint64_t>, std::set<int32_t>> participants_of(
    model::Trace const& trace, CollectiveOp op, CollectiveOp other) {
  std::map<std::pair<uint64_t, uint64_t>, std::set<int32_t>> result;
  for (uint32_t row = 0; row < trace.event_count(); ++row) {
    if (trace.kind(row) != EventKind::kCollective) continue;
    auto const& detail = trace.detail<CollectiveDetail>(row);
    if (detail.op == op || detail.op == other)
      result[{detail.communicator, detail.sequence}].insert(trace.track(row).device);
  }
  return result;
}

TEST(PipelineLanes, AreKnownByTheirNames) {
  auto const lane = pipeline_lane_of("PP rank 3, VPP rank 1, TP rank 2, pp-comm");
  ASSERT_TRUE(lane);
  EXPECT_EQ(lane->stage, 3);
  EXPECT_EQ(lane->chunk, 1);
  EXPECT_EQ(lane->tensor, 2);
  EXPECT_EQ(lane->work, PipelineLane::Work::kMessages);
  EXPECT_TRUE(pipeline_lane_of("PP rank 3, VPP, TP rank 2, compute"));
  EXPECT_FALSE(pipeline_lane_of("PP rank 0, compute")->chunk);

  for (std::string_view const name : {"", "compute", "PP rank", "PP rank 0", "PP rank 0, TP rank 1",
                                      "PP rank , TP rank 1, compute", "PP rank 0, TP rank 1, idle",
                                      "PP rank 99999999, TP rank 1, compute"})
    EXPECT_FALSE(pipeline_lane_of(name)) << name;
}

TEST(PipelineLanes, TheProcessTellsTheDataRank) {
  EXPECT_EQ(data_rank_of("DP rank [12]"), 12);
  EXPECT_EQ(data_rank_of("DP rank 3"), 3);
  EXPECT_FALSE(data_rank_of("python 3"));
}

TEST(PipelineTimeline, WorkersAreDevicesInTheOrderOfTheirPlaces) {
  model::Trace const trace = two_by_two().read();
  EXPECT_THAT(names_of_devices(trace),
              ElementsAre("PP rank 0, DP rank 0, TP rank 0", "PP rank 0, DP rank 1, TP rank 0",
                          "PP rank 1, DP rank 0, TP rank 0", "PP rank 1, DP rank 1, TP rank 0"));

  for (uint32_t row = 0; row < trace.event_count(); ++row) {
    if (trace.name(row) == "forward-compute") {
      EXPECT_EQ(trace.kind(row), EventKind::kKernel);
    }
    if (model::is_device_op(trace.kind(row))) {
      EXPECT_EQ(trace.track(row).kind, model::TrackKind::kStream);
    }
  }
}

TEST(PipelineTimeline, EachDeviceHasItsSteps) {
  model::Trace const trace = two_by_two().read();
  std::map<int32_t, std::vector<int64_t>> steps;
  for (uint32_t row = 0; row < trace.event_count(); ++row) {
    if (trace.kind(row) != EventKind::kStep) continue;
    steps[trace.track(row).device].push_back(trace.detail<model::StepDetail>(row).index);
    EXPECT_EQ(trace.end(row) - trace.start(row), 216'000);
  }
  EXPECT_EQ(steps.size(), 4U);
  for (auto const& [device, of_device] : steps) EXPECT_THAT(of_device, ElementsAre(5, 9));
}

TEST(PipelineTimeline, SidesOfAMessageAreOne) {
  auto const messages =
      participants_of(two_by_two().read(), CollectiveOp::kSend, CollectiveOp::kReceive);
  std::multiset<std::set<int32_t>> found;
  for (auto const& [number, devices] : messages) found.insert(devices);
  EXPECT_EQ(found, (std::multiset<std::set<int32_t>>{{0, 2}, {0, 2}, {1, 3}, {1, 3}}));
}

TEST(PipelineTimeline, CollectivesJoinTheWorkersOfTheirGroup) {
  model::Trace const trace = two_by_two().read();
  std::multiset<std::set<int32_t>> gathers, clips;
  for (auto const& [number, devices] :
       participants_of(trace, CollectiveOp::kAllGather, CollectiveOp::kAllGather))
    gathers.insert(devices);
  for (auto const& [number, devices] :
       participants_of(trace, CollectiveOp::kAllReduce, CollectiveOp::kAllReduce))
    clips.insert(devices);

  EXPECT_EQ(gathers, (std::multiset<std::set<int32_t>>{{0, 1}, {0, 1}, {2, 3}, {2, 3}}));
  EXPECT_EQ(clips, (std::multiset<std::set<int32_t>>{{0, 1, 2, 3}, {0, 1, 2, 3}}));
}

TEST(PipelineTimeline, VirtualStagesLeaveEmptyMessagesAlone) {
  Timeline timeline;
  for (int stage = 0; stage < 2; ++stage) {
    timeline.thread(0, 2 * stage, fmt::format("PP rank {}, TP rank 0, compute", stage));
    timeline.thread(0, 2 * stage + 1, fmt::format("PP rank {}, TP rank 0, pp-comm", stage));
    for (int chunk = 0; chunk < 2; ++chunk) {
      int const at = 100 * (2 * chunk + stage);
      timeline.event(0, 2 * stage, "forward-compute", at + 10, 50, args_of(1, chunk, chunk));
      timeline.event(0, 2 * stage + 1, "forward-recv", at, 5, args_of(1, chunk, -1));
      timeline.event(0, 2 * stage + 1, "forward-send", at + 60, 5, args_of(1, chunk, -1));
    }
  }

  model::Trace const trace = timeline.read();
  auto const messages = participants_of(trace, CollectiveOp::kSend, CollectiveOp::kReceive);
  // From part 0 to 1, 1 to 2 and 2 to 3; the first receive and the last send have no number.
  std::multiset<size_t> sizes;
  for (auto const& [number, devices] : messages)
    if (number.first != 0) sizes.insert(devices.size());
  EXPECT_EQ(sizes, (std::multiset<size_t>{2, 2, 2}));
  EXPECT_EQ(messages.count({0, 0}), 1U);

  std::set<std::string> names;
  for (uint32_t row = 0; row < trace.event_count(); ++row) names.emplace(trace.name(row));
  EXPECT_TRUE(names.contains("forward-compute, chunk 1"));
}

TEST(PipelineTimeline, WhatLacksArgumentsStaysAnOperation) {
  Timeline timeline = two_by_two();
  timeline.event(0, 0, "forward-compute", 100'000, 5, "{}");
  timeline.event(0, 1, "<b>odd</b>", 100'010, 5, R"({"step":"x","seq_id":[1],"model_chunk":-7})");
  timeline.event(1, 2, "params-all-gather", 100'020, -4,
                 R"({"step":9223372036854775807,"seq_id":-9,"model_chunk":9999999999})");

  model::Trace const trace = timeline.read();
  EXPECT_EQ(trace.devices().size(), 4U);
  auto const& kinds = trace.columns().kind;
  EXPECT_EQ(std::count_if(kinds.begin(), kinds.end(),
                          [](EventKind kind) { return model::is_device_op(kind); }),
            2 * 2 * 8 + 3);
}

/// Two stages and data ranks, two micro-batches; passes of the last stage take three times as long.
Timeline with_slow_last_stage() {
  Timeline timeline;
  for (int data = 0; data < 2; ++data) {
    for (int stage = 0; stage < 2; ++stage) {
      timeline.thread(data, 20 * stage + 10 * data,
                      fmt::format("PP rank {}, TP rank 0, compute", stage));
      timeline.thread(data, 20 * stage + 10 * data + 1,
                      fmt::format("PP rank {}, TP rank 0, pp-comm", stage));
    }

    int const first = 10 * data, last = 20 + 10 * data;
    for (int step = 0; step < 8; ++step) {
      int const at = 2000 * step;
      for (int i = 0; i < 2; ++i) {
        std::string const args = args_of(step, i);
        int const there = at + 100 + 300 * i, back = at + 1005 + 300 * i;
        timeline.event(data, first, "forward-compute", at + 100 * i, 100, args);
        timeline.event(data, first + 1, "forward-send", there, 5, args);
        timeline.event(data, last + 1, "forward-recv", there, 5, args);
        timeline.event(data, last, "forward-compute", there + 5, 295, args);
        timeline.event(data, last, "backward-compute", back - 300, 295, args);
        timeline.event(data, last + 1, "backward-send", back - 5, 5, args);
        timeline.event(data, first + 1, "backward-recv", back - 5, 5, args);
        timeline.event(data, first, "backward-compute", back, 100, args);
      }
    }
  }
  return timeline;
}

TEST(PipelineTimeline, ASlowStageIsFound) {
  model::Run run;
  run.ranks.push_back({with_slow_last_stage().read(), 0, "trace.json"});
  analyzer::Analysis const analysis = analyzer::analyze(run);

  ASSERT_TRUE(analysis.slowdown);
  EXPECT_EQ(analysis.slowdown->steps, 8U);
  EXPECT_GT(analysis.slowdown->s, 1.1);
  EXPECT_GT(analysis.slowdown->m_stage.value_or(0), 0.5);
  EXPECT_GT(analysis.slowdown->stages[1].s, analysis.slowdown->stages[0].s);

  auto const finding =
      std::find_if(analysis.findings.begin(), analysis.findings.end(),
                   [](analyzer::Finding const& each) { return each.rule == "unequal-workers"; });
  ASSERT_NE(finding, analysis.findings.end());
  ASSERT_TRUE(finding->where);
  EXPECT_GE(finding->where->device, 2);
  EXPECT_THAT(finding->subjects, testing::Contains(testing::Pair("cause", "stage")));
}

TEST(PipelineTimeline, OneWorkerAloneIsNoPipeline) {
  Timeline timeline;
  timeline.thread(0, 0, "PP rank 0, TP rank 0, compute");
  for (int step = 0; step < 3; ++step)
    timeline.event(0, 0, "forward-compute", 100 * step, 50, args_of(step, 0));
  EXPECT_TRUE(timeline.read().devices().empty());
}

}  // namespace
}  // namespace stepscope::import
