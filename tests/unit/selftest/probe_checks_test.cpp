// The counts that a trace of the CUDA program is held to.
#include "selftest/probe_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/model/build/trace_builder.h"

namespace stepscope::selftest {
namespace {

using model::EventKind;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Two kernels on two streams, one copy each way with pinned memory and one on the device, a fill,
/// memory, a wait.
model::Run make_run(uint64_t copied = 100) {
  model::TraceBuilder builder;
  auto const thread = builder.add_track({.kind = model::TrackKind::kThread, .name = "main"});
  auto const first = builder.add_track({.kind = model::TrackKind::kStream, .id = 7, .device = 0});
  auto const second = builder.add_track({.kind = model::TrackKind::kStream, .id = 8, .device = 0});
  auto const name = builder.intern("a_kernel");

  builder.events(first).add(EventKind::kKernel, 10, 5, name, 1, model::KernelDetail{});
  builder.events(second).add(EventKind::kKernel, 20, 5, name, 2, model::KernelDetail{});
  builder.events(first).add(
      EventKind::kMemcpy, 30, 5, name, 3,
      model::CopyDetail{
          .bytes = copied, .direction = model::CopyDirection::kHostToDevice, .pinned = 1});
  builder.events(first).add(
      EventKind::kMemcpy, 40, 5, name, 4,
      model::CopyDetail{.bytes = 20, .direction = model::CopyDirection::kDeviceToHost});
  builder.events(first).add(
      EventKind::kMemcpy, 50, 5, name, 5,
      model::CopyDetail{.bytes = 3, .direction = model::CopyDirection::kDeviceToDevice});
  builder.events(first).add(EventKind::kMemset, 60, 5, name, 6, model::CopyDetail{.bytes = 64});
  builder.events(second).add(EventKind::kStreamWait, 70, 5, name, 0, model::StreamWaitDetail{});
  for (uint64_t launch = 1; launch <= 6; ++launch)
    builder.events(thread).add(EventKind::kLaunch, static_cast<int64_t>(launch), 1, name, launch);

  builder.events(thread).add(
      EventKind::kMemory, 8, 1, name, 0,
      model::MemoryDetail{
          .bytes = 512, .op = model::MemoryOp::kAllocate, .memory = model::MemoryKind::kDevice});
  builder.events(thread).add(
      EventKind::kMemory, 9, 1, name, 0,
      model::MemoryDetail{
          .bytes = 512, .op = model::MemoryOp::kFree, .memory = model::MemoryKind::kDevice});
  builder.events(thread).add(
      EventKind::kMemory, 9, 1, name, 0,
      model::MemoryDetail{
          .bytes = 99, .op = model::MemoryOp::kAllocate, .memory = model::MemoryKind::kPinned});

  model::Run run;
  run.ranks.push_back({std::move(builder).finish()});
  return run;
}

std::vector<nlohmann::json> what_the_program_says() {
  return {nlohmann::json::parse(
      R"({"mode":"work","kernels":2,"launches":6,"streams":2,"to_device":1,"to_device_bytes":100,
    "to_host":1,"to_host_bytes":20,"on_device":1,"on_device_bytes":3,"pinned":1,"memsets":1,"memset_bytes":64,"allocations":1,
    "allocated_bytes":512,"frees":1,"stream_waits":1,"name_bytes":0,"ns_per_launch":1.5})")};
}

TEST(ProbeChecks, ACompleteTraceDiffersInNothing) {
  EXPECT_THAT(differences(found_in(make_run()), asked_for(what_the_program_says())), IsEmpty());
}

TEST(ProbeChecks, EveryKindOfMissingWorkIsNamedWithBothNumbers) {
  std::string const all = differences(Work{}, asked_for(what_the_program_says()));
  for (char const* const what :
       {"kernels: 0 instead of 2", "launches: 0 instead of 6",
        "streams with kernels: 0 instead of 2", "bytes to the device: 0 instead of 100",
        "bytes to the host: 0 instead of 20", "bytes on the device: 0 instead of 3",
        "copies with pinned memory: 0 instead of 1", "fills: 0 instead of 1",
        "bytes filled: 0 instead of 64", "bytes allocated: 0 instead of 512",
        "frees: 0 instead of 1", "waits between streams: 0 instead of 1"})
    EXPECT_THAT(all, HasSubstr(what));
}

TEST(ProbeChecks, ABytesMoreIsADifference) {
  EXPECT_EQ(differences(found_in(make_run(101)), asked_for(what_the_program_says())),
            "bytes to the device: 101 instead of 100");
}

TEST(ProbeChecks, ProcessesAddUpOnBothSides) {
  std::vector<nlohmann::json> printed = what_the_program_says();
  printed.push_back(printed.front());
  model::Run run = make_run();
  run.ranks.push_back(std::move(make_run().ranks.front()));
  EXPECT_THAT(differences(found_in(run), asked_for(printed)), IsEmpty());
  EXPECT_THAT(differences(found_in(make_run()), asked_for(printed)),
              HasSubstr("kernels: 2 instead of 4"));
}

TEST(ProbeChecks, WhatAProgramLeavesOutMayBeAnything) {
  std::vector<nlohmann::json> printed = what_the_program_says();
  printed.front().erase("streams");
  printed.front().erase("frees");
  printed.push_back(nlohmann::json::parse(R"({"streams":1,"frees":7,"kernels":1})"));
  Work const asked = asked_for(printed);
  EXPECT_EQ(asked.streams, kAny);
  EXPECT_EQ(asked.kernels, 3U);
  EXPECT_EQ(differences(found_in(make_run()), asked), "kernels: 2 instead of 3");
}

TEST(ProbeChecks, ANameThatWasCutIsADifference) {
  std::vector<nlohmann::json> printed = what_the_program_says();
  printed.front()["name_bytes"] = 9;
  EXPECT_THAT(differences(found_in(make_run()), asked_for(printed)),
              HasSubstr("longest name: 8 instead of 9"));
  printed.front()["name_bytes"] = 5;
  EXPECT_THAT(differences(found_in(make_run()), asked_for(printed)), IsEmpty());
}

}  // namespace
}  // namespace stepscope::selftest
