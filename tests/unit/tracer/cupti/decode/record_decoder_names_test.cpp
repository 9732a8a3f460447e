// A ring gives names new numbers from time to time. What the decoder remembers has to follow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tracer/cupti/record_decoder_fixture.h"

namespace stepscope::tracer {
namespace {

using model::EventKind;
using testing::UnorderedElementsAre;

constexpr char const* kUpload = "Memcpy HtoD (Pinned -> Device)";

CUpti_ActivityMemcpy5 upload(When when, uint32_t correlation) {
  return copy(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, CUPTI_ACTIVITY_MEMORY_KIND_PINNED,
              CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, 64, when, correlation);
}

TEST_P(RecordDecoderTest, keeps_every_name_where_names_begin_anew) {
  store.keep_nothing(nullptr);
  add(kernel("first", {10, 20}, 1));
  add(kernel("second", {20, 30}, 2));
  add(upload({30, 40}, 3));
  round();
  // These wait: the one for the runtime call around it, the other for its allocation.
  add(driver_call(CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, {41, 42}, 4));
  add(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020, {43, 44}, 5));
  complete();

  store.begin_names_anew(
      [this](RowWatcher::Renamed const& renamed) { decoder_->names_begin_anew(renamed); });
  add(upload({50, 60}, 6));
  add(kernel("second", {60, 70}, 7));
  add(kernel("first", {70, 80}, 8));
  add(driver_call(CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, {81, 82}, 9));
  finish();

  std::vector<std::string> names;
  for (Row const& row : rows()) names.push_back(row.name);
  EXPECT_THAT(names,
              UnorderedElementsAre("first", "second", kUpload, kUpload, "second", "first",
                                   "cuStreamSynchronize", "cuStreamSynchronize", "cudaMalloc"));
}

}  // namespace
}  // namespace stepscope::tracer
