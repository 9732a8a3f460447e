// A session with the NVTX source in a folder of its own.
#pragma once

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/unit/tracer/pipeline.h"
#include "trace/file/reader.h"
#include "tracer/core/session.h"

namespace stepscope::tracer {

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() {
    folder = std::filesystem::path(::testing::TempDir()) /
             ("session_" + std::to_string(::getpid()) + "_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    options.folder = folder.string();
  }
  ~SessionTest() override { std::filesystem::remove_all(folder); }

  /// A started session with the NVTX source.
  Session& start() {
    session = std::make_unique<Session>(options);
    auto nvtx = std::make_unique<NvtxSource>(session->window(), session->tick_source(), registry,
                                             options.buffer_bytes);
    source = nvtx.get();
    session->add_source(std::move(nvtx));
    EXPECT_TRUE(session->start());
    return *session;
  }
  model::Trace stop_and_read() {
    EXPECT_TRUE(session->stop());
    EXPECT_EQ(session->report().failure, "");
    auto trace = file::read_trace_file(session->report().path);
    if (!trace) throw std::runtime_error(trace.error().message);
    return std::move(*trace);
  }
  [[nodiscard]] static std::vector<int64_t> steps_of(model::Trace const& trace) {
    std::vector<int64_t> steps;
    for (uint32_t row = 0; row < trace.event_count(); ++row)
      if (trace.kind(row) == model::EventKind::kStep)
        steps.push_back(trace.detail<model::StepDetail>(row).index);
    return steps;
  }

  std::filesystem::path folder;
  CaptureOptions options;
  Registry registry;
  std::unique_ptr<Session> session;
  NvtxSource* source = nullptr;
};

/// One that writes several files, each to a folder of its own, of a program with one thread.
class SessionOfParts : public SessionTest {
 protected:
  void begin() {
    start();
    register_device_schemas(registry);
    thread = source->attach(1);
  }
  void allocate(uint64_t address, api::MemoryOp op = api::MemoryOp::kAllocate) const {
    thread->push(named("allocate", kDeviceDomain));
    api::MemoryPayload const memory = {address, 64, 0, 0, 0, op, api::MemoryPurpose::kWeights};
    PayloadView const view = payload(api::DeviceSchema::kMemory, memory);
    thread->pop(kDeviceDomain, {&view, 1});
  }
  /// The only trace in a folder of the run.
  [[nodiscard]] model::Trace read(std::string const& part) const {
    std::vector<std::string> files;
    for (auto const& entry : std::filesystem::directory_iterator(folder / part))
      files.push_back(entry.path().string());
    EXPECT_EQ(files.size(), 1U);
    auto trace = file::read_trace_file(files.at(0));
    if (!trace) throw std::runtime_error(trace.error().message);
    EXPECT_FALSE(trace->log().truncated);
    EXPECT_EQ(trace->log().unknown_events, 0U);
    return std::move(*trace);
  }

  ThreadRecorder* thread = nullptr;
};

}  // namespace stepscope::tracer
