// The tracer leaves nothing in a program that goes on after its capture has ended.
#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tracer/cupti/fake_cupti.h"
#include "trace/file/reader.h"
#include "tracer/core/session.h"
#include "tracer/cupti/cupti_source.h"

namespace stepscope::tracer {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kPatience{60};

size_t threads() {
  return static_cast<size_t>(
      std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator()));
}

/// A session that records what the fake plays from the window's beginning to its end.
class AfterStop : public testing::TestWithParam<uint32_t> {
 protected:
  AfterStop() {
    fs::create_directories(folder);
    CaptureOptions options;
    options.folder = folder;
    options.window.from_code = true;
    session.emplace(options);

    auto made = std::make_unique<CuptiSource>(session->window(), options, session->devices(), [] {
      return base::Expected<CuptiLibrary>(CuptiLibrary{FakeCupti::api(), "", GetParam()});
    });
    source = made.get();
    session->add_source(std::move(made));
  }
  ~AfterStop() override { fs::remove_all(folder); }

  void record_a_kernel() {
    session->window().open();
    auto const now = static_cast<uint64_t>(monotonic_ns() + fake.clock_offset_ns);
    auto launch = runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, {0, 0}, 1);
    auto record = kernel("k", {0, 0}, 1);
    launch.start = launch.end = record.start = record.end = now;
    ASSERT_TRUE(fake.play(RecordBuffer().add(launch).add(record)));
    ASSERT_TRUE(fake.request());  // one that CUPTI holds when the capture ends
  }

  fs::path const folder =
      fs::path(testing::TempDir()) / ("after_stop_" + std::to_string(::getpid()));
  FakeCupti fake;
  std::optional<Session> session;
  CuptiSource* source = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Cupti, AfterStop,
                         testing::Values(cupti::k12v4, cupti::k12v8, cupti::k13v1),
                         [](auto const& test) { return std::to_string(test.param); });

TEST_P(AfterStop, there_is_no_thread_no_callback_no_kind_and_no_memory) {
  std::thread([] {
  }).join();  // the thread sanitizer starts one of its own with the first that a program starts
  size_t const threads_before = threads();
  ASSERT_TRUE(session->start());
  session->driver_starts();
  record_a_kernel();
  EXPECT_GT(threads(), threads_before);
  EXPECT_GT(source->buffer_bytes(), 0U);
  EXPECT_FALSE(fake.enabled().empty());

  ASSERT_TRUE(session->end_window(kPatience));
  fake.program_calls(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);  // the program goes on
  auto const until = std::chrono::steady_clock::now() + kPatience;
  while (threads() > threads_before && std::chrono::steady_clock::now() < until)
    std::this_thread::yield();
  EXPECT_LE(threads(), threads_before);
  EXPECT_THAT(fake.enabled(), testing::IsEmpty());
  EXPECT_EQ(fake.enabled_functions(), 0U);
  EXPECT_FALSE(fake.has_subscriber());
  EXPECT_EQ(source->buffer_bytes(), 0U);

  ASSERT_TRUE(session->stop());
  auto const trace = file::read_trace_file(session->report().path);
  ASSERT_TRUE(trace.has_value());
  EXPECT_EQ(trace->event_count(), 2U);
}

}  // namespace
}  // namespace stepscope::tracer
