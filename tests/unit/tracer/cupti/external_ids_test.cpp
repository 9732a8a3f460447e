// External correlation: numbers that the program gives its work by CUPTI's API become marks at the
// calls of that work.
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tracer/cupti/record_decoder_fixture.h"

namespace stepscope::tracer {
namespace {

using model::EventKind;
using testing::ElementsAre;
using testing::Field;
using testing::UnorderedElementsAre;

TEST_P(RecordDecoderTest, marks_a_call_with_the_number_that_the_program_gave_the_work_around_it) {
  add(external_record(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1, 77, 9));
  add(external_record(CUPTI_EXTERNAL_CORRELATION_KIND_OPENACC, UINT64_MAX, 9));
  add(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, {100, 150}, 9));
  add(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, {200, 250}, 10));
  finish();

  EXPECT_THAT(rows(),
              UnorderedElementsAre(
                  Row{EventKind::kAnnotatedMark, "external id (custom 1)", "thread 100", 100, 0, 9},
                  Row{EventKind::kAnnotatedMark, "external id (OpenACC)", "thread 100", 100, 0, 9},
                  Row{EventKind::kLaunch, "cudaLaunchKernel", "thread 100", 100, 50, 9},
                  Row{EventKind::kLaunch, "cudaLaunchKernel", "thread 100", 200, 50, 10}));

  std::vector<uint64_t> ids;
  for (model::RangeDetail const& detail : details<model::RangeDetail>()) {
    EXPECT_EQ(detail.payload_type, model::NumberType::kUnsigned);
    ids.push_back(detail.payload);
  }
  EXPECT_THAT(ids, UnorderedElementsAre(77U, UINT64_MAX));
}

TEST_P(RecordDecoderTest, marks_a_runtime_call_and_not_the_driver_call_that_it_is) {
  add(external_record(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 5, 9));
  add(driver_call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, {110, 140}, 9));
  round();
  add(external_record(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 5, 9));
  add(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, {100, 150}, 9));
  finish();

  EXPECT_THAT(rows(),
              UnorderedElementsAre(
                  Row{EventKind::kAnnotatedMark, "external id (custom 0)", "thread 100", 100, 0, 9},
                  Row{EventKind::kLaunch, "cudaLaunchKernel", "thread 100", 100, 50, 9}));
}

TEST_P(RecordDecoderTest, forgets_numbers_of_calls_that_are_left_out) {
  add(external_record(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 5, 9));
  add(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020, {100, 150}, 9));
  for (int i = 0; i < 5; ++i) round();
  add(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, {1000, 1050}, 9));
  finish();
  EXPECT_THAT(rows(), ElementsAre(Field(&Row::kind, EventKind::kLaunch)));
}

}  // namespace
}  // namespace stepscope::tracer
