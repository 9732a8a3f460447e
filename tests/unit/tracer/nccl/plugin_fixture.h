// A process in which a test calls the profiler plugin as NCCL does, and what it recorded.
#pragma once

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tracer/child_program.h"
#include "tests/unit/tracer/nccl/plugin_driver.h"
#include "trace/model/details.h"

namespace stepscope::tracer::nccl {

class NcclPlugin : public ::testing::Test {
 protected:
  void SetUp() override {
    if (char const* const reason = why_no_injection()) GTEST_SKIP() << reason;
  }
  /// Runs it in a process that records into the folder; its exit status.
  int in_child(std::function<int()> const& work, Environment const& environment = {}) const {
    pid_t const child = ::fork();
    if (child == 0) {
      ::setenv("STEPSCOPE_OUTPUT", folder.path().c_str(), 1);
      for (auto const& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
      if (environment.contains("STEPSCOPE_OUTPUT") && environment.at("STEPSCOPE_OUTPUT").empty())
        ::unsetenv("STEPSCOPE_OUTPUT");
      std::exit(work());  // NOLINT(concurrency-mt-unsafe): the child has one thread
    }
    return wait_for(child);
  }
  std::vector<model::CollectiveDetail> recorded_calls() const {
    auto const traces = read_traces(folder.path());
    EXPECT_THAT(traces, ::testing::SizeIs(1));
    std::vector<model::CollectiveDetail> calls;
    for (auto const& [name, trace] : traces)
      for (uint32_t row = 0; row < trace.event_count(); ++row)
        if (trace.kind(row) == model::EventKind::kCollectiveCall)
          calls.push_back(trace.detail<model::CollectiveDetail>(row));
    return calls;
  }
  /// What use() plays, as that version of the interface reports it.
  void expect_all_recorded(int version, uint64_t hash = kHash) const {
    auto const calls = recorded_calls();
    ASSERT_THAT(calls, ::testing::SizeIs(kCollectives + 1));
    for (size_t i = 0; i < kCollectives; ++i) {
      EXPECT_EQ(calls[i].op, model::CollectiveOp::kAllReduce);
      EXPECT_EQ(calls[i].bytes, 4'000U);
      EXPECT_EQ(calls[i].communicator, hash);
      EXPECT_EQ(calls[i].rank, 2);
      EXPECT_EQ(calls[i].sequence >> 4, i);
      EXPECT_NE(calls[i].plan, 0U);
      EXPECT_EQ(calls[i].launch,
                version < 5 ? model::CallLaunch::kBefore : model::CallLaunch::kInside);
    }

    model::CollectiveDetail const& send = calls.back();
    EXPECT_EQ(send.op, model::CollectiveOp::kSend);
    EXPECT_EQ(send.bytes, 1'000U);
    EXPECT_EQ(send.peer, 3);
    EXPECT_GE(send.network_wait_ns, static_cast<uint64_t>(kNetworkNs));
    EXPECT_EQ(send.gpu_wait_ns, 0U);

    for (auto const& [name, trace] : read_traces(folder.path()))
      EXPECT_THAT(
          trace.info().facts,
          ::testing::Contains(::testing::Pair(
              "nccl profiler", ::testing::StartsWith(fmt::format("interface {}, 1 ", version)))));
  }
  TestFolder folder;
};

}  // namespace stepscope::tracer::nccl
