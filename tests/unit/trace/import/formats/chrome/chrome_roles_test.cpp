// Device work in Chrome traces that no category of Kineto's tells: by names of processes and
// threads, as begins and ends, by correlation.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/import/formats/chrome/categories.h"
#include "trace/import/formats/chrome/chrome_importer.h"
#include "trace/import/formats/chrome/kineto_arguments.h"
#include "trace/import/formats/chrome/track_roles.h"

namespace stepscope::import {
namespace {

using model::CopyDirection;
using model::EventKind;

std::string process_named(int process, std::string_view name) {
  return fmt::format(
      R"({{"ph":"M","name":"process_name","pid":{},"tid":0,"args":{{"name":"{}"}}}},)", process,
      name);
}
std::string thread_named(int process, int thread, std::string_view name) {
  return fmt::format(
      R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"{}"}}}},)", process,
      thread, name);
}
std::string complete(int process, int thread, std::string_view name, int ts, int dur,
                     std::string_view args = "{}", std::string_view category = "Op") {
  return fmt::format(
      R"({{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":{},"ts":{},"dur":{},"args":{}}},)",
      category, name, process, thread, ts, dur, args);
}
std::string bracket(char phase, std::string_view name, int ts, std::string_view category = "c",
                    std::string_view more = "") {
  return fmt::format(R"({{"ph":"{}","cat":"{}","name":"{}","pid":1,"tid":1,"ts":{}{}}},)", phase,
                     category, name, ts, more);
}
/// In small blocks, so that begins and ends, names and events are in different ones.
model::Trace trace_of(std::string events) {
  events.pop_back();
  std::string const text = "{\"traceEvents\":[" + events + "]}";
  auto trace = read_chrome_trace(Input(std::as_bytes(std::span(text)), "trace.json"), 128);
  EXPECT_TRUE(trace);
  return trace ? std::move(*trace) : model::Trace();
}
size_t count_of(model::Trace const& trace, EventKind kind) {
  auto const& kinds = trace.columns().kind;
  return static_cast<size_t>(std::count(kinds.begin(), kinds.end(), kind));
}
std::map<std::string, int64_t> durations_of(model::Trace const& trace) {
  std::map<std::string, int64_t> durations;
  for (uint32_t row = 0; row < trace.event_count(); ++row)
    durations[std::string(trace.name(row))] = trace.end(row) - trace.start(row);
  return durations;
}

constexpr std::string_view kNamesOfDevices[] = {
    "GPU 0",
    "gpu/0",
    "Deviceid: 0",
    "/device:GPU:0",
    "/job:worker/replica:0/task:0/device:GPU:0",
    "GPU 0 (process 123)",
    "Ascend Hardware",
    "NPU 3",
    "HPU 0",
    "MTIA 1",
    "XPU:0",
    "MLU 0",
    "MUSA 0",
    "TPU:0",
    "/device:TPU:2",
    "NeuronCore 1",
    "/device:XLA_GPU:0",
    "hip:0",
    "NVIDIA A100-SXM4-40GB (1)",
    "NVIDIA H100 80GB HBM3",
    "[0] NVIDIA GeForce RTX 4090",
    "AMD Instinct #2",
    "Intel(R) Data Center GPU Max 1550 [0]",
    "CUDA Device 1 (A100)",
    "CUDA HW (0000:41:00.0 - NVIDIA A100)",
    "Level Zero GPU 0",
    "Agent 2 (gfx942)",
};

TEST(ChromeRoles, TheNameOfAProcessTellsADevice) {
  for (std::string_view const name : kNamesOfDevices) {
    model::Trace const trace = trace_of(complete(9, 1, "matmul", 10, 5) + process_named(9, name));
    EXPECT_EQ(count_of(trace, EventKind::kKernel), 1U) << name;
    EXPECT_EQ(trace.devices().size(), 1U) << name;
  }
}

