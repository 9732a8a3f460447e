// Records around the end of the capture window. record_decoder_test.cpp instantiates the fixture.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tracer/cupti/record_decoder_fixture.h"
#include "tracer/cupti/decode/record_decoder.h"

namespace stepscope::tracer {
namespace {

using testing::Field;
using testing::UnorderedElementsAre;

TEST_P(RecordDecoderTest, knows_which_launches_still_run) {
  RecordDecoder counting(api_, true);
  auto const decode = [&](auto const& record) {
    counting.decode_record(reinterpret_cast<CUpti_Activity const&>(record), clock, store);
  };
  auto const outstanding = [&] {
    counting.end_round(clock, store);
    return counting.outstanding_launches();
  };

  decode(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, {0, 5}, 1));
  EXPECT_EQ(outstanding(), 1U);
  decode(kernel("k", {10, 20}, 1));
  EXPECT_EQ(outstanding(), 0U);

  decode(kernel("k", {10, 20}, 2));  // before the record of its launch
  decode(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, {6, 8}, 2));
  EXPECT_EQ(outstanding(), 0U);

  counting.end_window_at(100);
  decode(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, {101, 105}, 3));
  EXPECT_EQ(outstanding(), 0U);
}

TEST_P(RecordDecoderTest,
       leaves_out_what_the_host_does_behind_the_window_but_not_device_work_of_it) {
  constexpr auto kLaunch = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000;
  constexpr auto kWait = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;

  add(context_record());
  add(runtime_call(kLaunch, {0, 5}, 1));
  complete();

  decoder_->end_window_at(100);
  add(runtime_call(kLaunch, {90, 110}, 3));
  add(kernel("inside", {200, 300}, 1));
  add(kernel("behind", {300, 400}, 4));
  add(kernel("its launch comes later", {400, 500}, 3));
  add(sync_record(kWait, {120, 130}, 5, 7));
  add(memory_record(kAllocation, 4096, 100, 125, 6));
  add(runtime_call(kLaunch, {101, 105}, 4));
  add(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020, {124, 126}, 6));
  round();
  round();
  round();
  finish();

  EXPECT_THAT(rows(), UnorderedElementsAre(Field(&Row::start, 0), Field(&Row::start, 90),
                                           Field(&Row::name, "inside"),
                                           Field(&Row::name, "its launch comes later")));
  EXPECT_EQ(store.log.unknown_events, 0U);
}

TEST_P(RecordDecoderTest,
       keeps_device_work_until_it_is_known_whether_it_was_launched_in_the_window) {
  constexpr auto kLaunch = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000;
  decoder_->end_window_at(100);
  std::string name = "inside";
  add(kernel(name.c_str(), {200, 300}, 1));
  add(kernel("behind", {300, 400}, 2));
  add(kernel("of a call that never comes", {300, 400}, 3));
  round();

  name = "CUPTI";  // whose memory names are
  add(runtime_call(kLaunch, {90, 95}, 1));
  add(runtime_call(kLaunch, {101, 105}, 2));
  round();
  finish();

  EXPECT_THAT(rows(), UnorderedElementsAre(Field(&Row::name, "cudaLaunchKernel"),
                                           Field(&Row::name, "inside")));
}

/// A graph that the device launches, for one: the number of its call is 0.
TEST_P(RecordDecoderTest, judges_device_work_without_a_call_by_its_time) {
  add(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, {0, 5}, 1));
  complete();
  decoder_->end_window_at(100);

  add(kernel("inside", {90, 300}, 0));
  add(kernel("behind", {101, 400}, 0));
  finish();
  EXPECT_THAT(rows(), UnorderedElementsAre(Field(&Row::name, "cudaLaunchKernel"),
                                           Field(&Row::name, "inside")));
}

}  // namespace
}  // namespace stepscope::tracer
