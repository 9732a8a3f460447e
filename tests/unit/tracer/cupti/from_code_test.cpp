// A program that starts and stops its recording by cudaProfilerStart and cudaProfilerStop.
#include <gtest/gtest.h>

#include "tests/unit/tracer/cupti/cupti_source_fixture.h"
#include "tracer/cupti/activities.h"

namespace stepscope::tracer {
namespace {

class CuptiSourceFromCode : public CuptiSourceTest {
 protected:
  CuptiSourceFromCode() : CuptiSourceTest(WindowOptions{.from_code = true}) {}
};

TEST_F(CuptiSourceFromCode, records_from_the_programs_start_to_its_stop) {
  source->driver_starts();
  EXPECT_FALSE(fake.enabled().contains(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));

  fake.program_calls(CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000);
  EXPECT_EQ(window.mode(), CaptureMode::kRecording);
  EXPECT_EQ(fake.enabled().size(), kActivities.size());
  fake.program_calls(CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000);  // some do it twice

  fake.program_calls(CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStop_v4000);
  EXPECT_TRUE(window.is_over());

  fake.program_calls(CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000);  // it opens once
  EXPECT_EQ(window.mode(), CaptureMode::kEnding);
}

class CuptiSourceFromCodeAgain : public CuptiSourceTest {
 protected:
  CuptiSourceFromCodeAgain()
      : CuptiSourceTest(WindowOptions{.from_code = true, .code_repeats = true}) {}
};

TEST_F(CuptiSourceFromCodeAgain, records_from_each_start_to_its_stop) {
  source->driver_starts();
  fake.program_calls(CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStop_v4000);
  EXPECT_EQ(window.mode(), CaptureMode::kBaseline);

  for (uint64_t i = 1; i <= 2; ++i) {
    fake.program_calls(CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000);
    EXPECT_EQ(window.openings(), i);
    EXPECT_EQ(fake.enabled().size(), kActivities.size());
    fake.program_calls(CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStop_v4000);
    ASSERT_TRUE(window.is_over());

    window.end();
    source->end_window(store, 0);
    ASSERT_TRUE(window.arm_again());
    EXPECT_FALSE(fake.enabled().contains(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
  }
}

TEST_F(CuptiSourceTest, does_not_let_the_program_stop_it_unless_asked_to) {
  source->driver_starts();
  fake.program_calls(CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStop_v4000);
  EXPECT_EQ(window.mode(), CaptureMode::kRecording);
}

}  // namespace
}  // namespace stepscope::tracer