TEST(ChromeRoles, TheHostNeverBecomesADevice) {
  for (std::string_view const name :
       {"python", "GPU worker", "GPU 0 worker", "gpu_launch_thread 1", "/host:CPU", "CUDA API",
        "/job:localhost/replica:0/task:0/device:CPU:0 Compute",
        "/job:localhost/replica:0/task:0/device:GPU:0 Compute", "Communication", "device manager 2",
        "NVIDIA driver thread 2", "NVIDIA Nsight 2", "nvidia-persistenced 1", "Agent 0 (AMD EPYC)",
        "cuda:1 worker", "NVIDIA profiler"}) {
    model::Trace const trace =
        trace_of(process_named(9, name) +
                 complete(9, 1, "work", 10, 5, R"({"device": 0, "stream": 7, "correlation": 4})"));
    EXPECT_EQ(trace.devices().size(), 0U) << name;
    EXPECT_EQ(count_of(trace, EventKind::kRange), 1U) << name;
  }

  model::Trace const trace = trace_of(
      process_named(9, "python") + thread_named(9, 1, "GPU worker") + complete(9, 1, "work", 1, 2));
  EXPECT_EQ(trace.devices().size(), 0U);
}

TEST(ChromeRoles, AMakersNameTellsTheNumber) {
  for (auto const& [name, number] :
       std::map<std::string_view, std::optional<int32_t>>{{"NVIDIA A100-SXM4-40GB (1)", 1},
                                                          {"AMD Instinct MI300X #2", 2},
                                                          {"[3] NVIDIA H100", 3},
                                                          {"NVIDIA L4 GPU 4", 4},
                                                          {"NVIDIA H100 80GB HBM3", std::nullopt},
                                                          {"NVIDIA A100", std::nullopt}})
    EXPECT_EQ(meaning_of_process(name).number, number) << name;
}

TEST(ChromeRoles, ArgumentsTellTheDeviceOfACallsOps) {
  std::string const placed = R"({"device": 1, "stream": 7, "correlation": 4})";
  std::string const call = complete(1, 1, "zorgRun", 10, 5, R"({"correlation": 4})");
  model::Trace const trace = trace_of(call + complete(0, 7, "matmul", 20, 5, placed));
  EXPECT_EQ(count_of(trace, EventKind::kKernel), 1U);
  EXPECT_EQ(count_of(trace, EventKind::kLaunch), 1U);
  ASSERT_EQ(trace.devices().size(), 1U);
  EXPECT_EQ(trace.devices()[0].id, 1);

  EXPECT_EQ(trace_of(complete(0, 7, "matmul", 20, 5, placed)).devices().size(), 0U) << "no call";
  std::string const late_call = complete(1, 1, "done", 30, 5, R"({"correlation": 4})");
  EXPECT_EQ(trace_of(late_call + complete(0, 7, "matmul", 20, 5, placed)).devices().size(), 0U)
      << "the call comes first";
  EXPECT_EQ(trace_of(call + complete(0, 7, "cudaLaunchKernel", 20, 5, placed)).devices().size(), 0U)
      << "a call itself";
}

TEST(ChromeRoles, CategoriesOfOtherToolsAreKnown) {
  using enum KinetoCategory;

  for (auto const& [name, category] :
       std::map<std::string_view, KinetoCategory>{{"KERNEL", kKernel},
                                                  {"kernel_dispatch", kKernel},
                                                  {"GPU Kernel", kKernel},
                                                  {"memory_copy", kMemcpy},
                                                  {"MEMCPY", kMemcpy},
                                                  {"gpu_activity", kDeviceOp},
                                                  {"CUDA_RUNTIME", kRuntime},
                                                  {"hip_api", kRuntime},
                                                  {"NPU_MEMCPY", kMemcpy},
                                                  {"CPU_OP", kHostRange},
                                                  {"kernel launcher", kOther},
                                                  {"api", kOther}})
    EXPECT_EQ(category_of(name), category) << name;
}

TEST(ChromeRoles, ArgumentsHaveManyNames) {
  for (std::string_view const name :
       {"correlation", "correlationId", "corrId", "Correlation ID", "CorrelationId"})
    EXPECT_EQ(read_kineto_arguments(fmt::format(R"({{"{}": 4}})", name)).correlation, 4U) << name;
  for (std::string_view const name :
       {"device", "device_id", "deviceId", "device id", "gpu_id", "Device ID", "Device"})
    EXPECT_EQ(read_kineto_arguments(fmt::format(R"({{"{}": 2}})", name)).device, 2) << name;
  for (std::string_view const name : {"stream", "stream_id", "streamId", "Stream ID", "Stream"})
    EXPECT_EQ(read_kineto_arguments(fmt::format(R"({{"{}": 7}})", name)).stream, 7) << name;
}

