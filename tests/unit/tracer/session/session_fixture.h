// A session with the NVTX source in a folder of its own.
#pragma once

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

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

  std::filesystem::path folder;
  CaptureOptions options;
  Registry registry;
  std::unique_ptr<Session> session;
  NvtxSource* source = nullptr;
};

}  // namespace stepscope::tracer