TEST(ChromeRoles, AnAnnotationMayGiveItsStepANumber) {
  std::string const mark =
      complete(1, 1, "train", 10, 50, R"({"step_num": 12})", "user_annotation");
  model::Trace const trace =
      trace_of(mark + complete(0, 7, "matmul", 20, 5, R"({"device": 0, "stream": 7})", "kernel"));
  EXPECT_EQ(count_of(trace, EventKind::kStep), 1U);
}

std::string parts_of_steps(int thread, std::initializer_list<int> steps,
                           std::string_view more = "") {
  std::string events;
  int ts = 0;
  for (int const step : steps) {
    events +=
        complete(1, thread, "forward", ts, 10, fmt::format(R"({{"step": {}{}}})", step, more));
    events += complete(1, thread, "backward", ts + 15, 20,
                       fmt::format(R"({{"step": {}{}}})", step, more));
    ts += 50;
  }

  return events;
}

TEST(ChromeRoles, EventsThatSayInWhichStepTheyAreMakeSteps) {
  model::Trace const trace =
      trace_of(parts_of_steps(1, {23, 23, 24, 25}) + parts_of_steps(2, {23, 24, 25}) +
               parts_of_steps(3, {7, 5, 6}));
  std::vector<std::pair<int64_t, int64_t>> steps;
  for (uint32_t row = 0; row < trace.event_count(); ++row)
    if (trace.kind(row) == EventKind::kStep) steps.emplace_back(trace.start(row), trace.end(row));
  EXPECT_THAT(steps, testing::ElementsAre(std::pair(0, 50'000), std::pair(50'000, 100'000),
                                          std::pair(100'000, 185'000)))
      << "of both threads whose numbers grow, each until the next begins";
  EXPECT_THAT(trace.log().notes, testing::Contains(testing::HasSubstr("argument \"step\"")));

  EXPECT_EQ(count_of(trace_of(parts_of_steps(1, {1, 2})), EventKind::kStep), 0U)
      << "too few to tell";
  EXPECT_EQ(count_of(trace_of(parts_of_steps(1, {1, 2, 3, 1, 2, 3})), EventKind::kStep), 0U)
      << "numbers of something else";
  EXPECT_EQ(count_of(trace_of(parts_of_steps(1, {1, 2, 3}) + complete(1, 1, "x", 500, 1)),
                     EventKind::kStep),
            0U)
      << "not each event says it";
}

TEST(ChromeRoles, AProcessWithHostCategoriesIsNoDevice) {
  model::Trace const trace =
      trace_of(process_named(9, "GPU 0") + complete(9, 1, "aten::mm", 1, 2, "{}", "cpu_op") +
               complete(9, 1, "other", 4, 2));
  EXPECT_EQ(trace.devices().size(), 0U);
}

TEST(ChromeRoles, TensorFlowsStreamsCountOnce) {
  std::string const all =
      process_named(4, "/device:GPU:1/stream:all Compute") + complete(4, 0, "Conv2D", 10, 30) +
      process_named(5, "/device:GPU:1/memcpy Compute") + complete(5, 0, "MEMCPYHtoD", 50, 7);
  model::Trace const trace = trace_of(
      all + process_named(1, "/device:GPU:1/stream:13 Compute") + complete(1, 0, "Conv2D", 10, 30) +
      process_named(2, "/device:GPU:1/stream:14 Compute") + complete(2, 0, "MEMCPYHtoD", 50, 7));
  EXPECT_EQ(count_of(trace, EventKind::kKernel), 1U);
  EXPECT_EQ(count_of(trace, EventKind::kMemcpy), 1U);
  ASSERT_EQ(trace.devices().size(), 1U);
  EXPECT_EQ(trace.devices()[0].id, 1);

  model::Trace const alone = trace_of(all);
  EXPECT_EQ(count_of(alone, EventKind::kKernel), 1U);
  EXPECT_EQ(count_of(alone, EventKind::kMemcpy), 1U);
}

TEST(ChromeRoles, XlasLanesCountOnceAndAreTheOpsWhereThereIsNoStream) {
  std::string const lanes = process_named(1, "/device:GPU:0") + thread_named(1, 3, "XLA Ops") +
                            complete(1, 3, "fusion.1", 10, 5) + thread_named(1, 2, "XLA Modules") +
                            complete(1, 2, "jit_step", 10, 9) + thread_named(1, 1, "Steps") +
                            complete(1, 1, "4", 10, 9);

  model::Trace const trace = trace_of(lanes + thread_named(1, 16, "Stream #16(Compute)") +
                                      complete(1, 16, "fusion_1", 10, 5));
  EXPECT_EQ(count_of(trace, EventKind::kKernel), 1U);
  EXPECT_EQ(count_of(trace, EventKind::kStep), 1U);
  EXPECT_EQ(count_of(trace_of(lanes), EventKind::kKernel), 1U);

  // Steps that the host marks count where the device's lane has none.
  std::string const marked = complete(7, 1, "train", 5, 20, R"({"step_num":"4"})");
  EXPECT_EQ(count_of(trace_of(lanes + marked), EventKind::kStep), 1U);
  EXPECT_EQ(count_of(trace_of(marked), EventKind::kStep), 1U);
}

TEST(ChromeRoles, AscendsProcessesAreOneDevice) {
  model::Trace const trace =
      trace_of(process_named(2048, "CANN") +
               complete(2048, 1, "AscendCL@aclrtLaunchKernel", 1, 2, R"({"connection_id":40})") +
               process_named(2112, "Ascend Hardware") +
               complete(2112, 2, "MatMul", 5, 9, R"({"connection_id":40,"Physic Stream Id":2})") +
               complete(2112, 5, "Notify_Wait", 20, 9) + process_named(2144, "Communication") +
               thread_named(2144, 7, "Group 0 Communication") +
               complete(2144, 7, "hcom_allReduce__1", 20, 9) + thread_named(2144, 8, "Plane 0") +
               complete(2144, 8, "Memcpy", 20, 9) + process_named(2176, "Overlap Analysis") +
               complete(2176, 1, "Free", 30, 9));

  EXPECT_EQ(trace.devices().size(), 1U);
  EXPECT_EQ(count_of(trace, EventKind::kKernel), 1U);
  EXPECT_EQ(count_of(trace, EventKind::kCollective), 1U);
  EXPECT_EQ(count_of(trace, EventKind::kMemcpy), 0U);
  EXPECT_EQ(count_of(trace, EventKind::kStreamWait), 1U);
  EXPECT_EQ(count_of(trace, EventKind::kLaunch), 1U);
  EXPECT_EQ(trace.log().unmatched_ops, 0U);
}

TEST(ChromeRoles, CategoriesOfVendorsAreKnown) {
  for (std::string_view const category :
       {"hpu_op", "mtia_ccp_events", "npu_kernel", "mlu_op", "gpu_op", "kernel"}) {
    model::Trace const trace = trace_of(
        complete(1, 1, "launchIt", 1, 2, R"({"correlation":5})", "musa_runtime") +
        complete(0, 3, "gemm", 8, 9, R"({"device":0,"stream":3,"correlation":5})", category));
    EXPECT_EQ(count_of(trace, EventKind::kKernel), 1U) << category;
    EXPECT_EQ(count_of(trace, EventKind::kLaunch), 1U) << category;
    EXPECT_EQ(trace.log().unmatched_ops, 0U) << category;
  }
}

TEST(ChromeRoles, OnlyTheCallOfAnOpsCorrelationIsItsLaunch) {
  model::Trace const trace =
      trace_of(complete(1, 1, "zeCommandListAppendLaunchKernel", 1, 2, R"({"correlation":5})",
                        "xpu_driver") +
               complete(1, 1, "zeEventQueryStatus", 4, 1, R"({"correlation":6})", "xpu_driver") +
               complete(0, 3, "gemm", 8, 9, R"({"correlation":5})", "kernel"));
  EXPECT_EQ(count_of(trace, EventKind::kLaunch), 1U);
  EXPECT_EQ(count_of(trace, EventKind::kApi), 1U);
}

TEST(ChromeRoles, DeviceWorkMayBeABeginAndAnEnd) {
  std::string const args = R"(,"id":"7","args":{"device":2,"stream":7,"correlation":1})";
  for (auto const& [begin, end] : {std::pair('b', 'e'), std::pair('S', 'F'), std::pair('B', 'E')}) {
    model::Trace const trace = trace_of(bracket(begin, "gemm", 10, "kernel", args) +
                                        bracket(end, "gemm", 15, "kernel", R"(,"id":"7")"));
    ASSERT_EQ(count_of(trace, EventKind::kKernel), 1U) << begin;
    EXPECT_EQ(durations_of(trace)["gemm"], 5000) << begin;
    ASSERT_EQ(trace.devices().size(), 1U);
    EXPECT_EQ(trace.devices()[0].id, 2);
  }
}

TEST(ChromeRoles, AnEndClosesTheRangeOfItsName) {
  model::Trace const trace =
      trace_of(bracket('B', "a", 10) + bracket('B', "b", 12) + bracket('E', "a", 20) +
               bracket('E', "b", 30) + bracket('E', "lost", 31));
  EXPECT_EQ(durations_of(trace), (std::map<std::string, int64_t>{{"a", 10'000}, {"b", 18'000}}));

  // Ends without a name, and ends that all say something else, close the last one that is open.
  for (std::string_view const end : {"", "end"}) {
    model::Trace const other = trace_of(bracket('B', "a", 10) + bracket('B', "b", 12) +
                                        bracket('E', end, 20) + bracket('E', end, 30));
    EXPECT_EQ(durations_of(other), (std::map<std::string, int64_t>{{"a", 20'000}, {"b", 8000}}))
        << end;
  }
}

TEST(ChromeRoles, PaddlesNamesLoseTheirDurations) {
  std::string const args = R"({"device":0,"stream":7,"correlation id":3})";
  model::Trace const trace = trace_of(
      complete(4, 1, "cudaLaunchKernel[0.006 ms]", 1, 6, R"({"correlation id":3})", "CudaRuntime") +
      complete(0, 7, "gemm[0.120 ms]", 10, 120, args, "Kernel") +
      complete(4, 1, "list[3 ms]", 50, 7, "{}", "UserDefined"));
  EXPECT_EQ(durations_of(trace),
            (std::map<std::string, int64_t>{
                {"cudaLaunchKernel", 6000}, {"gemm", 120'000}, {"list[3 ms]", 7000}}));
  EXPECT_EQ(trace.log().unmatched_ops, 0U);
}

TEST(ChromeRoles, NamesOfCopiesTellTheirDirection) {
  std::map<std::string_view, CopyDirection> const names = {
      {"Memcpy M2D (HOST -> DEVICE)", CopyDirection::kHostToDevice},
      {"zeCommandListAppendMemoryCopy(D2M)", CopyDirection::kDeviceToHost},
      {"Memcpy DtoH (Device -> Pinned)", CopyDirection::kDeviceToHost},
      {"Memory copy Device-Host", CopyDirection::kDeviceToHost},
      {"MEMCPYHtoD", CopyDirection::kHostToDevice},
      {"MemcpyD2D", CopyDirection::kDeviceToDevice},
      {"CopyHostToDevice", CopyDirection::kHostToDevice},
      {"memcpy (h2d)", CopyDirection::kHostToDevice},
      {"Memcpy PtoP (Device -> Device)", CopyDirection::kPeerToPeer},
      {"Memcpy HtoH (Host -> Host)", CopyDirection::kHostToHost},
      {"Memcpy", CopyDirection::kUnknown},
      {"copy_kernel", CopyDirection::kUnknown},
  };

  for (auto const& [name, direction] : names)
    EXPECT_EQ(copy_of_name(name).direction, direction) << name;
}

TEST(ChromeRoles, StepsOfAThreadThatOverlapInPartAreParted) {
  model::Trace const trace = trace_of(complete(1, 1, "ProfileStep#0", 0, 11, "{}", "ProfileStep") +
                                      complete(1, 1, "ProfileStep#1", 10, 10, "{}", "ProfileStep"));
  EXPECT_EQ(durations_of(trace)["ProfileStep#0"], 10'000);
}

}  // namespace
}  // namespace stepscope::import
